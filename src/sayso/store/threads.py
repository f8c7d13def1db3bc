"""What the stores need to get along with threads: waiting for news, and one transaction at a time in each."""

from __future__ import annotations

import threading
import time
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

    def begin(self, transaction: Ending) -> None:
        """This thread is in this transaction until it is over."""
        self._last = ref(transaction)
