"""Questions: how an ask is put to a person, and what an answer changes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sayso.core import words
from sayso.core.deciding.offers import grants_of_answers, lift_suspensions
from sayso.core.deciding.showing import check_seen, describe_whole_call, shows_all
from sayso.core.decision import Decision, Item, Question
from sayso.core.effects import (
    CallRefused,
    Effect,
    GrantAdded,
    QuestionClosed,
    QuestionOpened,
    QuestionShown,
    SessionChanged,
)
from sayso.core.errors import ApprovalsNeeded, UnknownAnswer
from sayso.core.model import Request, Risk
from sayso.core.policy import Policy, terms_of
from sayso.core.rulebook import STOPPED
from sayso.core.session import Session
from sayso.core.session.numbering import new_question_id
from sayso.core.team import CoveredOperation, rules_for


def find_or_open_question(
    decision: Decision,
    request: Request,
    policy: Policy,
    session: Session,
    now: float,
    *,
    bundle: str | None = None,
    later: tuple[str, ...] = (),
) -> Question:
    """The question an ask opens; the same call, asked again by the same rules, joins the one that is open.

    By other rules it is a new question, which takes the place of the old one: why it is asked is always true.
    So it is while a long task waits to be confirmed, if the old one does not say that a yes does that.
    """
    task = session.task
    unconfirmed = task is not None and task.unconfirmed
    alike = (q for q in session.questions.values() if _same(q, request) and _by_same_rules(q, decision))
    twin = next((q for q in alike if is_open(q, session, policy, now)), None)
    if twin is not None and (twin.confirms_task or not unconfirmed):
        return twin
    name = new_question_id(session)
    text = question_text(decision, request, policy, later, name=name)
    return Question(
        id=name,
        request=request,
        items=decision.items_to_ask,
        offers=decision.offers,
        text=f"{text}\n{words.confirms_task(task.name)}" if task is not None and unconfirmed else text,
        turn=session.turn,
        opened_at=now,
        task=task.id if task is not None else None,
        bundle=bundle,
        later=later,
        policy=policy.digest,
        terms=terms_of(policy, ((item.operation, item.risk) for item in decision.items_to_ask)),
        complete=_complete(decision, request, later),
        confirms_task=unconfirmed,
        lasts=policy.settings.question_lasts,
    )


def retell_after_stop(question: Question) -> Question:
    """The same question after the stop that it was asked for was lifted: only the reason is another."""
    was = next(item.ruling.reason for item in question.items if item.ruling.rule == STOPPED.name)
    heading, now = words.heading(was), words.heading(words.WAS_STOPPED)
    told = question.text.removeprefix(heading)
    return msgspec.structs.replace(
        question,
        items=tuple(map(_after_stop, question.items)),
        text=question.text if told == question.text else f"{now}{told}",
    )


def _after_stop(item: Item) -> Item:
    if item.ruling.rule != STOPPED.name:
        return item
    ruling = msgspec.structs.replace(item.ruling, reason=words.WAS_STOPPED)
    return msgspec.structs.replace(item, ruling=ruling)


def is_open(question: Question, session: Session, policy: Policy, now: float) -> bool:
    """Return whether it can still be answered: neither closed nor expired, by the policy of now as well."""
    lasts = min(question.lasts, policy.settings.question_lasts)
    return question.id in session.questions and now - question.opened_at < lasts


def _same(question: Question, request: Request) -> bool:
    return question.claim is None and question.request.digest == request.digest


def _by_same_rules(question: Question, decision: Decision) -> bool:
    """Return whether it asks for the same operations, each with the rule and risk of now."""
    before, now = (
        [(item.operation, item.ruling.rule, item.risk) for item in items]
        for items in (question.items, decision.items_to_ask)
    )
    return before == now


def effects_of_showing(question: Question, session: Session) -> tuple[Effect, ...]:
    """The question is opened, and put in the conversation in this turn."""
    return (QuestionOpened(question), QuestionShown(question.id, session.turn))


def effects_of_answer(
    question: Question,
    given_answer: str,
    policy: Policy,
    session: Session,
    now: float,
    by: str = "operator",
    *,
    seen: str | None = None,
) -> tuple[Effect, ...]:
    """Return the effects of an answer. Only an exact, offered answer to an open question allows anything.

    `seen` is the digest of the call that whoever answers was shown whole; above moderate risk nothing is
    allowed without it.
    """
    answers = dict.fromkeys(question.item_ids, given_answer)
    return effects_of_answers(question, answers, policy, session, now, by, seen=seen)


def effects_of_answers(
    question: Question,
    answers: Mapping[str, str],
    policy: Policy,
    session: Session,
    now: float,
    by: str = "operator",
    *,
    seen: str | None = None,
    approved: bool = False,
) -> tuple[Effect, ...]:
    """The same with an answer to each item by its id. They are parts of one call: one no refuses it.

    What needs the team's approvals is granted only where the caller has counted them (`approved`), and only
    once.
    """
    if not is_open(question, session, policy, now):
        raise UnknownAnswer("this question is no longer open", hint="let the agent make the call again")
    question = session.questions[question.id]  # what was asked, not what the caller holds
    if question.claim is not None:
        raise UnknownAnswer("this asks about a message, and not about a call")
    _check_answers(question, answers, session)
    if "deny" in answers.values():
        return (CallRefused(question.request.digest, session.turn, now), QuestionClosed(question.id, "deny"))
    check_seen(question, seen)
    if needs_approvals(question, policy) and not (approved and set(answers.values()) == {"once"}):
        raise ApprovalsNeeded(words.approvals_needed(question.id), hint=words.APPROVE_ONCE)
    each = [(item, answers[name]) for name, item in zip(question.item_ids, question.items, strict=True)]
    within = _no_wider_than_asked(question, policy)
    how = {"given_by": by, "question": question.id, "terms": question.terms}
    grants = grants_of_answers(each, question.request, within, session, now, **how)
    goes_on = _confirm_task(question, answers, session)
    return (
        *goes_on,
        *lift_suspensions(question.items, session),
        *map(GrantAdded, grants),
        QuestionClosed(question.id, summarize_answers(answers)),
    )


def needs_approvals(question: Question, policy: Policy) -> bool:
    """Return whether the team's rules of now say who has to approve this, and how many.

    What a message counts as is the user's own: what it then allows is never covered by such a rule.
    """
    if not policy.team.approvals or question.claim is not None:
        return False
    return bool(rules_for(policy.team, subjects_of(question.items)))


def subjects_of(items: tuple[Item, ...]) -> tuple[CoveredOperation, ...]:
    """Return what the team's rules look at: each operation's domain, and its risk."""
    return tuple(CoveredOperation(item.operation.partition(".")[0], item.risk) for item in items)


def _confirm_task(question: Question, answers: Mapping[str, str], session: Session) -> tuple[Effect, ...]:
    """A yes to a question that says so confirms the long task; "once" only where nothing wider is offered."""
    task = session.task
    if task is None or not (task.unconfirmed and question.confirms_task and task.id == question.task):
        return ()
    if set(answers.values()) == {"once"} and question.offers_answer("task"):
        return ()
    return (SessionChanged(task=msgspec.structs.replace(task, unconfirmed=False)),)


def summarize_answers(answers: Mapping[str, str]) -> str:
    """The answers in one word; if they differ, item by item."""
    different = set(answers.values())
    if "deny" in different:
        return "deny"
    if len(different) == 1:
        return different.pop()
    return ", ".join(f"{name}: {given}" for name, given in sorted(answers.items(), key=_by_number))


def _by_number(answered: tuple[str, str]) -> tuple[int, str]:
    """In the order of numbers. What is none is refused, but only once it was looked at."""
    return len(answered[0]), answered[0]


def _check_answers(question: Question, answers: Mapping[str, str], session: Session) -> None:
    if set(answers) != set(question.item_ids):
        raise UnknownAnswer(
            "every item of the question needs an answer",
            hint=f"its items are: {', '.join(question.item_ids)}",
        )
    for given_answer in answers.values():
        if not question.offers_answer(given_answer):
            offered = ", ".join(offer.answer for offer in question.offers)
            raise UnknownAnswer(
                f"{given_answer!r} is not an answer to this question", hint=f"answer one of: {offered}"
            )
    if "task" in answers.values() and (session.task is None or session.task.id != question.task):
        raise UnknownAnswer("the task this was asked in has ended", hint="answer once, or deny")


def _no_wider_than_asked(question: Question, policy: Policy) -> Policy:
    """Under another policy than the one it was asked under, an answer pins exactly what was shown."""
    if question.policy == policy.digest or policy.settings.grant_pins == "exact":
        return policy
    settings = msgspec.structs.replace(policy.settings, grant_pins="exact")
    return msgspec.structs.replace(policy, settings=settings)


def question_text(
    decision: Decision, request: Request, policy: Policy, later: tuple[str, ...] = (), *, name: str = "ID"
) -> str:
    """Why it is asked, all of what would run, what a yes covers, and for risky calls what they do.

    `name` is the question's id, if it is really opened.
    """
    asked = decision.items_to_ask
    reasons = (describe_operation(item.operation, request, policy) for item in asked)
    will = dict.fromkeys(words.visible(reason) for reason in reasons if reason)
    category = " and ".join(dict.fromkeys(item.category_words for item in asked))
    lines = [*describe_whole_call(request, asked), *map(words.later_question_line, later)]
    notes = [words.coverage_note(category if _for_task(decision) else None), _describe_asker(request, policy)]
    if decision.announce is not None:
        notes.append(decision.announce)
    if not _complete(decision, request, later):
        notes.append(words.folding_note(name))
    wider = any(offer.answer not in ("once", "deny") for offer in decision.offers)
    return words.format_question(decision.rule, decision.reason, category, lines, notes, will, wider=wider)


def describe_operation(name: str, request: Request, policy: Policy) -> str | None:
    """Return the description of an operation: from this call, the policy, or its declaration."""
    found = [one for one in request.operations if one.name == name]
    telling = (*(one.found for one in found), policy.entry(name).reason, *(one.reason for one in found))
    return next((text for text in telling if text), None)


def only_declared(name: str, request: Request, policy: Policy) -> bool:
    """Return whether what is told of an operation are only the words of whoever declared it."""
    found = [one.found for one in request.operations if one.name == name]
    return not any((*found, policy.entry(name).reason))


def _for_task(decision: Decision) -> bool:
    """Return whether a yes in the conversation holds for the task: offered, and of moderate risk."""
    offered = any(offer.answer == "task" for offer in decision.offers)
    return offered and max(item.risk for item in decision.items_to_ask) is Risk.MODERATE


def _describe_asker(request: Request, policy: Policy) -> str:
    return words.asker_line(request.agent, request.session, policy.settings.question_lasts, request.digest)


def _complete(decision: Decision, request: Request, later: tuple[str, ...]) -> bool:
    """Return whether the question's text leaves nothing out."""
    reasons = [operation.reason or "" for operation in request.operations]
    return shows_all(request, decision.items_to_ask, (request.agent, request.session, *later, *reasons))
