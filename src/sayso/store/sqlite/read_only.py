"""A SQLite store that another process has open, for looking: nothing here can write to the file."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from sayso.store.contract import Reader, StoreError
from sayso.store.sql.reader import SqlReader
from sayso.store.sqlite.file import explain_sqlite_error, file_identity
from sayso.store.sqlite.store import HeldConnection, SqliteTransaction


class ReadOnlySqliteStore:
    """One connection to the very file that is named by place and identity, for one thread."""

    def __init__(self, path: Path, identity: tuple[int, int], *, busy: float = 5.0) -> None:
        self._path = path
        self._identity = identity
        self._check_file()
        try:
            address = f"file:{quote(str(path))}?mode=ro"
            self._connection = sqlite3.connect(address, uri=True, timeout=busy, isolation_level=None)
            self._connection.execute("PRAGMA trusted_schema = OFF")
            self._connection.execute("PRAGMA query_only = ON")
            self._held = HeldConnection(self._connection)
        except sqlite3.Error as error:
            raise explain_sqlite_error(error, path) from error

    @contextmanager
    def read(self) -> Iterator[Reader]:
        self._check_file()
        transaction = SqliteTransaction(self._held, self._path, time.time(), writes=False)
        transaction.change("BEGIN", ())
        try:
            yield SqlReader(transaction)
        finally:
            transaction.over = True
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()

    def _check_file(self) -> None:
        if file_identity(self._path) != self._identity:
            raise StoreError(f"{self._path} was replaced while it was read", hint="start again")
