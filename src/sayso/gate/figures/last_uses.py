"""When each operation was last used, of all streams together."""

from __future__ import annotations

from collections.abc import Mapping

from sayso.gate.gate import Gate
from sayso.gate.summaries.add_up import load_decisions
from sayso.gate.summaries.shapes import USES, UseTimes


def load_last_uses(gate: Gate) -> Mapping[str, UseTimes]:
    """For each operation that was ever decided when that was last, as far as the bodies of entries tell."""
    found: dict[str, UseTimes] = {}
    with gate.store.read() as tx:
        for stream in tx.streams():
            for _, part in load_decisions(tx, stream).newest_first(USES):
                for name, use in part.operations.items():
                    found[name] = _join(use, found.get(name, UseTimes()))
    return found


def _join(one: UseTimes, other: UseTimes) -> UseTimes:
    return UseTimes(
        _later(one.allowed_at, other.allowed_at),
        _later(one.asked_at, other.asked_at),
        _later(one.refused_at, other.refused_at),
    )


def _later(one: float | None, other: float | None) -> float | None:
    return max((at for at in (one, other) if at is not None), default=None)
