"""Faults in transactions, batches and files, and the check that must catch each."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from sayso.store.contract import (
    KINDS,
    AnyRow,
    Batch,
    Reader,
    Store,
    Writer,
)
from sayso.store.memory.store import MemoryBatch, MemoryStore, MemoryWriter
from sayso.store.memory.tables import MemoryReader
from sayso.store.sqlite.store import SqliteStore, SqliteTransaction
from sayso.store.threads import ChangeProbe, Claim, WriterTurn
from tests.support.places import Open


class LeaksWhatFailed(MemoryStore):
    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        with super().write(durable=durable) as w:
            try:
                yield w
            except Exception:
                self._changes.keep()
                raise


class KeepsWhatFailedInABatch(MemoryStore):
    @contextmanager
    def batch(self) -> Iterator[Batch]:
        with super().batch() as whole:
            yield cast("Batch", _Leaking(cast("MemoryBatch", whole)))


class _Leaking:
    def __init__(self, batch: MemoryBatch) -> None:
        self._batch = batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        with self._batch.write(durable=durable) as w:
            try:
                yield w
            except Exception:
                self._batch._changes.keep()  # noqa: SLF001  as if it had not failed
                raise


class KeepsABatchThatFails(MemoryStore):
    @contextmanager
    def batch(self) -> Iterator[Batch]:
        with super().batch() as whole:
            try:
                yield whole
            except Exception:
                self._changes.keep()
                raise


class ShowsWhatIsNotCommitted(MemoryStore):
    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        with super().write(durable=durable) as w:
            assert isinstance(w, MemoryWriter)
            self.current: MemoryReader = w
            yield w

    @contextmanager
    def read(self) -> Iterator[Reader]:
        with super().read() as r:
            yield getattr(self, "current", r)


class TurnOfEverybody(WriterTurn):
    def take(self, timeout: float) -> Claim:
        return Claim()

    def give(self, claim: Claim) -> None:
        pass


class LetsTwoWriteAtOnce(MemoryStore):
    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self._turn = TurnOfEverybody()


class NeverTellsOfChanges(MemoryStore):
    def wait_for_change(self, seen: int, timeout: float) -> int:
        return max(seen, 1)


class NestsTransactions(MemoryStore):
    @contextmanager
    def read(self) -> Iterator[Reader]:
        yield MemoryReader(self._tables, self._clock())


def forgets_on_closing(folder: Path) -> Open:
    return MemoryStore


class Remembers:
    """Reads what it read first, whatever others committed since."""

    bound = 0.0
    fault = None
    local = True

    def __init__(self, whole: Store) -> None:
        self._whole = whole
        self._first: MemoryStore | None = None

    def read(self) -> AbstractContextManager[Reader]:
        if self._first is None:
            self._first = MemoryStore()
            with self._whole.read() as r, self._first.write() as w:
                for kind in KINDS:
                    w.put_rows(cast("Iterator[AnyRow]", r.every(kind)))
        return self._first.read()

    def write(self, *, durable: bool = True) -> AbstractContextManager[Writer]:
        return self._whole.write(durable=durable)

    def batch(self) -> AbstractContextManager[Batch]:
        return self._whole.batch()

    def wait_for_change(self, seen: int, timeout: float) -> int:
        return self._whole.wait_for_change(seen, timeout)

    def close(self) -> None:
        self._whole.close()


def reads_what_it_read_before(folder: Path) -> Open:
    whole = MemoryStore()
    return lambda: Remembers(whole)


class ReadsOfManyMoments(SqliteStore):
    def _begin_reading(self) -> SqliteTransaction:
        transaction = super()._begin_reading()
        transaction.connection.execute("COMMIT")
        return transaction


class CommitsEveryStatement(SqliteStore):
    def _begin_writing(self, *, batch: bool = False) -> SqliteTransaction:
        transaction = super()._begin_writing(batch=batch)
        transaction.connection.execute("COMMIT")
        return transaction

    def _commit(self, transaction: SqliteTransaction, *, urgent: bool) -> None:
        pass


class NeverLooksAtOthers(SqliteStore):
    def _open_probe(self) -> ChangeProbe:
        return _Blind()


class _Blind:
    def __call__(self, over: threading.Event) -> bool:
        over.wait()
        return False

    def close(self) -> None:
        pass


class LosesTheQuickOnes(SqliteStore):
    """What need not last does not even last until it is closed."""

    def _commit(self, transaction: SqliteTransaction, *, urgent: bool) -> None:
        if transaction.durable:
            super()._commit(transaction, urgent=urgent)
        else:
            with suppress(sqlite3.Error):
                transaction.connection.execute("ROLLBACK")


OTHERS = "a_waiter_is_told_of_the_commit_of_another_handle"

MEMORIES: dict[type[MemoryStore], str] = {
    LeaksWhatFailed: "changes_of_a_transaction_that_fails_are_undone",
    KeepsWhatFailedInABatch: "a_transaction_that_fails_in_a_batch_is_undone_alone",
    KeepsABatchThatFails: "a_batch_that_fails_keeps_nothing",
    ShowsWhatIsNotCommitted: "nobody_sees_what_is_not_committed",
    LetsTwoWriteAtOnce: "a_transaction_that_writes_is_alone_with_its_session",
    NeverTellsOfChanges: "who_missed_a_commit_is_told_at_once",
    NestsTransactions: "a_transaction_inside_another_is_refused",
}
FILES: dict[type[SqliteStore], str] = {
    ReadsOfManyMoments: "reads_are_of_one_moment",
    CommitsEveryStatement: "a_transaction_that_fails_leaves_no_trace",
    NeverLooksAtOthers: OTHERS,
    LosesTheQuickOnes: "everything_is_there_after_closing_and_opening_again",
}
