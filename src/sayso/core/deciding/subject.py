"""One operation of a request with everything known about it, and the look-ups that checks share."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sayso.core.grants import EXACT, Grant, HeldGrant, ended_by_tightening, outlived, pins_fit, spent
from sayso.core.model import Operation, Request, Risk, Tier
from sayso.core.policy import Entry, Policy, decayed, find_review, no_stricter, terms_of_entry
from sayso.core.session import Session, View
from sayso.core.team import name_rule

# Bound once: looking a member up on its enum class is slow, and this runs for every decision.
AUTONOMOUS, REQUIRES_APPROVAL = Tier.AUTONOMOUS, Tier.REQUIRES_APPROVAL
MODERATE = Risk.MODERATE

NAMING = ("call", "tool", "workflow", "run", "retry")
WEIGHED = ("workflow", "run")
BROAD = ("operation", "category", "tool")


class RuleInput(msgspec.Struct, frozen=True):
    """One operation of a request as the checks see it.

    `declared` is its risk before the call itself was read, `undecayed` its risk with decay left aside.
    """

    request: Request
    operation: Operation
    entry: Entry
    policy: Policy
    view: View
    session: Session
    now: float
    tier: Tier | None
    decayed: bool
    declared: Risk
    undecayed: Risk
    risk: Risk
    weight: Risk


def subject_of(request: Request, operation: Operation, policy: Policy, view: View, now: float) -> RuleInput:
    """Return the operation with its current tier and risk."""
    entry = policy.table.get(operation.name) or policy.entry(operation.name)
    tier, gone = entry.tier, False
    if tier is AUTONOMOUS:
        gone = not view.time_trusted or decayed(policy, entry, find_review(entry, view.reviews), now)
        if gone:
            tier = REQUIRES_APPROVAL
    declared = entry.floor if operation.risk is None else _risk_before_reading(entry, operation.risk)
    reading = _reading_that_counts(operation, entry)
    risk = MODERATE if declared is None else declared
    if reading is not None and (declared is None or reading > declared):
        risk = reading
    undecayed = risk
    if gone and risk < MODERATE:
        risk = MODERATE
    unread = MODERATE if declared is None else declared
    weight = entry.weight if entry.weight is not None else operation.weight
    if weight is None or (reading is not None and reading > unread and reading > weight):
        weight = risk
    call = request.call
    if (call.leads_to or call.missing) and has_lost_workspace(request, view.session):
        view = _without_consent(view)
    session = view.session
    return RuleInput(
        request, operation, entry, policy, view, session, now, tier, gone, unread, undecayed, risk, weight
    )


def has_lost_workspace(request: Request, session: Session) -> bool:
    """True if the workspace that consent was given for is now another folder, or gone."""
    call = request.call
    return bool(call.leads_to) or (session.rooted and call.workspace in call.missing)


def _without_consent(view: View) -> View:
    """Drop all consent but approvals of single calls, which are for exactly what was shown."""
    session, scope = view.session, view.scope
    calls = {key: held for key, held in session.grants.items() if key[0] == "call"}
    bare = msgspec.structs.replace(session, grants=calls, slash=None, imperatives=(), plan=None)
    outside = msgspec.structs.replace(scope, outer=None, reducers={})
    return msgspec.structs.replace(view, session=bare, scope=outside)


def _reading_that_counts(operation: Operation, entry: Entry) -> Risk | None:
    """Return what reading the call found, unless that is only the operation's own row and is accepted."""
    return None if entry.accepted and operation.own_row else operation.reading


def _risk_before_reading(entry: Entry, declared: Risk) -> Risk:
    """Return the risk before the call was read: the operator's own, else the strictest declared."""
    if entry.risk is not None and not entry.preset:
        return entry.risk
    return declared if entry.floor is None or entry.floor < declared else entry.floor


def undeclared(operation: Operation, entry: Entry) -> bool:
    """True if neither the policy nor code nor a reading says what this operation is."""
    return not entry.named and not operation.declared


def risk_after_reducers(s: RuleInput) -> Risk | None:
    """Return the risk that a safe caller lowers the operation to, never below the reading of the call."""
    lowered, reading = s.view.scope.reducers.get(s.entry.name), s.operation.reading
    return lowered if lowered is None or reading is None or reading < lowered else reading


def apply_reducers(s: RuleInput) -> RuleInput:
    """Lower risk and weight as far as a safe caller around the call allows."""
    lowered = risk_after_reducers(s)
    if lowered is None:
        return s
    return msgspec.structs.replace(s, risk=min(s.risk, lowered), weight=min(s.weight, lowered))


def find_covering_grants(s: RuleInput, kind: str, value: str) -> Sequence[HeldGrant]:
    """Return the grants for this key that are live, fit the call, and were given at its risk or above."""
    row = s.session.grants.get((kind, value))
    if row is None:
        return ()
    view, now = s.view, s.now
    found: list[HeldGrant] = []
    for held in row:
        if is_grant_live(held, view, now) and _covers(s, held.grant):
            found.append(held)  # noqa: PERF401  most often it is one: a comprehension is a call of its own
    return found


def _covers(s: RuleInput, grant: Grant) -> bool:
    """A call, a tool, a workflow or a run is granted for named operations only.

    What nothing declares is granted for its exact arguments only.
    """
    if grant.pins.operations is None and grant.kind in NAMING:
        return False
    if grant.kind in BROAD and grant.pins.arguments is None and undeclared(s.operation, s.entry):
        return False
    if outlived(grant, s.policy.settings, s.now):
        return False
    needed = s.weight if grant.kind in WEIGHED else s.risk
    if grant.kind in EXACT:
        tightened = s.policy.tightened
        if not outlasts(s, grant) or (tightened and ended_by_tightening(grant, tightened)):
            return False
    return needed <= grant.risk and pins_fit(grant.pins, s.request, s.entry.name)


def outlasts(s: RuleInput, grant: Grant) -> bool:
    """True if the policy is no stricter with this operation now than when the grant was asked for.

    An approval that does not say what it was asked under serves under its own policy only.
    """
    then = grant.terms.get(s.entry.name)
    if then is None:
        return grant.kind not in EXACT or grant.policy == s.policy.digest
    return no_stricter(terms_of_entry(s.policy, s.entry, s.risk), then)


def has_approvals(s: RuleInput, grant: Grant) -> bool:
    """Return whether the approvals behind this grant met every rule of the team that covers the operation.

    So an approval that was not counted, or under another policy, does not stand in for them.
    """
    return all(name_rule(rule) in grant.approved for rule in s.entry.approvals if s.risk >= rule.risk)


def live(s: RuleInput, held: HeldGrant) -> bool:
    """Not spent, and the session, turn, task or run that the grant ends with is still the current one."""
    return is_grant_live(held, s.view, s.now)


def is_grant_live(held: HeldGrant, view: View, now: float) -> bool:
    """The same for a view. With a clock that cannot be trusted, every grant counts as expired."""
    grant, session = held.grant, view.session
    if not view.time_trusted or spent(held, now) or grant.session != session.id:
        return False
    if grant.ends_with == "session":
        return True
    if grant.ends_with == "task":
        return session.task is not None and session.task.id == grant.bound_to
    if grant.ends_with == "turn":
        return str(session.turn) == grant.bound_to
    run = view.scope.run
    return run is not None and run.alive and run.id == grant.bound_to


def fresh(s: RuleInput, seconds: float) -> bool:
    """True if the last user message is younger than this, by a trusted clock."""
    heard_at = s.session.heard_at
    return heard_at is not None and s.view.time_trusted and s.now - heard_at < seconds
