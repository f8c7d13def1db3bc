"""Numbered changes of the schema, each applied once, all or none of those that are missing.

A database says by its table `migrations` which were applied. They run in one transaction under a lock, so a
process that dies half-way leaves the old schema, and of several that start at once one does the work.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

import msgspec

from sayso.store.contract import StoreError, StoreNewer

_TABLE = (
    "CREATE TABLE IF NOT EXISTS migrations (number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL) STRICT"
)
_VERSION = "SELECT COALESCE(MAX(number), 0) FROM migrations"
_APPLIED = "INSERT INTO migrations (number, name) VALUES (?, ?)"


class StatementRunner(Protocol):
    """What a migration needs of a run."""

    def rows(self, statement: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]: ...
    def change(self, statement: str, parameters: Sequence[object]) -> int: ...


class Migration(msgspec.Struct, frozen=True):
    number: int
    name: str
    text: str


LATEST = 6
"""The schema this program is written for: the number of its last migration."""


@cache
def load_migrations() -> tuple[Migration, ...]:
    """All migrations this program knows, in order, numbered from 1 without gaps."""
    folder = files("sayso.store").joinpath("migrations")
    found = sorted(
        (path for path in folder.iterdir() if path.name.endswith(".sql")), key=lambda path: path.name
    )
    return tuple(
        Migration(int(path.name.partition("_")[0]), path.name.removesuffix(".sql"), path.read_text("utf-8"))
        for path in found
    )


def read_schema_version(run: StatementRunner) -> int:
    """The number of the last migration that was applied, where there is a table of them."""
    return int(run.rows(_VERSION, ())[0][0])


def check_schema_version(found: int, where: str, store: str) -> None:
    """Refuse a schema that is not the one this program is written for. `store` is what --store calls it."""
    if found > LATEST:
        raise StoreNewer(
            f"{where} was written by a newer Sayso (schema {found}; this one knows {LATEST})",
            hint="update Sayso, or name another store; nothing was changed",
        )
    if found < LATEST:
        raise StoreError(
            f"{where} has schema {found} and needs {LATEST}",
            hint=f"run `sayso store migrate --store {shlex.quote(store)}`; make a copy first",
        )


def apply_migrations(run: StatementRunner, where: str, translate: Callable[[str], str] = str) -> None:
    """Apply what is missing. Its transaction must hold the lock for migrations."""
    run.change(translate(_TABLE), ())
    found = read_schema_version(run)
    for migration in load_migrations()[found:]:
        for statement in split_sql_statements(migration.text):
            run.change(translate(statement), ())
        run.change(_APPLIED, (migration.number, migration.name))
    check_schema_version(max(found, LATEST), where, where)


def split_sql_statements(text: str) -> list[str]:
    """The statements of a migration, without its comments. No statement holds a semicolon of its own."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("--"))
    return [part.strip() for part in "\n".join(lines).split(";") if part.strip()]
