"""Calls that need consent, and what becomes of them: an edit, a push, and the question they open."""

from __future__ import annotations

from sayso.core.model import Operation, Request
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from tests.support.answers import answer_question


def edit(
    session: str, target: str = "a.py", *, operation: str = "files.edit", state: str | None = None
) -> Request:
    call = make_call("edit", {"path": target}, target=target, state=state)
    return make_request(call, [Operation(operation)], session=session)


def push(session: str) -> Request:
    return make_request(make_call("shell", {}, command="git push"), [Operation("git.push")], session=session)


def bare(session: str) -> Request:
    """A call that needs no consent by itself."""
    return make_request(make_call("work", {}), [Operation("capability.work")], session=session)


def rule(gate: Gate, request: Request) -> str:
    """The rule that decides this call now."""
    return authorize(gate, request).decision.rule


def asked(gate: Gate, request: Request) -> str:
    """The question that this call opens; its id."""
    question = authorize(gate, request).question
    assert question is not None
    return question.id


def approve(gate: Gate, request: Request, answer: str = "once") -> str:
    """Ask about this call and give this answer; the question's id."""
    question = asked(gate, request)
    assert answer_question(gate, question, answer, by="ana").yours
    return question
