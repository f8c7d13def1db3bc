"""A store in memory: the contract in its plainest form, for tests and for what needs no memory of yesterday.

Whoever writes has the turn, and changes the rows as it goes. If it fails, its changes are undone (`past`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NoReturn, cast

import msgspec

from sayso.store.contract import (
    Ahead,
    AnyRow,
    Batch,
    CallRow,
    CheckpointRow,
    DeliveryRow,
    EntryRow,
    GrantRow,
    MetaRow,
    NodeRow,
    QuestionRow,
    Reader,
    ReviewRow,
    SecretRow,
    SessionRow,
    SpendRow,
    StoreBusy,
    StoreError,
    StoreFault,
    SummaryRow,
    Writer,
)
from sayso.store.memory.past import GONE, Changes, Row, Table
from sayso.store.memory.tables import ALL, OVER, PLACES, MemoryReader, Tables
from sayso.store.threads import Claim, Pulse, Single, WriterTurn


class MemoryWriter(MemoryReader):
    """Reads and writes of one transaction. After the first error nothing more is done."""

    local = True
    number = 0
    after_commit: Callable[[], object] | None = None
    if_lost: Callable[[], object] | None = None
    claim: Claim
    """The writer's turn, unless this is a part of a batch: that has it."""

    def __init__(self, tables: Tables, changes: Changes, now: float, *, durable: bool) -> None:
        self._tables = tables
        self.now = now
        self._changes = changes
        self.durable = durable
        self._added: dict[str, EntryRow] = {}

    def check(self) -> None:
        """Refuse to keep what somebody has caught an error of."""
        if self._tables is OVER:
            raise StoreError("something in this transaction failed, so nothing of it was kept")

    def read_ahead(self, wanted: Ahead) -> None:
        """Nothing to do: it is all here."""

    def set_meta(self, name: str, value: str) -> None:
        self._changes.put(self._tables.meta, ALL, name, value)

    def put_session(self, row: SessionRow) -> None:
        self._changes.put(self._tables.sessions, ALL, row.id, row)

    def change_session(self, row: SessionRow) -> None:
        stored = self.session(row.id)
        if stored is None:
            raise self._failure(f"there is no session {row.id}")
        changed = msgspec.structs.replace(
            stored, workspace=row.workspace, head=row.head, spends=row.spends, mac=row.mac
        )
        self._changes.put(self._tables.sessions, ALL, row.id, changed)

    def add_grant(self, row: GrantRow) -> None:
        if self.grant(row.id) is not None:
            raise self._failure(f"grant {row.id} is stored already")
        self._changes.put(self._tables.grants, row.session, row.id, row)

    def add_spend(self, row: SpendRow) -> None:
        self._add(self._tables.spends, row.grant, row.number, row)

    def add_last_spend(self, row: SpendRow) -> None:
        last = max((one.number for one in self.spends([row.grant])), default=0)
        self.add_spend(msgspec.structs.replace(row, number=last + 1))

    def put_review(self, row: ReviewRow) -> None:
        self._changes.put(self._tables.reviews, ALL, row.name, row)

    def add_question(self, row: QuestionRow) -> None:
        self._add(self._tables.questions, ALL, row.id, row)

    def close_question(self, row: QuestionRow) -> bool:
        if row.state == "open":
            raise self._failure(f"question {row.id} cannot be closed as open")
        stored = self.question(row.id)
        if stored is None or stored.state != "open":
            return False
        self._changes.put(self._tables.questions, ALL, row.id, row)
        return True

    def put_call(self, row: CallRow) -> None:
        self._changes.put(self._tables.calls, ALL, row.id, row)

    def move_call(self, row: CallRow, *, states: Iterable[str], fence: int) -> bool:
        stored = self.call(row.id)
        if stored is None or stored.state not in set(states) or stored.fence != fence:
            return False
        self._changes.put(self._tables.calls, ALL, row.id, row)
        return True

    def drop_results(self, *, before: float) -> int:
        rows = self._tables.calls[ALL].values()
        old = [
            row
            for row in rows
            if row.result is not None and row.ended_at is not None and row.ended_at < before
        ]
        for row in old:
            self._changes.put(self._tables.calls, ALL, row.id, msgspec.structs.replace(row, result=None))
        return len(old)

    def add_entry(self, row: EntryRow) -> None:
        if row.seq != len(self._tables.entries[row.stream]) + 1:
            raise self._failure(f"entry {row.seq} of stream {row.stream} is taken, or leaves a gap")
        self._changes.put(self._tables.entries, row.stream, row.seq, row)
        self._added[row.stream] = row

    def newest_own_entry(self, stream: str) -> EntryRow | None:
        return self._added.get(stream)

    def add_nodes(self, rows: Iterable[NodeRow]) -> None:
        for row in rows:
            self._add(self._tables.nodes, row.stream, (row.level, row.index), row)

    def add_checkpoint(self, row: CheckpointRow) -> None:
        self._changes.put(self._tables.checkpoints, ALL, len(self._tables.checkpoints[ALL]), row)

    def add_secret(self, row: SecretRow) -> None:
        self._add(self._tables.secrets, row.stream, (row.seq, row.name), row)

    def erase_secret(self, stream: str, seq: int, name: str) -> bool:
        found = (seq, name) in self._tables.secrets[stream]
        if found:
            self._changes.put(self._tables.secrets, stream, (seq, name), GONE)
        return found

    def prune_entries(self, stream: str, *, before: int) -> int:
        old = [row for row in self.entries(stream, limit=before - 1) if row.body is not None]
        for row in old:
            self._changes.put(self._tables.entries, stream, row.seq, msgspec.structs.replace(row, body=None))
        self.drop_summaries(stream)
        return len(old)

    def put_summaries(self, rows: Iterable[SummaryRow]) -> None:
        for row in rows:
            self._changes.put(self._tables.summaries, row.source, (row.kind, row.name, row.place), row)

    def drop_summaries(self, source: str) -> None:
        for key in list(self._tables.summaries[source]):
            self._changes.put(self._tables.summaries, source, key, GONE)

    def add_delivery(self, row: DeliveryRow) -> bool:
        if self.delivery(row.surface, row.subject) is not None:
            return False
        self._add(self._tables.deliveries, row.surface, row.subject, row)
        return True

    def move_delivery(self, row: DeliveryRow, *, version: int) -> bool:
        stored = self.delivery(row.surface, row.subject)
        if stored is None or stored.version != version:
            return False
        self._changes.put(self._tables.deliveries, row.surface, row.subject, row)
        return True

    def drop_deliveries(self, *, before: float) -> int:
        old = [
            row
            for group in self._tables.deliveries.values()
            for row in group.values()
            if row.state == "over" and row.due_at < before
        ]
        for row in old:
            self._changes.put(self._tables.deliveries, row.surface, row.subject, GONE)
        return len(old)

    def put_rows(self, rows: Iterable[AnyRow]) -> None:
        for row in rows:
            if isinstance(row, MetaRow):
                self._add(self._tables.meta, ALL, row.name, row.value)
                continue
            name, by, names = PLACES[type(row)]
            table: Table[AnyRow] = getattr(self._tables, name)
            group = getattr(row, by) if by else ALL
            key = tuple(getattr(row, name) for name in names) if names else (len(table[group]),)
            self._add(table, group, key[0] if len(key) == 1 else key, row)

    def _add(self, table: Table[Row], group: str, key: object, row: Row) -> None:
        if key in table[group]:
            raise self._failure(f"{key} is stored already")
        self._changes.put(table, group, key, row)

    def _failure(self, why: str) -> StoreError:
        self.leave()
        return StoreError(why)


def _call_if_lost(lost: MemoryWriter | MemoryBatch) -> None:
    if lost.if_lost is not None:
        lost.if_lost()


class MemoryBatch:
    """The transactions of one batch. Each begins with the tables as the one before it left them."""

    number = 0
    over = False
    after_commit: Callable[[], object] | None = None
    if_lost: Callable[[], object] | None = None

    def __init__(self, tables: Tables, changes: Changes, now: float, writer: type[MemoryWriter]) -> None:
        self._tables = tables
        self._changes = changes
        self._now = now
        self._writer = writer
        self._single = Single()
        self._whole = True

    def was_committed(self, number: int) -> bool | None:
        return MemoryReader(self._tables, self._now).was_committed(number)

    def read_ahead(self, wanted: Ahead) -> None:
        """Nothing to do: it is all here."""

    def check(self) -> None:
        """Refuse to keep a batch that has something left of a transaction that failed."""
        if not self._whole:
            raise StoreError("a transaction of this batch was not undone, so nothing of it was kept")

    @contextmanager
    def read(self) -> Iterator[Reader]:
        self._single.check()
        reader = MemoryReader(self._tables, self._now)
        self._single.begin(reader)
        try:
            yield reader
        finally:
            reader.over = True
            reader.leave()

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        self._single.check()
        before = self._changes.count()
        writer = self._writer(self._tables, self._changes, self._now, durable=durable)
        self._single.begin(writer)
        try:
            yield writer
            writer.check()
        except BaseException:
            self._whole = False
            self._changes.undo(before)
            self._whole = True
            _call_if_lost(writer)
            raise
        finally:
            writer.over = True
            writer.leave()


class _Write:
    """A transaction that writes. There are many of them, so it is not a generator."""

    __slots__ = ("_durable", "_store", "_writer")

    def __init__(self, store: MemoryStore, *, durable: bool) -> None:
        self._store = store
        self._durable = durable

    def __enter__(self) -> Writer:
        self._writer = self._store.begin_writing(durable=self._durable)
        return self._writer

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._store.end_writing(self._writer, failed=kind is not None)


class MemoryStore:
    """All of it is gone with the object. `busy`: how many seconds to wait for other writers."""

    bound = 0.0
    local = True
    in_memory = True
    """It is gone with this object, and so is all that is known of it."""
    fault: StoreFault | None = None
    writer = MemoryWriter

    def __init__(self, *, clock: Callable[[], float] = time.time, busy: float = 5.0) -> None:
        self._clock = clock
        self._busy = busy
        self._tables = Tables()
        self._changes = Changes()
        self._turn = WriterTurn()
        self._pulse = Pulse()
        self._single = Single()

    @contextmanager
    def read(self) -> Iterator[Reader]:
        self._single.check()
        then = self._changes.begin_reading(self._tables)
        try:
            reader = MemoryReader(cast("Tables", then), self._clock())
            self._single.begin(reader)
            try:
                yield reader
            finally:
                reader.over = True
                reader.leave()
        finally:
            self._changes.end_reading(then)

    def write(self, *, durable: bool = True) -> AbstractContextManager[Writer]:
        return _Write(self, durable=durable)

    def begin_writing(self, *, durable: bool) -> MemoryWriter:
        """Wait for the turn, and have it until the transaction ends."""
        self._single.check()
        claim = self._turn.take(self._busy) or self._refuse_turn()
        try:
            self._changes.undo()  # what is left of it if the last undo was interrupted
            writer = self.writer(self._tables, self._changes, self._clock(), durable=durable)
            writer.claim = claim
            self._single.begin(writer)
        except BaseException:
            self._turn.give(claim)
            raise
        return writer

    def end_writing(self, writer: MemoryWriter, *, failed: bool) -> None:
        try:
            if failed:
                self._lose(writer)
            else:
                self._keep(writer)
        finally:
            writer.over = True
            try:
                writer.leave()
            finally:
                self._turn.give(writer.claim)
        if not failed:
            self._pulse.beat()

    def _keep(self, writer: MemoryWriter | MemoryBatch) -> None:
        try:
            writer.check()
            self._changes.keep()
        except BaseException:
            self._lose(writer)
            raise
        if writer.after_commit is not None:
            writer.after_commit()

    def _lose(self, writer: MemoryWriter | MemoryBatch) -> None:
        self._changes.undo()
        _call_if_lost(writer)

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        self._single.check()
        claim = self._turn.take(self._busy) or self._refuse_turn()
        try:
            self._changes.undo()  # as above
            batch = MemoryBatch(self._tables, self._changes, self._clock(), self.writer)
            self._single.begin(batch)
            try:
                try:
                    yield batch
                except BaseException:
                    self._lose(batch)
                    raise
                self._keep(batch)
            finally:
                batch.over = True
        finally:
            self._turn.give(claim)
        self._pulse.beat()

    def wait_for_change(self, seen: int, timeout: float) -> int:
        return self._pulse.wait(seen, timeout)

    def close(self) -> None:
        """Nothing to let go."""

    def _refuse_turn(self) -> NoReturn:
        raise StoreBusy("another thread is writing", hint="try again")
