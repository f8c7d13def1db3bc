"""What a message gave, took back or answered, in the audit."""

from __future__ import annotations

from typing import Any

from sayso.core.effects import CallEnded, Closed, Effect, Granted, Revoked
from sayso.gate.gate import Gate
from sayso.gate.journal import record
from sayso.store.base import Writer


def record_consents(
    gate: Gate, tx: Writer, session: str, effects: tuple[Effect, ...], *, by: str = "user"
) -> None:
    """An entry for each grant, revocation and answer among these effects of what somebody said."""
    for effect in effects:
        entry = _entry(effect, by)
        if entry is not None:
            event, details = entry
            record(tx, event, session=session, details=details, stream=gate.stream)


def _entry(effect: Effect, by: str) -> tuple[str, dict[str, Any]] | None:
    if isinstance(effect, Granted):
        grant = effect.grant
        return "GRANTED", {"grant": grant.id, "kind": grant.kind, "risk": grant.risk.word}
    if isinstance(effect, Revoked):
        return "REVOKED", {"grant": effect.grant, "by": by}
    if isinstance(effect, CallEnded):
        return "REVOKED", {"call": effect.call, "by": by}
    if isinstance(effect, Closed):
        return "ANSWERED", {"question": effect.question, "answer": effect.answer, "by": by}
    return None
