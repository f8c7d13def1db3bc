"""Syncing the write-ahead log: one sync serves everybody who waits for one.

- A durable transaction commits without a sync of its own, gives the writer's turn on, and then waits here. A
  sync covers all commits that were in the log when it began, so those who come meanwhile share the next one.
- Nobody is told that a transaction was kept before a sync has covered it. Others may read it sooner; whatever
  they commit is after it in the log, so the sync that covers theirs covers it as well.
- On Linux the disk is told to begin to write as soon as something is committed. What has to be done before
  the wait is done meanwhile. Only the sync says what is on the disk.
- After a sync that failed nobody knows what is on the disk, and trying again may succeed without writing
  anything. So the first failure is final: every later wait fails, and the store closes.
- A sync that was interrupted (Ctrl-C) did not fail: it covers nothing, and whoever waits syncs again.
- What a signal of the program does in the middle of one does not wait for it: it syncs by itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from sayso.store.contract import StoreError

sync_file = getattr(os, "fdatasync", os.fsync)
BEGIN_TO_WRITE = 2
"""SYNC_FILE_RANGE_WRITE: begin to write what is not on its way yet, and wait for nothing."""


@cache
def find_sync_file_range() -> Callable[[int, int, int, int], object] | None:
    """Return the system's sync_file_range(2); None where there is none."""
    try:
        import ctypes  # not for every command: only once something has to last

        found = ctypes.CDLL(None).sync_file_range
    except (ImportError, OSError, AttributeError, TypeError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return found


class LogSync:
    """The syncs of one write-ahead log, by one process."""

    def __init__(self, log: str) -> None:
        self._log = log
        self._file = -1
        self._begin_writing: Callable[[int, int, int, int], object] | None = None
        self._opened = 0
        self._looked = 0
        """How many connections had been opened when the log was last looked for."""
        self._guard = threading.RLock()  # a signal may come while its thread has it
        self._done = threading.Condition(self._guard)
        self._waiting = 0
        self._committed = 0
        self._synced = 0
        self._under_way = False
        self._thread = 0
        """The thread whose sync is under way."""
        self.fault = ""
        """Why no sync can be relied on any more."""

    def check(self) -> None:
        """Refuse to go on after a sync that failed."""
        if self.fault:
            raise StoreError(
                f"{self._log} cannot be synced to the disk: {self.fault}",
                hint="look for a full or failing disk, then start again; what was not synced allowed nothing",
            )

    def count_commit(self) -> int:
        """Give a commit its number, by whoever has the writer's turn."""
        self._committed += 1
        return self._committed

    def begin_to_write(self) -> None:
        """Let the disk begin with what was just committed. What goes wrong with that, the sync will find."""
        if self._begin_writing is not None and self._file >= 0:
            self._begin_writing(self._file, 0, 0, BEGIN_TO_WRITE)  # from the beginning to the end

    def look_again(self) -> None:
        """A connection that writes was opened: it may have made a new log, if none was open before.

        As long as one is, the log stays the same file. So it is not asked about before every sync: where the
        system keeps exact times for whoever asked, the write after that would have to be journaled.
        """
        self._opened += 1

    def wait(self, number: int) -> None:
        """Return once this commit is on the disk; an error if that cannot be said."""
        mine, me = False, threading.get_ident()
        try:
            with self._guard:
                while self._under_way and self._synced < number and self._thread != me:
                    self._wait_for_other()
                if self._synced >= number:
                    return
                if self.fault:
                    self.check()
                if not self._under_way:
                    self._thread = me
                    self._under_way = mine = True
            covered = self._committed
            self._sync()
            self._synced = max(self._synced, covered)
        except OSError as error:
            if error.errno is not None:  # else it is not of the system: a signal of the program raised it
                self.fault = error.strerror or "an error without a name"  # first: nothing gets in between
                self.check()
            raise
        finally:
            if mine:
                self._under_way = False
                try:
                    self._wake_others()
                except BaseException:  # interrupted, and nobody else would wake them
                    self._wake_others()
                    raise

    def wait_for_all(self) -> None:
        """Return once all that is committed is on the disk, by whoever has the writer's turn."""
        self.wait(self._committed)

    def _wake_others(self) -> None:
        with self._guard:
            if self._waiting:
                self._done.notify_all()

    def _wait_for_other(self) -> None:
        self._waiting += 1
        try:
            self._done.wait()
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Sync what is left, so that whoever still waits is served, and let the log go."""
        with suppress(StoreError):
            self.wait_for_all()
        self._let_go()

    def _let_go(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def _sync(self) -> None:
        """Sync the log that is there now. One that is gone was moved into the file and synced before."""
        opened = self._opened
        if opened != self._looked:
            if self._file >= 0 and not self._is_current():
                self._let_go()
            self._looked = opened
        if self._file < 0:
            self._file = os.open(self._log, os.O_RDWR)
            self._begin_writing = find_sync_file_range()
        sync_file(self._file)

    def _is_current(self) -> bool:
        with suppress(OSError):
            ours, there = os.fstat(self._file), os.stat(self._log)  # noqa: PTH116  for every sync
            return (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)
        return False
