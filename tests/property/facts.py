"""What holds before any row of the table is read: lists, decay, risk, weight, grants that are live and fit.

Part of the second evaluator, and like it written from the specification alone.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import msgspec

from sayso.core.errors import MalformedRequest
from sayso.core.grants import Grant
from sayso.core.model import Operation, Request, Risk
from sayso.core.policy import Detail, Domain, Policy
from sayso.core.session import Session, View

LOW, MODERATE, HIGH = Risk.LOW, Risk.MODERATE, Risk.HIGH
MAY_BE_ACCEPTED = {"git.fetch"}
"""Of the operations that the random worlds have."""
MINUTES = 60
DAYS = 24 * 60 * MINUTES


class Facts(NamedTuple):
    """One operation of a call under a policy. `base` is its risk before the call was read."""

    listed: str | None
    decayed: bool
    base: Risk
    risk: Risk
    weight: Risk
    category: str


def domain_name(name: str) -> str:
    return name[: name.index(".")]


def action_of(name: str) -> str:
    return name[name.index(".") + 1 :]


def domain_of(name: str, policy: Policy) -> Domain:
    return policy.domains.get(domain_name(name), Domain())


def refuse_look_alikes(name: str, policy: Policy) -> None:
    """Names match exactly; one that differs only by case, white space or Unicode form is malformed."""
    known = named_in(policy)
    if name in known:
        return
    if any(_plain(name) == _plain(other) for other in known):
        raise MalformedRequest(f"{name} is a look-alike")


def named_in(policy: Policy) -> set[str]:
    """Every operation that the policy names in a list, a mark or an `operations` entry."""
    known = set(policy.operations)
    for domain, lists in policy.domains.items():
        for actions in (
            lists.autonomous,
            lists.requires_approval,
            lists.blocked,
            lists.trusted_channel_required,
        ):
            known |= {f"{domain}.{action}" for action in actions}
    return known


def wide_enough(grant: Grant, operation: Operation, policy: Policy) -> bool:
    """SPEC 5: what nothing declares or reads is granted or remembered for its exact arguments only.

    So is what an answer grants under `grant_pins: exact`, whatever the pins were when it was given.
    """
    if grant.pins.arguments is not None:
        return True
    answered = grant.kind == "operation" and grant.question is not None and grant.group is None
    if answered and policy.settings.grant_pins == "exact":
        return False
    return operation.declared or operation.name in named_in(policy)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def facts_of(operation: Operation, policy: Policy, view: View, now: float) -> Facts:
    """Tier, decay, risk, weight and category of an operation of this call."""
    detail = policy.operations.get(operation.name, Detail())
    listed = list_of(operation.name, policy)
    decayed = listed == "autonomous" and is_decayed(operation.name, policy, view, now)

    if detail.risk is not None and not detail.preset:
        base = detail.risk
    elif detail.risk is not None:
        base = detail.risk if operation.risk is None else max(detail.risk, operation.risk)
    else:
        floors = {"autonomous": LOW, "requires_approval": MODERATE, "blocked": HIGH, None: LOW}
        spoken = [word for word in (operation.risk,) if word is not None]
        base = max([floors[listed], *spoken])
        if listed is None and not spoken:
            base = MODERATE

    reading = None if accepts_the_reading(operation, detail) else operation.reading
    nothing_else_speaks = listed is None and detail.risk is None and operation.risk is None
    if reading is None:
        risk = base
    elif nothing_else_speaks:
        risk = reading
    else:
        risk = max(base, reading)
    if decayed:
        risk = max(risk, MODERATE)

    weight = detail.weight if detail.weight is not None else operation.weight
    if weight is None:
        weight = risk
    elif reading is not None and reading > base:
        weight = max(weight, risk)
    return Facts(listed, decayed, base, risk, weight, detail.category or operation.name)


def accepts_the_reading(operation: Operation, detail: Detail) -> bool:
    """SPEC 3: the operator's own risk stands where only the operation's own row made the line riskier."""
    accepted = detail.reading == "accepted" and detail.risk is not None and not detail.preset
    return accepted and operation.own_row and operation.name in MAY_BE_ACCEPTED


def list_of(name: str, policy: Policy) -> str | None:
    """Which of the three lists the action stands in; the strictest, should it stand in two."""
    domain, action = domain_of(name, policy), action_of(name)
    if action in domain.blocked:
        return "blocked"
    if action in domain.requires_approval:
        return "requires_approval"
    if action in domain.autonomous:
        return "autonomous"
    return None


def is_decayed(name: str, policy: Policy, view: View, now: float) -> bool:
    """Whether an autonomous permission has gone unreviewed for the interval. SPEC 4.4 and 15."""
    if not view.time_trusted:
        return True
    if not policy.decay.enabled:
        return False
    in_the_file = domain_of(name, policy).last_reviewed
    if in_the_file is not None and in_the_file > now:
        return True
    reviews = [in_the_file, view.reviews.get(domain_name(name))]
    dates = [date for date in reviews if date is not None]
    if not dates and name in view.reviews:
        dates = [view.reviews[name]]
    if not dates:
        return True
    return now - max(dates) >= policy.decay.review_interval_days * DAYS


def live_grants(view: View, now: float) -> list[Grant]:
    """The grants of the session that are live: SPEC 5, word by word."""
    session, run = view.session, view.scope.run
    live = []
    for held in [held for row in session.grants.values() for held in row]:
        grant = held.grant
        if not view.time_trusted or held.revoked or now >= grant.expires_at:
            continue
        if grant.uses is not None and held.used >= grant.uses:
            continue
        if grant.session != session.id:
            continue
        if grant.ends_with == "turn" and grant.bound_to != str(session.turn):
            continue
        if grant.ends_with == "task" and (session.task is None or grant.bound_to != session.task.id):
            continue
        if grant.ends_with == "run" and (run is None or not run.alive or grant.bound_to != run.id):
            continue
        live.append(grant)
    return live


def ground_has_changed(request: Request, view: View) -> bool:
    """SPEC 2: whether the workspace is not the folder any more that it was when consent was given."""
    is_link, is_gone = request.call.leads_to != "", request.call.workspace in request.call.missing
    return is_link or (is_gone and view.session.rooted)


def with_approvals_alone(view: View) -> View:
    """Of all consent, what was given for one call as it was shown; a click stays a click."""
    approvals = {key: held for key, held in view.session.grants.items() if key[0] == "call"}
    session = msgspec.structs.replace(view.session, grants=approvals, slash=None, imperatives=(), plan=None)
    scope = msgspec.structs.replace(view.scope, outer=None, reducers={})
    return msgspec.structs.replace(view, session=session, scope=scope)


def pins_fit(grant: Grant, request: Request, name: str) -> bool:
    """Whether the call is the one the grant was pinned to, on every side that is pinned."""
    pins, call = grant.pins, request.call
    if pins.tool is not None and pins.tool != call.tool:
        return False
    if pins.workspace is not None and pins.workspace != call.workspace:
        return False
    if pins.folder is not None and pins.folder != call.folder:
        return False
    if pins.command is not None and pins.command != call.command:
        return False
    if pins.arguments is not None and pins.arguments != request.arguments_digest:
        return False
    if pins.operations is not None and name not in pins.operations:
        return False
    named = set(call.targets) if call.targets else {call.target} - {None}
    return pins.targets is None or named <= set(pins.targets)


def spoken_within(seconds: float, view: View, now: float) -> bool:
    """Whether what the last user message allowed still counts: so long, and while time can be trusted."""
    heard = view.session.heard_at
    return view.time_trusted and heard is not None and now - heard < seconds


def plan_consent_lasts(session: Session) -> bool:
    """An accepted plan that was started, or is at most three turns old, in a task that is not in doubt."""
    plan, task = session.plan, session.task
    if plan is None or not plan.accepted:
        return False
    if task is not None and task.unconfirmed:
        return False
    return plan.started or session.turn - plan.since <= 3


def bypass_is_on(detail: Detail, domain: Domain, policy: Policy) -> bool:
    """The operation's own word, else its domain's, else the policy's."""
    if detail.confidence_bypass is not None:
        return detail.confidence_bypass
    if domain.confidence_bypass is not None:
        return domain.confidence_bypass
    return policy.settings.confidence_bypass


def reduced(risk: Risk, operation: Operation, view: View) -> Risk:
    """A risk or weight as a safe caller in the open scope lowers it, never below the reading."""
    if operation.name not in view.scope.reducers:
        return risk
    lowered = view.scope.reducers[operation.name]
    if operation.reading is not None and operation.reading > lowered:
        lowered = operation.reading
    return min(risk, lowered)


def over_by_now(grant: Grant, policy: Policy, now: float) -> bool:
    """SPEC 7: an approval lives as long after the answer as the policy says; a shorter time tightens it.

    At high risk that is ten minutes, and where the setting is above the usual fifteen, up to an hour.
    """
    lasts = policy.settings.approval_lasts
    if grant.risk is Risk.HIGH:
        lasts = min(lasts, 60 * MINUTES if lasts > 15 * MINUTES else 10 * MINUTES)
    return now - grant.given_at >= lasts


def tightened_since(grant: Grant, name: str, risk: Risk, policy: Policy, now: float) -> bool:
    """SPEC 7: an approval ends at a tightened policy. Whether this one may have been tightened for it.

    Tightened: a mode that asks more, another list (but autonomous, the freest), a mark to ask always, a
    higher risk; or the store says when, and it may be loose again by now. An approval that does not say what
    it was asked under is sure of its own policy alone.
    """
    if over_by_now(grant, policy, now):
        return True
    covered = grant.pins.operations or ()
    if any(at >= grant.given_at for one, at in policy.tightened.items() if one == "" or one in covered):
        return True
    if name not in grant.terms:
        return grant.policy != policy.digest
    terms = grant.terms[name]
    listed = terms.tier
    modes = ["trusting", "balanced", "paranoid"]
    if modes.index(policy.mode.value) > modes.index(terms.mode.value):
        return True
    here = list_of(name, policy)
    if here != "autonomous" and here != (None if listed is None else listed.value):
        return True
    if policy.operations.get(name, Detail()).always_ask and not terms.always_ask:
        return True
    return bool(risk > terms.risk)
