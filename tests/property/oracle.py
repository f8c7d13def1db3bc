"""A second evaluator: the order of checks once more, written to be obvious rather than fast.

It was written from the specification's table alone and shares nothing with the rules it is compared with but
the plain types: it reads the policy's lists instead of the compiled table, and looks through every grant of a
session instead of those under a key. Where the table says only "within", the strict side has the very end.
"""

# ruff: noqa: SIM102 - a row's conditions stand in portions that can be read one after the other

from __future__ import annotations

from typing import NamedTuple

import msgspec

from sayso.core.grants import Grant
from sayso.core.model import Mode, Operation, Origin, Request, Risk
from sayso.core.policy import Detail, Policy
from sayso.core.session import Session, View
from tests.property.facts import (
    MINUTES,
    action_of,
    bypass_is_on,
    domain_name,
    domain_of,
    facts_of,
    ground_has_changed,
    live_grants,
    pins_fit,
    plan_consent_lasts,
    reduced,
    refuse_look_alikes,
    spoken_within,
    tightened_since,
    wide_enough,
    with_approvals_alone,
)

LOW, MODERATE, HIGH = Risk.LOW, Risk.MODERATE, Risk.HIGH

STRICTNESS = ["silent allow", "allow and notify", "ask", "a person's no", "not by this channel", "never"]
BEFORE_REDUCING = ["blocked", "trusted_channel", "approved_call", "denied_call", "stopped", "always_ask"]
BEFORE_REDUCING += ["slash_command", "user_initiated", "paranoid", "allowlist", "nested", "reduced_risk"]


class Answer(NamedTuple):
    verdict: str
    rule: str
    grants: frozenset[str]


def verdict_of(request: Request, policy: Policy, view: View, now: float) -> Answer:
    """The verdict, the rule that gave it, and the grants it uses.

    The strictest operation's; of equals the riskiest one's, of those the first. A question that leaves the
    plan ends it, and a yes replaces the retries of a failed call: what only these covered is asked as well.
    """
    while True:
        strictest, answers = _strictest(request, policy, view, now)
        if strictest.verdict != "ask":
            break
        retries = uses_a_retry(answers, view.session, request.digest)
        if deviates(request, answers, policy, view, now):
            view = msgspec.structs.replace(view, session=without_plan_under_way(view.session))
        elif retries:
            view = without_retries(view, request.digest)
        else:
            break
    if strictest.verdict != "allow":
        return strictest
    return Answer("allow", strictest.rule, frozenset().union(*(answer.grants for answer in answers)))


def operation_verdict(  # noqa: C901 - it is the table, and a table is read from top to bottom
    request: Request, operation: Operation, policy: Policy, view: View, now: float
) -> Answer:
    """SPEC 3, row by row."""
    name = operation.name
    if ground_has_changed(request, view):
        view = with_approvals_alone(view)
    refuse_look_alikes(name, policy)
    session, scope, settings = view.session, view.scope, policy.settings
    domain, detail = domain_of(name, policy), policy.operations.get(name, Detail())
    facts = facts_of(operation, policy, view, now)
    risk, weight = facts.risk, facts.weight
    from_a_person_or_the_main_agent = request.origin not in (Origin.SUBAGENT, Origin.SCHEDULE)

    # 1 blocked
    if facts.listed == "blocked" or operation.barred is not None:
        return deny("blocked")
    if facts.listed is None and settings.unlisted == "block":
        return deny("blocked")

    # 2 trusted_channel
    if action_of(name) in domain.trusted_channel_required and request.origin is not Origin.TRUSTED_CHANNEL:
        return deny("trusted_channel")

    # 3 approved_call: the question named the risk as a safe caller had lowered it; that is what was approved
    for grant in live_grants(view, now):
        names_it = grant.pins.operations is not None and name in grant.pins.operations
        if grant.kind == "call" and grant.value == request.digest and names_it:
            asked_at = reduced(risk, operation, view)
            ended = tightened_since(grant, name, asked_at, policy, now)
            if asked_at <= grant.risk and pins_fit(grant, request, name) and not ended:
                return allow("approved_call", grant)

    # 4 denied_call
    denial = session.denials.get(request.digest)
    if denial is not None and denial.turn == session.turn and now - denial.at <= 15 * MINUTES:
        return deny("denied_call")

    # 5 stopped
    if session.stopped is not None or view.parent_stopped:
        return ask("stopped")

    # 6 always_ask
    if detail.always_ask:
        return ask("always_ask")

    # 7 slash_command
    if session.slash is not None and session.slash in policy.slash_commands:
        declared = name in policy.slash_commands[session.slash].operations
        raised = operation.reading is not None and operation.reading > facts.base
        in_time = spoken_within(15 * MINUTES, view, now) and session.slash_calls < 10
        alone = request.call.command is None or not request.call.beside
        by_the_agent = request.origin is Origin.AGENT and risk <= session.ceiling
        if declared and alone and not raised and by_the_agent and in_time:
            return allow("slash_command")

    # 8 user_initiated
    if scope.user_initiated is not None:
        return allow("user_initiated")

    # 9 paranoid
    if policy.mode is Mode.PARANOID:
        return ask("paranoid")

    # 10 allowlist
    if request.call.command is not None and not request.call.beside:
        for grant in live_grants(view, now):
            whole = grant.kind == "command" and grant.value.strip() == request.call.command.strip(" \t\n")
            here = grant.pins.workspace == request.call.workspace
            if whole and here and risk <= grant.risk and pins_fit(grant, request, name):
                return allow("allowlist", grant)

    # 11 nested
    if scope.outer is not None and not scope.individual:
        if name in scope.outer.granted and risk <= scope.outer.granted[name]:
            return allow("nested")
        if weight <= MODERATE and weight <= scope.outer.weight:
            return allow("nested")

    # 12 reduced_risk
    if name in scope.reducers:
        if max(scope.reducers[name], operation.reading or LOW) == LOW:
            return allow("reduced_risk")
        risk, weight = reduced(risk, operation, view), reduced(weight, operation, view)

    # 13 operation_grant
    for grant in live_grants(view, now):
        if grant.kind == "operation" and grant.value == name and grant.group is None:
            high_is_fine = risk < HIGH or settings.risky_grants == "standing" or grant.uses == 1
            fits = pins_fit(grant, request, name) and wide_enough(grant, operation, policy)
            if risk <= grant.risk and high_is_fine and fits:
                return allow("operation_grant", grant)

    # 14 workflow_grant
    run = scope.run
    limit = None if run is None else policy.workflows.get(run.workflow)
    permitted = limit is None or name in limit.operations
    if run is not None and run.alive and weight < HIGH and not scope.individual and permitted:
        for kind, value in (("run", run.id), ("workflow", run.workflow)):
            for grant in live_grants(view, now):
                declares_it = grant.pins.operations is not None and name in grant.pins.operations
                if grant.kind == kind and grant.value == value and declares_it:
                    if weight <= grant.risk and pins_fit(grant, request, name):
                        return allow("workflow_grant", grant)

    # 15 fan_out
    if domain.fan_out == "single" and operation.content is not None:
        for sending in session.sent.get((domain_name(name), operation.content), ()):
            if sending.operation != name and now - sending.at <= 10 * MINUTES:
                return ask("fan_out")
        for other in request.operations:
            same_domain = domain_name(other.name) == domain_name(name)
            if other.name != name and same_domain and other.content == operation.content:
                return ask("fan_out")

    # 16 remembered
    if policy.mode is Mode.TRUSTING:
        for grant in live_grants(view, now):
            these = grant.pins.operations is not None and name in grant.pins.operations
            if grant.kind == "tool" and grant.value == request.call.tool and these:
                same_arguments = grant.pins.arguments == request.arguments_digest
                high_is_fine = risk < HIGH or (settings.trusting_remembers_high and same_arguments)
                fits = pins_fit(grant, request, name) and wide_enough(grant, operation, policy)
                if risk <= grant.risk and high_is_fine and fits:
                    return allow("remembered", grant)

    # 17 autonomous
    if facts.listed == "autonomous" and not facts.decayed and risk < HIGH:
        return allow("autonomous")

    # 18 safe
    if risk == LOW and settings.safe == "auto" and facts.listed != "requires_approval":
        return allow("safe")
    command = None if request.call.command is None else request.call.command.strip(" \t\n")
    ordered = command in session.imperatives and not request.call.beside
    if risk == LOW and settings.safe == "imperative" and ordered:
        if from_a_person_or_the_main_agent and spoken_within(60 * MINUTES, view, now):
            return allow("safe")

    # 19 risky
    if risk == HIGH:
        return ask("risky")

    # 20 task_grant
    suspension = session.suspended.get(facts.category)
    confirmed = session.task is None or not session.task.unconfirmed
    if suspension is not None and suspension.digest == request.digest and confirmed:
        for grant in live_grants(view, now):
            names_it = grant.pins.operations is not None and name in grant.pins.operations
            if grant.kind == "retry" and grant.value == request.digest and names_it:
                ended = tightened_since(grant, name, risk, policy, now)
                if risk <= grant.risk and pins_fit(grant, request, name) and not ended:
                    return allow("task_grant", grant)
    if suspension is None and session.task is not None and not session.task.unconfirmed:
        for grant in live_grants(view, now):
            of_this_task = grant.ends_with == "task" and grant.bound_to == session.task.id
            if grant.kind == "category" and grant.value == facts.category and of_this_task:
                fits = pins_fit(grant, request, name) and wide_enough(grant, operation, policy)
                if risk <= grant.risk and fits:
                    return allow("task_grant", grant)

    # 21 plan
    if (
        plan_consent_lasts(session)
        and from_a_person_or_the_main_agent
        and spoken_within(60 * MINUTES, view, now)
    ):
        for grant in live_grants(view, now):
            of_the_plan = session.plan is not None and grant.group == session.plan.id
            if grant.kind == "operation" and grant.value == name and of_the_plan:
                fits = pins_fit(grant, request, name) and wide_enough(grant, operation, policy)
                if risk <= grant.risk and fits:
                    return allow("plan", grant)

    # 22 confident
    if facts.listed == "requires_approval" and suspension is None and view.notices:
        if bypass_is_on(detail, domain, policy) and request.confidence >= settings.confidence_threshold:
            return allow("confident")

    # 23 ask
    return ask("ask")


def allow(rule: str, grant: Grant | None = None) -> Answer:
    return Answer("allow", rule, frozenset() if grant is None else frozenset({grant.id}))


def ask(rule: str) -> Answer:
    return Answer("ask", rule, frozenset())


def deny(rule: str) -> Answer:
    return Answer("deny", rule, frozenset())


def _strictest(request: Request, policy: Policy, view: View, now: float) -> tuple[Answer, list[Answer]]:
    answers = [operation_verdict(request, operation, policy, view, now) for operation in request.operations]
    if ground_has_changed(request, view):
        view = with_approvals_alone(view)
    best = 0
    for number, operation in enumerate(request.operations):
        new, old = (_strictness(answers[each]) for each in (number, best))
        riskier = risk_when_decided(operation, answers[number], policy, view, now) > risk_when_decided(
            request.operations[best], answers[best], policy, view, now
        )
        if new > old or (new == old and riskier):
            best = number
    return answers[best], answers


def _strictness(answer: Answer) -> int:
    words = {"blocked": "never", "trusted_channel": "not by this channel", "denied_call": "a person's no"}
    words |= {"confident": "allow and notify"}
    plain = {"allow": "silent allow", "ask": "ask"}
    return STRICTNESS.index(words[answer.rule] if answer.rule in words else plain[answer.verdict])


def uses_a_retry(answers: list[Answer], session: Session, digest: str) -> bool:
    """Whether some operation of the call would run as the retry of a failed call."""
    retries = {held.grant.id for held in session.grants.get(("retry", digest), ())}
    return any(answer.grants & retries for answer in answers)


def without_retries(view: View, digest: str) -> View:
    """The same, but the failed call with this digest has no retry: a yes to a question replaces it."""
    grants = {key: row for key, row in view.session.grants.items() if key != ("retry", digest)}
    return msgspec.structs.replace(view, session=msgspec.structs.replace(view.session, grants=grants))


def deviates(request: Request, answers: list[Answer], policy: Policy, view: View, now: float) -> bool:
    """Whether something above low has to be asked that the plan under way does not name on all its targets.

    A plan is under way from its acceptance on, also while a newer one waits for its answer.
    """
    accepted = [plan for plan in (view.session.plan, view.session.shelved) if plan and plan.accepted]
    if ground_has_changed(request, view):
        view = with_approvals_alone(view)
    call = request.call
    worked_on = set(call.targets) if call.targets else {call.target} - {None}
    for operation, answer in zip(request.operations, answers, strict=True):
        above_low = risk_when_decided(operation, answer, policy, view, now) > LOW
        for plan in accepted:
            named = operation.name in plan.text.operations
            places = plan.text.places.get(operation.name, plan.text.targets)
            if answer.verdict == "ask" and above_low and not (named and worked_on <= set(places)):
                return True
    return False


def without_plan_under_way(session: Session) -> Session:
    """What is left of the plans: one that still waits for its answer."""
    waiting = session.plan if session.plan is not None and not session.plan.accepted else None
    return msgspec.structs.replace(session, plan=waiting, shelved=None)


def risk_when_decided(operation: Operation, answer: Answer, policy: Policy, view: View, now: float) -> Risk:
    """The risk as the deciding row saw it: from row 13 on, what a safe caller left of it."""
    risk = facts_of(operation, policy, view, now).risk
    return risk if answer.rule in BEFORE_REDUCING else reduced(risk, operation, view)
