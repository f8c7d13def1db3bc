"""A store on PostgreSQL, for any number of service processes on any number of machines.

Transactions run side by side (READ COMMITTED). What belongs to a session is guarded by a lock on the name of
that session, taken where a transaction that writes first touches it; so is an effect key, and an audit stream
whose head is read. Locks are on names, not rows, because a session that does not exist yet needs one as well.

A session is locked after those it descends from, the oldest first: so one that stops a session and all below
it and one that decides a call below never wait for each other. The gate locks sessions first, then effects,
then the stream.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from contextlib import suppress
from functools import partial
from threading import Event
from typing import Any
from weakref import ref

from sayso.core.extras import install_command
from sayso.store.contract import FateUnknown, StoreBusy, StoreError
from sayso.store.postgres import server
from sayso.store.postgres.pipeline import TalkingConnection
from sayso.store.postgres.server import Connection, explain_postgres_error
from sayso.store.postgres.transaction import NOW, NOW_AND_NAME, PostgresTransaction
from sayso.store.sql.transactions import SqlStore, count_forks
from sayso.store.threads import ChangeProbe

try:
    import psycopg
    import psycopg_pool
except ImportError as error:
    raise StoreError("PostgreSQL needs the extra postgres", hint=install_command("postgres")) from error

logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # its troubles are told as our own errors

CHANNEL = "sayso"
PROBE_INTERVAL = 0.25
"""How often, in seconds, to look for commits that nobody told us of.

Well under the bound, which leaves time for a lost connection to be made again.
"""

MOMENT = 0.05
"""How long, in seconds, to wait for a connection while the server is away.

Otherwise a call would wait behind every transaction that waits for the pool before it.
"""

_READ = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {NOW}, ''"
_WRITE = f"BEGIN; {NOW_AND_NAME}"
_CLAIM = "SELECT pg_try_advisory_lock(hashtextextended('claim/' || current_schema() || '/' || $1, 0))"
_FATE = "SELECT pg_xact_status($1::xid8)"
_UNKNOWN = "{place}: the connection was lost while committing, and nobody can say whether it was kept"
_CAREFUL = "look at what is stored before you try again"
_SNAPSHOT = "SELECT pg_current_snapshot()::text"


class PostgresStore(SqlStore[PostgresTransaction]):
    """`dsn` is an address as libpq knows it. `busy`: how many seconds to wait for others.

    With `upgrade` an older schema is brought up to date. At most `connections` transactions run at once.
    """

    bound = 2.0
    local = False
    _pool: psycopg_pool.ConnectionPool[TalkingConnection] | None
    _claims: Connection | None

    def __init__(self, dsn: str, *, busy: float = 5.0, connections: int = 10, upgrade: bool = True) -> None:
        self._dsn = dsn
        self._busy = busy
        self._most = connections
        self._place = server.describe_database(dsn)
        server.set_up_database(dsn, busy=busy, upgrade=upgrade)
        super().__init__()

    @property
    def address(self) -> str:
        """The address, with whatever secret is in it."""
        return self._dsn

    def claim(self, name: str) -> bool:
        """Take a name that no other process has, until this store is closed or its process ends.

        It is kept on a connection of its own: if that is lost, the name is free.
        """
        with self._starting:
            if self._claims is None or self._claims.closed:
                self._claims = server.connect_to_server(self._dsn, busy=self._busy)
            found = self._claims.execute(_CLAIM, (name,)).fetchone()
        return found == (True,)

    def _start(self) -> None:
        super()._start()
        self._pool = None
        self._claims = None
        self._away = False
        """The server did not answer when it was last asked: then nobody waits long for the pool."""
        self._lost: deque[TalkingConnection] = deque()
        """Closed, and not given back."""

    def _connections(self) -> object:
        return self._pool, self._claims

    def _begin_reading(self) -> PostgresTransaction:
        return self._begin(_READ)

    def _begin_writing(self) -> PostgresTransaction:
        return self._begin(_WRITE)

    def _begin_batch(self) -> PostgresTransaction:
        """Nothing is said to the server yet. On a dead connection the batch is lost, and tried singly."""
        connection = self._take()
        try:
            return self._watch_over(PostgresTransaction(connection, self._place))
        except BaseException:
            self._let_go(connection)
            raise

    def _begin(self, statement: str) -> PostgresTransaction:
        """Begin, and learn the time and the name of the transaction, in one round trip.

        After a restart of the server the pool is full of dead connections, so it is tried again once.
        """
        try:
            return self._begin_on_one(statement)
        except psycopg.OperationalError:
            self._open_pool().check()
        except psycopg.Error as error:  # as of a copy that only follows another server
            raise explain_postgres_error(error, self._place) from error
        try:
            return self._begin_on_one(statement)
        except psycopg.Error as error:
            raise explain_postgres_error(error, self._place) from error

    def _begin_on_one(self, statement: str) -> PostgresTransaction:
        connection = self._take()
        try:
            told = self._read_last_row(connection.execute(statement))
            return self._watch_over(PostgresTransaction(connection, self._place, *told))
        except psycopg.Error:
            self._give_back(connection)
            raise
        except BaseException:
            self._let_go(connection)
            raise

    def _read_last_row(self, cursor: psycopg.Cursor[tuple[Any, ...]]) -> tuple[Any, ...]:
        """Return what the last of several statements gave."""
        while cursor.nextset():
            pass
        found = cursor.fetchone()
        if found is None:
            raise StoreError(f"{self._place} does not tell the time")
        return found

    def _watch_over(self, transaction: PostgresTransaction) -> PostgresTransaction:
        connection = transaction.connection
        connection.under_way = ref(transaction, partial(self._end_lost, connection))
        return transaction

    def _end_lost(self, connection: TalkingConnection, gone: object) -> None:
        """Ctrl-C came before a transaction could end, and it is gone: let go of what it holds.

        This may run anywhere, so the connection is given back later, by whoever takes one next.
        """
        del gone
        if self._forks == count_forks():
            connection.pgconn.finish()
            self._lost.append(connection)

    def _commit(self, transaction: PostgresTransaction, *, urgent: bool) -> None:
        notify = (f"NOTIFY {CHANNEL}",) if urgent else ()
        quick = () if transaction.durable else ("SET LOCAL synchronous_commit = off",)
        try:
            said = transaction.commit(*notify, *quick, "COMMIT")
        except StoreError:
            if transaction.connection.broken and self._was_kept(transaction.xid):
                return
            raise
        if said != "COMMIT":  # a transaction in which something failed is rolled back silently
            raise StoreError(f"{self._place} did not keep this transaction")

    def _was_kept(self, xid: str) -> bool:
        """Return what became of a transaction whose connection was cut while it committed."""
        end = time.monotonic() + self._busy
        try:
            with server.connect_to_server(self._dsn, busy=self._busy) as connection:
                while time.monotonic() < end:
                    fate = connection.execute(_FATE, (xid,)).fetchone()
                    if fate != ("in progress",):
                        return fate == ("committed",)
                    time.sleep(0.05)
        except (psycopg.Error, StoreError) as error:
            raise FateUnknown(_UNKNOWN.format(place=self._place), hint=_CAREFUL) from error
        raise FateUnknown(_UNKNOWN.format(place=self._place), hint=_CAREFUL)

    def _end(self, transaction: PostgresTransaction) -> None:
        connection = transaction.connection
        try:
            with suppress(psycopg.Error):
                if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    connection.execute("ROLLBACK")
        except BaseException:  # interrupted
            self._let_go(connection)
            raise
        self._give_back(connection)

    def _open_probe(self) -> ChangeProbe:
        return PostgresCommitProbe(self._dsn, busy=self._busy)

    def _close(self) -> None:
        if self._pool is not None:
            self._pool.close()
        if self._claims is not None:
            self._claims.close()

    def _take(self) -> TalkingConnection:
        while self._lost:
            with suppress(IndexError):  # another thread was quicker
                self._give_back(self._lost.pop())
        pool = self._open_pool()
        while True:
            away = self._away
            try:
                return pool.getconn(MOMENT if away else None)
            except psycopg_pool.PoolTimeout as error:
                self._check_server()
                if not away:
                    raise StoreBusy(
                        f"all {self._most} connections to {self._place} are in use", hint="try again"
                    ) from error

    def _check_server(self) -> None:
        """Raise what is wrong with the server, if it does not answer; remember it until it does again."""
        try:
            server.connect_to_server(self._dsn, busy=self._busy).close()
        except StoreError:
            self._away = True
            raise
        self._away = False

    def _give_back(self, connection: TalkingConnection) -> None:
        pool = self._open_pool()
        connection.under_way = None
        pool.putconn(connection)

    def _let_go(self, connection: TalkingConnection) -> None:
        """Close a connection that was interrupted: nobody can tell what is under way on it."""
        connection.close()
        self._give_back(connection)

    def _open_pool(self) -> psycopg_pool.ConnectionPool[TalkingConnection]:
        with self._starting:
            if self._pool is None:
                self._pool = psycopg_pool.ConnectionPool(
                    self._dsn,
                    connection_class=TalkingConnection,
                    kwargs={"connect_timeout": server.CONNECT, **server.SETTINGS},
                    configure=lambda connection: server.set_session_limits(connection, busy=self._busy),
                    min_size=1,
                    max_size=self._most,
                    timeout=self._busy,
                    reconnect_timeout=self._busy,  # else the pool waits ever longer, and outlasts the outage
                    open=True,
                )
            return self._pool


class PostgresCommitProbe:
    """Whether anybody has committed since the last look.

    A notification is a hint that comes at once and may be lost. The truth is the list of transactions under
    way: none can commit without changing it. It also changes for others; waking too often is fine.
    """

    def __init__(self, dsn: str, *, busy: float) -> None:
        self._dsn = dsn
        self._busy = busy
        self._connection = self._listen()
        self._seen = self._snapshot(self._connection)

    def __call__(self, over: Event) -> bool:
        try:
            if self._connection.closed:
                self._connection = self._listen()
            told = [*self._connection.notifies(timeout=PROBE_INTERVAL, stop_after=1)]
            before, self._seen = self._seen, self._snapshot(self._connection)
        except (psycopg.Error, StoreError):
            self._connection.close()
            self._seen = None
            over.wait(PROBE_INTERVAL)
            return False
        return bool(told) or before != self._seen

    def close(self) -> None:
        self._connection.close()

    def _listen(self) -> Connection:
        connection = server.connect_to_server(self._dsn, busy=self._busy)
        connection.execute(f"LISTEN {CHANNEL}")
        return connection

    def _snapshot(self, connection: Connection) -> tuple[Any, ...] | None:
        return connection.execute(_SNAPSHOT).fetchone()
