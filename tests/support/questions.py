"""Questions for the tests of surfaces: what a gate would ask, with any text an agent could put in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sayso.core.decision import Item, Offer, Question, Ruling
from sayso.core.model import Call, Operation, Piece, Risk, Verdict
from sayso.core.words import offer_text
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.questions.editable import find_editable
from sayso.gate.questions.surface import AskedQuestion

NOW = 1_800_000_000.0
HOUR = 3600.0
ALL = ("once", "task", "temporary", "always", "remember", "deny")


def asked_about(
    call: Call,
    answers: tuple[str, ...] = ALL,
    *,
    risk: Risk = Risk.MODERATE,
    operation: str = "git.push",
    because: tuple[Piece, ...] = (),
    reason: str = "the policy requires approval",
    why: Callable[[], str] = lambda: "1 blocked: silent\n2 approval_required: the policy requires approval",
    **who: Any,
) -> AskedQuestion:
    """A question about this call, with these answers on offer."""
    request = make_request(call, [Operation(operation, because=because)], **who)
    ruling = Ruling(Verdict.ASK, "ask", reason)
    item = Item(operation, "git-remote", "remote git", risk, risk, risk, ruling)
    pinned = call.command or f"{operation} with exactly these arguments"
    offers = tuple(Offer(answer, offer_text(answer, "remote git", pinned)) for answer in answers)
    question = Question("s1.q1", request, (item,), offers, "Proceed?", 1, NOW)
    return AskedQuestion(question, NOW + 2 * HOUR, why, editable=find_editable(question))


def push_question(answers: tuple[str, ...] = ALL, **more: Any) -> AskedQuestion:
    """An agent wants to push."""
    command = "git push origin main"
    call = make_call("shell", {"command": command, "timeout": 30}, command=command, folder="/srv/app")
    return asked_about(call, answers, agent="coder", session="s1", **more)


def mail(**arguments: Any) -> AskedQuestion:
    """An agent wants to send a message with these arguments."""
    call = make_call("send_mail", arguments, door="mcp", server="mail")
    return asked_about(call, operation="email.send", agent="secretary", session="s2")
