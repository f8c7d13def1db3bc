"""A yes or a no to a plan: accepted, changed, shown again or refused."""

from __future__ import annotations

import msgspec

from sayso.core import effects as fx
from sayso.core.conversation import words
from sayso.core.conversation.hearing import Hearing
from sayso.core.conversation.replies.asked import (
    find_just_shown,
    was_asked_back,
)
from sayso.core.conversation.withdrawal import take_excluded_back
from sayso.core.deciding.rules import PLAN_TURNS
from sayso.core.durations import DAY
from sayso.core.grants import Grant, Pins
from sayso.core.model import Risk
from sayso.core.plans.edit import adjust_plan
from sayso.core.plans.plan import beside_policy
from sayso.core.session import PendingPrompt, Plan
from sayso.core.session.numbering import new_grant, new_task


def narrows_plan(h: Hearing) -> bool:
    """Whether the message is a yes with a change to a plan: then what it forbids is taken out of the plan."""
    answers_plan = h.message.change is not None and not find_just_shown(h) and h.session.ceiling > Risk.LOW
    return answers_plan and h.session.plan is not None and h.session.plan.text.concrete


def is_too_late(h: Hearing, plan: Plan) -> bool:
    """Whether a yes comes too late for the plan. A change to one under way always takes effect."""
    if plan.accepted:
        return h.message.change is None
    return h.session.turn - plan.since > PLAN_TURNS and not was_asked_back(h, "plan", plan.id)


def agree_to_plan(h: Hearing, plan: Plan) -> None:
    turn = h.session.turn
    if h.message.change is not None or h.message.once:
        _adjust_plan(h, plan, h.message.change or h.message.text)
    elif was_asked_back(h, "plan", plan.id) and plan.shown:
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


def narrow_plan_under_way(h: Hearing, change: str) -> bool:
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


def refuse_plan(h: Hearing, plan: Plan) -> None:
    """A new plan refused gives the one under way back; one under way refused ends."""
    shelved = None if plan.accepted else h.session.shelved
    if shelved is not None:
        h.add_effects(fx.SessionChanged(plan=shelved, shelved=None))
        h.did.append("the new plan is refused; the one under way goes on")
        return
    h.add_effects(fx.PlanEnded("refused"))
    h.did.append("the plan is refused")
    h.cleared += ["plan consent (you said no)"] if plan.accepted else []
