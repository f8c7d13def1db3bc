"""Sessions that a session started: named in its sealed row, so that what ends in it ends there too."""

from __future__ import annotations

import msgspec

from sayso.gate import words
from sayso.gate.rows.row_seals import Sealer
from sayso.gate.rows.sessions import LoadedSession, RowSelection, load_session, save_session_row
from sayso.store.contract import Reader, Writer


def end_session_row(tx: Writer, sealer: Sealer, session: str) -> None:
    """End the session; the one that started it no longer has to clear it."""
    row = tx.session(session)
    kept = None if row is None else sealer.open_session(row)
    if row is None or kept is None:
        return
    ended = msgspec.structs.replace(row, ended_at=tx.now)
    tx.put_session(sealer.session(ended, msgspec.structs.replace(kept, version=kept.version + 1)))
    above = None if row.parent is None else load_session(tx, sealer, row.parent, RowSelection())
    if above is not None and above.believed and session in above.kept.children:
        left = tuple(one for one in above.kept.children if one != session)
        save_session_row(tx, sealer, above.row, msgspec.structs.replace(above.kept, children=left))


def add_child(tx: Writer, sealer: Sealer, above: LoadedSession, child: str) -> None:
    """Let a session name one that it started: what ends in it ends there too, row or no row."""
    children = (*above.kept.children, child)
    save_session_row(tx, sealer, above.row, msgspec.structs.replace(above.kept, children=children))


def load_children(tx: Reader, sealer: Sealer, session: str, wanted: RowSelection) -> list[LoadedSession]:
    """Return the open sessions that this one started, oldest first.

    One that is missing or tampered with is reported, and can never be used again: whatever is being cleared
    below was not cleared there.
    """
    above = load_session(tx, sealer, session, RowSelection())
    names = () if above is None or not above.believed else above.kept.children
    found: list[LoadedSession] = []
    for name in names:
        child = load_session(tx, sealer, name, wanted)
        if child is None or not child.believed:
            sealer.doubts.note(words.changed_or_deleted("the session row"), name, burns=True)
        elif child.row.ended_at is None:
            found.append(child)
    return found
