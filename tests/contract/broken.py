"""Stores broken on purpose, one fault each. The contract suite must catch every one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sayso.store.contract import (
    Reader,
    Store,
)
from sayso.store.memory.store import MemoryStore, MemoryWriter
from sayso.store.sqlite.store import SqliteStore
from tests.contract.broken_calls import CALLS
from tests.contract.broken_entries import ENTRIES
from tests.contract.broken_questions import QUESTIONS
from tests.contract.broken_transactions import FILES, MEMORIES, forgets_on_closing, reads_what_it_read_before
from tests.support.places import Open

Place = Callable[[Path], Open]
"""Gives what opens a new store, in this empty folder if it needs one."""


def in_memory(fault: type[MemoryWriter]) -> Place:
    """A store in memory whose transactions have this fault, those that only read as well."""

    class Broken(MemoryStore):
        writer = fault

        @contextmanager
        def read(self) -> Iterator[Reader]:
            with super().read() as whole:
                yield fault(self._tables, self._changes, whole.now, durable=True)

    return lambda folder: _always(Broken())


def _always(store: Store) -> Open:
    return lambda: store


def of_kind(kind: type[MemoryStore]) -> Place:
    return lambda folder: _always(kind())


def in_a_file(kind: type[SqliteStore]) -> Place:
    return lambda folder: lambda: kind(folder / "store.db")


BROKEN: dict[str, tuple[Place, str]] = {
    **{kind.__name__: (in_memory(kind), check) for kind, check in (QUESTIONS | ENTRIES | CALLS).items()},
    **{kind.__name__: (of_kind(kind), check) for kind, check in MEMORIES.items()},
    **{kind.__name__: (in_a_file(kind), check) for kind, check in FILES.items()},
    "forgets_on_closing": (forgets_on_closing, "everything_is_there_after_closing_and_opening_again"),
    "reads_what_it_read_before": (
        reads_what_it_read_before,
        "the_next_transaction_sees_what_was_committed_whoever_did_it",
    ),
}
"""Every broken store, and the check that must catch it."""
