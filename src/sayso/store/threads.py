"""What the stores need to get along with threads.

That is waiting for news, one transaction at a time in each thread, and one that writes in all of them.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Protocol
from weakref import ref

from sayso.store.contract import StoreError


class Pulse:
    """A mark that grows with every change. It starts at 1: who has seen nothing yet (0) is told at once."""

    def __init__(self) -> None:
        self._mark = 1
        self._waiting = 0
        self._guard = threading.Lock()
        self._grown = threading.Condition(self._guard)

    def beat(self) -> None:
        """Something changed: wake everybody who waits."""
        with self._guard:
            self._mark += 1
            if self._waiting:
                self._grown.notify_all()

    def wait(self, seen: int, timeout: float) -> int:
        """The mark, as soon as it is not `seen` any more, or after `timeout` seconds."""
        end = time.monotonic() + timeout
        with self._grown:
            self._waiting += 1
            try:
                while self._mark == seen and (left := end - time.monotonic()) > 0:
                    self._grown.wait(left)
            finally:
                self._waiting -= 1
            return self._mark


class ChangeProbe(Protocol):
    """A way to see what other processes did."""

    def __call__(self, over: threading.Event) -> bool:
        """Wait a little, and no longer than until `over`; then, whether anything may have changed.

        Raises nothing.
        """

    def close(self) -> None: ...


class ChangeWatcher:
    """One thread for a whole process that looks for changes of others, and beats the pulse for them."""

    def __init__(self, pulse: Pulse, look: ChangeProbe) -> None:
        self._pulse = pulse
        self._look = look
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sayso-store-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        self._look.close()

    def _run(self) -> None:
        while not self._over.is_set():
            if self._look(self._over):
                self._pulse.beat()


class Ending(Protocol):
    """A transaction, or a part of one, that says itself when it is over."""

    over: bool


class Single(threading.local):
    """The transaction this thread is in. One inside another would wait for itself, so it is refused.

    It is remembered weakly: the thread has left one that is gone, because Ctrl-C came before it could end.
    """

    _last: ref[Ending] | None = None

    def check(self) -> None:
        """Refuse a transaction inside another one."""
        last = self._last
        if last is not None and (inside := last()) is not None and not inside.over:
            raise StoreError(
                "a transaction was begun inside another one of the same thread",
                hint="read and write through the one that is open",
            )

    @property
    def is_inside(self) -> bool:
        last = self._last
        return last is not None and (inside := last()) is not None and not inside.over

    def begin(self, transaction: Ending) -> None:
        """This thread is in this transaction until it is over."""
        self._last = ref(transaction)


Claim = threading.Lock
"""What whoever has the turn, or waits for it, keeps. It is locked as long as they wait."""


class WriterTurn:
    """A lock that is passed on in the order it was asked for: threads write one after another.

    SQLite lets whoever asks at the right moment write, and makes the others sleep ever longer. Among many
    threads some would then wait a thousand times as long as others.

    Who has it is remembered weakly. A claim that is gone was never given back, because its transaction was
    interrupted (Ctrl-C) before it could end: that keeps nobody else from writing.
    """

    def __init__(self) -> None:
        self._guard = threading.RLock()  # a signal may come while its thread has it
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
