"""Grants, revocations and answers in the audit, whoever gave them."""

from __future__ import annotations

from msgspec import UNSET

from sayso.core.audit import events
from sayso.core.decision import operations_of
from sayso.core.effects import CallEnded, Effect, GrantAdded, QuestionClosed
from sayso.core.grants import Grant
from sayso.core.session import Session, find_ended_grants
from sayso.gate.gate import Gate
from sayso.gate.rows.journal import record
from sayso.store.contract import Writer


def record_grant(gate: Gate, tx: Writer, grant: Grant, agent: str = "") -> None:
    """Record a grant: for what, up to which risk, for how long, by whom, in answer to what."""
    granted = events.Granted(
        grant.id,
        grant.kind,
        grant.risk.word,
        by=grant.given_by,
        seconds=round(grant.expires_at - tx.now),
        uses=grant.uses,
        policy=grant.policy,
        question=UNSET if grant.question is None else grant.question,
    )
    operations = operations_of_grant(grant)
    record(tx, granted, session=grant.session, agent=agent, operations=operations, stream=gate.stream)


def operations_of_grant(grant: Grant) -> tuple[str, ...]:
    """Return the operations that a grant is for, as its entries name them."""
    return (grant.value,) if grant.kind == "operation" else grant.pins.operations or ()


def record_lasting_grants(gate: Gate, tx: Writer, effects: tuple[Effect, ...], agent: str) -> None:
    """Record each grant of an answer that outlasts its call; the answer's own entry names the rest."""
    for effect in effects:
        if isinstance(effect, GrantAdded) and effect.grant.kind != "call":
            record_grant(gate, tx, effect.grant, agent)


def record_consents(
    gate: Gate, tx: Writer, before: Session, effects: tuple[Effect, ...], *, by: str = "user"
) -> None:
    """Record each grant, revocation and answer among these effects of what somebody said.

    `before` is the session before them: it shows which approvals end with a grant that is revoked.
    """
    for effect in effects:
        if isinstance(effect, GrantAdded):
            record_grant(gate, tx, effect.grant)
        if isinstance(effect, CallEnded):
            record(tx, events.Revoked(by, call=effect.call), session=before.id, stream=gate.stream)
        if isinstance(effect, QuestionClosed):
            _record_answer(gate, tx, before, effect, by)
    for held in find_ended_grants(before, effects, tx.now):
        record(tx, events.Revoked(by, grant=held.grant.id), session=before.id, stream=gate.stream)


def _record_answer(gate: Gate, tx: Writer, before: Session, closed: QuestionClosed, by: str) -> None:
    """Record an answer, with the call and the operations that its question was about."""
    asked = before.questions.get(closed.question)
    answered = events.Answered(
        closed.question, closed.answer, by, digest=UNSET if asked is None else asked.request.digest
    )
    operations = () if asked is None else operations_of(asked.items)
    record(tx, answered, session=before.id, operations=operations, stream=gate.stream)
