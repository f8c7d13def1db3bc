"""What a store in memory keeps, and how it is read.

A table is a mapping of groups, a group a mapping of rows in the order they were added. Whoever writes changes
them in place; a reader sees them as they were when it began (`past`).
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

import msgspec

from sayso.core.grants import GrantKey
from sayso.core.ledger import NOT_OVER
from sayso.store.contract import (
    CallRow,
    CheckpointRow,
    DeliveryRow,
    EntryRow,
    EntryTuple,
    GrantRow,
    MetaRow,
    NodeRow,
    QuestionRow,
    QuestionState,
    ReviewRow,
    RowT,
    SecretRow,
    SessionRow,
    SpendRow,
    StoreError,
    SummaryRow,
)
from sayso.store.memory.past import Row, Table

Named = TypeVar("Named", SessionRow, QuestionRow)
ALL = ""
"""The group of a table whose rows are looked for in more than one way."""
_EMPTY: Any = msgspec.field(default_factory=Table)


class Tables(msgspec.Struct, frozen=True):
    """Everything that is stored. Beside each table: what it is grouped by, and the key in a group."""

    meta: Table[str] = _EMPTY  # by ALL, then name
    sessions: Table[SessionRow] = _EMPTY  # by ALL, then id
    grants: Table[GrantRow] = _EMPTY  # by session, then id
    spends: Table[SpendRow] = _EMPTY  # by grant, then number
    reviews: Table[ReviewRow] = _EMPTY  # by ALL, then name
    questions: Table[QuestionRow] = _EMPTY  # by ALL, then id
    calls: Table[CallRow] = _EMPTY  # by ALL, then id
    entries: Table[EntryRow] = _EMPTY  # by stream, then seq
    nodes: Table[NodeRow] = _EMPTY  # by stream, then level and index
    checkpoints: Table[CheckpointRow] = _EMPTY  # by ALL, then number
    secrets: Table[SecretRow] = _EMPTY  # by stream, then seq and name
    summaries: Table[SummaryRow] = _EMPTY  # by source, then kind, name and place
    deliveries: Table[DeliveryRow] = _EMPTY  # by surface, then subject


# For each kind of row its table, what it is grouped by, and its key in the group, if not simply its number.
PLACES: dict[type[msgspec.Struct], tuple[str, str, tuple[str, ...]]] = {
    SessionRow: ("sessions", "", ("id",)),
    GrantRow: ("grants", "session", ("id",)),
    SpendRow: ("spends", "grant", ("number",)),
    ReviewRow: ("reviews", "", ("name",)),
    QuestionRow: ("questions", "", ("id",)),
    CallRow: ("calls", "", ("id",)),
    EntryRow: ("entries", "stream", ("seq",)),
    NodeRow: ("nodes", "stream", ("level", "index")),
    CheckpointRow: ("checkpoints", "", ()),
    SecretRow: ("secrets", "stream", ("seq", "name")),
    SummaryRow: ("summaries", "source", ("kind", "name", "place")),
    DeliveryRow: ("deliveries", "surface", ("subject",)),
}

CAN_GO = (SecretRow, SummaryRow, DeliveryRow)
"""Rows that can be taken away. If that is undone they come last in their group, so they are listed by key."""


class _NoTables:
    """The tables of a transaction that is over."""

    def __getattr__(self, table: str) -> Any:
        if table not in Tables.__struct_fields__:
            raise AttributeError(table)
        raise StoreError("this transaction is over: it was left, or something in it failed")


OVER = cast("Tables", _NoTables())


class MemoryReader:
    """Reads of one moment."""

    over = False

    def __init__(self, tables: Tables, now: float) -> None:
        self._tables = tables
        self.now = now

    def leave(self) -> None:
        """Refuse everything from now on: what is in the tables by then is of another moment."""
        self._tables = OVER

    def was_committed(self, number: int) -> bool | None:
        """Nobody can tell what they did not number, so it may have been."""
        del number
        return True

    def meta(self, name: str) -> str | None:
        return self._tables.meta[ALL].get(name)

    def session(self, session: str) -> SessionRow | None:
        return self._tables.sessions[ALL].get(session)

    def sessions(
        self, *, open_only: bool = True, owner: str | None = None, after: str = "", limit: int = 1000
    ) -> Sequence[SessionRow]:
        rows = _rows_after(after, self._tables.sessions[ALL].values())
        mine = (row for row in rows if owner in (None, row.owner))
        return _take_first(limit, (row for row in mine if row.ended_at is None or not open_only))

    def children(self, session: str) -> Sequence[SessionRow]:
        return [row for row in self._tables.sessions[ALL].values() if row.parent == session]

    def grants(self, session: str, keys: Iterable[GrantKey] | None = None) -> Sequence[GrantRow]:
        wanted = None if keys is None else set(keys)
        rows = self._tables.grants[session].values()
        return list(rows) if wanted is None else [row for row in rows if (row.kind, row.value) in wanted]

    def grants_named(self, session: str, grants: Iterable[str]) -> Sequence[GrantRow]:
        found = (self._tables.grants[session].get(name) for name in dict.fromkeys(grants))
        return [row for row in found if row is not None]

    def grant(self, grant: str) -> GrantRow | None:
        return next((group[grant] for group in self._tables.grants.values() if grant in group), None)

    def grants_ending_after(
        self,
        now: float,
        *,
        session: str | None = None,
        owner: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[GrantRow]:
        last = self.grant(after) if after else None
        if after and last is None:
            return []
        opened = [
            row.id
            for row in self._tables.sessions[ALL].values()
            if row.ended_at is None and session in (None, row.id) and owner in (None, row.owner)
        ]
        ending = [row for name in opened for row in self.grants(name) if row.expires_at > now]
        return _take_first(
            limit,
            (row for row in sorted(ending, key=_end_key) if last is None or _end_key(row) > _end_key(last)),
        )

    def active_run_grants(self, now: float) -> Sequence[GrantRow]:
        runs = [row for row in self.grants_ending_after(now, limit=sys.maxsize) if row.kind == "run"]
        return [row for row in runs if all(spend.what != "revoke" for spend in self.spends([row.id]))]

    def spends(self, grants: Iterable[str]) -> Sequence[SpendRow]:
        groups = (self._tables.spends[grant] for grant in sorted(set(grants)))
        return [group[number] for group in groups for number in sorted(group)]

    def reviews(self, names: Iterable[str] | None = None, *, fresh: bool = False) -> Sequence[ReviewRow]:
        del fresh
        rows = self._tables.reviews[ALL]
        return [rows[name] for name in sorted(rows if names is None else set(names) & rows.keys())]

    def question(self, question: str) -> QuestionRow | None:
        return self._tables.questions[ALL].get(question)

    def open_question(self, session: str, digest: str) -> QuestionRow | None:
        for row in reversed(self._tables.questions[ALL].values()):
            if row.digest == digest and _matches(row, session, "open"):
                return row
        return None

    def questions(
        self,
        session: str | None = None,
        *,
        state: QuestionState | None = "open",
        owner: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[QuestionRow]:
        rows = _rows_after(after, self._tables.questions[ALL].values())
        if owner is not None and session is None:
            rows = (row for row in rows if (whose := self.session(row.session)) and whose.owner == owner)
        return _take_first(limit, (row for row in rows if _matches(row, session, state)))

    def count_open(self, session: str | None = None) -> int:
        return sum(_matches(row, session, "open") for row in self._tables.questions[ALL].values())

    def late_sessions(self, now: float) -> Sequence[str]:
        rows = self._tables.questions[ALL].values()
        return sorted({row.session for row in rows if row.state == "open" and row.expires_at <= now})

    def call(self, call: str) -> CallRow | None:
        return self._tables.calls[ALL].get(call)

    def call_by_host(self, session: str, host_id: str) -> CallRow | None:
        return self._last_call(lambda row: row.session == session and row.host_id == host_id)

    def call_by_key(self, session: str, tool: str, key: str) -> CallRow | None:
        return self._last_call(lambda row: (row.session, row.tool, row.key) == (session, tool, key))

    def calls_by_effect(self, effect_key: str) -> Sequence[CallRow]:
        return [row for row in self._tables.calls[ALL].values() if row.effect_key == effect_key]

    def calls(
        self, *, states: Iterable[str], runs_only: bool = False, limit: int = 1000
    ) -> Sequence[CallRow]:
        wanted = set(states)
        rows = (row for row in self._tables.calls[ALL].values() if row.state in wanted)
        return _take_first(limit, (row for row in rows if row.workflow is not None or not runs_only))

    def bytes_of_calls(self, session: str) -> int:
        rows = (row for row in self._tables.calls[ALL].values() if row.session == session)
        return sum(len(row.body) for row in rows if row.state in NOT_OVER and not self._is_answered(row))

    def _is_answered(self, row: CallRow) -> bool:
        question = self.question(row.question) if row.question is not None else None
        return row.state == "pending" and question is not None and question.state != "open"

    def head(self, stream: str) -> EntryRow | None:
        chain = self._tables.entries[stream]
        return chain.get(len(chain))

    def entries(self, stream: str, *, after: int = 0, limit: int = 1000) -> Sequence[EntryRow]:
        chain = self._tables.entries[stream]
        places = range(max(after, 0) + 1, min(max(after, 0) + limit, len(chain)) + 1)
        return [row for row in map(chain.get, places) if row is not None]

    def entry_tuples(self, stream: str, *, after: int = 0, limit: int = 1000) -> Sequence[EntryTuple]:
        rows = self.entries(stream, after=after, limit=limit)
        return [(row.seq, row.body, row.prev, row.hash, row.at, row.event, row.session) for row in rows]

    def streams(self) -> Sequence[str]:
        return sorted(stream for stream, rows in self._tables.entries.items() if rows)

    def newest_time(self) -> float | None:
        heads = (self.head(stream) for stream in self.streams())
        return max((head.at for head in heads if head is not None), default=None)

    def nodes(self, stream: str, places: Iterable[tuple[int, int]]) -> Sequence[NodeRow]:
        group = self._tables.nodes[stream]
        return [group[place] for place in sorted(set(places)) if place in group]

    def checkpoints(self, *, limit: int = 1, skip: int = 0) -> Sequence[CheckpointRow]:
        newest = reversed(self._tables.checkpoints[ALL].values())
        return _take_first(limit, itertools.islice(newest, skip, None))

    def secrets(self, stream: str, seq: int) -> Sequence[SecretRow]:
        rows = (row for row in self._tables.secrets[stream].values() if row.seq == seq)
        return sorted(rows, key=lambda row: row.name)

    def summaries(self, source: str, kind: str, keys: Iterable[tuple[str, int]]) -> Sequence[SummaryRow]:
        group = self._tables.summaries[source]
        found = (group.get((kind, *key)) for key in sorted(set(keys)))
        return [row for row in found if row is not None]

    def newest_summaries(
        self, source: str, kind: str, name: str, *, first: int = 0, before: int, limit: int = 1000
    ) -> Sequence[SummaryRow]:
        places = [
            place
            for (one, whose, place) in self._tables.summaries[source]
            if (one, whose) == (kind, name) and first <= place < before
        ]
        return self.summaries(source, kind, ((name, place) for place in sorted(places)[::-1][:limit]))[::-1]

    def delivery(self, surface: str, subject: str) -> DeliveryRow | None:
        return self._tables.deliveries[surface].get(subject)

    def deliveries_due(self, surface: str, *, by: float, limit: int = 100) -> Sequence[DeliveryRow]:
        rows = self._tables.deliveries[surface].values()
        due = [row for row in rows if row.state == "due" and row.due_at <= by]
        return sorted(due, key=lambda row: (row.due_at, row.subject))[:limit]

    def questions_to_show(self, surface: str, *, limit: int = 100) -> Sequence[str]:
        known = self._tables.deliveries[surface]
        rows = self._tables.questions[ALL].values()
        return _take_first(limit, (row.id for row in rows if row.state == "open" and row.id not in known))

    def deliveries_to_close(self, surface: str, *, by: float, limit: int = 100) -> Sequence[DeliveryRow]:
        rows = self._tables.deliveries[surface].values()
        shown = [row for row in rows if row.state == "shown" and row.kind == "question"]
        questions = self._tables.questions[ALL]
        closed = [row for row in shown if row.subject in questions and questions[row.subject].state != "open"]
        return sorted((row for row in closed if row.due_at <= by), key=lambda row: row.subject)[:limit]

    def every(self, kind: type[RowT]) -> Iterator[RowT]:
        if kind is MetaRow:
            yield from itertools.starmap(kind, self._tables.meta[ALL].items())
            return
        groups: Table[RowT] = getattr(self._tables, PLACES[kind][0])
        for rows in list(groups.values()):  # what is written meanwhile may be among them or not
            yield from [rows[key] for key in sorted(rows)] if kind in CAN_GO else list(rows.values())

    def _last_call(self, wanted: Callable[[CallRow], bool]) -> CallRow | None:
        rows = reversed(self._tables.calls[ALL].values())
        return next((row for row in rows if wanted(row)), None)


def _take_first(limit: int, rows: Iterable[Row]) -> list[Row]:
    return list(itertools.islice(rows, limit))


def _rows_after(after: str, rows: Iterable[Named]) -> Iterator[Named]:
    """The rows after the one with this id: all of them if none is named, none if it is unknown."""
    left = iter(rows)
    if after:
        any(row.id == after for row in left)  # which leaves `left` just behind it
    return left


def _end_key(row: GrantRow) -> tuple[float, str]:
    return row.expires_at, row.id


def _matches(row: QuestionRow, session: str | None, state: QuestionState | None) -> bool:
    return session in (None, row.session) and state in (None, row.state)
