"""The file of a SQLite store: where it may lie, who may read it, whose it is, and what its errors mean."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sayso.store.contract import StoreBusy, StoreError, StoreUnwritable
from sayso.store.sql import migrate

APPLICATION = 0x53617973
"""Stands in the head of the file, and spells "Says"."""
OLDEST = (3, 40, 0)

MOUNTS = Path("/proc/mounts")
_REMOTE = re.compile(r"nfs\d*|cifs|smb\w*|9p|afs|ceph|lustre|glusterfs|ncpfs|fuse(\..+)?")
_WAIT = 0.01
_AS_EFFECTIVE_USER = os.access in os.supports_effective_ids
_making = threading.Lock()


def make_store_file(path: Path) -> None:
    """Make the file and its folder, for the owner alone, if they do not exist. Refuse a network drive."""
    try:
        drive = network_drive(path)
        if drive is not None:
            raise StoreError(
                f"{path} lies on a network drive ({drive}), where several processes would damage it",
                hint="keep the store on a local disk, or use PostgreSQL",
            )
        with _making:
            _make_file(path)
    except OSError as error:
        raise _not_writable(path, error) from error


def _make_file(path: Path) -> None:
    """A file that exists is only asked about, never opened here.

    To close a file gives up all locks that this process has on it, those of SQLite among them.
    """
    for folder in reversed(path.parents):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not path.exists():
        with suppress(FileExistsError):  # another process was quicker
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    check_writable(path)


def check_writable(path: Path) -> None:
    """Refuse a file that the system would not let us write, or whose folder it would not."""
    for place in (path, path.parent):
        if not os.access(place, os.R_OK | os.W_OK, effective_ids=_AS_EFFECTIVE_USER):
            raise _not_writable(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def _not_writable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{path} cannot be opened for writing: {error.strerror}",
        hint="make the file and its folder writable for the user Sayso runs as, or name another file",
    )


def network_drive(path: Path) -> str | None:
    """The type of the network drive this path lies on, where the system tells (Linux does)."""
    try:
        mounts = MOUNTS.read_text("utf-8", "surrogateescape")
    except OSError:
        return None
    home, kind = Path(), ""
    real = path.resolve()
    for line in mounts.splitlines():
        where, what = line.split(" ")[1:3]
        mount = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), where))
        # Of two mounts on one place the later one is seen, so an equal one replaces.
        if real.is_relative_to(mount) and len(mount.parts) >= len(home.parts):
            home, kind = mount, what
    return kind if _REMOTE.fullmatch(kind) else None


def file_identity(path: Path | str) -> tuple[int, int]:
    """Which file this is, whatever it is called."""
    try:
        found = os.stat(path)  # noqa: PTH116  called for every transaction, where a Path costs as much again
    except OSError as error:
        raise StoreError(f"{path} is gone: {error.strerror}", hint="put it back and start again") from error
    return (found.st_dev, found.st_ino)


def connect_to_file(path: Path, *, busy: float, full: bool) -> sqlite3.Connection:
    """A connection that never checkpoints by itself, and leaves nothing of what it deletes in the file."""
    try:
        connection = sqlite3.connect(
            path, timeout=busy, isolation_level=None, check_same_thread=False, cached_statements=100
        )
    except sqlite3.Error as error:
        raise explain_sqlite_error(error, path) from error
    try:
        connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
    except sqlite3.Error as error:
        connection.close()
        raise explain_sqlite_error(error, path) from error
    return connection


def set_up_file(path: Path, *, busy: float, upgrade: bool) -> None:
    """See that the file is ours and its schema the right one; if it is new or old, mend it under the lock."""
    if sqlite3.sqlite_version_info < OLDEST:
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} is too old", hint="use a Python with SQLite 3.40 or newer"
        )
    with closing(connect_to_file(path, busy=busy, full=True)) as connection:
        run = _StatementRunner(connection, path)
        if _is_ready(run, path, upgrade=upgrade):
            return
        with hold_file_lock(path, wait=busy) as held:
            if not held:
                raise StoreBusy(f"{path} is being set up by another process", hint="try again")
            if run.rows("PRAGMA journal_mode = WAL", ()) != [("wal",)]:
                raise StoreError(f"{path}: the write-ahead log does not work here", hint="use a local disk")
            run.change("BEGIN IMMEDIATE", ())
            migrate.apply_migrations(run, str(path))
            run.change(f"PRAGMA application_id = {APPLICATION}", ())
            run.change("COMMIT", ())


def file_schema_version(path: Path, *, busy: float = 5.0) -> int:
    """The number of the schema of this file; 0 if it is empty. Refuses files of others."""
    with closing(connect_to_file(path, busy=busy, full=True)) as connection:
        return _read_version(_StatementRunner(connection, path), path)


def _is_ready(run: _StatementRunner, path: Path, *, upgrade: bool) -> bool:
    """Return whether there is nothing to do. Refuses files of others, and schemas it may not touch."""
    version = _read_version(run, path)
    if not upgrade or version >= migrate.LATEST:
        migrate.check_schema_version(version, str(path), str(path))
    return version == migrate.LATEST


def _read_version(run: _StatementRunner, path: Path) -> int:
    empty = run.rows("SELECT COUNT(*) FROM sqlite_schema", ()) == [(0,)]
    # In this order: whoever is setting it up right now gives it tables and our mark in one transaction.
    ours = run.rows("PRAGMA application_id", ()) == [(APPLICATION,)]
    if not ours and not empty:
        raise StoreError(f"{path} belongs to another program", hint="name another file for the store")
    return 0 if empty else migrate.read_schema_version(run)


class _StatementRunner:
    """Statements outside the transactions of a store."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def rows(self, statement: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(statement, parameters).fetchall()
        except sqlite3.Error as error:
            raise explain_sqlite_error(error, self._path) from error

    def change(self, statement: str, parameters: Sequence[object]) -> int:
        self.rows(statement, parameters)
        return 0


@contextmanager
def hold_file_lock(path: Path, *, wait: float) -> Iterator[bool]:
    """Hold the lock beside this file: True once we have it, False if others kept it for `wait` seconds."""
    try:
        lock = os.open(f"{path}-lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _not_writable(path, error) from error
    try:
        end = time.monotonic() + wait
        held = _try_lock(lock)
        while not held and time.monotonic() < end:
            time.sleep(_WAIT)
            held = _try_lock(lock)
        yield held
    finally:
        os.close(lock)  # which gives the lock back


if sys.platform == "win32":
    import msvcrt

    def _try_lock(lock: int) -> bool:
        try:
            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(lock: int) -> bool:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def explain_sqlite_error(error: Exception, path: Path) -> StoreError:
    """Return what a person needs to know of an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(error, sqlite3.IntegrityError):
        return StoreError(f"the row does not fit what is stored: {error}")
    if not isinstance(code, int):
        return StoreError(f"{path}: {error}")
    told = _EXPLANATIONS.get(code & 0xFF)
    if told is None:
        return StoreError(f"{path}: {error}")
    kind, message, hint = told
    return kind(message.format(path=path), hint=hint)


_EXPLANATIONS: dict[int, tuple[type[StoreError], str, str]] = {
    sqlite3.SQLITE_BUSY: (
        StoreBusy,
        "{path} is locked by another process",
        "try again; if it stays locked, find the program that has it open",
    ),
    sqlite3.SQLITE_LOCKED: (StoreBusy, "{path} is locked by another connection", "try again"),
    sqlite3.SQLITE_FULL: (
        StoreUnwritable,
        "{path} cannot grow: the disk is full",
        "free some space; nothing of this step was kept, and nothing was allowed",
    ),
    sqlite3.SQLITE_NOTADB: (
        StoreUnwritable,
        "{path} is not a SQLite file",
        "name another file for the store, or move this one away",
    ),
    sqlite3.SQLITE_CORRUPT: (
        StoreUnwritable,
        "{path} is damaged",
        "restore an intact backup; `sayso audit verify` tells what it holds",
    ),
    sqlite3.SQLITE_READONLY: (
        StoreUnwritable,
        "{path} cannot be written",
        "make the file and its folder writable for the user Sayso runs as",
    ),
    sqlite3.SQLITE_PERM: (
        StoreUnwritable,
        "{path} cannot be opened: permission denied",
        "make the file and its folder writable for the user Sayso runs as",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        StoreUnwritable,
        "{path} cannot be opened",
        "see that it is a file, and that its folder can be written",
    ),
    sqlite3.SQLITE_IOERR: (
        StoreUnwritable,
        "{path} cannot be read or written: the disk reports an error",
        "look for a full or failing disk, or a limit on the size of files; nothing was allowed",
    ),
}
