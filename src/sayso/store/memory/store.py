"""A store in memory: the contract in its plainest form, for tests and for what needs no memory of yesterday.

A transaction that writes makes new versions of the groups it touches, and these become the truth when it
commits. So one that fails leaves no trace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from copy import copy
from typing import Any

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
    SummaryRow,
    Writer,
)
from sayso.store.memory.layers import next_version
from sayso.store.memory.tables import ALL, PLACES, MemoryReader, Table, Tables
from sayso.store.threads import Pulse, Single

FEW_GROUPS = 32


class MemoryWriter(MemoryReader):
    """Reads and writes of one transaction, on its own versions of what it touches."""

    local = True
    number = 0
    after_commit: Callable[[], object] | None = None
    if_lost: Callable[[], object] | None = None

    def __init__(self, tables: Tables, now: float) -> None:
        super().__init__(copy(tables), now)
        self.durable = True
        self.failed = False
        self.over = False
        self._own: dict[str, MutableMapping[str, Any]] = {}
        self._touched: dict[tuple[str, str], MutableMapping[Any, Any]] = {}
        self._added: dict[str, EntryRow] = {}

    @property
    def tables(self) -> Tables:
        return self._tables

    def finish(self) -> Tables:
        """The tables as this transaction leaves them; an error if something in it failed."""
        if self.failed:
            raise StoreError("something in this transaction failed, so nothing of it was kept")
        return self._tables

    def read_ahead(self, wanted: Ahead) -> None:
        """Nothing to do: it is all here."""

    def set_meta(self, name: str, value: str) -> None:
        self._touch("meta")[name] = value

    def put_session(self, row: SessionRow) -> None:
        self._touch("sessions")[row.id] = row

    def change_session(self, row: SessionRow) -> None:
        stored = self.session(row.id)
        if stored is None:
            raise self._failure(f"there is no session {row.id}")
        self._touch("sessions")[row.id] = msgspec.structs.replace(
            stored, workspace=row.workspace, head=row.head, spends=row.spends, mac=row.mac
        )

    def add_grant(self, row: GrantRow) -> None:
        if self.grant(row.id) is not None:
            raise self._failure(f"grant {row.id} is stored already")
        self._touch("grants", row.session)[row.id] = row

    def add_spend(self, row: SpendRow) -> None:
        self._add("spends", row.grant, row.number, row)

    def put_review(self, row: ReviewRow) -> None:
        self._touch("reviews")[row.name] = row

    def add_question(self, row: QuestionRow) -> None:
        self._add("questions", ALL, row.id, row)

    def close_question(self, row: QuestionRow) -> bool:
        if row.state == "open":
            raise self._failure(f"question {row.id} cannot be closed as open")
        stored = self.question(row.id)
        if stored is None or stored.state != "open":
            return False
        self._touch("questions")[row.id] = row
        return True

    def put_call(self, row: CallRow) -> None:
        self._touch("calls")[row.id] = row

    def move_call(self, row: CallRow, *, states: Iterable[str], fence: int) -> bool:
        stored = self.call(row.id)
        if stored is None or stored.state not in set(states) or stored.fence != fence:
            return False
        self._touch("calls")[row.id] = row
        return True

    def drop_results(self, *, before: float) -> int:
        rows = self._group(self._tables.calls).values()
        old = [
            row
            for row in rows
            if row.result is not None and row.ended_at is not None and row.ended_at < before
        ]
        for row in old:
            self._touch("calls")[row.id] = msgspec.structs.replace(row, result=None)
        return len(old)

    def add_entry(self, row: EntryRow) -> None:
        if row.seq != len(self._group(self._tables.entries, row.stream)) + 1:
            raise self._failure(f"entry {row.seq} of stream {row.stream} is taken, or leaves a gap")
        self._touch("entries", row.stream)[row.seq] = self._added[row.stream] = row

    def newest_own_entry(self, stream: str) -> EntryRow | None:
        return self._added.get(stream)

    def add_nodes(self, rows: Iterable[NodeRow]) -> None:
        for row in rows:
            self._add("nodes", row.stream, (row.level, row.index), row)

    def add_checkpoint(self, row: CheckpointRow) -> None:
        checkpoints = self._touch("checkpoints")
        checkpoints[len(checkpoints)] = row

    def add_secret(self, row: SecretRow) -> None:
        self._add("secrets", row.stream, (row.seq, row.name), row)

    def erase_secret(self, stream: str, seq: int, name: str) -> bool:
        return self._touch("secrets", stream).pop((seq, name), None) is not None

    def prune_entries(self, stream: str, *, before: int) -> int:
        old = [row for row in self.entries(stream, limit=before - 1) if row.body is not None]
        chain = self._touch("entries", stream) if old else {}
        for row in old:
            chain[row.seq] = msgspec.structs.replace(row, body=None)
        self.drop_summaries(stream)
        return len(old)

    def put_summaries(self, rows: Iterable[SummaryRow]) -> None:
        for row in rows:
            self._touch("summaries", row.source)[row.kind, row.name, row.place] = row

    def drop_summaries(self, source: str) -> None:
        self._touch("summaries", source).clear()

    def add_delivery(self, row: DeliveryRow) -> bool:
        if self.delivery(row.surface, row.subject) is not None:
            return False
        self._add("deliveries", row.surface, row.subject, row)
        return True

    def move_delivery(self, row: DeliveryRow, *, version: int) -> bool:
        stored = self.delivery(row.surface, row.subject)
        if stored is None or stored.version != version:
            return False
        self._touch("deliveries", row.surface)[row.subject] = row
        return True

    def drop_deliveries(self, *, before: float) -> int:
        old = [
            row
            for group in self._tables.deliveries.values()
            for row in group.values()
            if row.state == "over" and row.due_at < before
        ]
        for row in old:
            del self._touch("deliveries", row.surface)[row.subject]
        return len(old)

    def put_rows(self, rows: Iterable[AnyRow]) -> None:
        for row in rows:
            if isinstance(row, MetaRow):
                self._add("meta", ALL, row.name, row.value)
                continue
            table, by, names = PLACES[type(row)]
            group = getattr(row, by) if by else ALL
            key = tuple(getattr(row, name) for name in names) or (len(self._touch(table, group)),)
            self._add(table, group, key[0] if len(key) == 1 else key, row)

    def _add(self, table: str, group: str, key: object, row: object) -> None:
        rows = self._touch(table, group)
        if key in rows:
            raise self._failure(f"{table}: {key} is stored already")
        rows[key] = row

    def _touch(self, table: str, group: str = ALL) -> MutableMapping[Any, Any]:
        """The group, to be changed: a version of this transaction's own."""
        if self.over or self.failed:
            raise StoreError("this transaction is over: it was left, or something in it failed")
        mine = self._touched.get((table, group))
        if mine is not None:
            return mine
        groups = self._own.get(table)
        if groups is None:
            groups = self._own[table] = _next_groups(getattr(self._tables, table))
            msgspec.structs.force_setattr(self._tables, table, groups)  # of a copy that nobody else has
        mine = self._touched[table, group] = groups[group] = next_version(groups.get(group, {}))
        return mine

    def _failure(self, why: str) -> StoreError:
        self.failed = True
        return StoreError(why)


def _next_groups(now: Table[Any]) -> MutableMapping[str, Any]:
    """The groups of a table, to be changed; as long as they are few, a plain copy is quickest."""
    return dict(now) if type(now) is dict and len(now) < FEW_GROUPS else next_version(now)


def _call_if_lost(lost: MemoryWriter | MemoryBatch) -> None:
    if lost.if_lost is not None:
        lost.if_lost()


def _call_after_commit(kept: MemoryWriter | MemoryBatch) -> None:
    if kept.after_commit is not None:
        kept.after_commit()


class MemoryBatch:
    """The transactions of one batch. Each begins with the tables as the one before it left them."""

    number = 0
    after_commit: Callable[[], object] | None = None
    if_lost: Callable[[], object] | None = None

    def __init__(self, tables: Tables, now: float, writer: type[MemoryWriter]) -> None:
        self.tables = tables
        self._now = now
        self._writer = writer
        self._single = Single()

    def was_committed(self, number: int) -> bool | None:
        return MemoryReader(self.tables, self._now).was_committed(number)

    def read_ahead(self, wanted: Ahead) -> None:
        """Nothing to do: it is all here."""

    @contextmanager
    def read(self) -> Iterator[Reader]:
        with self._single:
            yield MemoryReader(self.tables, self._now)

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        with self._single:
            writer = self._writer(self.tables, self._now)
            writer.durable = durable
            try:
                yield writer
                self.tables = writer.finish()
            except BaseException:
                _call_if_lost(writer)
                raise
            finally:
                writer.over = True


class MemoryStore:
    """All of it is gone with the object. `busy`: how many seconds to wait for other writers."""

    bound = 0.0
    local = True
    writer = MemoryWriter

    def __init__(self, *, clock: Callable[[], float] = time.time, busy: float = 5.0) -> None:
        self._clock = clock
        self._busy = busy
        self._tables = Tables()
        self._writing = threading.Lock()
        self._pulse = Pulse()
        self._single = Single()

    @contextmanager
    def read(self) -> Iterator[Reader]:
        with self._single:
            yield MemoryReader(self._tables, self._clock())

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        with self._single:
            self._take_turn()
            writer = self.writer(self._tables, self._clock())
            writer.durable = durable
            try:
                yield writer
                self._tables = writer.finish()
            except BaseException:
                _call_if_lost(writer)
                raise
            else:
                _call_after_commit(writer)
            finally:
                writer.over = True
                self._give_turn()
        self._pulse.beat()

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        with self._single:
            self._take_turn()
            try:
                batch = MemoryBatch(self._tables, self._clock(), self.writer)
                try:
                    yield batch
                except BaseException:
                    _call_if_lost(batch)
                    raise
                self._tables = batch.tables
                _call_after_commit(batch)
            finally:
                self._give_turn()
        self._pulse.beat()

    def wait_for_change(self, seen: int, timeout: float) -> int:
        return self._pulse.wait(seen, timeout)

    def close(self) -> None:
        """Nothing to let go."""

    def _take_turn(self) -> None:
        if not self._writing.acquire(timeout=self._busy):
            raise StoreBusy("another thread is writing", hint="try again")

    def _give_turn(self) -> None:
        self._writing.release()
