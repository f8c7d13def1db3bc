"""How far each store had come, kept beside the key: so that a store put back from a copy shows.

The mark is raised after every commit that wrote an entry. A store that does not reach its mark, or has
another entry there, was restored or rewritten: a new epoch begins, and no grant of the old one counts.
"""

from __future__ import annotations

import fcntl
import os
import re
import threading
from contextlib import suppress
from pathlib import Path

from sayso.core.errors import SaysoError
from sayso.gate.moves import PLACE
from sayso.policy.own_places import guard_keys
from sayso.store.base import EntryRow, Reader, StoreError

OPENED_AGAIN = 64
"""After how many times of being raised it is opened again, so that one that was taken away is there again."""
_WIDTH = 16
_SIZE = _WIDTH + 1 + 64
_PLAIN = re.compile(r"[\w-]+")


def mark_of(tx: Reader, folder: Path, name: str) -> Mark:
    """The mark of the store of this name. A copy has another one than the store it was made of."""
    return named_mark(folder, name, tx.meta(PLACE))


def named_mark(folder: Path, name: str, place: str | None) -> Mark:
    file = f"{name}-{place}" if place else name
    if not _PLAIN.fullmatch(file):
        raise StoreError("the name of the store was changed by hand", hint="put back a copy that is whole")
    path = folder / f"{file}.mark"
    guard_keys(path)
    return Mark(path)


class Mark:
    """The mark of one store, in a file of its own: the number and hash of the newest entry known."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._own = threading.local()

    @property
    def exists(self) -> bool:
        return self._path.exists()

    def reach(self, entry: EntryRow) -> None:
        """Raise the mark to this entry, unless another process has raised it further."""
        try:
            self._reach(entry)
        except OSError as error:
            raise StoreError(
                f"the mark {self._path} cannot be written: {error.strerror}",
                hint="what was recorded stands; without its mark the next start will void all grants",
            ) from error

    def _reach(self, entry: EntryRow) -> None:
        file = self._opened().number
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            known = _read(file, self._path)
            if known is None or known[0] < entry.seq:
                os.pwrite(file, f"{entry.seq:0{_WIDTH}d} {entry.hash.hex()}".encode(), 0)
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    def _opened(self) -> _File:
        """The file, opened once by each thread of each process: a lock keeps apart who opened it apart."""
        file: _File | None = getattr(self._own, "file", None)
        if file is None or not file.usable():
            file = self._own.file = _File(self._path)
        return file

    def holds(self, tx: Reader, stream: str) -> bool:
        """Whether the store still has the entry the mark was last raised to."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            return tx.head(stream) is None
        try:
            known = _read(descriptor, self._path)
        finally:
            os.close(descriptor)
        if known is None:
            return tx.head(stream) is None
        found = tx.entries(stream, after=known[0] - 1, limit=1)
        return bool(found) and found[0].seq == known[0] and found[0].hash == known[1]


class _File:
    """A file that is open for as long as anybody has this object.

    It is never asked about with `stat`: where the system keeps exact times for whoever asked, the write that
    follows has to be journaled, and the next sync of any file waits for that.
    """

    def __init__(self, path: Path) -> None:
        self.number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        self._process = os.getpid()
        self._left = OPENED_AGAIN

    def usable(self) -> bool:
        """Whether it was opened by this process, not the one it was forked from, and not long ago."""
        self._left -= 1
        return self._left >= 0 and self._process == os.getpid()

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            os.close(self.number)


def _read(descriptor: int, path: Path) -> tuple[int, bytes] | None:
    content = os.pread(descriptor, _SIZE + 1, 0)
    if not content:
        return None
    try:
        number, _, digest = content.decode("ascii").partition(" ")
        return int(number), bytes.fromhex(digest)
    except ValueError as error:
        raise SaysoError(f"{path} is damaged", hint="remove it; all grants will count as void") from error
