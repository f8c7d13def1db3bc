"""Grants, revocations and answers in the audit, whoever gave them."""

from __future__ import annotations

from typing import Any

from sayso.core.effects import CallEnded, Effect, GrantAdded, QuestionClosed
from sayso.core.grants import Grant
from sayso.core.session import Session, find_ended_grants
from sayso.gate.gate import Gate
from sayso.gate.rows.journal import record
from sayso.store.contract import Writer


def record_grant(gate: Gate, tx: Writer, grant: Grant, agent: str = "") -> None:
    """The entry of a grant: for what, up to which risk, for how long, by whom, in answer to what."""
    details = {
        "grant": grant.id,
        "kind": grant.kind,
        "risk": grant.risk.word,
        "by": grant.given_by,
        "seconds": round(grant.expires_at - tx.now),
        "uses": grant.uses,
        "policy": grant.policy,
    }
    if grant.question is not None:
        details["question"] = grant.question
    operations = (grant.value,) if grant.kind == "operation" else grant.pins.operations or ()
    record(
        tx,
        "GRANTED",
        session=grant.session,
        agent=agent,
        operations=operations,
        details=details,
        stream=gate.stream,
    )


def record_lasting_grants(gate: Gate, tx: Writer, effects: tuple[Effect, ...], agent: str) -> None:
    """An entry for each grant of an answer that outlasts its call; the answer's own entry names the rest."""
    for effect in effects:
        if isinstance(effect, GrantAdded) and effect.grant.kind != "call":
            record_grant(gate, tx, effect.grant, agent)


def record_consents(
    gate: Gate, tx: Writer, before: Session, effects: tuple[Effect, ...], *, by: str = "user"
) -> None:
    """An entry for each grant, revocation and answer among these effects of what somebody said.

    `before` is the session before them: it tells which approvals end with a grant that is revoked.
    """
    for effect in effects:
        if isinstance(effect, GrantAdded):
            record_grant(gate, tx, effect.grant)
        entry = _entry_for_effect(effect, by)
        if entry is not None:
            event, details = entry
            record(tx, event, session=before.id, details=details, stream=gate.stream)
    for held in find_ended_grants(before, effects, tx.now):
        details = {"grant": held.grant.id, "by": by}
        record(tx, "REVOKED", session=before.id, details=details, stream=gate.stream)


def _entry_for_effect(effect: Effect, by: str) -> tuple[str, dict[str, Any]] | None:
    if isinstance(effect, CallEnded):
        return "REVOKED", {"call": effect.call, "by": by}
    if isinstance(effect, QuestionClosed):
        return "ANSWERED", {"question": effect.question, "answer": effect.answer, "by": by}
    return None
