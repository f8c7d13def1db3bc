"""Offers: the answers a person may give, and the grants each gives.

Offers are computed, not listed: a wider grant is offered only if, with it, the identical request would be
allowed next time. So no answer leads to being asked for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from sayso.core import words
from sayso.core.deciding.decide import decide
from sayso.core.deciding.showing import is_only_command
from sayso.core.deciding.subject import undeclared
from sayso.core.decision import Decision, Item, Offer, operations_of
from sayso.core.durations import DAY, MINUTE
from sayso.core.effects import Effect, GrantAdded, SuspensionLifted
from sayso.core.grants import Grant, Pins
from sayso.core.model import Call, Mode, Request, Risk, Verdict
from sayso.core.policy import Policy
from sayso.core.session import Session, View, apply_effects
from sayso.core.session.numbering import new_grant
from sayso.core.team import name_rule

ANSWERS = ("once", "task", "temporary", "always", "remember")
TEMPORARY_LASTS = 15 * MINUTE


def with_offers(decision: Decision, request: Request, policy: Policy, view: View, now: float) -> Decision:
    """An ask with the answers that can be given to it; any other decision as it is."""
    if decision.verdict is not Verdict.ASK:
        return decision
    view = msgspec.structs.replace(view, session=apply_effects(view.session, decision.effects))
    answers = [*(a for a in ANSWERS if _helps(a, decision, request, policy, view, now)), "deny"]
    offers = tuple(
        Offer(answer, _describe_answer(answer, decision.items_to_ask, request, policy)) for answer in answers
    )
    return msgspec.structs.replace(decision, offers=offers)


def grants_of_answer(
    answer: str,
    request: Request,
    items: tuple[Item, ...],
    policy: Policy,
    session: Session,
    now: float,
    **how: Any,
) -> tuple[Grant, ...]:
    """The grants an answer creates. Every allow answer approves this call; some give more."""
    return grants_of_answers([(item, answer) for item in items], request, policy, session, now, **how)


def grants_of_answers(
    answers: Sequence[tuple[Item, str]],
    request: Request,
    policy: Policy,
    session: Session,
    now: float,
    **how: Any,
) -> tuple[Grant, ...]:
    """The same where each item has an answer of its own: the call is approved once, for all of them."""
    shapes = [_approval(request, tuple(item for item, _ in answers), policy, session, now)]
    for answer in dict.fromkeys(answer for _, answer in answers):
        items = tuple(item for item, given in answers if given == answer)
        shapes += _wider_grants(answer, request, items, policy, session, now)
    return tuple(_number_grants(shapes, session, policy, now, {"asked_for": request.call.tool, **how}))


def lift_suspensions(items: Iterable[Item], session: Session) -> tuple[Effect, ...]:
    """A new yes lifts the suspension of the categories it is about."""
    categories = dict.fromkeys(item.category for item in items)
    return tuple(SuspensionLifted(category) for category in categories if category in session.suspended)


def _helps(answer: str, decision: Decision, request: Request, policy: Policy, view: View, now: float) -> bool:
    """Return whether the identical request would be allowed, by the approval or by a wider grant."""
    asked, session = decision.items_to_ask, view.session
    if answer == "once":
        shapes = [_approval(request, asked, policy, session, now)]
    else:
        shapes = _wider_grants(answer, request, asked, policy, session, now)
    if not shapes:
        return False
    grants = _number_grants(shapes, session, policy, now, {})
    after = apply_effects(session, (*lift_suspensions(asked, session), *map(GrantAdded, grants)))
    return decide(request, policy, msgspec.structs.replace(view, session=after), now).verdict is Verdict.ALLOW


def _approval(
    request: Request, items: tuple[Item, ...], policy: Policy, session: Session, now: float
) -> Grant:
    risk = max(item.risk for item in items)
    until = now + policy.settings.approval_of(risk)
    operations = operations_of(items)
    pins = Pins(tool=request.call.tool, command=request.call.command, operations=operations)
    met = dict.fromkeys(
        name_rule(rule)
        for item in items
        for rule in policy.entry(item.operation).approvals
        if item.risk >= rule.risk
    )
    grant = Grant("", "call", request.digest, risk, until, session.id, pins, uses=1, approved=tuple(met))
    return grant if session.task is None else _for_task(grant, session.task.id)


def _wider_grants(
    answer: str, request: Request, items: tuple[Item, ...], policy: Policy, session: Session, now: float
) -> list[Grant]:
    """The grants of an answer beyond the approval of the call; none where the answer makes no sense."""
    if request.workflow is not None:
        return _workflow_grants(answer, request, items, session, now)
    if answer == "task" and session.task is not None:
        known = [item for item in items if item.operation not in _find_undeclared(request, policy)]
        task, risks = session.task.id, _strictest((item.category, item.risk) for item in known)
        return [
            _for_task(Grant("", "category", category, risk, now + DAY, session.id), task)
            for category, risk in risks.items()
        ]
    if answer in ("temporary", "always"):
        until = now + (TEMPORARY_LASTS if answer == "temporary" else DAY)
        risks = _strictest((item.operation, item.risk) for item in items)
        pins = _pins(request, exact=_is_exact(request, policy, items))
        return [Grant("", "operation", name, risk, until, session.id, pins) for name, risk in risks.items()]
    if answer == "remember" and policy.mode is Mode.TRUSTING:
        return [_remember_grant(request, items, policy, session, now)]
    return []


def _workflow_grants(
    answer: str, request: Request, items: tuple[Item, ...], session: Session, now: float
) -> list[Grant]:
    """The class grant of a workflow: it may start unasked, and its runs carry what it declares below high."""
    if answer not in ("temporary", "always"):
        return []
    until = now + (TEMPORARY_LASTS if answer == "temporary" else DAY)
    pins = Pins(workspace=request.call.workspace, operations=tuple(one.name for one in request.operations))
    weight = min(max(item.weight for item in items), Risk.MODERATE)
    return [Grant("", "workflow", request.workflow or "", weight, until, session.id, pins)]


def _remember_grant(
    request: Request, items: tuple[Item, ...], policy: Policy, session: Session, now: float
) -> Grant:
    """This tool with these operations; what has high risk, or nothing declares, with the same arguments."""
    risk = max(item.risk for item in items)
    exact = risk >= Risk.HIGH or any(item.operation in _find_undeclared(request, policy) for item in items)
    pins = Pins(
        operations=operations_of(items),
        arguments=request.arguments_digest if exact else None,
        folder=request.call.folder or None if exact else None,
    )
    return Grant("", "tool", request.call.tool, risk, now + DAY, session.id, pins)


def _is_exact(request: Request, policy: Policy, items: Iterable[Item]) -> bool:
    """Return whether grants are pinned to the arguments: by the policy, or for want of a declaration."""
    unknown = _find_undeclared(request, policy)
    return policy.settings.grant_pins == "exact" or any(item.operation in unknown for item in items)


def _pins(request: Request, *, exact: bool) -> Pins:
    call = request.call
    if not exact:
        return Pins(workspace=call.workspace)
    return Pins(
        tool=call.tool,
        workspace=call.workspace,
        command=call.command,
        arguments=request.arguments_digest,
        folder=call.folder or None,
    )


def _find_undeclared(request: Request, policy: Policy) -> set[str]:
    """The operations of this call that neither the policy nor code nor a reading declares."""
    return {one.name for one in request.operations if undeclared(one, policy.entry(one.name))}


def _for_task(grant: Grant, task: str) -> Grant:
    return msgspec.structs.replace(grant, ends_with="task", bound_to=task)


def _strictest(pairs: Iterable[tuple[str, Risk]]) -> dict[str, Risk]:
    risks: dict[str, Risk] = {}
    for name, risk in pairs:
        risks[name] = max(risk, risks.get(name, risk))
    return risks


def _number_grants(
    shapes: Iterable[Grant], session: Session, policy: Policy, now: float, how: dict[str, Any]
) -> Iterator[Grant]:
    for after, shape in enumerate(shapes):
        yield msgspec.structs.replace(new_grant(shape, session, policy, now, after=after), **how)


def _describe_answer(answer: str, items: tuple[Item, ...], request: Request, policy: Policy) -> str:
    if request.workflow is not None:
        return words.offer_text(answer, "", f"the workflow {request.workflow}")
    categories = " and ".join(dict.fromkeys(item.category_words for item in items))
    operations = " and ".join(operations_of(items))
    exact = _is_exact(request, policy, items)
    return words.offer_text(
        answer, categories, _describe_pinned_call(request.call, operations) if exact else operations
    )


def _describe_pinned_call(call: Call, operations: str) -> str:
    """The exact call in words: its command alone only where there is nothing beside it."""
    where = f" in {words.visible(call.folder)}" if call.folder not in ("", call.workspace) else ""
    if call.command is None:
        return f"{operations} with exactly these arguments{where}"
    return (
        f"{call.command}{where}"
        if is_only_command(call)
        else f"{call.command}, with exactly these arguments{where}"
    )
