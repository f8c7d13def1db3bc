"""The rows a transaction knows: it read them while nobody else could change them, or wrote them itself.

Where the store can tell that nobody else has written since, the next transaction goes on with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from sayso.core.grants import GrantKey
from sayso.store.contract import (
    Ahead,
    CallRow,
    EntryRow,
    GrantRow,
    QuestionRow,
    ReviewRow,
    SessionRow,
    SpendRow,
)

MOST_KEPT = 256
"""Of how many sessions, and how many calls, rows are kept for the next transaction."""
FEW_GRANTS = 16
"""Of a session with no more grants than these, all are kept, and chosen from by key."""


class KnownRows(msgspec.Struct):
    """By what they are asked for. None means a row that does not exist. No list of these is ever changed."""

    metas: dict[str, str | None] = {}
    """Until any of them is written. Where others write at the same time, only of what was read ahead."""
    sessions: dict[str, SessionRow | None] = {}
    calls: dict[str, CallRow] = {}
    no_calls: set[str] = set()
    """What was read ahead and is no call, unless others have added it since."""
    host_ids: dict[tuple[str, str], str | None] = {}
    """The newest call of a session with this host id, by its own id."""
    call_keys: dict[tuple[str, str, str], str | None] = {}
    """The same for the idempotency key of a tool."""
    effects: dict[str, list[CallRow]] = {}
    """All calls with an effect key, of whatever sessions: these need not be held, but the key is."""
    grants: dict[str, GrantRow] = {}
    grants_by_key: dict[tuple[str, tuple[GrantKey, ...]], list[GrantRow]] = {}
    few_grants: dict[str, list[GrantRow] | None] = {}
    """All grants of a session; None if they are too many. Only where whoever writes is alone."""
    spends: dict[str, list[SpendRow]] = {}
    """All of a grant, in their order. Only of what was read ahead."""
    approvals: set[tuple[str, str]] = set()
    """The calls, by session and digest, about whose approvals all was read ahead."""
    questions: dict[str, QuestionRow] = {}
    all_questions: dict[str, list[QuestionRow]] = {}
    """The open questions of a session, in their order. Only of what was read ahead."""
    open_questions: dict[tuple[str, str], QuestionRow | None] = {}
    counted: dict[str, int] = {}
    """How many questions of a session are open. Only of what was read ahead."""
    unasked: dict[str, bool] = {}
    """Whether a session has no open question. Only where whoever writes is alone."""
    reviews: dict[str, ReviewRow | None] = {}
    """Only of what was read ahead, and until any of them is written."""
    heads: dict[str, EntryRow] = {}
    """The newest entry of a stream."""
    streams: dict[str, int] = {}
    """The number of each stream whose newest entry is known."""
    newest_times: list[float | None] = []
    """The highest time of all streams, once it was read ahead."""

    def has_all(self, wanted: Ahead) -> bool:
        """Return whether nothing of this has to be read."""
        return (
            wanted.sessions <= self.sessions.keys()
            and self.new_calls(wanted) == []
            and wanted.streams <= self.heads.keys()
            and wanted.metas <= self.metas.keys()
            and wanted.host_ids <= self.host_ids.keys()
            and wanted.call_keys <= self.call_keys.keys()
            and wanted.effects <= self.effects.keys()
            and wanted.grants <= self.grants.keys()
            and wanted.grants_by_key <= self.grants_by_key.keys()
            and wanted.approvals <= self.approvals
            and wanted.open_questions <= self.open_questions.keys()
            and {question for _, question in wanted.questions} <= self.questions.keys()
            and wanted.questions_of <= self.all_questions.keys()
            and wanted.counted <= self.counted.keys()
            and wanted.reviews <= self.reviews.keys()
        )

    def new_calls(self, wanted: Ahead) -> list[str]:
        """The calls that are wanted, and of which it is not known what they are."""
        return sorted(wanted.calls - self.calls.keys() - self.no_calls)

    def keep_for_next(self) -> None:
        """Forget what only this transaction asks for, and everything if it has become a lot."""
        if max(len(self.sessions), len(self.calls), len(self.few_grants), len(self.unasked)) > MOST_KEPT:
            self.clear()
            return
        for rows in _only_of_one(self):
            if rows:
                rows.clear()

    def clear(self) -> None:
        """Forget everything: what was read or written may have been undone."""
        for name in self.__struct_fields__:
            getattr(self, name).clear()

    def copy(self) -> KnownRows:
        """The same, as it is now."""
        return KnownRows(*[getattr(self, name).copy() for name in self.__struct_fields__])

    def go_back(self, before: KnownRows) -> None:
        """What was learned and written since then was undone."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(before, name))

    # --- what was read ---

    def learn_calls(self, rows: Iterable[Sequence[Any]]) -> list[CallRow]:
        found = [CallRow(*row) for row in rows]
        self.calls.update({one.id: one for one in found})
        return found

    def learn_grants(self, rows: Iterable[Sequence[Any]]) -> list[GrantRow]:
        found = [GrantRow(*row) for row in rows]
        self.grants.update({one.id: one for one in found})
        return found

    def learn_questions(self, rows: Iterable[Sequence[Any]]) -> list[QuestionRow]:
        found = [QuestionRow(*row) for row in rows]
        self.questions.update({one.id: one for one in found})
        return found

    def grants_among(self, session: str, keys: tuple[GrantKey, ...]) -> list[GrantRow] | None:
        """The grants of a session with these keys, if more is known of it; None if that is not known."""
        chosen = set(keys)
        more = (one for one in self.grants_by_key if one[0] == session and chosen.issubset(one[1]))
        rows = self.grants_by_key.get(next(more, _NO_KEY))
        return None if rows is None else [row for row in rows if (row.kind, row.value) in chosen]

    # --- what was written ---

    def change_session(self, row: SessionRow) -> None:
        """A stored session got this workspace, head, count and MAC."""
        stored = self.sessions.pop(row.id, None)
        if stored is not None:
            self.sessions[row.id] = msgspec.structs.replace(
                stored, workspace=row.workspace, head=row.head, spends=row.spends, mac=row.mac
            )

    def note_head(self, stream: str, found: Sequence[tuple[Any, ...]]) -> EntryRow | None:
        """The newest entry of a stream, as its row was found behind the number of the stream."""
        if not found:
            return None
        number, *values = found[0]
        self.streams[stream] = number
        self.heads[stream] = head = EntryRow(stream, *values)
        return head

    def add_grant(self, row: GrantRow) -> None:
        self.grants[row.id] = row
        for one, rows in self.grants_by_key.items():
            if one[0] == row.session and (row.kind, row.value) in one[1]:
                self.grants_by_key[one] = [*rows, row]
        few = self.few_grants.get(row.session)
        if few is not None:
            self.few_grants[row.session] = [*few, row] if len(few) < FEW_GRANTS else None

    def add_spend(self, row: SpendRow) -> None:
        if row.grant in self.spends:
            self.spends[row.grant] = [*self.spends[row.grant], row]

    def put_call(self, row: CallRow) -> None:
        """A call is stored as this row: as a new one, or in the place of the one with this id."""
        if row.host_id is not None:
            _set_or_forget(self.host_ids, (row.session, row.host_id), row.id)
        if row.key is not None:
            _set_or_forget(self.call_keys, (row.session, row.tool, row.key), row.id)
        rows = None if row.effect_key is None else self.effects.get(row.effect_key)
        if rows is not None and all(one.id != row.id for one in rows):
            self.effects[str(row.effect_key)] = [*rows, row]
        self.change_call(row)

    def change_call(self, row: CallRow) -> None:
        """The stored call with this id is this row now."""
        self.calls[row.id] = row
        self.no_calls.discard(row.id)
        for effect, rows in [*self.effects.items()] if self.effects else ():
            among = any(one.id == row.id for one in rows)
            if among != (effect == row.effect_key):
                del self.effects[effect]  # it came to this effect, or left it
            elif among:
                self.effects[effect] = [row if one.id == row.id else one for one in rows]

    def add_question(self, row: QuestionRow) -> None:
        """A question is added, newer than all of its session."""
        self._change_question(row, 1)
        self.open_questions[row.session, row.digest] = row
        if row.session in self.all_questions:
            self.all_questions[row.session] = [*self.all_questions[row.session], row]

    def close_question(self, row: QuestionRow) -> None:
        """An open question is closed as this row says."""
        self._change_question(row, -1)
        self.open_questions.pop((row.session, row.digest), None)
        left = self.all_questions.get(row.session)
        if left is not None:
            self.all_questions[row.session] = [one for one in left if one.id != row.id]

    def _change_question(self, row: QuestionRow, more: int) -> None:
        self.unasked.pop(row.session, None)
        self.questions[row.id] = row
        if row.session in self.counted:
            self.counted[row.session] += more


_NO_KEY: tuple[str, tuple[GrantKey, ...]] = ("", ())
_KEPT = ("metas", "sessions", "calls", "few_grants", "unasked", "heads", "streams")
"""What the next transaction goes on with, where nobody else has written since."""
_only_of_one = attrgetter(*[name for name in KnownRows.__struct_fields__ if name not in _KEPT])


def _set_or_forget(known: dict[Any, str | None], name: object, call: str) -> None:
    """There was no call of this name, so it is this one; else nobody can tell here which is the newest."""
    if name in known and known[name] is None:
        known[name] = call
    elif known.get(name) != call:
        known.pop(name, None)
