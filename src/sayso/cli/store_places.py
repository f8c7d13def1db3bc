"""The place of a store: a file, or a schema in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from sayso.store.contract import Store

ADDRESSES = ("postgresql://", "postgres://")


class StorePlace(msgspec.Struct, frozen=True):
    """A store at its place. `shown` is how people may see it: never with a password."""

    shown: str
    schema: Callable[[], int]
    """The number of its schema; 0 if there is no store yet."""
    bytes_used: Callable[[], int]
    where: str | Path

    def open(self, *, upgrade: bool) -> Store:
        """The store; with `upgrade` one that is missing is made, and an older one brought up to date."""
        from sayso.gate.open import open_store

        return open_store(self.where, upgrade=upgrade)

    def check_made(self) -> int:
        """The number of its schema; refused if there is no store."""
        from sayso.store.contract import StoreError

        found = self.schema()
        if not found:
            raise StoreError(f"there is no store at {self.shown}", hint="sayso store init makes one")
        return found


def is_store_address(store: str | None) -> bool:
    """Return whether this names a database."""
    return store is not None and "://" in store


def find_store_place(store: str | None) -> StorePlace:
    """The place that --store names: an address of PostgreSQL, a file, or the file in the data folder."""
    from sayso.gate.open import check_store_name, gate_data_folder

    check_store_name(store)
    if store is not None and is_store_address(store):
        return _database_place(store)
    path = Path(store) if store is not None else gate_data_folder() / "sayso.db"
    return StorePlace(str(path), lambda: _schema_of_file(path), lambda: _bytes_of_file(path), path)


def _bytes_of_file(path: Path) -> int:
    """The size of the file and of its write-ahead log, where what was written last may still be."""
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)


def _schema_of_file(path: Path) -> int:
    from sayso.store.sqlite.file import file_schema_version

    return file_schema_version(path) if path.exists() else 0


def _database_place(store: str) -> StorePlace:
    from sayso.core.errors import MalformedRequest

    if not store.startswith(ADDRESSES):
        raise MalformedRequest(
            "a store is a file or a PostgreSQL database", hint="--store postgresql://user@host/database"
        )
    from sayso.store.postgres import server

    return StorePlace(
        server.url_without_password(store),
        lambda: server.database_schema_version(store),
        lambda: server.bytes_used(store),
        store,
    )
