"""What a yes or a no in the conversation answers: an open question, "still working?", a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from sayso.core import effects as fx
from sayso.core import words
from sayso.core.asking import answer, is_open
from sayso.core.decision import Question
from sayso.core.grants import DAY, Grant, Pins
from sayso.core.model import Risk
from sayso.core.plan_change import adjust
from sayso.core.plans import beside_policy
from sayso.core.rules import PLAN_TURNS
from sayso.core.session import Pending, Plan, Task
from sayso.core.showing import call_lines, seen_in_text

if TYPE_CHECKING:
    from sayso.core.hear import Hearing


def assent(h: Hearing) -> None:
    """A yes, of whatever strength, with or without a change."""
    shown = _just_shown(h)
    if len(shown) > 1:
        h.announced.append(words.which_one(_numbered(shown)))
        return
    if shown:
        _yes_to_question(h, shown[0])
        return
    task = h.session.task
    if task is not None and task.unconfirmed and h.message.change is None:
        _yes_still_working(h, task)
        return
    plan = h.session.plan
    if plan is None or not plan.text.concrete or _is_too_late(h, plan):
        h.announced.append(words.PROCEED_WITH_WHAT)
        return
    _yes_to_plan(h, plan)


def refuse(h: Hearing) -> None:
    """A no: denies the question, ends the long task's consent, or refuses the plan."""
    shown = _just_shown(h)
    if len(shown) > 1:
        h.announced.append(words.which_one(_numbered(shown)))
    elif shown:
        _answer(h, shown[0], "deny")
    elif _asked_back(h, "still"):
        h.clear("task", "you said no", words.cleared("you said no"))
    elif h.session.plan is not None:
        _refuse_plan(h, h.session.plan)


def _just_shown(h: Hearing) -> list[Question]:
    """The questions put in the conversation in the turn just before this message."""
    shown = [q for q in h.session.questions.values() if h.session.shown.get(q.id) == h.before.turn]
    return [q for q in shown if q.claim is None and is_open(q, h.session, h.now)]


def _numbered(shown: list[Question]) -> list[str]:
    """Each question with its number and the whole of its call."""
    each = (call_lines(q.request, q.items, mark=f"{number}. ") for number, q in enumerate(shown, 1))
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


def _yes_to_question(h: Hearing, question: Question) -> None:
    if h.message.change is not None:
        h.did.append("not an answer: a changed call is asked again")
        _narrow_plan_under_way(h, h.message.change)
        return
    if question.risk > h.session.ceiling:
        h.did.append("the message is not assured enough to answer this question")
        return
    if question.risk > Risk.MODERATE and seen_in_text(question) is None:
        h.announced.append(words.not_all_shown(question.id))
        return
    if h.message.assent == "medium" and not _asked_back(h, "question"):
        turn = h.session.turn
        h.do(fx.Shown(question.id, turn))
        h.change(pending=Pending("question", turn, question.id))
        h.announced.append(words.confirm_question(call_lines(question.request, question.items)))
        return
    same_task = h.session.task is not None and h.session.task.id == question.task
    widest = question.offers_answer("task") and question.risk is Risk.MODERATE and same_task
    _answer(h, question, "task" if widest else "once")


def _answer(h: Hearing, question: Question, given: str) -> None:
    seen = seen_in_text(question)
    h.do(*answer(question, given, h.policy, h.session, h.now, by="user", seen=seen))
    h.answered = given
    h.did.append(f"answered: {given}")


def _yes_still_working(h: Hearing, task: Task) -> None:
    if h.message.assent == "medium" and not _asked_back(h, "still"):
        h.change(pending=Pending("still", h.session.turn))
        h.announced.append(words.still_working(task.name))
        return
    h.change(task=msgspec.structs.replace(task, unconfirmed=False))
    h.did.append("the task's consent is confirmed")


def _is_too_late(h: Hearing, plan: Plan) -> bool:
    """Whether a yes comes too late for the plan. A change to one under way always takes effect."""
    if plan.accepted:
        return h.message.change is None
    return h.session.turn - plan.since > PLAN_TURNS and not _asked_back(h, "plan", plan.id)


def _yes_to_plan(h: Hearing, plan: Plan) -> None:
    turn = h.session.turn
    if h.message.change is not None:
        _adjust_plan(h, plan, h.message.change)
    elif _asked_back(h, "plan", plan.id) and plan.shown:
        _accept(h, plan)
    elif not plan.shown:
        _show(h, plan, words.CONFIRM_SHOWN)
    elif h.message.assent == "high" and turn - plan.since == 1:
        _accept(h, plan)
    else:
        h.change(pending=Pending("plan", turn, plan=plan.id))
        h.announced.append(words.CONFIRM_PLAN)


def _show(h: Hearing, plan: Plan, question: str) -> None:
    """Answer with the rendering of the plan, and ask about it: the next yes counts."""
    h.change(
        plan=msgspec.structs.replace(plan, shown=True),
        pending=Pending("plan", h.session.turn, plan=plan.id),
    )
    h.announced.append(f"{plan.text.text}\n{question}")


def _adjust_plan(h: Hearing, plan: Plan, change: str) -> None:
    """The changed plan grants nothing until it is agreed to."""
    text = beside_policy(adjust(plan.text, change, h.policy.table), h.policy)
    if plan.accepted:
        h.do(fx.PlanEnded("changed"))
        h.cleared.append("plan consent (you changed the plan)")
    changed = msgspec.structs.replace(plan, text=text, accepted=False, since=h.session.turn)
    _show(h, changed, words.CONFIRM_ADJUSTED)


def _narrow_plan_under_way(h: Hearing, change: str) -> None:
    """A change said to a question holds for the plan under way, too."""
    if h.session.plan is not None and h.session.plan.accepted:
        _adjust_plan(h, h.session.plan, change)


def _accept(h: Hearing, plan: Plan) -> None:
    """Grants for the operations and targets the plan names, below high risk; no category is consented to."""
    if h.session.shelved is not None:
        _begin_next(h)
    s = h.session
    task = s.task or Task(f"{s.id}.t{s.tasks + 1}", f"task {s.tasks + 1}", s.turn, s.turn)
    h.change(
        plan=msgspec.structs.replace(plan, accepted=True, since=s.turn - 1, started=False),
        shelved=None,
        task=msgspec.structs.replace(task, plan_turn=plan.turn),
        tasks=s.tasks if s.task else s.tasks + 1,
    )
    text = beside_policy(plan.text, h.policy)
    covered = [name for name in text.covered if name in plan.text.covered]
    for operation in covered:
        h.do(fx.Granted(_plan_grant(h, plan, operation, task.id)))
    h.did.append(f"plan of turn {plan.turn} accepted")
    later = [name for name in text.operations if name not in covered and name not in text.blocked]
    places = dict.fromkeys(target for name in covered for target in plan.text.targets_of(name))
    h.announced.append(words.plan_accepted(plan.turn, covered, later, places))


def _begin_next(h: Hearing) -> None:
    """A new plan accepted while another is under way ends the task of the old one."""
    plan = h.session.plan
    h.clear("task", "a new plan replaces the one under way", words.TASK_COMPLETE)
    task = Task(f"{h.session.id}.t{h.session.tasks + 1}", "new plan", h.session.turn, h.session.turn)
    h.change(task=task, tasks=h.session.tasks + 1, plan=plan)


def _plan_grant(h: Hearing, plan: Plan, operation: str, task: str) -> Grant:
    s = h.session
    return Grant(
        id=f"{s.id}.g{s.granted + 1}",
        kind="operation",
        value=operation,
        risk=Risk.MODERATE,
        expires_at=h.now + DAY,
        session=s.id,
        pins=Pins(targets=plan.text.targets_of(operation)),
        ends_with="task",
        bound_to=task,
        group=plan.id,
        source="composite",
        turn=s.turn,
        given_at=h.now,
        given_by="user",
        policy=h.policy.digest,
    )


def _refuse_plan(h: Hearing, plan: Plan) -> None:
    """A new plan refused gives the one under way back; one under way refused ends."""
    shelved = None if plan.accepted else h.session.shelved
    if shelved is not None:
        h.change(plan=shelved, shelved=None)
        h.did.append("the new plan is refused; the one under way goes on")
        return
    h.do(fx.PlanEnded("refused"))
    h.did.append("the plan is refused")
    h.cleared += ["plan consent (you said no)"] if plan.accepted else []
