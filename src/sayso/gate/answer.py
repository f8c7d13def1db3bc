"""Answering a question: the first answer stands, and everyone after is told which it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sayso.core.asking import answer, answer_each, said
from sayso.core.decide import decide
from sayso.core.decision import Question
from sayso.core.effects import Closed, Effect, Granted
from sayso.core.errors import SaysoError
from sayso.core.grants import Grant
from sayso.core.model import Origin, Request, Verdict
from sayso.core.offers import given as once
from sayso.gate.acts import operator_act
from sayso.gate.expiry import expire_question
from sayso.gate.gate import Gate, everything, loaded, settle, view_of, writing
from sayso.gate.journal import record, what_would_run
from sayso.gate.state import Loaded
from sayso.gate.telemetry import answered
from sayso.store.base import QuestionRow, Writer


class Reply(msgspec.Struct, frozen=True):
    """What an answer changes, what else its entry says, and what of that is sensitive."""

    effects: tuple[Effect, ...]
    more: dict[str, str] = {}
    edited: bytes | None = None
    sensitive: dict[str, bytes] = {}


class UnknownQuestion(SaysoError):
    code = "unknown_question"


class EditRefused(SaysoError):
    """The edited call is another one's, or the policy never allows it. The question stays open."""

    code = "edit_refused"


class Stands(msgspec.Struct, frozen=True):
    """How a question stands after somebody answered: by whom, what, when; and whether it was this answer."""

    question: str
    state: str
    answer: str | None
    by: str | None
    at: float | None
    yours: bool
    grants: tuple[str, ...] = ()


def answer_question(gate: Gate, question: str, given: str, *, by: str, reason: str | None = None) -> Stands:
    """Give this answer if the question is still open; else say how it stands."""

    def reply(tx: Writer, asked: Question, found: Loaded) -> Reply:
        return Reply(answer(asked, given, gate.policy, found.session, tx.now, by=by))

    return _reply(gate, question, given, by, reason, reply)


def answer_items(
    gate: Gate, question: str, given: Mapping[str, str], *, by: str, reason: str | None = None
) -> Stands:
    """The same with an answer to each item by its id. One no refuses the call."""

    def reply(tx: Writer, asked: Question, found: Loaded) -> Reply:
        return Reply(answer_each(asked, given, gate.policy, found.session, tx.now, by=by))

    return _reply(gate, question, said(given), by, reason, reply)


def cancel_question(gate: Gate, question: str, why: str) -> None:
    """Take back a question that nobody can answer; one that was answered meanwhile stands."""
    with writing(gate) as tx:
        row = tx.question(question)
        if row is None:
            raise UnknownQuestion(f"there is no question {question}")
        closed = msgspec.structs.replace(row, state="cancelled", reason=why, closed_at=tx.now)
        if tx.close_question(closed):
            details = {"question": row.id, "why": why}
            record(tx, "CANCELLED", session=row.session, details=details, stream=gate.stream)


def edit_and_allow(
    gate: Gate, question: str, edited: Request, *, by: str, reason: str | None = None
) -> Stands:
    """Approve the edited call once, in place of the one asked about.

    The policy decides the edited call again, and its no stays a no. Both digests stand in the audit; the call
    that was asked about is not approved.
    """

    def reply(tx: Writer, asked: Question, found: Loaded) -> Reply:
        if _maker(asked.request) != _maker(edited):
            raise EditRefused("an edit changes what a call does, not who makes it with which tool")
        decision = decide(edited, gate.policy, view_of(gate, tx, found, edited), tx.now)
        if decision.verdict is Verdict.DENY:
            raise EditRefused(f"the edited call is denied: {decision.reason}")
        grants: tuple[Grant, ...] = ()
        if decision.verdict is Verdict.ASK:
            how = {"given_by": by, "question": question}
            grants = once("once", edited, decision.asked, gate.policy, found.session, tx.now, **how)
        effects = (*map(Granted, grants), Closed(question, "edit"))
        kept = gate.sealer.edited(question, edited)
        return Reply(effects, {"edited": edited.digest}, kept, what_would_run(edited.call))

    return _reply(gate, question, "edit", by, reason, reply)


def _reply(
    gate: Gate,
    question: str,
    given: str,
    by: str,
    reason: str | None,
    reply_to: Callable[[Writer, Question, Loaded], Reply],
) -> Stands:
    stands = _closed(gate, question, given, by, reason, reply_to)
    if stands.yours:
        answered(question, given, by)
    return stands


def _closed(
    gate: Gate,
    question: str,
    given: str,
    by: str,
    reason: str | None,
    reply_to: Callable[[Writer, Question, Loaded], Reply],
) -> Stands:
    with operator_act(gate) as tx:
        row = tx.question(question)
        if row is None:
            raise UnknownQuestion(f"there is no question {question}")
        if row.state != "open":
            return _stands(row, yours=False)
        if tx.now >= row.expires_at:
            return _stands(expire_question(gate, tx, row), yours=False)
        found = loaded(gate, tx, row.session, everything())
        asked = found.session.questions.get(row.id)
        if asked is None:
            raise UnknownQuestion("this question was changed by hand", hint="let the agent ask again")
        reply = reply_to(tx, asked, found)
        closed = msgspec.structs.replace(
            row, state="answered", answer=given, reason=reason, by=by, closed_at=tx.now, edited=reply.edited
        )
        if not tx.close_question(closed):
            return _stands(tx.question(row.id) or row, yours=False)
        settle(gate, tx, found, reply.effects)
        grants = tuple(effect.grant.id for effect in reply.effects if isinstance(effect, Granted))
        details: dict[str, Any] = {
            "question": row.id,
            "digest": row.digest,
            "answer": given,
            "by": by,
            "reason": reason or "",
            "grants": list(grants),
        }
        if grants:
            details["policy"] = gate.policy.digest
        if asked.bundle is not None:
            details["bundle"] = asked.bundle
        record(
            tx,
            "ANSWERED",
            session=row.session,
            agent=found.row.agent,
            operations=tuple(dict.fromkeys(item.operation for item in asked.items)),
            details=details | reply.more,
            stream=gate.stream,
            sensitive=reply.sensitive,
        )
        return _stands(closed, yours=True, grants=grants)


def _maker(request: Request) -> tuple[str, str, Origin, str]:
    return (request.session, request.agent, request.origin, request.call.tool)


def _stands(row: QuestionRow, *, yours: bool, grants: tuple[str, ...] = ()) -> Stands:
    return Stands(row.id, row.state, row.answer, row.by, row.closed_at, yours, grants)
