"""What a message gave, took back or answered, in the audit."""

from __future__ import annotations

from sayso.core.effects import Closed, Effect, Granted, Revoked
from sayso.gate.gate import Gate
from sayso.gate.journal import record
from sayso.store.base import Writer


def record_consents(gate: Gate, tx: Writer, session: str, effects: tuple[Effect, ...]) -> None:
    """An entry for each grant, revocation and answer among these effects of a user's message."""
    for effect in effects:
        if isinstance(effect, Granted):
            details = {"grant": effect.grant.id, "kind": effect.grant.kind, "risk": effect.grant.risk.word}
            record(tx, "GRANTED", session=session, details=details, stream=gate.stream)
        elif isinstance(effect, Revoked):
            record(tx, "REVOKED", session=session, details={"grant": effect.grant}, stream=gate.stream)
        elif isinstance(effect, Closed):
            details = {"question": effect.question, "answer": effect.answer, "by": "user"}
            record(tx, "ANSWERED", session=session, details=details, stream=gate.stream)
