"""Messages that a host only claims: the operator is asked whether they were said; a yes makes them count."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sayso.core.conversation import words
from sayso.core.conversation.hear import hear_text
from sayso.core.conversation.hearing import Heard
from sayso.core.deciding.questions import is_open
from sayso.core.deciding.showing import check_seen, describe_whole_call, shows_all
from sayso.core.decision import Item, Offer, Question, Ruling
from sayso.core.effects import Effect, GrantAdded, QuestionClosed
from sayso.core.errors import UnknownAnswer
from sayso.core.model import Assurance, Operation, Request, Risk, Verdict
from sayso.core.policy import Policy
from sayso.core.rulebook import CLAIMED
from sayso.core.session import Session
from sayso.core.session.numbering import new_question_id

TOOL = "message"
OPERATION = Operation("conversation.message", risk=Risk.HIGH)
"""What a message does cannot be told from outside the conversation, so it counts as the worst."""


def claim_question(
    text: str,
    request: Request,
    session: Session,
    policy: Policy,
    now: float,
    *,
    unsigned: Risk | None = Risk.HIGH,
) -> Question:
    """Ask whether the user wrote this message of the turn at hand."""
    ruling = Ruling(Verdict.ASK, CLAIMED.name, words.ONLY_CLAIMED)
    item = Item(OPERATION.name, OPERATION.name, "messages", Risk.HIGH, Risk.HIGH, Risk.HIGH, ruling)
    offers = _offers_of_claim(_hear_claim(session, text, policy, now, unsigned), session)
    return Question(
        id=new_question_id(session),
        request=request,
        items=(item,),
        offers=offers,
        text=words.did_you_say(request.agent, text),
        turn=session.turn,
        opened_at=now,
        policy=policy.digest,
        claim=text,
        lasts=policy.settings.question_lasts,
        complete=shows_all(request, (item,), (text, request.agent, *(offer.words for offer in offers))),
    )


def effects_of_claim_answer(
    question: Question,
    answers: Mapping[str, str],
    policy: Policy,
    session: Session,
    now: float,
    *,
    seen: str | None = None,
    unsigned: Risk | None = Risk.HIGH,
) -> tuple[Effect, ...]:
    """A yes: the message counts as one that the user typed here and now. Anything but a yes changes nothing.

    It belongs to its turn; once the conversation has gone on there is no question about it any more.
    """
    if not is_open(question, session, policy, now) or session.turn != question.turn:
        raise UnknownAnswer("this question is no longer open", hint="say it again")
    question = session.questions[question.id]  # what was asked, not what the caller holds
    if set(answers) != set(question.item_ids) or not set(answers.values()) <= {"once", "deny"}:
        raise UnknownAnswer("that is not an answer to this question", hint="answer one of: once, deny")
    if "deny" in answers.values() or question.claim is None:
        return (QuestionClosed(question.id, "deny"),)
    check_seen(question, seen)
    heard = _hear_claim(session, question.claim, policy, now, unsigned)
    if _offers_of_claim(heard, session) != question.offers:
        raise UnknownAnswer("the message would do something else by now than was shown", hint="say it again")
    return (QuestionClosed(question.id, "once"), *heard.effects)


def _hear_claim(session: Session, text: str, policy: Policy, now: float, unsigned: Risk | None) -> Heard:
    """The message as the user's own, in the turn at hand. The question shows what a plan would cover.

    The operator's signature is for the message, and never for a call that the message would answer.
    """
    asked = {name: one for name, one in session.questions.items() if one.claim is None}
    plan = None if session.plan is None else msgspec.structs.replace(session.plan, shown=True)
    before = msgspec.structs.replace(session, turn=session.turn - 1, questions=asked, plan=plan)
    return hear_text(before, text, policy, now, Assurance.ASSURED, unsigned=unsigned)


def _offers_of_claim(heard: Heard, session: Session) -> tuple[Offer, ...]:
    """What a yes does is what the message would do: which question it answers, and what else it says."""
    closed = [one.question for one in heard.effects if isinstance(one, QuestionClosed)]
    asked = [session.questions[name] for name in closed if name in session.questions]
    calls = [line for one in asked for line in describe_whole_call(one.request, one.items, fold=None)]
    grants = [one.grant for one in heard.effects if isinstance(one, GrantAdded)]
    planned = [
        words.plan_operation_line(grant.value, grant.pins.targets)
        for grant in grants
        if grant.group is not None
    ]
    said = words.counts_as_yours((*planned, *heard.did), calls)
    return Offer("once", said), Offer("deny", words.NOT_YOURS)
