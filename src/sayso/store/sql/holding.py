"""Reads of a transaction that writes: what it has read it holds, so it is read once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from sayso.core.grants import GrantKey
from sayso.store.contract import (
    Ahead,
    CallRow,
    EntryRow,
    GrantRow,
    QuestionRow,
    QuestionState,
    ReviewRow,
    SessionRow,
    SpendRow,
)
from sayso.store.sql import statements as sql
from sayso.store.sql.known import FEW_GRANTS
from sayso.store.sql.reader import SqlReader

Row = TypeVar("Row", bound=msgspec.Struct)
Name = TypeVar("Name", bound=tuple[str, ...])


class HoldingReader(SqlReader):
    """Reads of a transaction that writes. What it has read it holds, so it is read once."""

    def read_ahead(self, wanted: Ahead) -> None:
        self._connection.read_ahead(wanted, self._known)

    def meta(self, name: str) -> str | None:
        known = self._known.metas
        if name in known:
            return known[name]
        value = super().meta(name)
        if self._connection.local:  # whoever writes is alone
            known[name] = value
        return value

    def session(self, session: str) -> SessionRow | None:
        known = self._known.sessions
        if session not in known:
            known[session] = super().session(session)
        return known[session]

    def grants(self, session: str, keys: Iterable[GrantKey] | None = None) -> Sequence[GrantRow]:
        if keys is None:
            return super().grants(session)
        few = self._find_few_grants(session) if self._connection.local else None
        if few is not None:
            chosen = set(keys)
            return [row for row in few if (row.kind, row.value) in chosen]
        wanted = (session, tuple(keys))
        known = self._known.grants_by_key
        if wanted not in known:
            among = self._known.grants_among(*wanted)
            known[wanted] = list(super().grants(*wanted)) if among is None else among
        return known[wanted]

    def _find_few_grants(self, session: str) -> list[GrantRow] | None:
        known = self._known.few_grants
        if session not in known:
            found = self._all(GrantRow, sql.FIRST_GRANTS, session, FEW_GRANTS + 1)
            known[session] = found if len(found) <= FEW_GRANTS else None
        return known[session]

    def grants_named(self, session: str, grants: Iterable[str]) -> Sequence[GrantRow]:
        names, known = list(dict.fromkeys(grants)), self._known.grants
        left = [name for name in names if name not in known]
        found = {row.id: row for row in super().grants_named(session, left)} if left else {}
        known.update(found)
        rows = (known.get(name) for name in names)
        return [row for row in rows if row is not None and row.session == session]

    def grant(self, grant: str) -> GrantRow | None:
        known = self._known.grants
        return known[grant] if grant in known else _keep(known, grant, super().grant(grant))

    def spends(self, grants: Iterable[str]) -> Sequence[SpendRow]:
        wanted, known = sorted(set(grants)), self._known.spends
        if not known.keys() >= set(wanted):
            return super().spends(wanted)
        return [row for name in wanted for row in known[name]]

    def question(self, question: str) -> QuestionRow | None:
        known = self._known.questions
        if question in known and not self._hold(known[question].session):
            return known[question]
        return _keep(known, question, super().question(question))

    def questions(
        self,
        session: str | None = None,
        *,
        state: QuestionState | None = "open",
        owner: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[QuestionRow]:
        whole = None if session is None or after else self._known.all_questions.get(session)
        if whole is None or state != "open" or len(whole) > limit:
            return super().questions(session, state=state, owner=owner, after=after, limit=limit)
        return whole

    def count_open(self, session: str | None = None) -> int:
        known = None if session is None else self._known.counted.get(session)
        return super().count_open(session) if known is None else known

    def open_question(self, session: str, digest: str) -> QuestionRow | None:
        wanted, known = (session, digest), self._known.open_questions
        if wanted not in known:
            if self._connection.local and self._is_unasked(session):
                return None
            known[wanted] = super().open_question(session, digest)
        return known[wanted]

    def _is_unasked(self, session: str) -> bool:
        known = self._known.unasked
        if session not in known:
            known[session] = not self._connection.rows(sql.ANY_OPEN_QUESTION, (session,))
        return known[session]

    def reviews(self, names: Iterable[str] | None = None, *, fresh: bool = False) -> Sequence[ReviewRow]:
        wanted, known = None if names is None else sorted(set(names)), self._known.reviews
        if wanted is None or fresh or not known.keys() >= set(wanted):
            return super().reviews(wanted)
        return [row for name in wanted if (row := known[name]) is not None]

    def call(self, call: str) -> CallRow | None:
        known = self._known.calls
        if call in self._known.no_calls:
            return None
        return known[call] if call in known else _keep(known, call, super().call(call))

    def call_by_host(self, session: str, host_id: str) -> CallRow | None:
        wanted, known = (session, host_id), self._known.host_ids
        if not self._is_known(known, wanted):
            self._note_call(known, wanted, super().call_by_host(*wanted))
        return self._call_behind(known[wanted])

    def call_by_key(self, session: str, tool: str, key: str) -> CallRow | None:
        wanted, known = (session, tool, key), self._known.call_keys
        if not self._is_known(known, wanted):
            self._note_call(known, wanted, super().call_by_key(*wanted))
        return self._call_behind(known[wanted])

    def _is_known(self, known: dict[Name, str | None], wanted: Name) -> bool:
        """Return whether it is known which call this is, and what its row says."""
        call = known.get(wanted)
        return wanted in known and (call is None or call in self._known.calls)

    def _note_call(self, known: dict[Name, str | None], wanted: Name, found: CallRow | None) -> None:
        known[wanted] = None if found is None else found.id
        if found is not None:
            self._known.calls[found.id] = found

    def _call_behind(self, call: str | None) -> CallRow | None:
        return None if call is None else self._known.calls[call]

    def calls_by_effect(self, effect_key: str) -> Sequence[CallRow]:
        known = self._known.effects
        if effect_key not in known:
            known[effect_key] = list(super().calls_by_effect(effect_key))
        return known[effect_key]

    def head(self, stream: str) -> EntryRow | None:
        known = self._known.heads
        if stream in known:
            return known[stream]
        self._connection.hold(f"stream/{stream}")
        return self._known.note_head(stream, self._connection.rows(sql.HEAD, (stream,)))

    def newest_time(self) -> float | None:
        """As it was read ahead. What this transaction adds is not older than the head of its own stream."""
        known = self._known.newest_times
        return known[0] if known else super().newest_time()


def _keep(known: dict[str, Row], name: str, row: Row | None) -> Row | None:
    """Keep a row that was found. One that does not exist yet may be added by others."""
    if row is not None:
        known[name] = row
    return row
