"""Transactions on a database: what SQLite and PostgreSQL share around the statements themselves."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Generic, TypeVar

from sayso.store.contract import (
    Ahead,
    Batch,
    BatchLost,
    FateUnknown,
    Reader,
    StoreBusy,
    StoreError,
    StoreFault,
    StoreUnwritable,
    Writer,
)
from sayso.store.sql.faults import FoundFaults
from sayso.store.sql.holding import HoldingReader
from sayso.store.sql.known import KnownRows
from sayso.store.sql.reader import SqlReader
from sayso.store.sql.waiting import JoinedWrite, Write, join_writes
from sayso.store.sql.writer import SqlWriter
from sayso.store.threads import ChangeProbe, ChangeWatcher, Pulse, Single

PART = "part"
_inherited: list[object] = []  # what a forked process must neither use nor close
_forks = 0  # how many forks lie between the first process and this one


def _count_fork() -> None:
    global _forks  # noqa: PLW0603  a process is a fact about the whole program
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def count_forks() -> int:
    """Return how many forks lie between the first process and this one, to know what belongs to another."""
    return _forks


class Transaction(ABC):
    """A transaction under way. The first error ends it: nothing more is done, and nothing of it is kept.

    What it writes may wait until it reads, or commits.
    """

    local = True
    joins = True
    failed = False
    fault: StoreFault | None = None
    """What it has failed with, if no other that writes is likely to fare better."""
    changed = False
    """Whether it has anything to commit."""
    over = False
    durable = True
    parts = 0
    """How many parts of a batch were kept."""
    _part: int | None = None
    """Where in what waits the part under way begins; None once it was sent."""

    def __init__(self, now: float, known: KnownRows | None = None) -> None:
        self.now = now
        self.known = KnownRows() if known is None else known
        self._waiting: list[Write] = []
        self._forks = _forks

    @property
    def number(self) -> int:
        """None is needed where a transaction that writes is alone."""
        return 0

    def was_committed(self, number: int) -> bool | None:
        """Nobody can tell what they did not number, so it may have been."""
        del number
        return True

    @property
    def foreign(self) -> bool:
        """Begun in the process this one was forked from: its connection must not even be closed here."""
        return self._forks != _forks

    @abstractmethod
    def rows(self, statement: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def change(self, statement: str, parameters: Sequence[object]) -> int: ...

    def put(self, statement: str, parameters: Sequence[object], otherwise: str = "") -> None:
        self.check()
        self.changed = True
        self._waiting.append(Write(statement, parameters, otherwise))

    def _take_waiting(self) -> list[JoinedWrite]:
        waiting, self._waiting, self._part = self._waiting, [], None
        return join_writes(waiting)

    def begin_now(self) -> None:
        """Begin, where that was left for the first word to the server."""
        self.check()

    def read_ahead(self, wanted: Ahead, known: KnownRows) -> None:
        """Nothing to do where a read costs next to nothing."""
        del wanted, known

    def hold(self, what: str) -> bool:
        """Nothing to do where a transaction that writes is alone anyway."""
        return False

    def begin_part(self) -> None:
        """What is written from now on can be undone by itself."""
        self.check()
        self._part = len(self._waiting)
        self._waiting.append(Write(f"SAVEPOINT {PART}", ()))

    def keep_part(self) -> None:
        self.parts += 1
        if self._part is not None:
            del self._waiting[self._part]  # nobody else will go back to it
            self._part = None
        else:
            self._waiting.append(Write(f"RELEASE {PART}", ()))

    def undo_part(self) -> None:
        """Undo the part, and go on."""
        if self.failed:
            return
        if self._part is not None:
            del self._waiting[self._part :]
            self._part = None
        else:
            self._waiting += [Write(f"ROLLBACK TO {PART}", ()), Write(f"RELEASE {PART}", ())]

    def failure(self, why: str) -> StoreError:
        return self.fail_with(StoreError(why))

    def fail_with(self, error: StoreError) -> StoreError:
        """The same error, to be raised; with it the transaction is lost."""
        self.failed = True
        if isinstance(error, StoreUnwritable):
            self.fault = StoreFault(error.message, error.hint)
        return error

    def check(self) -> None:
        """Refuse to go on with what was left, has failed, or belongs to another process."""
        if self.over or self.failed or self._forks != _forks:
            raise StoreError("this transaction is over: it was left, or something in it failed")


TransactionT = TypeVar("TransactionT", bound=Transaction)


def _call_if_lost(lost: SqlWriter | SqlBatch) -> None:
    """Before the connection is let go: until then nobody else writes to a store on this machine."""
    if lost.if_lost is not None:
        lost.if_lost()


@contextmanager
def _lost_before_commit() -> Iterator[None]:
    """What fails here has undone the whole batch, for certain. One that is only busy may be tried again."""
    try:
        yield
    except (StoreBusy, FateUnknown):
        raise
    except StoreError as error:
        raise BatchLost(error.message, hint=error.hint) from error


class _PartRead:
    """A read in a batch. There are many of them, so it is not a generator."""

    __slots__ = ("__weakref__", "_reader", "_single", "_transaction", "over")

    def __init__(self, single: Single, transaction: Transaction, reader: Reader) -> None:
        self._single, self._transaction, self._reader = single, transaction, reader
        self.over = False

    def __enter__(self) -> Reader:
        self._single.check()
        self._transaction.begin_now()
        self._single.begin(self)
        return self._reader

    def __exit__(self, *error: object) -> None:
        self.over = True


class SqlBatch:
    """The transactions of one batch. Each is a part of the same transaction of the database."""

    after_commit: Callable[[], object] | None = None
    if_lost: Callable[[], object] | None = None

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._known = transaction.known
        self._reader = HoldingReader(transaction)
        self._single = Single()
        self.wrote = False
        self.durable = False
        self.urgent = False

    @property
    def number(self) -> int:
        return self._transaction.number

    def was_committed(self, number: int) -> bool | None:
        return self._transaction.was_committed(number)

    def read_ahead(self, wanted: Ahead) -> None:
        self._transaction.read_ahead(wanted, self._known)

    def read(self) -> AbstractContextManager[Reader]:
        return _PartRead(self._single, self._transaction, self._reader)

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        self._single.check()
        transaction = self._transaction
        transaction.begin_now()
        writer = SqlWriter(transaction, durable=durable)
        before = KnownRows() if transaction.local else self._known.copy()  # here to read again takes no time
        transaction.begin_part()
        try:
            self._single.begin(writer)
            yield writer
            transaction.check()
            transaction.keep_part()
        except BaseException:
            self._known.go_back(before)
            transaction.undo_part()
            _call_if_lost(writer)
            raise
        finally:
            writer.over = True
        self.wrote = True
        self.durable = self.durable or writer.durable
        self.urgent = self.urgent or writer.urgent


class _Write(Generic[TransactionT]):
    """A transaction that writes. There are many of them, so it is not a generator."""

    __slots__ = ("_durable", "_store", "_transaction", "_writer")
    _transaction: TransactionT

    def __init__(self, store: SqlStore[TransactionT], *, durable: bool) -> None:
        self._store, self._durable = store, durable

    def __enter__(self) -> Writer:
        self._transaction = transaction = self._store.begin_writing()
        try:
            self._writer = writer = SqlWriter(transaction, durable=self._durable)
        except BaseException:
            self._store.leave(transaction)
            raise
        return writer

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._store.end_writing(self._transaction, self._writer, failed=kind is not None)


class SqlStore(ABC, Generic[TransactionT]):
    """A store on a database, given how to begin, commit, let go and look for what others did.

    A process that was forked starts with connections and threads of its own.
    """

    local = True
    _watch: ChangeWatcher | None
    _closed: bool
    _starting: threading.Lock

    def __init__(self) -> None:
        self._start()

    @contextmanager
    def read(self) -> Iterator[Reader]:
        self._check_usable()
        self._single.check()
        transaction = self._try_to_begin(self._begin_reading)
        self._faults.unreachable = None
        try:
            self._single.begin(transaction)
            yield SqlReader(transaction)
        finally:
            self.leave(transaction)

    def write(self, *, durable: bool = True) -> AbstractContextManager[Writer]:
        return _Write(self, durable=durable)

    def begin_writing(self) -> TransactionT:
        self._check_usable()
        self._single.check()
        transaction = self._try_to_begin(self._begin_writing)
        try:
            self._single.begin(transaction)
        except BaseException:
            self.leave(transaction)
            raise
        return transaction

    def end_writing(self, transaction: TransactionT, writer: SqlWriter, *, failed: bool) -> None:
        try:
            if failed:
                _call_if_lost(writer)
            else:
                self._keep(transaction, writer)
        finally:
            self.leave(transaction)
        if not failed:
            self._settle(transaction)
            self._pulse.beat()

    def _keep(self, transaction: TransactionT, writer: SqlWriter) -> None:
        try:
            transaction.check()  # an error that somebody caught has ended it all the same
            transaction.durable = writer.durable
            self._commit(transaction, urgent=writer.urgent)
        except BaseException:
            _call_if_lost(writer)
            raise
        if transaction.local and writer.after_commit is not None:
            writer.after_commit()  # before the turn is given on, and before the disk is waited for
        self._note_kept(transaction)

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        self._check_usable()
        self._single.check()
        transaction = self._try_to_begin(self._begin_batch)
        try:
            self._single.begin(transaction)
            batch = SqlBatch(transaction)
            try:
                with _lost_before_commit():
                    yield batch
                transaction.durable = batch.durable
                if batch.wrote or transaction.failed:
                    self._commit_batch(transaction, batch)
            except BaseException:
                _call_if_lost(batch)
                raise
            if transaction.local and batch.wrote and batch.after_commit is not None:
                batch.after_commit()
            if batch.wrote:
                self._note_kept(transaction)
        finally:
            self.leave(transaction)
        self._settle(transaction)
        if batch.wrote:
            self._pulse.beat()

    def _commit_batch(self, transaction: TransactionT, batch: SqlBatch) -> None:
        with _lost_before_commit():
            transaction.check()  # something was lost that could not be undone by itself
            self._commit(transaction, urgent=batch.urgent)

    def wait_for_change(self, seen: int, timeout: float) -> int:
        self._check_usable()
        with self._starting:
            if self._watch is None:
                self._watch = ChangeWatcher(self._pulse, self._open_probe())
        return self._pulse.wait(seen, timeout)

    def close(self) -> None:
        if self._closed or self._forks != _forks:
            return
        self._closed = True
        with self._starting:
            if self._watch is not None:
                self._watch.stop()
        self._close()

    def leave(self, transaction: TransactionT) -> None:
        """Whatever was not committed by now is rolled back, and the connection let go."""
        transaction.over = True
        if transaction.fault is not None:
            self._faults.unwritable = transaction.fault
        if not transaction.foreign:
            self._end(transaction)

    @property
    def fault(self) -> StoreFault | None:
        """Why it cannot be written, as far as that is known."""
        try:
            self._check_usable()
        except StoreError as error:
            return StoreFault(error.message, error.hint, closed=True)
        return self._faults.newest

    def _try_to_begin(self, begin: Callable[[], TransactionT]) -> TransactionT:
        try:
            return begin()
        except StoreBusy:
            raise
        except StoreError as error:
            self._faults.note_failed_begin(error)
            raise

    def _note_kept(self, transaction: TransactionT) -> None:
        self._faults.unreachable = None
        if transaction.changed:
            self._faults.unwritable = None

    def _start(self) -> None:
        self._forks = _forks
        self._closed = False
        self._pulse = Pulse()
        self._single = Single()
        self._faults = FoundFaults()
        self._starting = threading.Lock()
        self._watch = None

    def _check_usable(self) -> None:
        """Refuse a store that is closed. After a fork, leave to the parent what belongs to it."""
        if self._forks != _forks:
            self._begin_process()
        if self._closed:
            raise StoreError("the store was closed", hint="open it again")

    def _begin_process(self) -> None:
        _inherited.append((self._watch, self._connections()))
        self._start()

    @abstractmethod
    def _connections(self) -> object:
        """All that is open."""

    @abstractmethod
    def _begin_reading(self) -> TransactionT: ...

    @abstractmethod
    def _begin_writing(self) -> TransactionT: ...

    def _begin_batch(self) -> TransactionT:
        """The same for a batch, which says beforehand what it is going to read."""
        return self._begin_writing()

    @abstractmethod
    def _commit(self, transaction: TransactionT, *, urgent: bool) -> None:
        """Keep it all, or raise StoreError."""

    def _settle(self, transaction: TransactionT) -> None:
        """Wait until what was committed is on the disk, where the commit itself does not."""

    @abstractmethod
    def _end(self, transaction: TransactionT) -> None:
        """Roll back what is not committed, and let the connection go. Raises nothing."""

    @abstractmethod
    def _open_probe(self) -> ChangeProbe:
        """A way to see what others commit from now on."""

    @abstractmethod
    def _close(self) -> None:
        """Close every connection that no transaction has."""
