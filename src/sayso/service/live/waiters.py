"""Who waits for an answer through this service: known by a connection that holds, and told when it ends.

An agent may wait in short requests, one after the other. A moment between two of them does not end the wait.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

MOST_KNOWN = 10_000
BETWEEN = 3.0
"""Seconds within which whoever has waited is expected to ask again."""
A_MOMENT = 0.01


class Waits(msgspec.Struct, frozen=True):
    """What is known of the waiting for one question: whether somebody does, and since when nobody does."""

    now: bool
    left_at: float | None = None


class Waiters:
    """Counts who waits for each question. `tell` is called with its id whenever somebody begins or ends."""

    def __init__(self, tell: Callable[[str], None], clock: Callable[[], float] = time.time) -> None:
        self._tell, self._clock = tell, clock
        self._lock = threading.Lock()
        self._count: dict[str, int] = {}
        self._left: dict[str, float] = {}

    @contextmanager
    def waiting(self, question: str) -> Iterator[None]:
        """Somebody waits for this question, in the loop that runs here."""
        with self._lock:
            again = question in self._count or question in self._left
            self._count[question] = self._count.get(question, 0) + 1
            self._left.pop(question, None)
        if not again:
            self._tell(question)
        try:
            yield
        finally:
            self._leave(question)

    def find_waits(self, question: str) -> Waits | None:
        """Return what is known; None if nobody has ever waited for it here."""
        with self._lock:
            if question in self._count:
                return Waits(now=True)
            left = self._left.get(question)
        if left is None:
            return None
        return Waits(now=self._clock() - left < BETWEEN, left_at=left)

    def _leave(self, question: str) -> None:
        with self._lock:
            self._count[question] -= 1
            if self._count[question]:
                return
            del self._count[question]
            if len(self._left) >= MOST_KNOWN:
                del self._left[next(iter(self._left))]
            self._left[question] = left = self._clock()
        asyncio.get_running_loop().call_later(BETWEEN, self._settle, question, left)

    def _settle(self, question: str, left: float) -> None:
        """Tell that nobody waits any more, unless somebody came back. A loop may be early by this clock."""
        with self._lock:
            if self._left.get(question) != left:
                return
        early = BETWEEN - (self._clock() - left)
        if early > 0:
            asyncio.get_running_loop().call_later(early + A_MOMENT, self._settle, question, left)
        else:
            self._tell(question)
