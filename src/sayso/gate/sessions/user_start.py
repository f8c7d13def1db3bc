"""User starts: a user's click, recorded before anything runs for it."""

from __future__ import annotations

from sayso.core.audit import events
from sayso.core.session import Click
from sayso.gate.gate import Gate, load_open_session, writing
from sayso.gate.rows.journal import record
from sayso.gate.rows.sessions import RowSelection


def record_user_start(gate: Gate, session: str, operation: str) -> Click:
    """Record that a scope of the user's own begins. If this cannot be written, nothing in it runs.

    What is cleared, or taken back by name, after the moment returned has ended for that scope.
    """
    with writing(gate) as tx:
        found = load_open_session(gate, tx, session, RowSelection()).session
        record(tx, events.UserInitiated(), session=session, operations=(operation,), stream=gate.stream)
        return Click(found.clearings, found.revocations)
