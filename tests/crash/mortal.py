"""A store that is struck at a chosen boundary of a write: its own process is killed, or what a test likes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

from sayso.store.contract import Batch, Reader, Store, StoreFault, Writer

WRITES = frozenset({
    "set_meta", "put_session", "change_session", "add_grant", "add_spend",
    "put_review", "add_question", "close_question", "put_call", "move_call", "drop_results", "add_entry",
    "add_nodes", "add_checkpoint", "add_secret", "erase_secret", "prune_entries",
})  # fmt: skip

Passed = Callable[[str, int], None]
Committed = Callable[[], None]
Blow = Callable[[], None]


def kill() -> None:
    """End this process at once, without a word to anybody."""
    os.kill(os.getpid(), signal.SIGKILL)


class Fate:
    """Counts the boundaries that are passed and strikes at one of them; at none if it is 0."""

    def __init__(self, at: int, passed: Passed | None = None, blow: Blow = kill) -> None:
        self._at = at
        self._passed = passed
        self._blow = blow
        self._count = 0
        self.step = ""
        self.commits = 0

    def strike_after(self, boundaries: int) -> None:
        """Strike when so many more have been passed."""
        self._at = self._count + boundaries

    def point(self, name: str) -> None:
        self._count += 1
        if self._passed is not None:
            self._passed(f"{self.step}: {name}", self.commits)
        if self._count == self._at:
            self._blow()

    @property
    def struck(self) -> bool:
        return 0 < self._at <= self._count


class MortalStore:
    """Passes everything on to a store. Boundaries: before and after each write, before and after a commit."""

    def __init__(self, store: Store, fate: Fate, committed: Committed | None = None) -> None:
        self._store = store
        self._fate = fate
        self._committed = committed

    def read(self) -> AbstractContextManager[Reader]:
        return self._store.read()

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        with self._store.write(durable=durable) as tx:
            yield cast(Writer, _MortalWriter(tx, self._fate))
            self._fate.point("before the commit")
        self._fate.commits += 1
        if self._committed is not None:
            self._committed()
        self._fate.point("after the commit")

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        with self._store.batch() as whole:
            yield cast(Batch, _MortalBatch(whole, self._fate))
            self._fate.point("before the commit of a batch")
        self._fate.commits += 1
        if self._committed is not None:
            self._committed()
        self._fate.point("after the commit of a batch")

    @property
    def local(self) -> bool:
        return self._store.local

    def wait_for_change(self, seen: int, timeout: float) -> int:
        return self._store.wait_for_change(seen, timeout)

    @property
    def bound(self) -> float:
        return self._store.bound

    @property
    def fault(self) -> StoreFault | None:
        return self._store.fault

    def close(self) -> None:
        self._store.close()


def _set_beneath(wrapper: object, beneath: str, name: str, value: object) -> None:
    """What is set on a wrapper is set on what it wraps, except its own: the store looks for it there."""
    if name.startswith("_"):
        object.__setattr__(wrapper, name, value)
    else:
        setattr(getattr(wrapper, beneath), name, value)


class _MortalBatch:
    def __init__(self, batch: Batch, fate: Fate) -> None:
        self._batch = batch
        self._fate = fate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __setattr__(self, name: str, value: object) -> None:
        _set_beneath(self, "_batch", name, value)

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        with self._batch.write(durable=durable) as tx:
            yield cast(Writer, _MortalWriter(tx, self._fate))
            self._fate.point("before the end of a part")


class _MortalWriter:
    def __init__(self, tx: Writer, fate: Fate) -> None:
        self._tx = tx
        self._fate = fate

    def __setattr__(self, name: str, value: object) -> None:
        _set_beneath(self, "_tx", name, value)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._tx, name)
        return self._guarded(name, found) if name in WRITES else found

    def _guarded(self, name: str, write: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **options: Any) -> Any:
            self._fate.point(f"before {name}")
            given = write(*args, **options)
            self._fate.point(f"after {name}")
            return given

        return guarded
