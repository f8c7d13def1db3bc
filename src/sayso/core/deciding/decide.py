"""The decision: one pure function of (request, policy, view, now), and the same with its trace."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sayso.core import words
from sayso.core.deciding.rules import (
    CHECKS,
    CHECKS_ON_ITS_OWN,
    MARK_COMMAND,
    MARK_PLAN,
    MARK_SLASH,
    MARK_STOPPED,
    RULES,
    START_CHECKS,
    START_RULES,
    Check,
)
from sayso.core.deciding.subject import RuleInput, subject_of
from sayso.core.decision import Decision, Item, Ruling
from sayso.core.effects import ContentSent, Effect, PlanDeviated, RetriesEnded, TaskActive
from sayso.core.errors import MalformedRequest
from sayso.core.model import Mode, Operation, Request, Risk, Verdict
from sayso.core.policy import Policy
from sayso.core.rulebook import ROWS
from sayso.core.session import Scope, Session, Task, View, apply_effects

ALLOW, ASK = Verdict.ALLOW, Verdict.ASK
BALANCED = Mode.BALANCED
DEVIATED = PlanDeviated()
NO_SCOPE = View.__struct_defaults__[0]
"""The scope of a view that is given none."""

PHASES = {
    "file-edit": "implementing",
    "scripts": "implementing",
    "test-build": "testing",
    "git-local": "committing",
    "git-remote": "committing",
}
"""The phase of a task by the category of its last allowed call. Shown to people; it decides nothing."""


class TracedCheck(msgspec.Struct, frozen=True):
    """One line of a trace: a check, whether it spoke, and what it said or why it kept silent."""

    rule: str
    spoke: bool
    why: str


class Trace(msgspec.Struct, frozen=True):
    """Every check that one operation passed, up to the one that decided."""

    operation: str
    risk: Risk
    weight: Risk
    tier: str
    checks: tuple[TracedCheck, ...]


def decide(request: Request, policy: Policy, view: View, now: float) -> Decision:
    """Decide whether this call may run now, must be asked, or never runs. Same input, same decision.

    Each operation is decided by the first check that speaks; the strictest of them decides the call.
    """
    decision, session = _decide(request, policy, view, now), view.session
    if decision.verdict is not ASK or (session.plan is None and not session.suspended):
        return decision  # nothing ends by asking
    return _settle_decision(decision, request, policy, view, now)[0]


def explain(request: Request, policy: Policy, view: View, now: float) -> tuple[Decision, tuple[Trace, ...]]:
    """Decide again, and list every check on the way with why it did not speak."""
    decision, view = _settle_decision(_decide(request, policy, view, now), request, policy, view, now)
    traces = tuple(_trace(subject_of(request, one, policy, view, now)) for one in request.operations)
    return decision, traces


def _settle_decision(
    decision: Decision, request: Request, policy: Policy, view: View, now: float
) -> tuple[Decision, View]:
    """Return the decision after ending what asking ends, and the view it was made in.

    Asking ends some consents: a plan that the ask deviates from, and the retry of a failed call, which a yes
    replaces. What only they covered would be asked right after, so it is decided again without them and asked
    in the same question.
    """
    effects: tuple[Effect, ...] = ()
    while (
        decision.verdict is ASK
        and (ended := _end_by_asking(view.session, decision, request.digest)) is not None
    ):
        effects += decision.effects
        view = msgspec.structs.replace(view, session=ended)
        decision = _decide(request, policy, view, now)
    if effects:
        decision = msgspec.structs.replace(decision, effects=effects + decision.effects)
    if (
        decision.verdict is ASK and DEVIATED in decision.effects
    ):  # the user learns that a consent of theirs is over, and why
        decision = msgspec.structs.replace(decision, announce=words.PLAN_LEFT)
    return decision, view


def _end_by_asking(session: Session, decision: Decision, digest: str) -> Session | None:
    """Return the session without what the ask ends, or None if it ends nothing."""
    if session.plan is None and not session.suspended:
        return None
    retries = {held.grant.id for held in session.grants.get(("retry", digest), ())}
    retried = any(not retries.isdisjoint(item.ruling.grants) for item in decision.items)
    if not retried and not decision.effects:
        return None
    return apply_effects(session, (*decision.effects, *([RetriesEnded(digest)] if retried else [])))


def _decide(request: Request, policy: Policy, view: View, now: float) -> Decision:
    if request.session != view.session.id:
        raise MalformedRequest("the request belongs to another session")
    operations = request.operations
    if len(operations) == 1:  # most calls
        items: tuple[Item, ...] = (_judge(subject_of(request, operations[0], policy, view, now)),)
        ruling = items[0].ruling
    else:
        items = tuple([_judge(subject_of(request, one, policy, view, now)) for one in operations])
        ruling = _join_rulings(items)
    effects = _effects(request, policy, view.session, items, ruling, now)
    verdict, announce = ruling.verdict, ruling.announce
    return Decision(verdict, ruling.rule, ruling.reason, announce, items, ruling.grants, effects)


def _judge(subject: RuleInput) -> Item:
    for check in checks_of(subject):
        said = check(subject)
        if type(said) is str:  # the likeliest first: most checks keep silent
            continue
        if type(said) is Ruling:
            s, entry = subject, subject.entry
            return Item(entry.name, entry.category, entry.category_words, s.undecayed, s.risk, s.weight, said)
        if type(said) is RuleInput:
            subject = said
    raise AssertionError("the last check always speaks")


def checks_of(subject: RuleInput) -> tuple[Check, ...]:
    """The checks of this operation; those that have nothing to look at are left out."""
    request, view, session = subject.request, subject.view, subject.session
    if request.workflow is not None:
        return START_CHECKS
    if subject.policy.mode is not BALANCED or (view.scope is not NO_SCOPE and _has_around(view.scope)):
        return CHECKS
    marks = subject.entry.marks
    if session.stopped is not None or view.parent_stopped:
        marks |= MARK_STOPPED
    if session.slash is not None:
        marks |= MARK_SLASH
    if session.plan is not None:
        marks |= MARK_PLAN
    if request.call.command is not None:
        marks |= MARK_COMMAND
    return CHECKS_ON_ITS_OWN[marks]


def _has_around(scope: Scope) -> bool:
    """Return whether anything is around the call that a check looks for."""
    around = scope.reducers or scope.outer is not None or scope.run is not None
    return bool(around) or scope.user_initiated is not None


def _trace(subject: RuleInput) -> Trace:
    checks = []
    at = subject
    for rule, check in RULES if subject.request.workflow is None else START_RULES:
        said = check(at)
        if isinstance(said, Ruling):
            checks.append(TracedCheck(rule.name, True, said.reason))
            break
        if isinstance(said, RuleInput):
            at, said = said, f"a safe caller lowers it to {said.risk.word} risk"
        checks.append(TracedCheck(rule.name, False, said))
    tier = subject.tier.value if subject.tier else "unlisted"
    return Trace(subject.entry.name, subject.risk, subject.weight, tier, tuple(checks))


_STRICTNESS = {ALLOW: 0, ASK: 2}


def _strictness(item: Item) -> tuple[int, Risk]:
    """Order: blocked, denied, ask, allow with a notice, allow; among equals the riskier first."""
    ruling = item.ruling
    own = ROWS[ruling.rule].strictness
    return (_STRICTNESS[ruling.verdict] if own is None else own, item.risk)


def _join_rulings(items: tuple[Item, ...]) -> Ruling:
    """Return the strictest ruling, with the announcements, grants and effects of all with its verdict."""
    ruling = max(items, key=_strictness).ruling
    same = [item.ruling for item in items if item.ruling.verdict is ruling.verdict]
    grants = tuple(dict.fromkeys(grant for one in same for grant in one.grants))
    effects = tuple(effect for one in same for effect in one.effects)
    return msgspec.structs.replace(ruling, announce=_join_announcements(same), grants=grants, effects=effects)


def _join_announcements(rulings: Sequence[Ruling]) -> str | None:
    """Each announcement once."""
    return "\n".join(dict.fromkeys(one.announce for one in rulings if one.announce)) or None


def _effects(
    request: Request, policy: Policy, session: Session, items: tuple[Item, ...], ruling: Ruling, now: float
) -> tuple[Effect, ...]:
    """Collect the effects of the ruling and what follows from it, each once."""
    effects = ruling.effects
    if ruling.verdict is ALLOW:
        for operation in request.operations:
            if operation.content is not None:
                effects += _sending(policy, operation, operation.content, now)
        if session.task is not None:
            effects += _activity(session.turn, session.task, items)
    elif session.plan is not None and ruling.verdict is ASK and _deviates(session, items, request):
        effects += (DEVIATED,)
    return effects if len(effects) < 2 else tuple(dict.fromkeys(effects))


def _sending(policy: Policy, operation: Operation, content: str, now: float) -> tuple[Effect, ...]:
    entry = policy.entry(operation.name)
    return (ContentSent(entry.domain, content, entry.name, now),) if entry.fan_out else ()


def _activity(turn: int, task: Task, items: tuple[Item, ...]) -> tuple[Effect, ...]:
    """Mark the task active: once a turn, and when its phase or what has run in it changes."""
    new: tuple[str, ...]
    phase, ran = PHASES.get(items[-1].category), task.ran
    if len(items) == 1:
        new = () if items[0].category in ran else (items[0].category,)
    else:
        new = tuple(dict.fromkeys([item.category for item in items if item.category not in ran]))
    if task.active == turn and not new and (phase is None or phase == task.phase):
        return ()
    return (TaskActive(turn, phase, new),)


def _deviates(session: Session, items: tuple[Item, ...], request: Request) -> bool:
    """True if a plan is under way, even suspended, and does not name something above low that is asked."""
    plan = session.plan_under_way
    if plan is None:
        return False
    asked = [item for item in items if item.ruling.verdict is ASK and item.risk > Risk.LOW]
    return any(not plan.text.names(item.operation, request.call.works_on) for item in asked)
