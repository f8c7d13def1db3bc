"""The server behind a PostgreSQL store: reaching it, its words for our types, and what its errors mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any
from urllib.parse import quote, urlencode

from sayso.core.extras import install_command
from sayso.store.contract import StoreBusy, StoreError, StoreHeld, StoreUnwritable
from sayso.store.sql import migrate

try:
    import psycopg
    from psycopg import conninfo
except ImportError as error:
    raise StoreError("PostgreSQL needs the extra postgres", hint=install_command("postgres")) from error

Connection = psycopg.Connection[tuple[Any, ...]]
CONNECT = 5
"""How many seconds to wait for the server to answer the door."""
SETTINGS: dict[str, Any] = {
    "autocommit": True,
    "application_name": "sayso",
    "cursor_factory": psycopg.RawCursor,
}
"""How every connection is made."""
MIGRATING = "SELECT pg_advisory_xact_lock(7019267328)"
"""One process migrates at a time; the number only has to be the same for all of them."""
# Whoever writes looks at these in this order. So it waits for the first of them, before it holds any other
# that the migration is going to wait for.
_ALONE = "LOCK TABLE calls, sessions, entries IN ACCESS EXCLUSIVE MODE"

_BYTES = """
SELECT COALESCE(SUM(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
"""
_SECRET = ("password", "sslpassword")
_TYPES = (
    (re.compile(r"\bINTEGER PRIMARY KEY\b"), "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
    (re.compile(r"\bINTEGER\b"), "BIGINT"),
    (re.compile(r"\bREAL\b"), "DOUBLE PRECISION"),
    (re.compile(r"\bBLOB\b"), "BYTEA"),
    (re.compile(r"\bTEXT\b"), 'TEXT COLLATE "C"'),
    (re.compile(r"\) VIRTUAL\b"), ") STORED"),
    (re.compile(r"\) STRICT(, WITHOUT ROWID)?$"), ")"),
)


def describe_database(dsn: str) -> str:
    """The place a person would recognise, without the password."""
    try:
        parts = conninfo.conninfo_to_dict(dsn)
    except psycopg.Error as error:
        raise StoreError(
            f"this is not the address of a PostgreSQL database: {_first_line(error)}",
            hint="write postgresql://user@host/database",
        ) from error
    host = parts.get("host") or parts.get("hostaddr") or "the local socket"
    return f"the PostgreSQL database {parts.get('dbname') or '(default)'} on {host}"


def url_without_password(dsn: str) -> str:
    """The address as people write it, without its passwords, so that it can be named with --store again."""
    describe_database(dsn)
    parts = conninfo.conninfo_to_dict(dsn)
    said = {name: str(part) for name, part in parts.items() if name not in _SECRET}
    user, database = said.pop("user", ""), said.pop("dbname", "")
    plain = not re.search(
        r"^/|,", said.get("host", "/")
    )  # a socket's folder and several hosts go behind the ?
    host, port = (said.pop("host"), said.pop("port", "")) if plain else ("", "")
    place = (f"{quote(user, safe='')}@" if user else "") + (f"[{host}]" if ":" in host else host)
    rest = f"?{urlencode(said, quote_via=quote)}" if said else ""
    return f"postgresql://{place}{f':{port}' if port else ''}/{quote(database, safe='')}{rest}"


def connect_to_server(dsn: str, *, busy: float) -> Connection:
    """A connection without a transaction."""
    place = describe_database(dsn)
    timeout = max(1, round(busy))
    try:
        connection = psycopg.connect(dsn, connect_timeout=timeout, **SETTINGS)
        set_session_limits(connection, busy=busy)
    except psycopg.Error as error:
        raise explain_connection_error(error, place) from error
    return connection


def set_session_limits(connection: psycopg.Connection[Any], *, busy: float) -> None:
    """Wait so long and no longer for the locks of others; and do not hold our own for ever."""
    connection.execute(f"SET lock_timeout = {max(1, round(busy * 1000))}")  # 0 would be for ever
    connection.execute("SET idle_in_transaction_session_timeout = '60s'")
    connection.execute("SET default_transaction_isolation = 'read committed'")


def set_up_database(dsn: str, *, busy: float, upgrade: bool) -> None:
    """See that the schema is the right one; with `upgrade`, bring an older one up to date."""
    place = describe_database(dsn)
    with connect_to_server(dsn, busy=busy) as connection:
        run = _StatementRunner(connection, place)
        version = _read_version(run)
        if version == migrate.LATEST:
            return
        if version > migrate.LATEST or not upgrade:
            migrate.check_schema_version(version, place, url_without_password(dsn))
        with connection.transaction():
            run.rows(MIGRATING, ())
            if version:
                run.change(_ALONE, ())
            migrate.apply_migrations(run, place, translate_statement)


def database_schema_version(dsn: str, *, busy: float = CONNECT) -> int:
    """The number of the schema in this database; 0 if there is none yet."""
    with connect_to_server(dsn, busy=busy) as connection:
        return _read_version(_StatementRunner(connection, describe_database(dsn)))


def bytes_used(dsn: str, *, busy: float = CONNECT) -> int:
    """Return how much room the tables of this schema take, with their indexes."""
    with connect_to_server(dsn, busy=busy) as connection:
        return int(_StatementRunner(connection, describe_database(dsn)).rows(_BYTES, ())[0][0])


def _read_version(run: _StatementRunner) -> int:
    known = run.rows("SELECT to_regclass('migrations') IS NOT NULL", ()) == [(True,)]
    return migrate.read_schema_version(run) if known else 0


@cache
def translate_statement(statement: str) -> str:
    """A statement of a migration in the words of PostgreSQL."""
    for ours, theirs in _TYPES:
        statement = ours.sub(theirs, statement)
    return statement


@lru_cache(maxsize=1024)
def number_parameters(statement: str) -> bytes:
    """A statement as PostgreSQL takes it, with its parameters numbered.

    So psycopg has nothing to look for in it, which takes longer than all else with one that has hundreds.
    """
    first, *rest = statement.split("?")
    return "".join((first, *(f"${number}{part}" for number, part in enumerate(rest, 1)))).encode()


class _StatementRunner:
    """Statements outside the transactions of a store."""

    def __init__(self, connection: Connection, place: str) -> None:
        self._connection = connection
        self._place = place

    def rows(self, statement: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            cursor = self._connection.execute(number_parameters(statement), parameters)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise explain_postgres_error(error, self._place) from error

    def change(self, statement: str, parameters: Sequence[object]) -> int:
        self.rows(statement, parameters)
        return 0


def explain_connection_error(error: psycopg.Error, place: str) -> StoreError:
    """Return what a person needs to know when no connection could be had."""
    said = _first_line(error)
    for pattern, message, hint in _UNREACHABLE:
        if re.search(pattern, str(error)):
            return StoreError(f"{place}: {message} ({said})", hint=hint)
    return StoreError(
        f"{place} cannot be reached: {said}", hint="see that the server runs and its address is right"
    )


def explain_postgres_error(error: Exception, place: str) -> StoreError:
    """Return what a person needs to know of an error of PostgreSQL."""
    said = _first_line(error)
    if isinstance(error, psycopg.errors.LockNotAvailable):
        return StoreHeld(f"{place} is held by another process", hint="try again")
    for kinds, message, hint in _BUSY_ERRORS:
        if isinstance(error, kinds):
            return StoreBusy(f"{place} {message}", hint=hint)
    if isinstance(error, psycopg.IntegrityError):
        return StoreError(f"the row does not fit what is stored: {said}")
    if isinstance(error, psycopg.errors.DivisionByZero):  # said by our own statements
        return StoreError("what was to be changed is not there, or not as it was read")
    if isinstance(error, psycopg.errors.DiskFull):
        return StoreUnwritable(
            f"{place}: the disk of the server is full", hint="free some space; nothing was allowed"
        )
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return StoreUnwritable(f"{place} can only be read", hint="name the primary server, not a copy of it")
    if isinstance(error, psycopg.OperationalError):
        return StoreError(f"{place}: the connection was lost ({said})", hint="see that the server runs")
    return StoreError(f"{place}: {said}")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


_BUSY_ERRORS = (
    (
        (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure),
        "found two transactions in each other's way",
        "try again",
    ),
    ((psycopg.errors.QueryCanceled,), "took too long", "try again"),
)

# The library gives no codes for these, only what the server and the system said.
_UNREACHABLE = (
    (
        "password authentication failed|no password supplied",
        "the server refused the user or the password",
        "put the right ones into the address, PGPASSWORD or ~/.pgpass",
    ),
    ('database ".*" does not exist', "there is no such database", "make it with `createdb`, or name another"),
    (
        'role ".*" does not exist',
        "there is no such user",
        "name another in the address, or make it with `createuser`",
    ),
    ("too many clients|remaining connection slots", "the server has no connection left", "try again"),
    (
        "refused|No such file|timeout|timed out|could not translate|resolve",
        "no server answers there",
        "start it, or correct the address; nothing is allowed meanwhile",
    ),
)
