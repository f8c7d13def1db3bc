"""The writes of the contract in SQL, for SQLite and PostgreSQL alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, groupby, islice

import msgspec

from sayso.store.contract import (
    AnyRow,
    CallRow,
    CheckpointRow,
    DeliveryRow,
    EntryRow,
    GrantRow,
    NodeRow,
    QuestionRow,
    ReviewRow,
    SecretRow,
    SessionRow,
    SpendRow,
    SummaryRow,
)
from sayso.store.sql import statements as sql
from sayso.store.sql.connection import Connection
from sayso.store.sql.holding import HoldingReader
from sayso.store.sql.reader import CHUNK


class SqlWriter(HoldingReader):
    """Reads and writes of one transaction. `urgent`: others should hear of it at once, not when they look."""

    urgent = False
    over = False
    after_commit: Callable[[], object] | None = None
    if_lost: Callable[[], object] | None = None

    def __init__(self, connection: Connection, *, durable: bool) -> None:
        super().__init__(connection)
        self.durable = durable
        self.local = connection.local
        self._added: dict[str, EntryRow] = {}

    @property
    def number(self) -> int:
        return self._connection.number

    def newest_own_entry(self, stream: str) -> EntryRow | None:
        return self._added.get(stream)

    def set_meta(self, name: str, value: str) -> None:
        self.urgent = True
        self._known.metas.clear()
        self._connection.put(sql.SET_META, (name, value))

    def put_session(self, row: SessionRow) -> None:
        self._hold(row.id)
        self._put(sql.PUT_SESSION, row)
        self._known.sessions[row.id] = row

    def change_session(self, row: SessionRow) -> None:
        self._hold(row.id)
        values = (row.workspace, row.head, row.spends, row.mac, row.id)
        self._connection.put(sql.CHANGE_SESSION, values, f"there is no session {row.id}")
        self._known.change_session(row)

    def add_grant(self, row: GrantRow) -> None:
        self._hold(row.session)
        self._put(sql.ADD_GRANT, row)
        self._known.add_grant(row)

    def add_spend(self, row: SpendRow) -> None:
        self._hold(row.session)
        self.urgent = self.urgent or row.what == "revoke"
        self._put(sql.ADD_SPEND, row)
        self._known.add_spend(row)

    def add_last_spend(self, row: SpendRow) -> None:
        self._hold(row.session)
        self.urgent = self.urgent or row.what == "revoke"
        values = (row.grant, row.session, row.what, row.call, row.at, row.grant)
        self._connection.put(sql.ADD_LAST_SPEND, values)
        self._known.spends.pop(row.grant, None)

    def put_review(self, row: ReviewRow) -> None:
        self._known.reviews.clear()
        self._put(sql.PUT_REVIEW, row)

    def add_question(self, row: QuestionRow) -> None:
        self._hold(row.session)
        self.urgent = True
        self._put(sql.ADD_QUESTION, row)
        self._known.add_question(row)

    def close_question(self, row: QuestionRow) -> bool:
        if row.state == "open":
            raise self._connection.failure(f"question {row.id} cannot be closed as open")
        newly = self._hold(row.session)
        self.urgent = True
        known = None if newly else self._known.questions.get(row.id)
        if known is None:
            closed = self._store(sql.CLOSE_QUESTION, row, row.id)
        else:
            closed = known.state == "open"
            values = (*msgspec.structs.astuple(row)[1:], row.id)
            if closed:
                self._connection.put(sql.CLOSE_QUESTION, values, f"question {row.id} is not as it was read")
        if closed:
            self._known.close_question(row)
        return closed

    def put_call(self, row: CallRow) -> None:
        self._hold(row.session)
        self._put(sql.PUT_CALL, row)
        self._known.put_call(row)

    def move_call(self, row: CallRow, *, states: Iterable[str], fence: int) -> bool:
        self._hold(row.session)
        wanted = sorted(set(states))
        if not wanted:
            return False
        known = self._known.calls.get(row.id)
        if known is not None and (known.fence != fence or known.state not in wanted):
            return False
        if known is not None and not self._connection.joins:
            self._change_call(known, row)
        else:
            statement = sql.repeat_groups(sql.MOVE_CALL, len(wanted), 1)
            values = (*msgspec.structs.astuple(row)[1:], row.id, fence, *wanted)
            if known is not None:
                self._connection.put(statement, values, f"call {row.id} is not as it was read")
            elif not self._connection.change(statement, values):
                return False
        self._known.change_call(row)
        return True

    def _change_call(self, known: CallRow, row: CallRow) -> None:
        """Write what is new in the row of a call that is known, and its state."""
        before, now = msgspec.structs.astuple(known), msgspec.structs.astuple(row)
        new: dict[str, object] = {"state": row.state}
        for name, was, value in zip(CallRow.__struct_fields__, before, now, strict=True):
            if value is not was and value != was:
                new[name] = value  # noqa: PERF403  for every call: quicker than what it asks for
        values = (*new.values(), known.id, known.fence, known.state)
        statement = sql.change_call_statement((*new,))
        self._connection.put(statement, values, f"call {row.id} is not as it was read")

    def drop_results(self, *, before: float) -> int:
        self._known.calls.clear()
        self._known.effects.clear()
        statements = (sql.DROP_RESULTS, sql.DROP_DOUBTFUL_RESULTS)
        return sum(self._connection.change(one, (before,)) for one in statements)

    def add_entry(self, row: EntryRow) -> None:
        newest = self.head(row.stream)
        if row.seq != (1 if newest is None else newest.seq + 1):
            raise self._connection.failure(
                f"entry {row.seq} of stream {row.stream} is taken, or leaves a gap"
            )
        self._connection.put(
            sql.ADD_ENTRY, self._place_entry(row), f"entry {row.seq} of stream {row.stream} was not kept"
        )
        self._known.heads[row.stream] = self._added[row.stream] = row

    def _stream_number(self, stream: str) -> int:
        """The number of a stream, which begins with this if there is none yet."""
        known = self._known.streams
        if stream not in known:
            found = self._connection.rows(sql.STREAM_NUMBER, (stream,))
            if not found:
                add = sql.ADD_STREAM_ALONE if self._connection.local else sql.ADD_STREAM
                self._connection.put(add, (stream,))
                found = self._connection.rows(sql.STREAM_NUMBER, (stream,))
            known[stream] = found[0][0]
        return known[stream]

    def add_nodes(self, rows: Iterable[NodeRow]) -> None:
        for row in rows:
            self._put(sql.ADD_NODE, row)

    def add_checkpoint(self, row: CheckpointRow) -> None:
        self._put(sql.ADD_CHECKPOINT, row)

    def add_secret(self, row: SecretRow) -> None:
        self._put(sql.ADD_SECRET, row)

    def erase_secret(self, stream: str, seq: int, name: str) -> bool:
        return self._connection.change(sql.ERASE_SECRET, (stream, seq, name)) > 0

    def prune_entries(self, stream: str, *, before: int) -> int:
        self._known.heads.pop(stream, None)
        self.drop_summaries(stream)
        below = min(max(before, 0), sql.LAST_SEQ)
        return self._connection.change(sql.PRUNE_ENTRIES, (stream, stream, below))

    def put_summaries(self, rows: Iterable[SummaryRow]) -> None:
        self._put_many(sql.put_summaries_statement(), rows)

    def drop_summaries(self, source: str) -> None:
        self._connection.put(sql.DROP_SUMMARIES, (source,))

    def add_delivery(self, row: DeliveryRow) -> bool:
        self.urgent = True
        return self._connection.change(sql.ADD_DELIVERY, msgspec.structs.astuple(row)) > 0

    def move_delivery(self, row: DeliveryRow, *, version: int) -> bool:
        return self._store(sql.MOVE_DELIVERY, row, row.surface, row.subject, version)

    def drop_deliveries(self, *, before: float) -> int:
        return self._connection.change(sql.DROP_DELIVERIES, (before,))

    def put_rows(self, rows: Iterable[AnyRow]) -> None:
        self.urgent = True
        self._known.clear()
        for kind, alike in groupby(rows, type):
            self._put_many(sql.put_rows_statement(kind), alike)

    def _values(self, row: msgspec.Struct) -> tuple[object, ...]:
        return self._place_entry(row) if isinstance(row, EntryRow) else msgspec.structs.astuple(row)

    def _place_entry(self, row: EntryRow) -> tuple[object, ...]:
        """The values of an entry, its place first."""
        if not 0 < row.seq <= sql.LAST_SEQ:
            raise self._connection.failure(f"entry {row.seq} has no place in stream {row.stream}")
        place = (self._stream_number(row.stream) << sql.SEQ_BITS) + row.seq
        return (place, row.at, row.event, row.session, row.body, row.prev, row.hash)

    def _put_many(self, statement: str, rows: Iterable[msgspec.Struct]) -> None:
        left = iter(rows)
        while page := [self._values(row) for row in islice(left, CHUNK)]:
            for some in sql.split_rows(page):
                text = sql.repeat_groups(statement, len(some), len(some[0]))
                self._connection.put(text, [*chain.from_iterable(some)])

    def _put(self, statement: str, row: msgspec.Struct) -> None:
        self._connection.put(statement, msgspec.structs.astuple(row))

    def _store(self, statement: str, row: msgspec.Struct, *rest: object) -> bool:
        """Return whether an update, given the fields of the row but its id and the rest, changed anything."""
        return self._connection.change(statement, (*msgspec.structs.astuple(row)[1:], *rest)) > 0
