"""Making a line small that still shows a fault."""

from __future__ import annotations

from collections.abc import Callable

TRIES = 400
SIMPLE = ("\n", " ", "")


def shrink(line: str, fails: Callable[[str], bool]) -> str:
    """Leave out as much of the line as can be left out while it fails, in ever smaller pieces."""
    left = TRIES

    def holds(shorter: str) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and fails(shorter)

    size = max(1, len(line) // 2)
    while left > 0:
        shorter = _leave_out(line, size, holds)
        if shorter == line and size == 1:
            break
        size = max(1, size // 2) if shorter == line else min(size, max(1, len(shorter) // 2))
        line = shorter
    return line


def _leave_out(line: str, size: int, holds: Callable[[str], bool]) -> str:
    at = 0
    while at < len(line):
        shorter = line[:at] + line[at + size :]
        if holds(shorter):
            line = shorter
        else:
            at += size
    return line
