"""Find who ended a grant, and why, in the trail, by the moment at which it ended.

- The entry was written in the transaction that ended the grant, so it has the same time and session.
- An entry that names the grant comes before one that only says what was cleared.
- If the trail was pruned, or its clock was ahead, nobody is named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from sayso.core.audit import events
from sayso.core.audit.entry import AuditEntry
from sayso.gate import words
from sayso.gate.audit.backwards import entry_of_row
from sayso.store.contract import Reader

CLEARING = frozenset(name for name, kind in events.EVENTS.items() if kind.ends_consent)
ENDED_WITH = {
    events.SessionStopped.event: words.SESSION_STOPPED,
    events.SessionEnded.event: words.SESSION_ENDED,
}
"""Why consent ended, where the entry itself does not say it."""
MOST_AT_ONCE = 1_000
"""How many entries of one moment are looked at."""


class Ender(msgspec.Struct, frozen=True):
    """A person, if one ended it, and the reason that was recorded."""

    by: str | None = None
    why: str | None = None


def who_ended(tx: Reader, session: str, at: float, grants: Collection[str]) -> Ender:
    """Return who ended one of these grants of this session at this moment, as far as the trail says."""
    found = [entry for stream in tx.streams() for entry in _entries_at(tx, stream, session, at)]
    named = [one for one in found if one.event == events.Revoked.event and one.details.get("grant") in grants]
    candidates = [*named, *(one for one in found if one.event in CLEARING)]
    return next(map(_ender, candidates), Ender())


def _ender(entry: AuditEntry) -> Ender:
    by = "user" if entry.event == events.MessageHeard.event else str(entry.details.get("by") or "")
    why = entry.details.get("why") or ENDED_WITH.get(entry.event)
    return Ender(by or None, None if why is None else str(why))


def _entries_at(tx: Reader, stream: str, session: str, at: float) -> Iterator[AuditEntry]:
    for row in tx.entries(stream, after=_last_before(tx, stream, at), limit=MOST_AT_ONCE):
        if row.at != at:
            return
        entry = entry_of_row(row) if row.session == session else None
        if entry is not None:
            yield entry


def _last_before(tx: Reader, stream: str, at: float) -> int:
    """The number of the last entry before this moment: entries are in the order of time."""
    newest = tx.head(stream)
    low, high = 0, 0 if newest is None else newest.seq
    while low < high:
        middle = (low + high) // 2
        row = next(iter(tx.entries(stream, after=middle, limit=1)), None)
        low, high = (middle + 1, high) if row is not None and row.at < at else (low, middle)
    return low
