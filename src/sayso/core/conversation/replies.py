"""What a yes or a no in the conversation answers: an open question, "still working?", a plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from sayso.core import effects as fx
from sayso.core.conversation import words
from sayso.core.conversation.choices import Choice, read_choice
from sayso.core.conversation.message import Message
from sayso.core.conversation.withdrawal import take_excluded_back, take_last_yes_back, unsays_last_yes
from sayso.core.deciding.questions import effects_of_answer, is_open
from sayso.core.deciding.rules import PLAN_TURNS
from sayso.core.deciding.showing import describe_whole_call, digest_seen_in_text
from sayso.core.decision import Question
from sayso.core.durations import DAY
from sayso.core.grants import Grant, Pins
from sayso.core.model import Risk
from sayso.core.numbering import new_grant, new_task
from sayso.core.plans.edit import adjust_plan, begins_with_yes
from sayso.core.plans.plan import beside_policy
from sayso.core.session import PendingPrompt, Plan, Task
from sayso.core.text.unmask import strip_decoration, undisguised, with_emoji

if TYPE_CHECKING:
    from sayso.core.conversation.hear import Hearing


def name_questions(h: Hearing) -> None:
    """Take a message for a yes or no to the questions it names, if it is nothing but that.

    A bare number or name counts only right after "Which one do you mean?".
    """
    m, listed = h.message, _as_listed(h)
    if not listed or _is_something_else(m) or not undisguised(strip_decoration(with_emoji(m.text))):
        return
    choice = read_choice(m.text, listed)
    if choice is None or (choice.named and _reply_to_which(h, choice) is None):
        return
    plain = msgspec.structs.replace(
        m, refusal=False, assent=None, once=False, of_plan=False, change=None, question=False, imperatives=()
    )
    yes, no = _sides(h, choice)
    if choice.unclear:
        h.message = msgspec.structs.replace(plain, kind="other", unclear=True)
    elif _is_outdated(h, choice):
        says = "yes" if choice.yes else _reply_to_which(h, choice) or "no"
        h.message = msgspec.structs.replace(plain, kind="other", outdated=says)
    elif not yes and no:
        h.message = msgspec.structs.replace(plain, kind="refusal", refusal=True, chosen=no)
    elif yes:
        hesitant = choice.hesitant or m.assent == "medium" or _chooses_hesitantly(h, choice)
        kind, strength = ("medium", "medium") if hesitant else ("assent", "high")
        h.message = msgspec.structs.replace(
            plain, kind=kind, assent=strength, once=choice.once, chosen=yes, declined=no
        )


def _reply_to_which(h: Hearing, choice: Choice) -> str | None:
    """The yes or no that "Which one do you mean?" was asked for, if this choice answers that."""
    which = h.before.pending if _asked_back(h, "which") else None
    return None if which is None or (choice.orders and which.says == "no") else which.says


def _chooses_hesitantly(h: Hearing, choice: Choice) -> bool:
    """Whether a bare number or name chooses high risk after an "ok": that yes is still asked back."""
    return _reply_to_which(h, choice) == "ok" and any(q.risk >= Risk.HIGH for q in choice.named)


def _is_outdated(h: Hearing, choice: Choice) -> bool:
    """Whether a choice speaks of a place whose question is no longer open. A no to the others still counts.

    Without a list of its own nobody can tell which places were meant once a question has gone.
    """
    if choice.closed:
        return bool(choice.yes or choice.named or not choice.no)
    return not _asked_back(h, "which") and h.before.outdated_turn == h.before.turn


def _sides(h: Hearing, choice: Choice) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The questions that a choice says yes and no to. What it only names answers "Which one do you mean?".

    A refusal that the choice does not account for leaves no yes.
    """
    says = _reply_to_which(h, choice)
    yes = [*choice.yes, *(choice.named if says in ("yes", "ok") else ())]
    no = [*choice.no, *(choice.named if says == "no" else ())]
    if h.message.refusal and not choice.accounts_for_no:
        yes = []
    return tuple(q.id for q in yes), tuple(q.id for q in no)


def _is_something_else(m: Message) -> bool:
    return m.stop or m.correction or m.forbids or m.kind in ("slash", "grant", "revoke", "clear", "query")


def hear_yes(h: Hearing) -> None:
    """A yes, of whatever strength, with or without a change."""
    shown = _just_shown(h)
    chosen = [q for q in shown if q.id in h.message.chosen] or [q for q in shown if _was_asked_back(h, q)]
    if _asked_about_closed(h, shown) and not h.message.chosen:
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
    if pending is not None and (_asked_back(h, "save") or _asked_back(h, "load")):
        _yes_to_handoff(h, pending)
        return
    plan = h.session.plan
    if plan is None or not plan.text.concrete or _is_too_late(h, plan):
        h.announced.append(words.PROCEED_WITH_WHAT)
        return
    _yes_to_plan(h, plan)


def hear_unclear_yes(h: Hearing) -> None:
    """A message that begins with a yes and goes on in other words answers nothing; the user is told so."""
    shown = _just_shown(h)
    if h.message.kind != "other" or not shown or h.announced or not begins_with_yes(h.message.text):
        return
    h.add_effects(*(fx.QuestionShown(question.id, h.session.turn) for question in shown))
    h.did.append("not an answer: a yes and something else")
    h.announced.append(words.NOT_A_PLAIN_YES)


def _keep_asking(h: Hearing, shown: list[Question]) -> None:
    """A yes to the plan answers no open question, and no plan is agreed to while one is open."""
    h.add_effects(*(fx.QuestionShown(question.id, h.session.turn) for question in shown))
    h.did.append("not an answer: it speaks of the plan, and a question is open")
    h.announced.append(words.question_first(_number_questions(shown)))


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
    for question in _just_shown(h):
        if question.id in h.message.declined:
            _answer(h, question, "deny")


def _ask_unclear(h: Hearing) -> None:
    """A choice that can be read in two ways is asked again."""
    which, shown = h.before.pending if _asked_back(h, "which") else None, _just_shown(h)
    if which is None and len(shown) == 1:
        _ask_back(h, shown[0])
    else:
        _ask_which(h, (which.says if which is not None else None) or "yes")


def _refuse(h: Hearing) -> None:
    """A no: denies the question, ends the long task's consent, or refuses the plan, or unsays the yes."""
    shown, task = _just_shown(h), h.session.task
    chosen = [q for q in shown if q.id in h.message.chosen]
    if chosen or len(shown) == 1 or h.message.forbids:
        for question in chosen or shown:
            _answer(h, question, "deny")
    elif shown:
        _ask_which(h, "no")
    elif _asked_back(h, "still") or (task is not None and task.unconfirmed):
        h.clear("task", "you said no", words.announce_clearing("you said no"))
    elif _asked_back(h, "save") or _asked_back(h, "load"):
        h.did.append("the allowlist is not handed on")
    else:
        plan, unsays = h.session.plan, unsays_last_yes(h)
        if plan is not None and (unsays or not plan.accepted):
            _refuse_plan(h, plan)
        answers_plan = plan is not None and not plan.accepted and plan.since == h.before.turn
        if unsays and not answers_plan and not _clears_all(h.message):
            take_last_yes_back(h)


def _clears_all(m: Message) -> bool:
    """Whether a message ends all consent but the standing one anyway."""
    return m.forbids or m.stop or m.correction or m.revoke_all or m.clear_state


def narrows_plan(h: Hearing) -> bool:
    """Whether the message is a yes with a change to a plan: then what it forbids is taken out of the plan."""
    answers_plan = h.message.change is not None and not _just_shown(h) and h.session.ceiling > Risk.LOW
    return answers_plan and h.session.plan is not None and h.session.plan.text.concrete


def was_asked(h: Hearing) -> bool:
    """Whether a question was put in the conversation just before the message."""
    return bool(_just_shown(h))


def _ask_which(h: Hearing, says: str) -> None:
    """Number the open questions, and keep them in the conversation for the next message to choose from."""
    asked = _in_their_order(h)
    _list_for_choice(h, asked, "ok" if says == "yes" and h.message.assent == "medium" else says)
    h.announced.append(words.which_one(_number_questions(asked)))


def _list_for_choice(h: Hearing, asked: list[Question], says: str) -> None:
    """The next message may choose from these questions, in this order."""
    turn, listed = h.session.turn, tuple(question.id for question in asked)
    h.add_effects(*(fx.QuestionShown(name, turn) for name in listed))
    prompt = PendingPrompt("which", turn, questions=listed, says=says, once=_is_for_once(h))
    h.add_effects(fx.SessionChanged(pending=prompt))


def _ask_again(h: Hearing, says: str) -> None:
    """Say that what was asked is no longer open, and number what is, for the next message."""
    pending = h.before.pending
    later = pending.questions if pending is not None and _asked_back(h, "question") else ()
    still = [h.session.questions[name] for name in later if name in h.session.questions]
    asked = [*_in_their_order(h), *(q for q in still if is_open(q, h.session, h.policy, h.now))]
    asked = list({question.id: question for question in asked}.values())
    h.did.append("not an answer: the question it was for is no longer open")
    if len(asked) == 1 and says != "no":
        h.announced.append(words.no_longer_open([]))
        _ask_back(h, asked[0])
        return
    h.announced.append(words.no_longer_open(_number_questions(asked)))
    if asked:
        _list_for_choice(h, asked, says)


def _is_for_once(h: Hearing) -> bool:
    """Whether a yes is for one call only: said so now, or in the message that was asked back."""
    pending = h.before.pending
    asked_back = _asked_back(h, "question") or _asked_back(h, "which")
    return h.message.once or (pending is not None and asked_back and pending.once)


def _asked_about_closed(h: Hearing, shown: list[Question]) -> bool:
    """Whether the message comes right after Sayso asked about a question that is no longer open."""
    pending, is_there = h.before.pending, {question.id for question in shown}
    if pending is None:
        return False
    if _asked_back(h, "question"):
        return pending.question not in is_there
    return _asked_back(h, "which") and not is_there.issuperset(pending.questions)


def _as_listed(h: Hearing) -> list[Question | None]:
    """The questions as they were numbered or shown, each in its place; None for one no longer open."""
    is_there = {question.id: question for question in _just_shown(h)}
    if _asked_back(h, "which") and h.before.pending is not None:
        return [is_there.get(name) for name in h.before.pending.questions]
    shown = [q for q in h.session.questions.values() if h.session.shown.get(q.id) == h.before.turn]
    return [is_there.get(question.id) for question in shown if question.claim is None]


def _in_their_order(h: Hearing) -> list[Question]:
    """The questions just shown, in the order they were numbered in, if they were."""
    shown = _just_shown(h)
    if not _asked_back(h, "which") or h.before.pending is None:
        return shown
    order = h.before.pending.questions
    return sorted(shown, key=lambda q: order.index(q.id) if q.id in order else len(order))


def _just_shown(h: Hearing) -> list[Question]:
    """The questions put in the conversation in the turn just before this message."""
    shown = [q for q in h.session.questions.values() if h.session.shown.get(q.id) == h.before.turn]
    return [q for q in shown if q.claim is None and is_open(q, h.session, h.policy, h.now)]


def _number_questions(shown: list[Question]) -> list[str]:
    """Each question with its number and the whole of its call."""
    each = (describe_whole_call(q.request, q.items, mark=f"{number}. ") for number, q in enumerate(shown, 1))
    return [line for lines in each for line in lines]


def _asked_back(h: Hearing, about: str, plan: str | None = None) -> bool:
    """Whether the message comes right after Sayso's own question about this, and about this very plan."""
    pending = h.before.pending
    return (
        pending is not None
        and pending.about == about
        and pending.turn == h.before.turn
        and pending.plan == plan
    )


def _was_asked_back(h: Hearing, question: Question) -> bool:
    """Whether the message comes right after this very question was asked back."""
    pending = h.before.pending
    return pending is not None and _asked_back(h, "question") and pending.question == question.id


def _yes_to_questions(h: Hearing, questions: list[Question]) -> None:
    """A yes to one question, or to several at once: then those of high risk are asked each on its own."""
    if h.message.change is not None:
        h.add_effects(*(fx.QuestionShown(question.id, h.session.turn) for question in questions))
        h.did.append("not an answer: a changed call is asked again")
        if not _narrow_plan_under_way(h, h.message.change):
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
            pending=PendingPrompt("question", turn, question.id, questions=later, once=_is_for_once(h))
        )
    )
    h.announced.append(words.confirm_question(describe_whole_call(question.request, question.items)))


def _yes_to_question(h: Hearing, question: Question) -> None:
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
    if h.message.assent == "medium" and not _was_asked_back(h, question):
        _ask_back(h, question)
        return
    same_task = h.session.task is not None and h.session.task.id == question.task
    widest = question.offers_answer("task") and question.risk is Risk.MODERATE and same_task
    _answer(h, question, "task" if widest and not _is_for_once(h) else "once")
    if _was_asked_back(h, question) and h.before.pending is not None:
        _ask_one_by_one(h, h.before.pending.questions)


def _answer(h: Hearing, question: Question, given: str) -> None:
    seen = digest_seen_in_text(question)
    h.add_effects(*effects_of_answer(question, given, h.policy, h.session, h.now, by="user", seen=seen))
    h.answered = given
    h.did.append(f"answered: {given}")
    task = h.session.task
    plain_yes = given != "deny" and not _is_for_once(h)
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
    if h.message.assent == "medium" and not _asked_back(h, "still"):
        h.add_effects(fx.SessionChanged(pending=PendingPrompt("still", h.session.turn)))
        h.announced.append(words.still_working(task.name))
        return
    h.add_effects(fx.SessionChanged(task=msgspec.structs.replace(task, unconfirmed=False)))
    h.did.append("the task's consent is confirmed")


def _is_too_late(h: Hearing, plan: Plan) -> bool:
    """Whether a yes comes too late for the plan. A change to one under way always takes effect."""
    if plan.accepted:
        return h.message.change is None
    return h.session.turn - plan.since > PLAN_TURNS and not _asked_back(h, "plan", plan.id)


def _yes_to_plan(h: Hearing, plan: Plan) -> None:
    turn = h.session.turn
    if h.message.change is not None or h.message.once:
        _adjust_plan(h, plan, h.message.change or h.message.text)
    elif _asked_back(h, "plan", plan.id) and plan.shown:
        _accept(h, plan)
    elif not plan.shown:
        _show(h, plan, words.CONFIRM_SHOWN)
    elif h.message.assent == "high" and turn - plan.since == 1:
        _accept(h, plan)
    elif turn - plan.since == 1:
        h.add_effects(fx.SessionChanged(pending=PendingPrompt("plan", turn, plan=plan.id)))
        h.announced.append(words.CONFIRM_PLAN)
    else:  # something else was said since it was shown
        _show(h, plan, words.CONFIRM_PLAN)


def _show(h: Hearing, plan: Plan, question: str) -> None:
    """Answer with the rendering of the plan, and ask about it: the next yes counts."""
    h.add_effects(
        fx.SessionChanged(
            plan=msgspec.structs.replace(plan, shown=True),
            pending=PendingPrompt("plan", h.session.turn, plan=plan.id),
        )
    )
    h.announced.append(f"{plan.text.text}\n{question}")


def _adjust_plan(h: Hearing, plan: Plan, change: str) -> None:
    """The changed plan grants nothing until it is agreed to."""
    text = beside_policy(adjust_plan(plan.text, change, h.policy.table), h.policy)
    if plan.accepted:
        h.add_effects(fx.PlanEnded("changed"))
        h.cleared.append("plan consent (you changed the plan)")
    take_excluded_back(h, plan.text, text)
    changed = msgspec.structs.replace(plan, text=text, accepted=False, since=h.session.turn)
    _show(h, changed, words.CONFIRM_ADJUSTED)


def _narrow_plan_under_way(h: Hearing, change: str) -> bool:
    """A change said to a question holds for the plan under way, too; whether there is one."""
    if h.session.plan is None or not h.session.plan.accepted:
        return False
    _adjust_plan(h, h.session.plan, change)
    return True


def _accept(h: Hearing, plan: Plan) -> None:
    """Grants for the operations and targets the plan names, below high risk; no category is consented to."""
    if h.session.shelved is not None:
        _begin_next(h)
    s = h.session
    task = s.task or new_task(s)
    h.add_effects(
        fx.SessionChanged(
            plan=msgspec.structs.replace(plan, accepted=True, since=s.turn - 1, started=False),
            shelved=None,
            task=msgspec.structs.replace(task, plan_turn=plan.turn),
            tasks=s.tasks if s.task else s.tasks + 1,
        )
    )
    text = beside_policy(plan.text, h.policy)
    covered = [name for name in text.operations_covered if name in plan.text.operations_covered]
    for operation in covered:
        h.add_effects(fx.GrantAdded(_plan_grant(h, plan, operation, task.id)))
    h.did.append(f"plan of turn {plan.turn} accepted")
    later = [name for name in text.operations if name not in covered and name not in text.blocked]
    places = dict.fromkeys(target for name in covered for target in plan.text.targets_of(name))
    h.announced.append(words.plan_accepted(plan.turn, covered, later, places))


def _begin_next(h: Hearing) -> None:
    """A new plan accepted while another is under way ends the task of the old one."""
    plan = h.session.plan
    h.clear("task", "a new plan replaces the one under way", words.TASK_COMPLETE)
    h.add_effects(
        fx.SessionChanged(task=new_task(h.session, "new plan"), tasks=h.session.tasks + 1, plan=plan)
    )


def _plan_grant(h: Hearing, plan: Plan, operation: str, task: str) -> Grant:
    grant = Grant(
        id="",
        kind="operation",
        value=operation,
        risk=Risk.MODERATE,
        expires_at=h.now + DAY,
        session=h.session.id,
        pins=Pins(targets=plan.text.targets_of(operation)),
        ends_with="task",
        bound_to=task,
        group=plan.id,
        source="composite",
        given_by="user",
    )
    return new_grant(grant, h.session, h.policy, h.now)


def _refuse_plan(h: Hearing, plan: Plan) -> None:
    """A new plan refused gives the one under way back; one under way refused ends."""
    shelved = None if plan.accepted else h.session.shelved
    if shelved is not None:
        h.add_effects(fx.SessionChanged(plan=shelved, shelved=None))
        h.did.append("the new plan is refused; the one under way goes on")
        return
    h.add_effects(fx.PlanEnded("refused"))
    h.did.append("the plan is refused")
    h.cleared += ["plan consent (you said no)"] if plan.accepted else []
