"""A store in one SQLite file, for any number of threads and processes of one machine."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sayso.store.contract import StoreError
from sayso.store.sql.transactions import SqlStore, Transaction
from sayso.store.sqlite import file
from sayso.store.sqlite.file import connect_to_file, explain_sqlite_error, hold_file_lock
from sayso.store.threads import ChangeProbe

POLL = 0.1
"""How often to look for commits of others. Well under the bound, because threads are late at times."""
COMMITS = 256
"""After how many commits of its own a process offers to move the write-ahead log into the file."""


class SqliteTransaction(Transaction):
    def __init__(self, connection: sqlite3.Connection, path: Path, now: float, *, full: bool) -> None:
        super().__init__(now)
        self.connection = connection
        self.full = full
        self._path = path

    def rows(self, statement: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        self.check()
        try:
            return self.connection.execute(statement, parameters).fetchall()
        except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
            raise self.fail_with(explain_sqlite_error(error, self._path)) from error

    def change(self, statement: str, parameters: Sequence[object]) -> int:
        self.check()
        try:
            return self.connection.execute(statement, parameters).rowcount
        except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
            raise self.fail_with(explain_sqlite_error(error, self._path)) from error


class SqliteStore(SqlStore[SqliteTransaction]):
    """A file that is made if it does not exist. `busy`: how many seconds to wait for others.

    With `upgrade` an older schema is brought up to date. Every transaction has a connection to itself;
    durable ones commit with synchronous FULL, the others with NORMAL.
    """

    bound = 0.25
    _idle: dict[bool, list[sqlite3.Connection]]
    _commits: int

    def __init__(
        self,
        path: Path | str,
        *,
        clock: Callable[[], float] = time.time,
        busy: float = 5.0,
        upgrade: bool = True,
    ) -> None:
        self._path = Path(path).absolute()
        self._name = str(self._path)
        self._clock = clock
        self._busy = busy
        super().__init__()
        file.make_store_file(self._path)
        file.set_up_file(self._path, busy=busy, upgrade=upgrade)
        self._file = file.file_identity(self._path)

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def _start(self) -> None:
        super()._start()
        self._idle = {True: [], False: []}
        self._commits = 0

    def _connections(self) -> object:
        return self._idle

    def _begin_reading(self) -> SqliteTransaction:
        return self._begin("BEGIN", full=True)

    def _begin_writing(self, durable: bool) -> SqliteTransaction:
        return self._begin("BEGIN IMMEDIATE", full=durable)

    def _begin(self, statement: str, *, full: bool) -> SqliteTransaction:
        self._check_file()
        try:
            connection = self._idle[full].pop()
        except IndexError:
            connection = self._connect(full=full)
        try:
            connection.execute(statement)
        except sqlite3.Error as error:
            connection.close()
            raise explain_sqlite_error(error, self._path) from error
        return SqliteTransaction(connection, self._path, self._clock(), full=full)

    def _commit(self, transaction: SqliteTransaction, *, urgent: bool) -> None:
        transaction.change("COMMIT", ())
        self._commits += 1

    def _end(self, transaction: SqliteTransaction) -> None:
        connection = transaction.connection
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        if connection.in_transaction or self._closed:
            connection.close()
            return
        self._idle[transaction.full].append(connection)
        if self._commits >= COMMITS:
            self._checkpoint()

    def _open_probe(self) -> ChangeProbe:
        return SqliteCommitProbe(self._connect(full=False))

    def _close(self) -> None:
        if self._commits:
            self._checkpoint()
        for idle in self._idle.values():
            while idle:
                idle.pop().close()

    def _check_file(self) -> None:
        """A file that was moved away while open would go on giving rights that nobody can revoke any more."""
        if file.file_identity(self._name) != self._file:
            raise StoreError(f"{self._path} was replaced while it was open", hint="start the program again")

    def _connect(self, *, full: bool) -> sqlite3.Connection:
        return connect_to_file(self._path, busy=self._busy, full=full)

    def _checkpoint(self) -> None:
        """Move the write-ahead log into the file, unless another process is at it. Failing harms nothing."""
        self._commits = 0
        with suppress(OSError, StoreError, sqlite3.Error), hold_file_lock(self._path, wait=0.0) as held:
            if held:
                with closing(self._connect(full=True)) as connection:
                    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


class SqliteCommitProbe:
    """Whether any other connection, of this process or another, has committed since the last look."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._seen = self._version()

    def __call__(self, over: threading.Event) -> bool:
        over.wait(POLL)
        before, self._seen = self._seen, self._version()
        return self._seen is None or self._seen != before

    def close(self) -> None:
        self._connection.close()

    def _version(self) -> object:
        """None when nobody can say, which counts as a change."""
        try:
            return self._connection.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            return None
