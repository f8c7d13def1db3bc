"""The log of a mark, in step with the versions in memory.

- All processes that use the store add to one file, under its lock, after a look at what the others added.
- A file that was deleted is made again, with all that is known. One that was replaced is opened again.
- A process that was forked opens the file again, and takes no guard over.
"""

from __future__ import annotations

import os
from pathlib import Path

from sayso.gate.rows.unsynced import boot_number, record_as_counts_now, unsynced_key
from sayso.gate.rows.versions import Raised, Versions
from sayso.gate.rows.watermark_file import MarkFile, MarkReplaced, Record
from sayso.store.contract import EntryRow

OPENED_AGAIN = 64
"""After how many times of being raised it is opened again, so that one that was deleted is there again."""
LOOKED_AGAIN = 256
"""After how many looks it is seen to that the file looked at is the one that is there."""

_forks = 0  # how many forks lie between the first process and this one


def _count_fork() -> None:
    global _forks  # noqa: PLW0603  a process is a fact about the whole program
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class MarkLog:
    """The log of a mark that is in use."""

    def __init__(self, path: Path, versions: Versions) -> None:
        self._path = path
        self._versions = versions
        self._begin()

    def _begin(self) -> None:
        self._forks = _forks
        self._versions.begin_process()
        self._file: MarkFile | None = None
        self._left = OPENED_AGAIN
        self._looks = LOOKED_AGAIN

    # --- writing ---

    def write(self, entry: EntryRow | None, raised: Raised) -> None:
        """Raise the file to this entry, unless it is further, and add these versions to it."""
        if self._forks != _forks:
            self._begin()
        with self._versions.guard:
            while not self._try_write(self._path, entry, raised):
                self._file = None

    def write_unsynced(self, raised: Raised) -> None:
        """Add these versions for as long as this machine runs, if the system tells one start from another."""
        boot = boot_number()
        if boot and raised:
            self.write(None, {unsynced_key(place): (one[0], boot) for place, one in raised.items()})

    def _try_write(self, path: Path, entry: EntryRow | None, raised: Raised) -> bool:
        """False if the log continues in another file."""
        try:
            self._write_to(self._open_file(path), entry, raised)
        except MarkReplaced:
            return False
        return True

    def _write_to(self, file: MarkFile, entry: EntryRow | None, raised: Raised) -> None:
        file.lock()  # without a context manager, as this is done for every commit
        try:
            self._take(file)
            file.write(entry, [(place, *one) for place, one in raised.items()])
            if entry is not None and file.long_for(self._versions.count):  # an entry says what time it is
                self._shorten(file, entry.at)
        finally:
            file.unlock()

    def _open_file(self, path: Path) -> MarkFile:
        """Return the file, reopened now and then. A deleted file is made again, with all we know."""
        self._left -= 1
        if self._file is not None and self._left >= 0:
            return self._file
        file = MarkFile(path, make=True)
        self._left = OPENED_AGAIN
        if self._file is not None and self._file.same_as(file):
            return self._file
        self._file = file
        with file.hold_lock():
            found = self._take(file)
            file.write(None, self._versions.records_beyond(found))
        return file

    def _shorten(self, file: MarkFile, now: float) -> None:
        """Write the log again with what is alive. Sessions that ended long ago are too old to come back."""
        self._versions.forget(now)
        file.replace(self._versions.records())
        self._file = None

    # --- reading ---

    def catch_up(self) -> None:
        """Read what other processes have added."""
        if self._forks != _forks:
            self._begin()
        with self._versions.guard:
            if self._file is None and not self._path.exists():
                return
            self._looks -= 1
            if self._looks < 0:
                self._looks = LOOKED_AGAIN
                if self._file is not None and not self._file.is_at(self._path):
                    self._file = None
            while not self._try_read(self._path):
                self._file = None

    def _try_read(self, path: Path) -> bool:
        """False if the log continues in another file."""
        if self._file is None:
            self._file = MarkFile(path, make=False)
        try:
            self._take(self._file)
        except MarkReplaced:
            return False
        return True

    def _take(self, file: MarkFile) -> list[Record]:
        found = file.news()
        if not found:
            return found
        news = [one for one in map(record_as_counts_now, found) if one[1]]
        if news:
            self._versions.learn_records(news)
        return news
