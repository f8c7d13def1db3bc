"""Answering a question: the first answer stands, and everyone after is told which it was."""

from __future__ import annotations

import msgspec

from sayso.core.asking import answer as answered
from sayso.core.effects import Granted
from sayso.core.errors import SaysoError
from sayso.gate.expiry import expire_question
from sayso.gate.gate import Gate, everything, loaded, settle, writing
from sayso.gate.journal import record
from sayso.store.base import QuestionRow, Writer


class UnknownQuestion(SaysoError):
    code = "unknown_question"


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
    with writing(gate) as tx:
        row = tx.question(question)
        if row is None:
            raise UnknownQuestion(f"there is no question {question}")
        if row.state != "open":
            return _stands(row, yours=False)
        if tx.now >= row.expires_at:
            return _stands(expire_question(gate, tx, row), yours=False)
        return _answered(gate, tx, row, given, by, reason)


def _answered(gate: Gate, tx: Writer, row: QuestionRow, given: str, by: str, reason: str | None) -> Stands:
    found = loaded(gate, tx, row.session, everything())
    asked = found.session.questions.get(row.id)
    if asked is None:
        raise UnknownQuestion("this question was changed by hand", hint="let the agent ask again")
    effects = answered(asked, given, gate.policy, found.session, tx.now, by=by)
    closed = msgspec.structs.replace(
        row, state="answered", answer=given, reason=reason, by=by, closed_at=tx.now
    )
    if not tx.close_question(closed):
        now_row = tx.question(row.id)
        return _stands(now_row if now_row is not None else row, yours=False)
    settle(gate, tx, found, effects)
    grants = tuple(effect.grant.id for effect in effects if isinstance(effect, Granted))
    operations = tuple(dict.fromkeys(item.operation for item in asked.items))
    details = {"question": row.id, "digest": row.digest, "answer": given, "by": by, "reason": reason or ""}
    where = {
        "session": row.session,
        "agent": found.row.agent,
        "operations": operations,
        "stream": gate.stream,
    }
    record(tx, "ANSWERED", details=details | {"grants": list(grants)}, **where)  # type: ignore[arg-type]
    return _stands(closed, yours=True, grants=grants)


def _stands(row: QuestionRow, *, yours: bool, grants: tuple[str, ...] = ()) -> Stands:
    return Stands(row.id, row.state, row.answer, row.by, row.closed_at, yours, grants)
