"""Surfaces that are down: each is left alone for a while, longer each time, whatever there is to send."""

from __future__ import annotations

from sayso.core.durations import HOUR

FIRST_PAUSE, LONGEST_PAUSE = 2.0, 300.0
LONGEST_WISH = HOUR
"""How long a service may ask to be left alone."""


class Rests:
    """Until when each surface is left alone, by the store's clock. Used by the threads of one dispatcher."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._failures: dict[str, int] = {}

    def is_resting(self, surface: str, now: float) -> bool:
        return now < self._until.get(surface, 0.0)

    def begin(self, surface: str, now: float, wish: float) -> float:
        """Leave the surface alone from now on; for how many seconds."""
        failures = self._failures.get(surface, 0)
        pause = max(pause_after(failures), min(wish, LONGEST_WISH))
        self._failures[surface], self._until[surface] = failures + 1, now + pause
        return pause

    def end(self, surface: str) -> None:
        """It took what was sent."""
        self._failures.pop(surface, None)
        self._until.pop(surface, None)


def pause_after(failures: int) -> float:
    """Return the seconds to wait once so many tries have failed before this one."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * (1 << min(failures, 20)))
