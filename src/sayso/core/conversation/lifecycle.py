"""What hosts and operators report: a plan was shown, a call ended, a task began or is done, a stop."""

from __future__ import annotations

import msgspec

from sayso.core import effects as fx
from sayso.core.conversation import words
from sayso.core.conversation.clearing import clear_consent
from sayso.core.deciding.retries import Start, has_retry, retries_left, retry_grant, start_from_session
from sayso.core.decision import Decision, Item
from sayso.core.model import Assurance, Request, Risk
from sayso.core.policy import Policy
from sayso.core.session import Session
from sayso.core.session.numbering import new_plan, new_task
from sayso.core.session.plan_text import PlanText

DONE = "the task is done"
EXIT_CODES_MEAN_NOTHING = frozenset({"test-build"})
"""Categories whose calls may end in an error without anything having gone wrong."""


class Report(msgspec.Struct, frozen=True):
    """What an event changes, says and clears."""

    effects: tuple[fx.Effect, ...] = ()
    announced: tuple[str, ...] = ()
    cleared: tuple[str, ...] = ()


def report_plan(session: Session, text: PlanText, *, shown: bool = False) -> Report:
    """A plan was put to the user; `shown` means that they see our rendering of it.

    A concrete one suspends the plan under way until it is answered. One that is not concrete comes between a
    plan that waits and the yes to it: then that yes needs the rendering again.
    """
    if not text.concrete and session.plan is not None:
        waits = session.plan.shown and not session.plan.accepted
        unsure = msgspec.structs.replace(session.plan, shown=False)
        return Report((fx.SessionChanged(plan=unsure),) if waits else ())
    under_way = session.plan_under_way if text.concrete else session.shelved
    task = session.task
    if task is not None and text.concrete:
        task = msgspec.structs.replace(task, plan_turn=session.turn)
    plan = new_plan(session, text, shown=shown)
    return Report((fx.SessionChanged(plan=plan, plans=session.plans + 1, shelved=under_way, task=task),))


def report_task_begin(session: Session, name: str, now: float) -> Report:
    """A task the host names. It ends the one before."""
    ended = (
        _report_clearing("task", "a new task begins", session, now) if session.task is not None else Report()
    )
    task = fx.SessionChanged(task=new_task(session, name), tasks=session.tasks + 1)
    return Report((*ended.effects, task), ended.announced, ended.cleared)


def report_task_end(session: Session, now: float) -> Report:
    return _report_clearing("task", DONE, session, now)


def report_switch(session: Session, now: float) -> Report:
    """A major switch: another project, another workspace root."""
    return _report_clearing("all_but_allowlist", "the context switched", session, now)


def report_stop(session: Session, assurance: Assurance, now: float) -> Report:
    """Stop a session without a message of its user: no turn passes, and no task begins.

    Clears what a stop in the conversation clears, and never weakens a stop that holds already.
    """
    cleared = _report_clearing("all_but_allowlist", "the session was stopped", session, now)
    held = assurance if session.stopped is None else max(session.stopped, assurance)
    return Report((*cleared.effects, fx.SessionChanged(stopped=held)), cleared.announced, cleared.cleared)


def report_call_end(
    session: Session,
    request: Request,
    decision: Decision,
    ok: bool,
    policy: Policy,
    now: float,
    *,
    start: Start | None = None,
    claimed: bool = False,
) -> Report:
    """A started call ended: a success counts for its plan and lifts a suspension, a failure suspends.

    What is only claimed, by the agent whose call it is, tightens and never loosens: a success lifts nothing,
    a failure lets nothing run again. Without a `start`, the session itself says what the call ran on.
    """
    if ok:
        return _report_success(session, request, decision, claimed=claimed)
    start = start_from_session(session, decision, policy) if start is None else start
    if claimed:
        start = msgspec.structs.replace(start, certain=False)
    return _report_failure(session, request, decision, policy, now, start)


def _report_success(session: Session, request: Request, decision: Decision, *, claimed: bool) -> Report:
    progress = _report_plan_progress(session, request)
    if claimed:
        return progress
    lifted = [
        fx.SuspensionLifted(category)
        for category in dict.fromkeys(item.category for item in decision.items)
        if category in session.suspended and session.suspended[category].digest == request.digest
    ]
    return Report((*lifted, *progress.effects), progress.announced, progress.cleared)


def _report_plan_progress(session: Session, request: Request) -> Report:
    """What of the plan is done now; a call without a target counts for every target, functions for none."""
    plan = session.plan_under_way
    if plan is None:
        return Report()
    wanted = {(name, place) for name in plan.text.operations for place in _places(plan.text, name)}
    targets = request.call.works_on
    done = {
        (operation.name, place)
        for operation in request.operations
        for place in (_places(plan.text, operation.name) if not targets else (*targets, ""))
    }
    after = {*plan.done, *(done & wanted)}
    if wanted <= after:
        cleared = ("plan consent (the plan is done)",)
        return Report((fx.PlanEnded("done"),), ("Plan complete, clearing its consent",), cleared)
    further = msgspec.structs.replace(plan, done=tuple(sorted(after)))
    if plan is session.plan:
        return Report((fx.SessionChanged(plan=further),))
    return Report((fx.SessionChanged(shelved=further),))


def _places(text: PlanText, operation: str) -> tuple[str, ...]:
    """Where an operation has to succeed for the plan to be done; what is blocked does not have to."""
    if operation in text.blocked:
        return ()
    return tuple(target for target in text.targets_of(operation) if not target.endswith("()")) or ("",)


def _report_failure(
    session: Session, request: Request, decision: Decision, policy: Policy, now: float, start: Start
) -> Report:
    failed = [item for item in decision.items if _counts(item)]
    if not failed:
        return Report()
    categories = dict.fromkeys(item.category for item in failed)
    left = {one: retries_left(session, one, request.digest, now, start) for one in categories}
    suspended = [fx.CategorySuspended(category, request.digest, more) for category, more in left.items()]
    if policy.settings.on_failure == "clear":
        ended = _report_clearing("task", "an operation failed", session, now)
        return Report((*suspended, *ended.effects), ended.announced, ended.cleared)
    ended_plan = (fx.PlanEnded("failed"),) if session.plan_under_way is not None else ()
    retried = [item for item in failed if item.risk < Risk.HIGH and left[item.category]]
    retry = retry_grant(session, request, retried, policy, now, start)
    names = ", ".join(dict.fromkeys(item.category_words for item in failed))
    return Report(
        (*suspended, *ended_plan, *(() if retry is None else (fx.GrantAdded(retry),))),
        (words.after_failure(names, retry is not None or has_retry(session, request.digest, now)),),
        ("plan consent (an operation failed)",) if ended_plan else (),
    )


def _counts(item: Item) -> bool:
    """Whether this operation's failure says something: not for reads, tests and builds."""
    return item.undecayed >= Risk.MODERATE and item.category not in EXIT_CODES_MEAN_NOTHING


def _report_clearing(reach: fx.ClearReach, why: str, session: Session, now: float) -> Report:
    effect, lost = clear_consent(session, reach, why, now)
    return Report((effect,), (words.TASK_COMPLETE if why == DONE else words.announce_clearing(why),), lost)
