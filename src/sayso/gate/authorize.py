"""Deciding a call for real: load what it depends on, decide, write effects and entry in one transaction."""

from __future__ import annotations

import msgspec

from sayso.core.asking import open_question
from sayso.core.decide import decide
from sayso.core.decision import Decision, Question
from sayso.core.effects import Alerted, Effect, Noticed, Opened
from sayso.core.model import Request, Verdict
from sayso.core.offers import with_offers
from sayso.core.session import Scope
from sayso.gate.gate import NO_SCOPE, Gate, TamperedSession, everything, loaded, needed_for, settle, view_of
from sayso.gate.journal import record
from sayso.store.base import Writer

MOST_OPEN = 20
MOST_AN_HOUR = 60
HOUR = 3_600.0

EVENTS = {Verdict.ALLOW: "DECIDED", Verdict.ASK: "ASKED", Verdict.DENY: "BLOCKED"}
FLOODED = "too many questions: at most 20 may be open and 60 be opened in an hour"


class Authorized(msgspec.Struct, frozen=True):
    """What was decided and written; the question, if a person has to answer one."""

    decision: Decision
    question: Question | None
    entry: int


def authorize(gate: Gate, request: Request, scope: Scope = NO_SCOPE) -> Authorized:
    """Decide this call and write down what follows. If that cannot be written, nothing was allowed."""
    try:
        return _authorize(gate, request, scope)
    except TamperedSession as error:
        with gate.store.write() as tx:
            details = {"finding": error.message}
            record(tx, "TAMPERED", session=request.session, details=details, stream=gate.stream)
        raise


def _authorize(gate: Gate, request: Request, scope: Scope) -> Authorized:
    with gate.store.write() as tx:
        wanted = needed_for(request, gate.policy, scope)
        found = loaded(gate, tx, request.session, wanted)
        if found.session.plan is not None:
            found = loaded(gate, tx, request.session, everything())
        view = view_of(gate, tx, found, scope)
        decision = with_offers(decide(request, gate.policy, view, tx.now), request, gate.policy, view, tx.now)
        question: Question | None = None
        effects: tuple[Effect, ...] = decision.effects
        if decision.verdict is Verdict.ASK:
            question = open_question(decision, request, gate.policy, found.session, tx.now)
            if question.id not in found.session.questions and _flooded(tx, request.session):
                decision, question = _refused(decision), None
            else:
                effects = (*effects, Opened(question))
        settle(
            gate, tx, found, effects if question is not None or decision.verdict is not Verdict.ASK else ()
        )
        entry = _record(gate, tx, request, decision)
    return Authorized(decision, question, entry)


def _flooded(tx: Writer, session: str) -> bool:
    still_open, lately = tx.count_questions(session, since=tx.now - HOUR)
    return still_open >= MOST_OPEN or lately >= MOST_AN_HOUR


def _refused(decision: Decision) -> Decision:
    return msgspec.structs.replace(
        decision, verdict=Verdict.DENY, rule="flooding", reason=FLOODED, effects=(), offers=()
    )


def _record(gate: Gate, tx: Writer, request: Request, decision: Decision) -> int:
    details = {
        "digest": request.digest,
        "tool": request.call.tool,
        "origin": request.origin.value,
        "verdict": decision.verdict.value,
        "rule": decision.rule,
        "reason": decision.reason,
        "risk": decision.risk.word,
        "grants": list(decision.grants),
        "policy": gate.policy.digest,
    }
    for effect in decision.effects:
        if isinstance(effect, (Noticed, Alerted)):
            details["notice"] = effect.text
    return record(
        tx,
        EVENTS[decision.verdict],
        session=request.session,
        agent=request.agent,
        operations=tuple(dict.fromkeys(operation.name for operation in request.operations)),
        details=details,
        stream=gate.stream,
    )
