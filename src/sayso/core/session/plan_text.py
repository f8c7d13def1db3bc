"""What a plan says. Apart from its reading, so that deciding does not load the reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

CONCRETE = 2


class PlanText(msgspec.Struct, frozen=True):
    """What a plan says, before anybody agreed. `text` is Sayso's rendering of it: what a yes would cover.

    `places` names the targets of each operation that is not for all of them. `asked` and `blocked` are the
    operations that the plan names and no plan can cover.
    """

    text: str
    targets: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    scope: str | None = None
    success: str | None = None
    operations: tuple[str, ...] = ()
    adjustments: tuple[str, ...] = ()
    places: Mapping[str, tuple[str, ...]] = {}
    asked: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()

    @property
    def score(self) -> int:
        """Return how many of the four criteria hold."""
        return len(self.evidence)

    @property
    def concrete(self) -> bool:
        return self.score >= CONCRETE

    @property
    def evidence(self) -> dict[str, str]:
        """Return what was found for each criterion that holds."""
        found = {
            "targets": ", ".join(self.targets),
            "changes": "; ".join(self.changes),
            "scope": self.scope,
            "success": self.success,
        }
        return {criterion: what for criterion, what in found.items() if what}

    @property
    def operations_covered(self) -> tuple[str, ...]:
        """The operations that a yes covers."""
        return tuple(name for name in self.operations if name not in self.asked and name not in self.blocked)

    @property
    def covers(self) -> dict[str, tuple[str, ...]]:
        """Return what a yes covers: each operation with its targets."""
        return {name: self.targets_of(name) for name in self.operations_covered}

    def targets_of(self, operation: str) -> tuple[str, ...]:
        """The targets that the plan names for an operation; without any, only calls without a target fit."""
        return self.places.get(operation, self.targets) if operation in self.operations else ()

    def names(self, operation: str, targets: Iterable[str]) -> bool:
        """Return whether the plan names this operation on each of these targets."""
        named = self.targets_of(operation)
        return operation in self.operations and all(target in named for target in targets)
