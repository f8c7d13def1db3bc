"""What a plan says. Apart from its reading, so that deciding does not load the reading."""

from __future__ import annotations

import msgspec

CONCRETE = 2


class PlanText(msgspec.Struct, frozen=True):
    """What a plan says, before anybody agreed. `text` is what is shown."""

    text: str
    targets: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    scope: str | None = None
    success: str | None = None
    operations: tuple[str, ...] = ()
    adjustments: tuple[str, ...] = ()

    @property
    def score(self) -> int:
        """How many of the four criteria hold."""
        return len(self.evidence)

    @property
    def concrete(self) -> bool:
        return self.score >= CONCRETE

    @property
    def evidence(self) -> dict[str, str]:
        """What was found for each criterion that holds."""
        found = {
            "targets": ", ".join(self.targets),
            "changes": "; ".join(self.changes),
            "scope": self.scope,
            "success": self.success,
        }
        return {criterion: what for criterion, what in found.items() if what}
