"""A limit on what strangers can make us write down."""

from __future__ import annotations

import threading

from sayso.core.durations import HOUR

MOST_RECORDED = 60


class RefusalLimit:
    """Limits how many refusals are recorded in an hour, and counts those that are not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since = 0.0
        self._recorded = 0
        self._unrecorded = 0

    def take(self, now: float) -> int | None:
        """Return how many went unrecorded since the last; None if this one is not recorded either."""
        with self._lock:
            if not 0 <= now - self._since < HOUR:
                self._since, self._recorded = now, 0
            if self._recorded >= MOST_RECORDED:
                self._unrecorded += 1
                return None
            self._recorded += 1
            missed, self._unrecorded = self._unrecorded, 0
            return missed

    def take_missed(self) -> int:
        """Return how many went unrecorded since the last that was, and count them no more."""
        with self._lock:
            missed, self._unrecorded = self._unrecorded, 0
            return missed
