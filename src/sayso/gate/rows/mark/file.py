"""The file of a mark: a head with the newest entry, and behind it a log of versions that is only added to.

- It is written under a lock and read without one. The lock is waited for in short naps, and not for ever:
  whoever holds it may have been stopped, and goes on holding it.
- Without the lock a process changes letters of what it has added itself, and nothing else (`settle`).
- A log that has grown long is written again, into a new file that takes the place of the old one; the last
  record of the old one says so to whoever still has it open.
- A process that was forked closes what it inherited. It shares the locks of its parent, and would keep them
  for as long as it lives.
"""

from __future__ import annotations

import errno
import fcntl
import os
import random
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from weakref import WeakSet

from sayso.core.errors import SaysoError
from sayso.store.contract import EntryRow

Record = tuple[bytes, int, int]
"""A name, its version, and after which time it may be forgotten (0: never)."""

_WIDTH = 16
_HEAD = _WIDTH + 1 + 64
_LACK = _HEAD + 1
"""Where the file says that something is missing in it: places that are there, so that this needs no room.

First a sign that something is, then one that nobody can take that back, and then who can.
"""
_LACK_LASTS, _LACKS = _LACK + 1, _LACK + 2
NAME_BYTES = 8
"""So long is the name of who notes that something is missing."""
_LOG = 96
_RECORD = struct.Struct(">16sQQ")
_GONE_ON = (b"\xff" * 16, 0, 0)
_GOES_ON = (bytes(16), 1, 0)
"""Somebody is about to write the log again. Of no name, so that it is nothing else to whoever reads it."""
_SMALL = 0x20
"""What a small letter has and its capital has not."""
_AT_ONCE = 1 << 14
SPARE = 20_000
"""How many records more than needed a log may hold before it is written again."""
PATIENCE = 5.0
"""How many seconds to wait for the lock: as long as a store waits for others that write."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.00005, 0.002
_LOCK_NOW = fcntl.LOCK_EX | fcntl.LOCK_NB


class Added(NamedTuple):
    """Records that were added to a file, and where they are in it."""

    file: MarkFile
    place: int
    content: bytes


class MarkReplaced(Exception):
    """Another process has rewritten the log: open the file again."""


class MarkLocked(OSError):
    """Another process holds the lock for too long: it may have been stopped."""

    def __init__(self) -> None:
        super().__init__(errno.EAGAIN, "another process keeps it locked, and may have been stopped")


_files: WeakSet[MarkFile] = WeakSet()


def _close_in_child() -> None:
    for file in list(_files):
        with suppress(OSError):
            file.close()


os.register_at_fork(after_in_child=_close_in_child)


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
        self.goes_on = False
        """Whether somebody has begun to write the log again, and may have read what was not settled yet."""
        _files.add(self)

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            self.close()

    def close(self) -> None:
        """Close it without unlocking: a process that was forked must not undo the lock of its parent."""
        number, self.number = self.number, -1
        os.close(number)

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        try:
            self.lock()
            yield
            self.unlock()
        except BaseException:
            self.unlock()
            raise

    def lock(self) -> None:
        """Lock it, or raise MarkLocked. Unlock it whatever happens: who is interrupted here may have it."""
        try:
            fcntl.flock(self.number, _LOCK_NOW)
        except BlockingIOError:
            self._wait_for_lock()

    def _wait_for_lock(self) -> None:
        end, pause = time.monotonic() + PATIENCE, _FIRST_PAUSE
        while not self.lock_at_once():
            if time.monotonic() >= end:
                raise MarkLocked
            time.sleep(pause * (0.5 + random.random()))  # noqa: S311  so that two do not nap in step
            pause = min(2 * pause, _LONGEST_PAUSE)

    def lock_at_once(self) -> bool:
        """Lock it if nobody holds it; return whether it is locked."""
        try:
            fcntl.flock(self.number, _LOCK_NOW)
        except BlockingIOError:
            return False
        return True

    def unlock(self) -> None:
        """Also if it is not locked, or was closed in a process that was forked."""
        if self.number >= 0:
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
            self.goes_on = self.goes_on or _GOES_ON in records
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
            known = b"" if follow else os.pread(self.number, _HEAD, 0)
            # Numbers of one width sort as text. A head that is damaged is refused.
            plain = len(known) == _HEAD and known[:_WIDTH].isdigit()
            if follow or (known[:_WIDTH] < head[:_WIDTH] if plain else self.newest() is None):
                self._write(head, 0)
        if records:
            self.add(records)

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
        if self.lacks and not new.lacks:  # somebody who did not get the lock said so just now
            new.note_lasting_lack()
        self.add([_GONE_ON])  # after it: whoever reads this finds the new one

    def read_again(self) -> None:
        """Let the next look begin with the first record, to write the log again. Only under the lock.

        What is settled from now on may have been read before: who settles it finds the sign of this.
        """
        self.add([_GOES_ON])
        self._end = _LOG

    def add_unsynced(self, records: Sequence[Record]) -> Added:
        """Add records that do not count for good yet. Only under the lock, after a look."""
        place = self._end
        content = b"".join([_RECORD.pack(*one) for one in records])
        self._write(content, place)
        self._end += len(content)
        return Added(self, place, content)

    def settle(self, added: Added) -> None:
        """Let what was added count for good. Needs no lock: nobody else changes it."""
        content = bytearray(added.content)
        for first in range(0, len(content), _RECORD.size):
            content[first] |= _SMALL
        self._write(content, added.place)

    def add(self, records: Sequence[Record]) -> None:
        """Only under the lock, after a look."""
        content = (
            _RECORD.pack(*records[0])
            if len(records) == 1
            else b"".join([_RECORD.pack(*one) for one in records])
        )
        self._write(content, self._end)
        self._end += len(content)

    def _write(self, content: bytes | bytearray, place: int) -> None:
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
        return b"!" in os.pread(self.number, _LACKS - _LACK, _LACK)

    def note_lack(self, who: bytes) -> None:
        """Note that something is missing, which this one knows. Only under the lock."""
        if not self.lacks:
            os.pwrite(self.number, who, _LACKS)
            os.pwrite(self.number, b"!", _LACK)
        elif not self._lacks_only_for(who):
            self.note_lasting_lack()

    def note_lasting_lack(self) -> None:
        """Note that something is missing until a new epoch begins. Needs no lock."""
        os.pwrite(self.number, b"!!", _LACK)

    def take_lack_back(self, who: bytes) -> None:
        """What was missing is there, unless others have noted something, too. Only under the lock."""
        if self._lacks_only_for(who):
            os.pwrite(self.number, b"\0", _LACK)

    def clear_lacks(self) -> None:
        """Whatever is missing counts for nothing."""
        if self.lacks:
            os.pwrite(self.number, bytes(_LACKS - _LACK + NAME_BYTES), _LACK)

    def _lacks_only_for(self, who: bytes) -> bool:
        return os.pread(self.number, _LACKS - _LACK + NAME_BYTES, _LACK) == b"!\0" + who
