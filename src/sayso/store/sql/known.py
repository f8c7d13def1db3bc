"""The rows a transaction knows: it read them while nobody else could change them, or wrote them itself.

Where the store can tell that nobody else has written since, the next transaction goes on with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from sayso.core.grants import GrantKey
from sayso.store.contract import Ahead, CallRow, EntryRow, GrantRow, QuestionRow, ReviewRow, SessionRow

MOST_KEPT = 256
"""Of how many sessions, and how many calls, rows are kept for the next transaction."""
FEW_GRANTS = 16
"""Of a session with no more grants than these, all are kept, and chosen from by key."""


class KnownRows(msgspec.Struct):
    """By what they are asked for. None means a row that does not exist."""

    metas: dict[str, str | None] = {}
    """Until any of them is written. Where others write at the same time, only of what was read ahead."""
    sessions: dict[str, SessionRow | None] = {}
    calls: dict[str, CallRow] = {}
    grants: dict[str, GrantRow] = {}
    grants_by_key: dict[tuple[str, tuple[GrantKey, ...]], list[GrantRow]] = {}
    few_grants: dict[str, list[GrantRow] | None] = {}
    """All grants of a session; None if they are too many. Only where whoever writes is alone."""
    open_questions: dict[tuple[str, str], QuestionRow | None] = {}
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
            and wanted.calls <= self.calls.keys()
            and wanted.streams <= self.heads.keys()
            and wanted.metas <= self.metas.keys()
            and wanted.grants <= self.grants.keys()
            and wanted.grants_by_key <= self.grants_by_key.keys()
            and wanted.open_questions <= self.open_questions.keys()
            and wanted.reviews <= self.reviews.keys()
        )

    def keep_for_next(self) -> None:
        """Forget what only this transaction asks for, and everything if it has become a lot."""
        if max(len(self.sessions), len(self.calls), len(self.few_grants), len(self.unasked)) > MOST_KEPT:
            self.clear()
            return
        self.grants.clear()
        self.grants_by_key.clear()
        self.open_questions.clear()
        self.reviews.clear()
        self.newest_times.clear()

    def clear(self) -> None:
        """Forget everything: what was read or written may have been undone."""
        for name in self.__struct_fields__:
            getattr(self, name).clear()

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
        for key in [one for one in self.grants_by_key if one[0] == row.session]:
            del self.grants_by_key[key]
        few = self.few_grants.get(row.session)
        if few is not None:
            self.few_grants[row.session] = [*few, row] if len(few) < FEW_GRANTS else None

    def change_question(self, row: QuestionRow) -> None:
        self.open_questions.pop((row.session, row.digest), None)
        self.unasked.pop(row.session, None)
