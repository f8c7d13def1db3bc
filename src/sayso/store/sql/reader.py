"""The reads of the contract in SQL, for SQLite and PostgreSQL alike.

What differs (opening, beginning, committing, locking) is behind `Connection`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TypeVar

import msgspec

from sayso.core.grants import GrantKey
from sayso.store.contract import (
    CallRow,
    CheckpointRow,
    DeliveryRow,
    EntryRow,
    EntryTuple,
    GrantRow,
    NodeRow,
    QuestionRow,
    QuestionState,
    ReviewRow,
    RowT,
    SecretRow,
    SessionRow,
    SpendRow,
    SummaryRow,
)
from sayso.store.sql import statements as sql
from sayso.store.sql.connection import Connection

PAGE = 1000
CHUNK = 500
"""How many keys go into one statement; both databases limit its parameters."""
LAST_ID = "\U0010ffff"
"""Comes after every id."""

Row = TypeVar("Row", bound=msgspec.Struct)
Owned = TypeVar("Owned", GrantRow, QuestionRow, CallRow)


class SqlReader:
    """Reads of one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known = connection.known

    now = property(attrgetter("_connection.now"))

    def was_committed(self, number: int) -> bool | None:
        return self._connection.was_committed(number)

    def meta(self, name: str) -> str | None:
        found = self._connection.rows(sql.META, (name,))
        return str(found[0][0]) if found else None

    def session(self, session: str) -> SessionRow | None:
        self._hold(session)
        return self._one(SessionRow, sql.SESSION, session)

    def sessions(
        self, *, open_only: bool = True, owner: str | None = None, after: str = "", limit: int = 1000
    ) -> Sequence[SessionRow]:
        place = self._place(sql.SESSION_PLACE, after)
        if place is None:
            return []
        if owner is None:
            return self._all(SessionRow, sql.SESSIONS_OPEN if open_only else sql.SESSIONS, place, limit)
        statement = sql.SESSIONS_OWNER_OPEN if open_only else sql.SESSIONS_OWNER
        return self._all(SessionRow, statement, owner, place, limit)

    def children(self, session: str) -> Sequence[SessionRow]:
        return self._all(SessionRow, sql.CHILDREN, session)

    def grants(self, session: str, keys: Iterable[GrantKey] | None = None) -> Sequence[GrantRow]:
        self._hold(session)
        if keys is None:
            return self._all(GrantRow, sql.GRANTS, session)
        wanted = list(dict.fromkeys(keys))
        if len(wanted) > CHUNK:  # the order is that of all grants, so they are all read
            chosen = set(wanted)
            return [row for row in self.grants(session) if (row.kind, row.value) in chosen]
        return self._for_each(GrantRow, sql.GRANTS_BY_KEY, wanted, session)

    def grants_named(self, session: str, grants: Iterable[str]) -> Sequence[GrantRow]:
        self._hold(session)
        return self._for_each(
            GrantRow, sql.GRANTS_NAMED, [(name,) for name in dict.fromkeys(grants)], session
        )

    def grant(self, grant: str) -> GrantRow | None:
        return self._find_and_hold(GrantRow, sql.GRANT, grant)

    def grants_ending_after(
        self,
        now: float,
        *,
        session: str | None = None,
        owner: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[GrantRow]:
        start: tuple[float, str] = (now, LAST_ID)
        if after:
            found = self._connection.rows(sql.GRANT_END, (after,))
            if not found:
                return []
            start = max(start, found[0])
        if session is not None:
            return self._all(GrantRow, sql.GRANTS_ENDING_SESSION, *start, session, limit)
        if owner is not None:
            return self._all(GrantRow, sql.GRANTS_ENDING_OWNER, *start, owner, limit)
        return self._all(GrantRow, sql.GRANTS_ENDING, *start, limit)

    def active_run_grants(self, now: float) -> Sequence[GrantRow]:
        return self._all(GrantRow, sql.ACTIVE_RUN_GRANTS, now)

    def spends(self, grants: Iterable[str]) -> Sequence[SpendRow]:
        return self._for_each(SpendRow, sql.SPENDS, [(grant,) for grant in sorted(set(grants))])

    def reviews(self, names: Iterable[str] | None = None, *, fresh: bool = False) -> Sequence[ReviewRow]:
        del fresh
        if names is None:
            return self._all(ReviewRow, sql.REVIEWS)
        return self._for_each(ReviewRow, sql.REVIEWS_BY_NAME, [(name,) for name in sorted(set(names))])

    def question(self, question: str) -> QuestionRow | None:
        return self._find_and_hold(QuestionRow, sql.QUESTION, question)

    def open_question(self, session: str, digest: str) -> QuestionRow | None:
        self._hold(session)
        return self._one(QuestionRow, sql.OPEN_QUESTION, session, digest)

    def questions(
        self,
        session: str | None = None,
        *,
        state: QuestionState | None = "open",
        owner: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[QuestionRow]:
        place = self._place(sql.QUESTION_PLACE, after)
        if place is None:
            return []
        whole, of_state = sql.QUESTIONS, sql.QUESTIONS_STATE
        if session is not None:
            whole, of_state = sql.QUESTIONS_SESSION, sql.QUESTIONS_SESSION_STATE
        elif owner is not None:
            whole, of_state = sql.QUESTIONS_OWNER, sql.QUESTIONS_OWNER_STATE
        whose = [one for one in (session, owner) if one is not None][:1]
        if session is not None and state == "open":
            return self._all(QuestionRow, sql.QUESTIONS_SESSION_OPEN, session, place, limit)
        if state is None:
            return self._all(QuestionRow, whole, *whose, place, limit)
        return self._all(QuestionRow, of_state, *whose, state, place, limit)

    def count_open(self, session: str | None = None) -> int:
        if session is None:
            return self._count(sql.COUNT_OPEN_ANYWHERE)
        self._hold(session)
        return self._count(sql.COUNT_OPEN, session)

    def late_sessions(self, now: float) -> Sequence[str]:
        return sorted(session for (session,) in self._connection.rows(sql.LATE_SESSIONS, (now,)))

    def call(self, call: str) -> CallRow | None:
        return self._find_and_hold(CallRow, sql.CALL, call)

    def call_by_host(self, session: str, host_id: str) -> CallRow | None:
        self._hold(session)
        return self._one(CallRow, sql.CALL_BY_HOST, session, host_id)

    def call_by_key(self, session: str, tool: str, key: str) -> CallRow | None:
        self._hold(session)
        return self._one(CallRow, sql.CALL_BY_KEY, session, tool, key)

    def calls_by_effect(self, effect_key: str) -> Sequence[CallRow]:
        self._connection.hold(f"effect/{effect_key}")
        return self._all(CallRow, sql.CALLS_BY_EFFECT, effect_key)

    def calls(
        self, *, states: Iterable[str], runs_only: bool = False, limit: int = 1000
    ) -> Sequence[CallRow]:
        wanted = sorted(set(states))
        statement = sql.CALLS_OF_RUNS if runs_only else sql.calls_statement(wanted)
        return self._for_each(CallRow, statement, [(state,) for state in wanted], limit)

    def bytes_of_calls(self, session: str) -> int:
        return self._count(sql.BYTES_OF_CALLS, session)

    def head(self, stream: str) -> EntryRow | None:
        self._connection.hold(f"stream/{stream}")
        found = self._connection.rows(sql.HEAD, (stream,))
        return EntryRow(stream, *found[0][1:]) if found else None

    def entries(self, stream: str, *, after: int = 0, limit: int = 1000) -> Sequence[EntryRow]:
        found = self._connection.rows(sql.ENTRIES, (stream, _seq_within(after), limit))
        return [EntryRow(stream, *values) for values in found]

    def entry_tuples(self, stream: str, *, after: int = 0, limit: int = 1000) -> Sequence[EntryTuple]:
        return self._connection.rows(sql.ENTRY_TUPLES, (stream, _seq_within(after), limit))

    def streams(self) -> Sequence[str]:
        return [row[0] for row in self._connection.rows(sql.STREAMS, ())]

    def newest_time(self) -> float | None:
        found: float | None = self._connection.rows(sql.NEWEST_TIME, ())[0][0]
        return found

    def nodes(self, stream: str, places: Iterable[tuple[int, int]]) -> Sequence[NodeRow]:
        return self._for_each(NodeRow, sql.NODES, sorted(set(places)), stream)

    def checkpoints(self, *, limit: int = 1, skip: int = 0) -> Sequence[CheckpointRow]:
        return self._all(CheckpointRow, sql.CHECKPOINTS, limit, skip)

    def secrets(self, stream: str, seq: int) -> Sequence[SecretRow]:
        return self._all(SecretRow, sql.SECRETS, stream, seq)

    def summaries(self, source: str, kind: str, keys: Iterable[tuple[str, int]]) -> Sequence[SummaryRow]:
        return self._for_each(SummaryRow, sql.SUMMARIES, sorted(set(keys)), source, kind)

    def newest_summaries(
        self, source: str, kind: str, name: str, *, first: int = 0, before: int, limit: int = 1000
    ) -> Sequence[SummaryRow]:
        return self._all(SummaryRow, sql.NEWEST_SUMMARIES, source, kind, name, first, before, limit)

    def delivery(self, surface: str, subject: str) -> DeliveryRow | None:
        return self._one(DeliveryRow, sql.DELIVERY, surface, subject)

    def deliveries_due(self, surface: str, *, by: float, limit: int = 100) -> Sequence[DeliveryRow]:
        return self._all(DeliveryRow, sql.DELIVERIES_DUE, surface, by, limit)

    def questions_to_show(self, surface: str, *, limit: int = 100) -> Sequence[str]:
        return [name for (name,) in self._connection.rows(sql.QUESTIONS_TO_SHOW, (surface, limit))]

    def deliveries_to_close(self, surface: str, *, by: float, limit: int = 100) -> Sequence[DeliveryRow]:
        return self._all(DeliveryRow, sql.DELIVERIES_TO_CLOSE, surface, by, limit)

    def every(self, kind: type[RowT]) -> Iterator[RowT]:
        width = len(sql.TABLES[kind][1])
        page = self._connection.rows(sql.page_statement(kind, first=True), (PAGE,))
        while page:
            yield from (kind(*values[width:]) for values in page)
            page = self._connection.rows(sql.page_statement(kind, first=False), (*page[-1][:width], PAGE))

    def _hold(self, session: str) -> bool:
        if self._connection.local:  # whoever writes is alone anyway
            return False
        return self._connection.hold(f"session/{session}")

    def _find_and_hold(self, row: type[Owned], statement: str, name: str) -> Owned | None:
        """A row found by its id, as it is once the session it belongs to is held."""
        found = self._one(row, statement, name)
        if found is None or not self._hold(found.session):
            return found
        return self._one(row, statement, name)

    def _one(self, row: type[Row], statement: str, *parameters: object) -> Row | None:
        found = self._connection.rows(statement, parameters)
        return row(*found[0]) if found else None

    def _all(self, row: type[Row], statement: str, *parameters: object) -> list[Row]:
        return [row(*values) for values in self._connection.rows(statement, parameters)]

    def _place(self, statement: str, after: str) -> int | None:
        """Return what a page after this row begins behind: 0 if none is named, None if it is unknown."""
        if not after:
            return 0
        found = self._connection.rows(statement, (after,))
        return int(found[0][0]) if found else None

    def _count(self, statement: str, *parameters: object) -> int:
        return int(self._connection.rows(statement, parameters)[0][0])

    def _for_each(
        self, row: type[Row], statement: str, keys: Sequence[tuple[object, ...]], *rest: object
    ) -> list[Row]:
        """The rows for these keys. More keys than fit are asked for in turn, so they come sorted."""
        found: list[Row] = []
        for start in range(0, len(keys), CHUNK):
            text, values = sql.with_keys(statement, keys[start : start + CHUNK])
            found += self._all(row, text, *values, *rest)
        return found


def _seq_within(seq: int) -> int:
    """The number, or the nearest one that lies within its stream or just before it."""
    return min(max(seq, -1), sql.LAST_SEQ)
