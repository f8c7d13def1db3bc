"""A store in one SQLite file, for any number of threads and processes of one machine.

- Threads write one after another, in the order they came (`threads`).
- A commit is not synced by itself: what must last waits for a sync that it shares with others (`log_sync`).
- What a transaction read or wrote, the next one on its connection knows, if nobody else has committed in
  between (`PRAGMA data_version`, read under the write lock).
- Whoever has the turn moves the write-ahead log into the file, so that it begins again instead of growing.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakSet, ref

from sayso.store.contract import Ahead, StoreBusy, StoreError, StoreFault
from sayso.store.sql import statements as sql
from sayso.store.sql.ahead import reads_ahead
from sayso.store.sql.known import KnownRows
from sayso.store.sql.reader import CHUNK
from sayso.store.sql.transactions import SqlStore, Transaction, count_forks
from sayso.store.sqlite import file
from sayso.store.sqlite.file import connect_to_file, explain_sqlite_error, hold_file_lock
from sayso.store.sqlite.log_sync import LogSync
from sayso.store.threads import ChangeProbe, Claim, WriterTurn

POLL = 0.1
"""How often to look for commits of others. Well under the bound, because threads are late at times."""
MOST_IDLE = 3
"""How many connections that read are kept for the next: each fills a cache of 2 MB with pages of the file."""
COMMITS = 256
"""After how many commits of its own a process offers to move the write-ahead log into the file."""
PARTS = 4
"""So many parts of a batch count as a commit: the log grows with what is written, not with commits."""
LONG_LOG = 16 * 2**20
"""From this size on, readers are waited for, so that the log starts over, empty, instead of growing.

Well above what so many commits write: a log that keeps its size is written over, one that starts empty has to
grow again, and every commit pays for that.
"""
READERS_WAITED_FOR, LONGEST_WAIT = 0.2, 2.0
"""How many seconds to wait for readers when the log has that size, and at most; a longer log waits longer.

Where readers overlap, it takes about twice the longest of them until the log can start over. If that is too
long, the next try is when the log has grown as much again, because everybody who writes has to wait, too.
"""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0001, 0.002

_stores: list[ref[SqliteStore]] = []
"""A list, so that another thread may add one while this one goes through them."""
_inherited: set[tuple[int, int]] = set()
"""The files that were open when this process was forked: in it SQLite would lock nothing in them."""


def _known_stores() -> list[SqliteStore]:
    return [store for one in tuple(_stores) if (store := one()) is not None]


def _begin_fork() -> None:
    for store in _known_stores():
        store.begin_fork()


def _end_fork() -> None:
    for store in _known_stores():
        store.end_fork()


def _begin_in_child() -> None:
    for store in _known_stores():
        store.begin_in_child()


os.register_at_fork(before=_begin_fork, after_in_parent=_end_fork, after_in_child=_begin_in_child)
os.register_at_fork(after_in_parent=_end_fork)  # again: Ctrl-C during the fork is raised in the first one

_AHEAD = {
    "metas": 'SELECT "name", "value" FROM meta WHERE "name" IN (VALUES :each)',
    "sessions": sql.SESSION.replace("id = ?", "id IN (VALUES :each)"),
    "calls": sql.CALL.replace("id = ?", "id IN (VALUES :each)"),
    "grants": sql.GRANT.replace("id = ?", "id IN (VALUES :each)"),
    "grants_by_key": sql.GRANTS_BY_KEY.replace("(one, two)", "(one, two, three)").replace(
        "session = ? AND kind = one AND value = two", "session = one AND kind = two AND value = three"
    ),
    "reviews": sql.REVIEWS_BY_NAME,
    "open_questions": sql.OPEN_QUESTIONS_BY_KEY,
}
"""What is asked to read ahead; the rest is read when it is needed. A key that is NULL finds nothing."""


class HeldConnection:
    """A connection in the hands of one transaction after another, closed if the last of them is gone.

    That one was interrupted (Ctrl-C) before it could end. A connection by itself would keep the file locked
    until garbage is collected.
    """

    __slots__ = ("__weakref__", "_forks", "connection", "cursor")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.cursor = connection.cursor()
        """For all statements, one after another: a connection by itself makes a new one for each."""
        self._forks = count_forks()

    @property
    def is_open(self) -> bool:
        try:
            return self.connection.total_changes >= 0
        except sqlite3.ProgrammingError:
            return False

    def __del__(self) -> None:
        if self._forks == count_forks():
            _let_go(self.connection)


class _Forking:
    """A thread that forks this process, with its turn."""

    __slots__ = ("claim", "closed", "opens", "thread")

    def __init__(self, thread: int, claim: Claim) -> None:
        self.thread, self.claim = thread, claim
        self.opens = False
        """Whether it holds the lock to open a connection."""
        self.closed = False
        """Whether all connections are closed for it."""


class SqliteTransaction(Transaction):
    """`commit` numbers what was committed in it, if that has to be waited for. In a batch, writes wait."""

    commit = 0
    claim: Claim | None = None
    """The writer's turn, if it writes."""
    held: HeldConnection | None
    """What is given back when it ends."""

    def __init__(
        self,
        held: HeldConnection,
        path: Path,
        now: float,
        *,
        writes: bool,
        batch: bool = False,
        known: KnownRows | None = None,
        version: object = None,
    ) -> None:
        super().__init__(now, known)
        self.held = held
        self.connection = held.connection
        self._cursor = held.cursor
        self.version = version
        self.writes = writes
        self._path = path
        self.joins = batch

    def rows(self, statement: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        self.check()
        try:
            if self._waiting:
                self._send_waiting()
            return self._cursor.execute(statement, parameters).fetchall()
        except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
            raise self.fail_with(explain_sqlite_error(error, self._path)) from error

    def change(self, statement: str, parameters: Sequence[object]) -> int:
        self.check()
        try:
            if self._waiting:
                self._send_waiting()
            changed = self._cursor.execute(statement, parameters).rowcount
        except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
            raise self.fail_with(explain_sqlite_error(error, self._path)) from error
        if changed > 0:
            self.changed = True
        return changed

    def put(self, statement: str, parameters: Sequence[object], otherwise: str = "") -> None:
        if self.joins:
            super().put(statement, parameters, otherwise)
        elif not self.change(statement, parameters) and otherwise:
            raise self.failure(otherwise)

    def _send_waiting(self) -> None:
        for write in self._take_waiting():
            if len(write.rows) == 1:
                changed = self._cursor.execute(write.statement, write.rows[0]).rowcount
            else:
                changed = self._cursor.executemany(write.statement, write.rows).rowcount
            if write.otherwise and changed != len(write.rows):
                raise self.failure(write.otherwise)

    def read_ahead(self, wanted: Ahead, known: KnownRows) -> None:
        """Many rows with one statement. The heads of streams are few, and read when they are needed."""
        if not self.joins or known.has_all(wanted):
            return
        reads = [read for read in reads_ahead(wanted, known) if read.kind in _AHEAD]
        for read in sorted(reads, key=lambda read: read.kind != "calls"):
            keys = read.keys if read.kind != "sessions" else _with_sessions_of_calls(read.keys, wanted, known)
            read.learn(self._find_all(_AHEAD[read.kind], keys))

    def _find_all(self, statement: str, keys: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for start in range(0, len(keys), CHUNK):
            found += self.rows(*sql.with_keys(statement, keys[start : start + CHUNK]))
        return found


def _with_sessions_of_calls(
    keys: Sequence[tuple[Any, ...]], wanted: Ahead, known: KnownRows
) -> list[tuple[Any, ...]]:
    """These sessions, and those of the calls that were read before them."""
    calls = (known.calls.get(name) for name in wanted.calls)
    more = ((row.session,) for row in calls if row is not None and row.session not in known.sessions)
    return list(dict.fromkeys((*keys, *more)))


class SqliteStore(SqlStore[SqliteTransaction]):
    """A file that is made if it does not exist. `busy`: how many seconds to wait for others.

    With `upgrade` an older schema is brought up to date. Every transaction has a connection to itself.
    """

    bound = 0.25
    _idle: dict[bool, list[HeldConnection]]
    _commits: int
    _long: int

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
        file.make_store_file(self._path)
        self._file = file.file_identity(self._path)
        self._check_not_inherited()
        super().__init__()
        _stores.append(ref(self, _stores.remove))
        with self._opening:
            file.set_up_file(self._path, busy=busy, upgrade=upgrade)

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def fault(self) -> StoreFault | None:
        """Also what the system says of the file: whether it is still there, and may be written."""
        try:
            self._check_file()
        except StoreError as error:
            return StoreFault(error.message, error.hint, closed=True)
        found = super().fault
        if found is None:
            try:
                file.check_writable(self._path)
            except StoreError as error:
                return StoreFault(error.message, error.hint)
        return found

    def _start(self) -> None:
        super()._start()
        self._idle = {True: [], False: []}
        self._turn = WriterTurn()
        self._log = LogSync(f"{self._name}-wal")
        self._commits = 0
        self._long = LONG_LOG
        """From which size of the log on to wait for readers that are in the way."""
        self._opening = threading.Lock()
        """Held to open a connection, and by the thread that forks this process until it has."""
        self._opened: WeakSet[HeldConnection] = WeakSet()
        self._probe: SqliteCommitProbe | None = None
        self._forking: _Forking | None = None
        self._kept: tuple[sqlite3.Connection, object, KnownRows] | None = None
        """The rows known from the last transaction that was committed, with its connection and version."""

    def _connections(self) -> object:
        return self._idle

    def begin_fork(self) -> None:
        """This thread forks the process: until it has, no connection is open.

        SQLite goes by what it remembers of the locks of a process, as long as a connection is open in it. In
        one that was forked meanwhile nothing would be locked at all, or for ever: others would remove the log
        that it writes to, and it would see nothing of them.
        """
        if self._single.is_inside:
            return
        end = time.monotonic() + self._busy
        claim = self._turn.take(self._busy)
        if claim is None:
            return
        forking = self._forking = _Forking(threading.get_ident(), claim)
        forking.opens = self._opening.acquire(timeout=self._busy)
        forking.closed = forking.opens and self._close_all(end)

    def end_fork(self) -> None:
        """In the parent: go on. Called twice, for what an interruption (Ctrl-C) of the first call left."""
        forking = self._forking
        if forking is None or forking.thread != threading.get_ident():
            return
        try:
            if forking.opens:
                self._opening.release()
        finally:
            self._forking = None
        try:
            self._turn.give(forking.claim)
        except BaseException:  # nobody else would
            self._turn.give(forking.claim)
            raise

    def begin_in_child(self) -> None:
        """Begin at once, before there are other threads, and use nothing of the parent's."""
        forking = self._forking
        if forking is None or forking.thread != threading.get_ident() or not forking.closed:
            _inherited.add(self._file)
        self._begin_process()

    def _close_all(self, end: float) -> bool:
        """Close each connection once nobody uses it; return whether all are closed by then.

        The log is synced before: SQLite removes it with the last connection, and others may wait for its
        sync.
        """
        try:
            self._log.wait_for_all()
        except (StoreError, OSError):
            return False
        self._kept = None
        if self._probe is not None:
            self._probe.pause()
        while True:
            for idle in self._idle.values():
                with suppress(IndexError):
                    while True:
                        idle.pop().connection.close()
            if not any(one.is_open for one in self._opened):
                return True
            if time.monotonic() >= end:
                return False
            time.sleep(_FIRST_PAUSE)

    def _check_usable(self) -> None:
        if _inherited:
            self._check_not_inherited()
        super()._check_usable()
        if self._log.fault:
            self._log.check()

    def _check_not_inherited(self) -> None:
        if self._file in _inherited:
            raise StoreError(
                f"this process was forked while {self._path} was being read or written",
                hint="fork when no other thread uses the store, or start another program instead",
            )

    def _begin_reading(self) -> SqliteTransaction:
        self._check_file()
        held = self._take_connection(writes=False)
        try:
            held.cursor.execute("BEGIN")
            transaction = SqliteTransaction(held, self._path, self._clock(), writes=False)
        except BaseException as error:
            _let_go(held.connection)
            if isinstance(error, sqlite3.Error):
                raise explain_sqlite_error(error, self._path) from error
            raise
        return transaction

    def _begin_batch(self) -> SqliteTransaction:
        return self._begin_writing(batch=True)

    def _begin_writing(self, *, batch: bool = False) -> SqliteTransaction:
        end = time.monotonic() + self._busy
        claim = self._turn.take(self._busy)
        if claim is None:
            raise StoreBusy(f"other threads kept {self._path} busy", hint="try again")
        try:
            self._check_file()
            transaction = self._begin_in_turn(end, batch=batch)
            transaction.claim = claim
        except BaseException:
            self._turn.give(claim)
            raise
        return transaction

    def _begin_in_turn(self, end: float, *, batch: bool) -> SqliteTransaction:
        """Begin, or keep nothing locked: one that was interrupted may have the lock of the file already."""
        new = not self._idle[True]
        held = self._take_connection(writes=True)
        try:
            self._lock(held.cursor, end)
            if new:
                self._log.look_again()
            version = _version_of(held.cursor)
            known, now = self._take_known(held.connection, version), self._clock()
            transaction = SqliteTransaction(
                held, self._path, now, writes=True, batch=batch, known=known, version=version
            )
        except BaseException:
            _let_go(held.connection)
            raise
        return transaction

    def _lock(self, cursor: sqlite3.Cursor, end: float) -> None:
        """Begin to write. Only other processes can be in the way, and they are waited for in short naps."""
        pause = _FIRST_PAUSE
        while True:
            try:
                cursor.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                explained = explain_sqlite_error(error, self._path)
                if not isinstance(explained, StoreBusy) or time.monotonic() >= end:
                    raise explained from error
            else:
                return
            time.sleep(pause * (0.5 + random.random()))  # noqa: S311  so that two do not nap in step
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _take_known(self, connection: sqlite3.Connection, version: object) -> KnownRows:
        """The rows known from the transaction before, unless anything else was committed since."""
        kept, self._kept = self._kept, None  # until this transaction is committed, nothing of it is kept
        if kept is not None and kept[0] is connection and kept[1] == version is not None:
            return kept[2]
        return KnownRows()

    def _take_connection(self, *, writes: bool) -> HeldConnection:
        if self._forking is None:
            try:
                return self._idle[writes].pop()
            except IndexError:
                pass
        with self._opening:
            held = HeldConnection(self._connect(writes=writes))
            self._opened.add(held)
            return held

    def _commit(self, transaction: SqliteTransaction, *, urgent: bool) -> None:
        transaction.change("COMMIT", ())
        if transaction.durable:
            self._log.begin_to_write()
        transaction.known.keep_for_next()
        self._kept = (transaction.connection, transaction.version, transaction.known)
        self._commits += max(1, transaction.parts // PARTS)
        transaction.commit = self._log.count_commit()

    def _settle(self, transaction: SqliteTransaction) -> None:
        if transaction.durable and transaction.commit:
            self._log.wait(transaction.commit)

    def _end(self, transaction: SqliteTransaction) -> None:
        connection = transaction.connection
        try:
            if connection.in_transaction:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            if transaction.writes and self._commits >= COMMITS and not self._log.fault:
                self._checkpoint(connection)
        except BaseException:  # interrupted: the file must not stay locked
            _let_go(connection)
            raise
        else:
            self._put_away(transaction, transaction.held)
        finally:
            if transaction.claim is not None:
                self._turn.give(transaction.claim)

    def _put_away(self, transaction: SqliteTransaction, held: HeldConnection | None) -> None:
        idle, connection = self._idle[transaction.writes], transaction.connection
        if held is None or connection.in_transaction or self._closed:
            self._close_or_leave_open(transaction, held)
        elif len(idle) >= MOST_IDLE and self._wait_to_close():
            try:
                self._close_or_leave_open(transaction, held)
            finally:
                self._opening.release()
        else:
            transaction.held = None
            idle.append(held)

    def _wait_to_close(self) -> bool:
        """Take the lock, unless a thread forks this process: it must not do so while one is being closed."""
        while self._forking is None:
            if self._opening.acquire(timeout=_LONGEST_PAUSE):
                return True
        return False

    def _close_or_leave_open(self, transaction: SqliteTransaction, held: HeldConnection | None) -> None:
        if held is not None and transaction.writes and self._log.fault:
            _leave_open((held,))
        else:
            transaction.connection.close()

    def _open_probe(self) -> ChangeProbe:
        with self._opening:
            self._probe = SqliteCommitProbe(partial(self._connect, writes=False), self._opening)
        return self._probe

    def _close(self) -> None:
        claim = self._turn.take(self._busy)  # nobody commits while the log is let go
        try:
            self._log.close()
            if self._log.fault:
                _leave_open(self._idle[True])
                return
            if self._commits:
                with suppress(StoreError):
                    held = self._take_connection(writes=True)
                    self._idle[True].append(held)  # to be closed with the others
                    self._checkpoint(held.connection)
            for idle in self._idle.values():
                while idle:
                    idle.pop().connection.close()
        finally:
            if claim is not None:
                self._turn.give(claim)

    def _check_file(self) -> None:
        """A file that was moved away while open would go on giving rights that nobody can revoke any more."""
        if file.file_identity(self._name) != self._file:
            raise StoreError(f"{self._path} was replaced while it was open", hint="start the program again")

    def _connect(self, *, writes: bool) -> sqlite3.Connection:
        """One that writes never waits by itself once it is open: SQLite would let it sleep far too long.

        The file is checked first: SQLite would make one that was moved away.
        """
        self._check_file()
        connection = connect_to_file(self._path, busy=self._busy, full=False)
        if writes:
            connection.execute("PRAGMA busy_timeout = 0")
        return connection

    def _checkpoint(self, connection: sqlite3.Connection) -> None:
        """Move the write-ahead log into the file, unless another process is at it. Failing harms nothing.

        SQLite syncs the log before and the file after, so what was moved is on the disk.
        """
        self._commits = 0
        with suppress(OSError, StoreError, sqlite3.Error), hold_file_lock(self._path, wait=0.0) as held:
            if not held:
                return
            size = Path(f"{self._name}-wal").stat().st_size
            [(_, there, moved)] = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            if size < LONG_LOG or (size < self._long and moved < there):
                return
            wait = min(READERS_WAITED_FOR * size / LONG_LOG, LONGEST_WAIT)
            with closing(connect_to_file(self._path, busy=wait, full=True)) as patient:
                [(kept, *_)] = patient.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._long = size + LONG_LOG if kept else LONG_LOG


def _leave_open(connections: Sequence[HeldConnection]) -> None:
    """Leave connections open until this process is gone, beyond the end of Python in it.

    SQLite moves the log into the file when the last connection is closed. Of a log that could not be synced
    nobody knows what is on the disk, so that has to wait for whoever opens it next, and checks each part.
    """
    import ctypes  # not for every command: only where a disk fails

    for one in connections:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))


def _let_go(connection: sqlite3.Connection) -> None:
    """Close a connection, and keep nothing of a transaction that it may have begun."""
    try:
        with suppress(sqlite3.Error):
            connection.rollback()
    finally:
        connection.close()


def _version_of(cursor: sqlite3.Cursor) -> object:
    """Return a number that changes with every commit of another connection; None if it is unknown."""
    try:
        return cursor.execute("PRAGMA data_version").fetchall()
    except sqlite3.Error:
        return None


class SqliteCommitProbe:
    """Whether any other connection, of this process or another, has committed since the last look.

    It uses its connection under the lock of all that are opened.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], opening: threading.Lock) -> None:
        self._connect = connect
        self._opening = opening
        self._connection: sqlite3.Connection | None = connect()
        self._seen = _version_of(self._connection.cursor())

    def __call__(self, over: threading.Event) -> bool:
        over.wait(POLL)
        with self._opening:
            before, self._seen = self._seen, self._look()
        return self._seen is None or self._seen != before

    def _look(self) -> object:
        with suppress(StoreError):
            self._connection = self._connection or self._connect()
            return _version_of(self._connection.cursor())
        return None

    def pause(self) -> None:
        """Close the connection until the next look. Only under the lock."""
        self._seen = None
        self._close()

    def close(self) -> None:
        with self._opening:
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
