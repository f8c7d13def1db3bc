"""Places where a store can be opened again and again, and is the same store each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sayso.store.contract import Store
from sayso.store.memory.store import MemoryStore
from sayso.store.sqlite.store import SqliteStore

Open = Callable[[], Store]
"""Opens the same place each time: what one has committed, the next one finds."""


@contextmanager
def kept(open_store: Callable[[], Store]) -> Iterator[Open]:
    """Close in the end whatever was opened."""
    opened: list[Store] = []

    def make() -> Store:
        store = open_store()
        opened.append(store)
        return store

    try:
        yield make
    finally:
        for store in opened:
            store.close()


@contextmanager
def memory() -> Iterator[Open]:
    """To open a store in memory again is to have the same object."""
    store = MemoryStore()
    with kept(lambda: store) as make:
        yield make


@contextmanager
def sqlite(folder: Path) -> Iterator[Open]:
    with kept(lambda: SqliteStore(folder / "store.db")) as make:
        yield make
