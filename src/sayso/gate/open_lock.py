"""One process at a time opens a store.

The mark of a store is raised after the commit it speaks of. A process that opened the store between the two
would find entries without a mark, take the store for one restored from a backup, and void all grants. So
opening holds a lock file beside the marks, from before the store is named until its mark is written. Machines
that share a database but no marks wait for each other at the head of the audit stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sayso.reading.paths.own_places import guard_keys
from sayso.store.contract import StoreBusy
from sayso.store.sqlite.file import hold_file_lock

PATIENCE = 60.0
"""How many seconds to wait for the processes that open a store before us."""


@contextmanager
def opening(marks: Path | None, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock while a store is opened. Without a folder for marks nobody else knows of them."""
    if marks is None:
        yield
        return
    guard_keys(marks / "opening-lock")
    with hold_file_lock(marks / "opening", wait=patience) as held:
        if not held:
            raise StoreBusy("another process has been opening a store for too long", hint="try again")
        yield
