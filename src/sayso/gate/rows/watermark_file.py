"""The file of a mark: a head with the newest entry, and behind it a log of versions that is only added to.

It is written under a lock and read without one. A log that has grown long is written again, into a new file
that takes the place of the old one; the last record of the old one says so to whoever still has it open.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sayso.core.errors import SaysoError
from sayso.store.contract import EntryRow

Record = tuple[bytes, int, int]
"""A name, its version, and after which time it may be forgotten (0: never)."""

_WIDTH = 16
_HEAD = _WIDTH + 1 + 64
_LACK = _HEAD + 1
"""Where the file says that something is missing in it: a place that is there, so that this needs no room."""
_LOG = 96
_RECORD = struct.Struct(">16sQQ")
_GONE_ON = (b"\xff" * 16, 0, 0)
_AT_ONCE = 1 << 14
SPARE = 20_000
"""How many records more than needed a log may hold before it is written again."""


class MarkReplaced(Exception):
    """Another process has rewritten the log: open the file again."""


class MarkFile:
    """A mark that is open for as long as anybody has this object.

    It is not asked about with `stat` on the way: where the system keeps exact times for whoever asked, the
    write that follows has to be journaled, and the next sync of any file waits for that.
    """

    def __init__(self, path: Path, *, make: bool) -> None:
        self._path = path
        flags = os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self.number = os.open(path, os.O_RDWR | flags | (os.O_CREAT if make else 0), 0o600)
        except PermissionError:
            if make:
                raise
            self.number = os.open(path, os.O_RDONLY | flags)
        self._end = _LOG

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            os.close(self.number)

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        self.lock()
        try:
            yield
        finally:
            self.unlock()

    def lock(self) -> None:
        fcntl.flock(self.number, fcntl.LOCK_EX)

    def unlock(self) -> None:
        fcntl.flock(self.number, fcntl.LOCK_UN)

    def is_at(self, path: Path) -> bool:
        """Return whether the path names this file. Whoever replaced it may have died before saying so."""
        try:
            return os.path.samestat(os.fstat(self.number), path.stat())
        except FileNotFoundError:
            return True  # it is made again by whoever writes next

    def same_as(self, other: MarkFile) -> bool:
        return os.path.sameopenfile(self.number, other.number)

    def newest(self) -> tuple[int, bytes] | None:
        """The number and hash of the newest entry that was marked."""
        content = os.pread(self.number, _HEAD, 0)
        if not content.strip(b"\0"):
            return None
        try:
            number, _, digest = content.decode("ascii").partition(" ")
            return int(number), bytes.fromhex(digest)
        except ValueError as error:
            raise SaysoError(
                f"{self._path} is damaged", hint="remove it; all grants will count as void"
            ) from error

    @property
    def is_unread(self) -> bool:
        """Return whether none of its records was read."""
        return self._end == _LOG

    def has_news(self) -> bool:
        """Return whether anything was added since the last look."""
        return bool(os.pread(self.number, 1, self._end))

    def news(self) -> list[Record]:
        """The records added since the last look."""
        found: list[Record] = []
        while content := os.pread(self.number, _AT_ONCE, self._end):
            whole = len(content) - len(content) % _RECORD.size
            records = list(_RECORD.iter_unpack(content[:whole]))
            self._end += whole
            if _GONE_ON in records:
                raise MarkReplaced
            found += (one for one in records if any(one[0]))
            if len(content) < _AT_ONCE:
                break
        return found

    def write(self, entry: EntryRow | None, records: Sequence[Record], *, follow: bool = False) -> None:
        """Raise the head, unless it is higher, and add these records. Only under the lock, after a look.

        With `follow` the head is set even if it was higher.
        """
        if entry is not None:
            head = b"%016d %b" % (entry.seq, entry.hash.hex().encode())
            if follow or self._is_behind(head):
                self._write(head, 0)
        if records:
            self.add(records)

    def _is_behind(self, head: bytes) -> bool:
        """Return whether the head names an entry before this one. Numbers of one width sort as text."""
        known = os.pread(self.number, _HEAD, 0)
        if known[:_WIDTH].isdigit() and len(known) == _HEAD:
            return known[:_WIDTH] < head[:_WIDTH]
        return self.newest() is None  # which refuses a head that is damaged

    def long_for(self, alive: int) -> bool:
        """Return whether the log holds much more than what is alive of it."""
        return (self._end - _LOG) // _RECORD.size > 4 * alive + SPARE

    def replace(self, kept: Sequence[Record]) -> None:
        """Write the log again with these records. Only under the lock."""
        beside = self._path.with_suffix(".mark-new")
        with suppress(FileNotFoundError):
            beside.unlink()
        new = MarkFile(beside, make=True)
        new._write(os.pread(self.number, _LOG, 0), 0)
        new.add(kept)
        beside.replace(self._path)
        self.add([_GONE_ON])  # after it: whoever reads this finds the new one

    def add(self, records: Sequence[Record]) -> None:
        """Only under the lock, after a look."""
        content = (
            _RECORD.pack(*records[0])
            if len(records) == 1
            else b"".join([_RECORD.pack(*one) for one in records])
        )
        self._write(content, self._end)
        self._end += len(content)

    def _write(self, content: bytes, place: int) -> None:
        """Write all of it, or raise OSError: a full disk may take a part."""
        written = os.pwrite(self.number, content, place)
        while written < len(content):
            more = os.pwrite(self.number, content[written:], place + written)
            if not more:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written += more

    @property
    def lacks(self) -> bool:
        """Whether something could not be written to it."""
        return os.pread(self.number, 1, _LACK) == b"!"

    def note_lack(self, *, missing: bool = True) -> None:
        os.pwrite(self.number, b"!" if missing else b"\0", _LACK)
