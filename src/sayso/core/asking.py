"""Questions: how an ask is put to a person, and what an answer changes."""

from __future__ import annotations

import msgspec

from sayso.core import words
from sayso.core.decision import Decision, Item, Question
from sayso.core.effects import Closed, Effect, Granted, Opened, Refused, Shown
from sayso.core.errors import UnknownAnswer
from sayso.core.grants import MINUTE
from sayso.core.model import Call, Request
from sayso.core.offers import given, lifts
from sayso.core.policy import Policy
from sayso.core.session import Session

QUESTION_LASTS = 120 * MINUTE


def open_question(
    decision: Decision, request: Request, policy: Policy, session: Session, now: float
) -> Question:
    """The question an ask opens; the same call asked again joins the one that is open."""
    twin = next(
        (q for q in session.questions.values() if _same(q, request) and is_open(q, session, now)), None
    )
    if twin is not None:
        return twin
    return Question(
        id=f"{session.id}.q{session.asked + 1}",
        request=request,
        items=decision.asked,
        offers=decision.offers,
        text=question_text(decision, request, policy),
        turn=session.turn,
        opened_at=now,
        task=session.task.id if session.task else None,
    )


def is_open(question: Question, session: Session, now: float) -> bool:
    """Whether it can still be answered: not closed, and not older than two hours."""
    return question.id in session.questions and now - question.opened_at < QUESTION_LASTS


def _same(question: Question, request: Request) -> bool:
    return question.request.digest == request.digest


def show(question: Question, session: Session) -> tuple[Effect, ...]:
    """The question is opened, and put in the conversation in this turn."""
    return (Opened(question), Shown(question.id, session.turn))


def answer(
    question: Question, given_answer: str, policy: Policy, session: Session, now: float, by: str = "operator"
) -> tuple[Effect, ...]:
    """What an answer changes. Only an exact, offered answer to a question still open allows anything."""
    if not is_open(question, session, now):
        raise UnknownAnswer("this question is no longer open", hint="let the agent make the call again")
    question = session.questions[question.id]  # what was asked, not what the caller holds
    if not question.offers_answer(given_answer):
        offered = ", ".join(offer.answer for offer in question.offers)
        raise UnknownAnswer(
            f"{given_answer!r} is not an answer to this question", hint=f"answer one of: {offered}"
        )
    closed = Closed(question.id, given_answer)
    if given_answer == "deny":
        return (Refused(question.request.digest, session.turn, now), closed)
    if given_answer == "task" and (session.task is None or session.task.id != question.task):
        raise UnknownAnswer("the task this was asked in has ended", hint="answer once, or deny")
    grants = given(
        given_answer,
        question.request,
        question.items,
        policy,
        session,
        now,
        given_by=by,
        question=question.id,
    )
    return (*lifts(question.items, session), *map(Granted, grants), closed)


def question_text(decision: Decision, request: Request, policy: Policy) -> str:
    """Why it is asked, what would run, what it does."""
    asked = decision.asked
    will = dict.fromkeys(reason for item in asked if (reason := policy.entry(item.operation).reason))
    category = " and ".join(dict.fromkeys(item.category_words for item in asked))
    return words.question(decision.rule, decision.reason, category, lines(request, asked), will)


def lines(request: Request, asked: tuple[Item, ...]) -> list[str]:
    """What would run: the command, or the operations with target and arguments; and what state it meets."""
    call = request.call
    state = [] if call.state is None else [words.state(call.state)]
    if call.command is not None:
        return [words.visible(call.command), *state]
    target = f" {words.visible(call.target)}" if call.target else ""
    return [*(f"{item.operation}{target}{_arguments(call)}" for item in asked), *state]


def _arguments(call: Call) -> str:
    arguments = msgspec.json.decode(call.arguments, type=dict[str, msgspec.Raw])
    told = ", ".join(
        f"{words.visible(name)}: {words.visible(bytes(raw).decode())}" for name, raw in arguments.items()
    )
    return f" ({told})" if told else ""
