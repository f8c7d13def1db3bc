"""What was just asked in the conversation: open questions, and questions of Sayso's own."""

from __future__ import annotations

from sayso.core.conversation.hearing import Hearing
from sayso.core.deciding.questions import is_open
from sayso.core.deciding.showing import describe_whole_call
from sayso.core.decision import Question


def was_asked(h: Hearing) -> bool:
    """Whether a question was put in the conversation just before the message."""
    return bool(find_just_shown(h))


def is_for_once(h: Hearing) -> bool:
    """Whether a yes is for one call only: said so now, or in the message that was asked back."""
    pending = h.before.pending
    asked_back = was_asked_back(h, "question") or was_asked_back(h, "which")
    return h.message.once or (pending is not None and asked_back and pending.once)


def was_asked_about_closed(h: Hearing, shown: list[Question]) -> bool:
    """Whether the message comes right after Sayso asked about a question that is no longer open."""
    pending, is_there = h.before.pending, {question.id for question in shown}
    if pending is None:
        return False
    if was_asked_back(h, "question"):
        return pending.question not in is_there
    return was_asked_back(h, "which") and not is_there.issuperset(pending.questions)


def find_listed(h: Hearing) -> list[Question | None]:
    """The questions as they were numbered or shown, each in its place; None for one no longer open."""
    is_there = {question.id: question for question in find_just_shown(h)}
    if was_asked_back(h, "which") and h.before.pending is not None:
        return [is_there.get(name) for name in h.before.pending.questions]
    shown = [q for q in h.session.questions.values() if h.session.shown.get(q.id) == h.before.turn]
    return [is_there.get(question.id) for question in shown if question.claim is None]


def find_in_order(h: Hearing) -> list[Question]:
    """The questions just shown, in the order they were numbered in, if they were."""
    shown = find_just_shown(h)
    if not was_asked_back(h, "which") or h.before.pending is None:
        return shown
    order = h.before.pending.questions
    return sorted(shown, key=lambda q: order.index(q.id) if q.id in order else len(order))


def find_just_shown(h: Hearing) -> list[Question]:
    """The questions put in the conversation in the turn just before this message."""
    shown = [q for q in h.session.questions.values() if h.session.shown.get(q.id) == h.before.turn]
    return [q for q in shown if q.claim is None and is_open(q, h.session, h.policy, h.now)]


def number_questions(shown: list[Question]) -> list[str]:
    """Each question with its number and the whole of its call."""
    each = (describe_whole_call(q.request, q.items, mark=f"{number}. ") for number, q in enumerate(shown, 1))
    return [line for lines in each for line in lines]


def was_asked_back(h: Hearing, about: str, plan: str | None = None) -> bool:
    """Whether the message comes right after Sayso's own question about this, and about this very plan."""
    pending = h.before.pending
    return (
        pending is not None
        and pending.about == about
        and pending.turn == h.before.turn
        and pending.plan == plan
    )


def was_question_asked_back(h: Hearing, question: Question) -> bool:
    """Whether the message comes right after this very question was asked back."""
    pending = h.before.pending
    return pending is not None and was_asked_back(h, "question") and pending.question == question.id
