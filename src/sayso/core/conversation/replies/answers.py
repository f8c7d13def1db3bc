"""A yes or a no in the conversation: to an open question, to "still working?", to a hand-off, to a plan."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sayso.core import effects as fx
from sayso.core.conversation import words
from sayso.core.conversation.hearing import Hearing
from sayso.core.conversation.message import Message
from sayso.core.conversation.replies.asked import (
    find_in_order,
    find_just_shown,
    is_for_once,
    number_questions,
    was_asked_about_closed,
    was_asked_back,
    was_question_asked_back,
)
from sayso.core.conversation.replies.plans import (
    agree_to_plan,
    is_too_late,
    narrow_plan_under_way,
    refuse_plan,
)
from sayso.core.conversation.withdrawal import take_last_yes_back, unsays_last_yes
from sayso.core.deciding.questions import effects_of_answer, is_open, needs_approvals
from sayso.core.deciding.showing import describe_whole_call, digest_seen_in_text
from sayso.core.decision import Question
from sayso.core.model import Risk
from sayso.core.plans.edit import begins_with_yes
from sayso.core.session import PendingPrompt, Task


def hear_yes(h: Hearing) -> None:
    """A yes, of whatever strength, with or without a change."""
    shown = find_just_shown(h)
    chosen = [q for q in shown if q.id in h.message.chosen] or [
        q for q in shown if was_question_asked_back(h, q)
    ]
    if was_asked_about_closed(h, shown) and not h.message.chosen:
        _ask_again(h, "yes")
        return
    if shown and h.message.of_plan:
        _keep_asking(h, shown)
        return
    # Shown after high risk was asked back: nobody can tell which of them the yes is for.
    joined_later = len(shown) > len(chosen) and not h.message.chosen
    in_doubt = joined_later and any(q.risk >= Risk.HIGH for q in chosen)
    if (chosen and not in_doubt) or len(shown) == 1:
        _yes_to_questions(h, chosen or shown)
        return
    if shown:
        _ask_which(h, "yes")
        return
    task, pending = h.session.task, h.before.pending
    plain = h.message.change is None and not h.message.once
    if task is not None and task.unconfirmed and plain:
        _yes_still_working(h, task)
        return
    if pending is not None and (was_asked_back(h, "save") or was_asked_back(h, "load")):
        _yes_to_handoff(h, pending)
        return
    plan = h.session.plan
    if plan is None or not plan.text.concrete or is_too_late(h, plan):
        h.announced.append(words.PROCEED_WITH_WHAT)
        return
    agree_to_plan(h, plan)


def hear_unclear_yes(h: Hearing) -> None:
    """A message that begins with a yes and goes on in other words answers nothing; the user is told so."""
    shown = find_just_shown(h)
    if h.message.kind != "other" or not shown or h.announced or not begins_with_yes(h.message.text):
        return
    h.add_effects(*(fx.QuestionShown(question.id, h.session.turn) for question in shown))
    h.did.append("not an answer: a yes and something else")
    h.announced.append(words.NOT_A_PLAIN_YES)


def _keep_asking(h: Hearing, shown: list[Question]) -> None:
    """A yes to the plan answers no open question, and no plan is agreed to while one is open."""
    h.add_effects(*(fx.QuestionShown(question.id, h.session.turn) for question in shown))
    h.did.append("not an answer: it speaks of the plan, and a question is open")
    h.announced.append(words.question_first(number_questions(shown)))


def hear_no(h: Hearing) -> None:
    """Whatever no there is in the message: to all of what was asked, or to some beside a yes to others.

    A choice from a list that no longer holds denies nothing either; the list is shown again.
    """
    if h.message.outdated is not None:
        _ask_again(h, h.message.outdated)
    if h.message.unclear:
        _ask_unclear(h)
    if h.message.refusal:
        _refuse(h)
    for question in find_just_shown(h):
        if question.id in h.message.declined:
            _answer(h, question, "deny")


def _ask_unclear(h: Hearing) -> None:
    """A choice that can be read in two ways is asked again."""
    which, shown = h.before.pending if was_asked_back(h, "which") else None, find_just_shown(h)
    if which is None and len(shown) == 1:
        _ask_back(h, shown[0])
    else:
        _ask_which(h, (which.says if which is not None else None) or "yes")


def _refuse(h: Hearing) -> None:
    """A no: denies the question, ends the long task's consent, or refuses the plan, or unsays the yes."""
    shown, task = find_just_shown(h), h.session.task
    chosen = [q for q in shown if q.id in h.message.chosen]
    if chosen or len(shown) == 1 or h.message.forbids:
        for question in chosen or shown:
            _answer(h, question, "deny")
    elif shown:
        _ask_which(h, "no")
    elif was_asked_back(h, "still") or (task is not None and task.unconfirmed):
        h.clear("task", "you said no", words.announce_clearing("you said no"))
    elif was_asked_back(h, "save") or was_asked_back(h, "load"):
        h.did.append("the allowlist is not handed on")
    else:
        plan, unsays = h.session.plan, unsays_last_yes(h)
        if plan is not None and (unsays or not plan.accepted):
            refuse_plan(h, plan)
        answers_plan = plan is not None and not plan.accepted and plan.since == h.before.turn
        if unsays and not answers_plan and not _clears_all(h.message):
            take_last_yes_back(h)


def _clears_all(m: Message) -> bool:
    """Whether a message ends all consent but the standing one anyway."""
    return m.forbids or m.stop or m.correction or m.revoke_all or m.clear_state


def _ask_which(h: Hearing, says: str) -> None:
    """Number the open questions, and keep them in the conversation for the next message to choose from."""
    asked = find_in_order(h)
    _list_for_choice(h, asked, "ok" if says == "yes" and h.message.assent == "medium" else says)
    h.announced.append(words.which_one(number_questions(asked)))


def _list_for_choice(h: Hearing, asked: list[Question], says: str) -> None:
    """The next message may choose from these questions, in this order."""
    turn, listed = h.session.turn, tuple(question.id for question in asked)
    h.add_effects(*(fx.QuestionShown(name, turn) for name in listed))
    prompt = PendingPrompt("which", turn, questions=listed, says=says, once=is_for_once(h))
    h.add_effects(fx.SessionChanged(pending=prompt))


def _ask_again(h: Hearing, says: str) -> None:
    """Say that what was asked is no longer open, and number what is, for the next message."""
    pending = h.before.pending
    later = pending.questions if pending is not None and was_asked_back(h, "question") else ()
    still = [h.session.questions[name] for name in later if name in h.session.questions]
    asked = [*find_in_order(h), *(q for q in still if is_open(q, h.session, h.policy, h.now))]
    asked = list({question.id: question for question in asked}.values())
    h.did.append("not an answer: the question it was for is no longer open")
    if len(asked) == 1 and says != "no":
        h.announced.append(words.no_longer_open([]))
        _ask_back(h, asked[0])
        return
    h.announced.append(words.no_longer_open(number_questions(asked)))
    if asked:
        _list_for_choice(h, asked, says)


def _yes_to_questions(h: Hearing, questions: list[Question]) -> None:
    """A yes to one question, or to several at once: then those of high risk are asked each on its own."""
    if h.message.change is not None:
        h.add_effects(*(fx.QuestionShown(question.id, h.session.turn) for question in questions))
        h.did.append("not an answer: a changed call is asked again")
        if not narrow_plan_under_way(h, h.message.change):
            h.announced.append(words.NO_LIMITS)
        return
    if len(questions) == 1:
        _yes_to_question(h, questions[0])
        return
    if h.message.assent == "medium":
        _ask_which(h, "yes")
        return
    for question in questions:
        if question.risk < Risk.HIGH:
            _yes_to_question(h, question)
    _ask_one_by_one(h, [question.id for question in questions if question.risk >= Risk.HIGH])


def _ask_one_by_one(h: Hearing, names: Iterable[str]) -> None:
    """Ask back the first of these questions that is still open, and keep the others for after it."""
    left = [name for name in names if name in h.session.questions]
    left = [name for name in left if is_open(h.session.questions[name], h.session, h.policy, h.now)]
    if left:
        _ask_back(h, h.session.questions[left[0]], tuple(left[1:]))


def _ask_back(h: Hearing, question: Question, later: tuple[str, ...] = ()) -> None:
    turn = h.session.turn
    h.add_effects(fx.QuestionShown(question.id, turn))
    h.add_effects(
        fx.SessionChanged(
            pending=PendingPrompt("question", turn, question.id, questions=later, once=is_for_once(h))
        )
    )
    h.announced.append(words.confirm_question(describe_whole_call(question.request, question.items)))


def _yes_to_question(h: Hearing, question: Question) -> None:
    if needs_approvals(question, h.policy):
        h.did.append("not an answer: this needs the approvals of others")
        h.announced.append(words.approve_elsewhere(question.id))
        return
    if question.risk > h.session.ceiling:
        h.did.append("the message is not assured enough to answer this question")
        return
    if question.risk > Risk.MODERATE and digest_seen_in_text(question) is None:
        h.announced.append(words.not_all_shown(question.id))
        return
    if h.unsigned is None or question.risk > h.unsigned:
        h.did.append("not an answer: this yes has to be signed with a passkey")
        h.announced.append(words.sign_elsewhere(question.id))
        return
    if h.message.assent == "medium" and not was_question_asked_back(h, question):
        _ask_back(h, question)
        return
    same_task = h.session.task is not None and h.session.task.id == question.task
    widest = question.offers_answer("task") and question.risk is Risk.MODERATE and same_task
    _answer(h, question, "task" if widest and not is_for_once(h) else "once")
    if was_question_asked_back(h, question) and h.before.pending is not None:
        _ask_one_by_one(h, h.before.pending.questions)


def _answer(h: Hearing, question: Question, given: str) -> None:
    seen = digest_seen_in_text(question)
    h.add_effects(*effects_of_answer(question, given, h.policy, h.session, h.now, by="user", seen=seen))
    h.answered = given
    h.did.append(f"answered: {given}")
    task = h.session.task
    plain_yes = given != "deny" and not is_for_once(h)
    if plain_yes and question.confirms_task and task is not None and task.id == question.task:
        h.add_effects(fx.SessionChanged(task=msgspec.structs.replace(task, unconfirmed=False)))


def _yes_to_handoff(h: Hearing, pending: PendingPrompt) -> None:
    """A yes to handing the allowlist on; a hesitant one, or one that may mean a plan, is asked back once."""
    if h.session.ceiling < Risk.HIGH or h.message.change is not None or h.message.once:
        h.did.append("the allowlist is not handed on")
        return
    plan = h.session.plan
    plan_waits = plan is not None and not plan.accepted and plan.since == h.before.turn
    if not pending.again and (h.message.assent == "medium" or plan_waits):
        h.add_effects(
            fx.SessionChanged(pending=msgspec.structs.replace(pending, turn=h.session.turn, again=True))
        )
        h.announced.append(words.SAVE_ALLOWLIST if pending.about == "save" else words.LOAD_ALLOWLIST)
        return
    h.add_effects(fx.AllowlistHandedOff(pending.about, pending.question or ""))


def _yes_still_working(h: Hearing, task: Task) -> None:
    if h.message.assent == "medium" and not was_asked_back(h, "still"):
        h.add_effects(fx.SessionChanged(pending=PendingPrompt("still", h.session.turn)))
        h.announced.append(words.still_working(task.name))
        return
    h.add_effects(fx.SessionChanged(task=msgspec.structs.replace(task, unconfirmed=False)))
    h.did.append("the task's consent is confirmed")
