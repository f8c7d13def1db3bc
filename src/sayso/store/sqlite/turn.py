"""The writer's turn: threads of one process write one after another, in the order they came.

SQLite lets whoever asks at the right moment write, and makes the others sleep ever longer. Among many threads
some would then wait a thousand times as long as others.
"""

from __future__ import annotations

import threading
from collections import deque


class WriterTurn:
    """A lock that is passed on in the order it was asked for."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Lock] = deque()

    @property
    def waiting(self) -> int:
        """Return how many wait for it."""
        return len(self._waiting)

    def take(self, timeout: float) -> bool:
        """Wait for the turn; False if it did not come within `timeout` seconds."""
        with self._guard:
            if not self._taken:
                self._taken = True
                return True
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        try:
            if mine.acquire(timeout=timeout):
                return True
        except BaseException:
            # Ctrl-C, or what a signal of the program raises: the turn must not be passed on to us.
            if not self._stop_waiting(mine):
                self.give()
            raise
        return not self._stop_waiting(mine)

    def _stop_waiting(self, mine: threading.Lock) -> bool:
        """Leave the queue; False if the turn was passed on to us just now."""
        with self._guard:
            if mine not in self._waiting:
                return False
            self._waiting.remove(mine)
            return True

    def give(self) -> None:
        """Pass the turn on to whoever has waited longest."""
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False
