"""One process at a time opens a store.

The mark of a store is raised after the commit it speaks of. A process that opened the store between the two
would find entries without a mark, take the store for one restored from a backup, and void all grants. So
opening holds a lock file beside the marks, from before the store is named until its mark stands. Machines that
share a database but no marks wait for each other at the head of the audit stream.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sayso.policy.own_places import guard_keys
from sayso.store.base import StoreBusy, StoreError

LOCK_NAME = "opening.lock"
PATIENCE = 60.0
"""How many seconds to wait for the processes that open a store before us."""
LOOK_AGAIN = 0.01


@contextmanager
def opening(marks: Path | None, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock while a store is opened. Without a folder for marks nobody else knows of them."""
    if marks is None:
        yield
        return
    lock = _open_lock(marks / LOCK_NAME)
    try:
        _take(lock, patience)
        yield
    finally:
        os.close(lock)


def _open_lock(path: Path) -> int:
    guard_keys(path)
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}", hint="the folder of key and marks must be yours"
        ) from error


def _take(lock: int, patience: float) -> None:
    until = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise StoreBusy(
                    "another process has been opening a store for too long", hint="try again, or end it"
                ) from None
            time.sleep(LOOK_AGAIN)
        else:
            return
