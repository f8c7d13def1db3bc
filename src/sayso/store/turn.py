"""The writer's turn: threads of one process write one after another, in the order they came.

SQLite lets whoever asks at the right moment write, and makes the others sleep ever longer. Among many threads
some would then wait a thousand times as long as others.
"""

from __future__ import annotations

import threading
from collections import deque
from weakref import ref

Claim = threading.Lock
"""What whoever has the turn, or waits for it, keeps. It is locked as long as they wait."""


class WriterTurn:
    """A lock that is passed on in the order it was asked for.

    Who has it is remembered weakly. A claim that is gone was never given back, because its transaction was
    interrupted (Ctrl-C) before it could end: that keeps nobody else from writing.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._holder: ref[Claim] | None = None
        self._waiting: deque[Claim] = deque()

    @property
    def waiting(self) -> int:
        """Return how many wait for it."""
        return len(self._waiting)

    def take(self, timeout: float) -> Claim | None:
        """Wait for the turn; None if it did not come within `timeout` seconds."""
        claim = Claim()
        try:
            with self._guard:
                if self._holder is None or self._holder() is None:
                    self._holder = ref(claim)
                    return claim
                claim.acquire()
                self._waiting.append(claim)
            if claim.acquire(timeout=timeout) or self._stop_waiting(claim):
                return claim
        except BaseException:
            # Ctrl-C, or what a signal of the program raises: the turn must not stay with us.
            self._stop_waiting(claim)
            self.give(claim)
            raise
        return None

    def _stop_waiting(self, claim: Claim) -> bool:
        """Leave the queue; return whether the turn is ours all the same, just passed on or left behind."""
        with self._guard:
            if claim in self._waiting:
                self._waiting.remove(claim)
                if self._holder is None or self._holder() is None:
                    self._holder = ref(claim)
            return self._holder is not None and self._holder() is claim

    def give(self, claim: Claim) -> None:
        """Pass the turn on to whoever has waited longest. Once it was given, this does nothing."""
        with self._guard:
            if self._holder is None or self._holder() is not claim:
                return
            if not self._waiting:
                self._holder = None
                return
            following = self._waiting[0]
            self._holder = ref(following)
            self._waiting.popleft()
            following.release()
