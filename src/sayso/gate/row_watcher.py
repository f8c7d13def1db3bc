"""Waiting for rows of the store: one watching thread for all who wait, which looks after every change."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from sayso.gate.forks import begin_in_each_process
from sayso.gate.gate import Gate
from sayso.store.contract import Reader

LOOK_AGAIN = 1.0
"""How often it looks without a change: time passes, and a lease or a deadline with it."""

IsOver = Callable[[Reader, str], bool]
"""Whether what this name stands for needs no waiting any more."""


class RowWatcher:
    """Wakes waiting callers when what they wait for is over."""

    def __init__(self, gate: Gate, over: IsOver, name: str) -> None:
        self._gate = gate
        self._over = over
        self._name = name
        self._leaving = False
        begin_in_each_process(self)

    def begin_process(self) -> None:
        """Begin in a new process: nobody waits in it, and it has no thread that watches."""
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Callable[[], None]]] = {}
        self._watching = False

    @property
    def waiting(self) -> int:
        """The number of callers that wait here."""
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def wait(self, name: str, seconds: float) -> None:
        """Until it is over, or the time is."""
        closed = threading.Event()
        with _Registration(self, name, closed.set) as over:
            if not over and not self._leaving:
                closed.wait(seconds)

    async def await_over(self, name: str, seconds: float, left: asyncio.Future[None] | None = None) -> None:
        """The same for a coroutine. It also ends when `left` is done: whoever waits is gone."""
        loop = asyncio.get_running_loop()
        closed: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop was closed: nobody waits there any more
                loop.call_soon_threadsafe(_finish, closed)

        registration = _Registration(self, name, wake)
        try:
            over = await asyncio.to_thread(registration.__enter__)
            if not over and not self._leaving:
                first = (closed,) if left is None else (closed, left)
                await asyncio.wait(first, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            registration.__exit__()

    def let_go(self) -> None:
        """Wake every waiting caller with the present state."""
        with self._lock:
            self._leaving = True
            names = list(self._waiting)
        self._wake(names)

    def register(self, name: str, wake: Callable[[], None]) -> bool:
        """Wake me once it is over. Whether it is already: read after this was registered."""
        with self._lock:
            self._waiting.setdefault(name, []).append(wake)
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._watch, name=self._name, daemon=True).start()
        with self._gate.store.read() as tx:
            return self._over(tx, name)

    def forget(self, name: str, wake: Callable[[], None]) -> None:
        with self._lock:
            waiting = self._waiting.get(name, [])
            if wake in waiting:
                waiting.remove(wake)
            if not waiting:
                self._waiting.pop(name, None)

    def _watch(self) -> None:
        """Look after every change of the store, until nobody waits."""
        mark = 0
        while True:
            with self._lock:
                names = list(self._waiting)
                if not names:
                    self._watching = False
                    return
            over: Collection[str]
            try:
                with self._gate.store.read() as tx:
                    over = [name for name in names if self._over(tx, name)]
                mark = self._gate.store.wait_for_change(mark, LOOK_AGAIN) if not over else mark
            except Exception:  # noqa: BLE001  who waits reads for himself, and is told
                over = names
            self._wake(list(over))

    def _wake(self, names: Sequence[str]) -> None:
        with self._lock:
            wakes = [wake for name in names for wake in self._waiting.pop(name, [])]
        for wake in wakes:
            wake()


def _finish(closed: asyncio.Future[None]) -> None:
    if not closed.done():
        closed.set_result(None)


class _Registration:
    """Somebody waits, until this is left; entered, it says whether there is anything to wait for."""

    def __init__(self, watch: RowWatcher, name: str, wake: Callable[[], None]) -> None:
        self._watch, self._name, self._wake = watch, name, wake

    def __enter__(self) -> bool:
        try:
            return self._watch.register(self._name, self._wake)
        except BaseException:
            self._watch.forget(self._name, self._wake)
            raise

    def __exit__(self, *error: object) -> None:
        self._watch.forget(self._name, self._wake)
