"""User starts: a user's click, recorded before anything runs for it."""

from __future__ import annotations

from sayso.core.audit import events
from sayso.gate.gate import Gate, writing
from sayso.gate.rows.journal import record


def record_user_start(gate: Gate, session: str, operation: str) -> None:
    """Record that a scope of the user's own begins. If this cannot be written, nothing in it runs."""
    with writing(gate) as tx:
        record(tx, events.UserInitiated(), session=session, operations=(operation,), stream=gate.stream)
