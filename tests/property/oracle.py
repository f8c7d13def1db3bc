"""A second evaluator: the order of checks once more, written to be obvious rather than fast.

It was written from the specification's table alone and shares nothing with the rules it is compared with but the
plain types: it reads the policy's lists instead of the compiled table, and looks through every grant of a session
instead of those under a key. Where the table says only "within", the strict side has the very last instant.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import msgspec

from sayso.core.errors import MalformedRequest
from sayso.core.grants import Grant
from sayso.core.model import Mode, Operation, Origin, Request, Risk
from sayso.core.policy import Detail, Domain, Policy
from sayso.core.session import Session, View

LOW, MODERATE, HIGH = Risk.LOW, Risk.MODERATE, Risk.HIGH

MINUTES = 60
DAYS = 24 * 60 * MINUTES

STRICTNESS = ["silent allow", "allow and notify", "ask", "a person's no", "not by this channel", "never"]
BEFORE_REDUCING = ["blocked", "trusted_channel", "approved_call", "denied_call", "stopped", "always_ask"]
BEFORE_REDUCING += ["slash_command", "user_initiated", "paranoid", "allowlist", "nested", "reduced_risk"]


class Answer(NamedTuple):
    verdict: str
    rule: str
    grants: frozenset[str]


class Facts(NamedTuple):
    """What holds for one operation before any row of the table is read. `base` is its risk before the reading."""

    listed: str | None
    decayed: bool
    base: Risk
    risk: Risk
    weight: Risk
    category: str


def verdict_of(request: Request, policy: Policy, view: View, now: float) -> Answer:
    """The verdict, the rule that gave it, and the grants it uses.

    The strictest operation's; of equals the riskiest one's, and of those the first. A question that leaves the plan
    ends it, so what only the plan covered has to be asked as well.
    """
    strictest, answers = _strictest(request, policy, view, now)
    if strictest.verdict == "ask" and deviates(request, answers, policy, view, now):
        without_plan = msgspec.structs.replace(view, session=msgspec.structs.replace(view.session, plan=None))
        strictest, answers = _strictest(request, policy, without_plan, now)
    if strictest.verdict != "allow":
        return strictest
    return Answer("allow", strictest.rule, frozenset().union(*(answer.grants for answer in answers)))


def operation_verdict(  # noqa: C901 - it is the table, and a table is read from top to bottom
    request: Request, operation: Operation, policy: Policy, view: View, now: float
) -> Answer:
    """SPEC 3, row by row."""
    name = operation.name
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

    # 3 approved_call: the question named the risk as a safe caller had lowered it, and that is what was approved
    for grant in live_grants(view, now):
        names_it = grant.pins.operations is not None and name in grant.pins.operations
        if grant.kind == "call" and grant.value == request.digest and names_it:
            if reduced(risk, operation, view) <= grant.risk and pins_fit(grant, request, name):
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
        if declared and not raised and request.origin is Origin.AGENT and in_time and risk <= session.ceiling:
            return allow("slash_command")

    # 8 user_initiated
    if scope.user_initiated is not None:
        return allow("user_initiated")

    # 9 paranoid
    if policy.mode is Mode.PARANOID:
        return ask("paranoid")

    # 10 allowlist
    if request.call.command is not None:
        for grant in live_grants(view, now):
            whole = grant.kind == "command" and grant.value.strip() == request.call.command.strip()
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
            if risk <= grant.risk and high_is_fine and pins_fit(grant, request, name):
                return allow("operation_grant", grant)

    # 14 workflow_grant
    run = scope.run
    if run is not None and run.alive and weight < HIGH and not scope.individual:
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
                if risk <= grant.risk and high_is_fine and pins_fit(grant, request, name):
                    return allow("remembered", grant)

    # 17 autonomous
    if facts.listed == "autonomous" and not facts.decayed and risk < HIGH:
        return allow("autonomous")

    # 18 safe
    if risk == LOW and settings.safe == "auto" and facts.listed != "requires_approval":
        return allow("safe")
    command = None if request.call.command is None else request.call.command.strip()
    if risk == LOW and settings.safe == "imperative" and command in session.imperatives:
        if from_a_person_or_the_main_agent and spoken_within(60 * MINUTES, view, now):
            return allow("safe")

    # 19 risky
    if risk == HIGH:
        return ask("risky")

    # 20 task_grant
    suspension = session.suspended.get(facts.category)
    if suspension is not None and suspension.digest == request.digest and suspension.left > 0:
        if view.time_trusted:
            return allow("task_grant")
    if suspension is None and session.task is not None and not session.task.unconfirmed:
        for grant in live_grants(view, now):
            of_this_task = grant.ends_with == "task" and grant.bound_to == session.task.id
            if grant.kind == "category" and grant.value == facts.category and of_this_task:
                if risk <= grant.risk and pins_fit(grant, request, name):
                    return allow("task_grant", grant)

    # 21 plan
    if plan_consent_lasts(session) and from_a_person_or_the_main_agent and spoken_within(60 * MINUTES, view, now):
        for grant in live_grants(view, now):
            of_the_plan = session.plan is not None and grant.group == session.plan.id
            if grant.kind == "operation" and grant.value == name and of_the_plan:
                if risk <= grant.risk and pins_fit(grant, request, name):
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


def deviates(request: Request, answers: list[Answer], policy: Policy, view: View, now: float) -> bool:
    """Whether something above low has to be asked that the accepted plan does not name."""
    plan, target = view.session.plan, request.call.target
    if plan is None or not plan.accepted:
        return False
    for operation, answer in zip(request.operations, answers, strict=True):
        above_low = risk_when_decided(operation, answer, policy, view, now) > LOW
        elsewhere = target is not None and target not in plan.text.targets
        if answer.verdict == "ask" and above_low and (operation.name not in plan.text.operations or elsewhere):
            return True
    return False


def risk_when_decided(operation: Operation, answer: Answer, policy: Policy, view: View, now: float) -> Risk:
    """The risk as the deciding row saw it: from row 13 on, what a safe caller left of it."""
    risk = facts_of(operation, policy, view, now).risk
    return risk if answer.rule in BEFORE_REDUCING else reduced(risk, operation, view)


def reduced(risk: Risk, operation: Operation, view: View) -> Risk:
    """A risk or weight as a safe caller in the open scope lowers it; never below the reading, and never raised."""
    if operation.name not in view.scope.reducers:
        return risk
    lowered = view.scope.reducers[operation.name]
    if operation.reading is not None and operation.reading > lowered:
        lowered = operation.reading
    return min(risk, lowered)


def domain_name(name: str) -> str:
    return name[: name.index(".")]


def action_of(name: str) -> str:
    return name[name.index(".") + 1 :]


def domain_of(name: str, policy: Policy) -> Domain:
    return policy.domains.get(domain_name(name), Domain())


def refuse_look_alikes(name: str, policy: Policy) -> None:
    """Names match exactly; one that differs only by case, white space or Unicode form is malformed."""
    known = set(policy.operations)
    for domain, lists in policy.domains.items():
        for actions in (lists.autonomous, lists.requires_approval, lists.blocked, lists.trusted_channel_required):
            known |= {f"{domain}.{action}" for action in actions}
    if name in known:
        return
    if any(_plain(name) == _plain(other) for other in known):
        raise MalformedRequest(f"{name} is a look-alike")


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def facts_of(operation: Operation, policy: Policy, view: View, now: float) -> Facts:
    """Tier, decay, risk, weight and category of an operation of this call."""
    detail = policy.operations.get(operation.name, Detail())
    listed = list_of(operation.name, policy)
    decayed = listed == "autonomous" and is_decayed(operation.name, policy, view, now)

    if detail.risk is not None:
        base = detail.risk
    else:
        floors = {"autonomous": LOW, "requires_approval": MODERATE, "blocked": HIGH, None: LOW}
        spoken = [word for word in (operation.risk,) if word is not None]
        base = max([floors[listed], *spoken])
        if listed is None and not spoken:
            base = MODERATE

    nothing_else_speaks = listed is None and detail.risk is None and operation.risk is None
    if operation.reading is None:
        risk = base
    elif nothing_else_speaks:
        risk = operation.reading
    else:
        risk = max(base, operation.reading)
    if decayed:
        risk = max(risk, MODERATE)

    weight = detail.weight if detail.weight is not None else operation.weight
    if weight is None:
        weight = risk
    elif operation.reading is not None and operation.reading > base:
        weight = max(weight, risk)
    return Facts(listed, decayed, base, risk, weight, detail.category or operation.name)


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


def pins_fit(grant: Grant, request: Request, name: str) -> bool:
    """Whether the call is the one the grant was pinned to, on every side that is pinned."""
    pins, call = grant.pins, request.call
    if pins.tool is not None and pins.tool != call.tool:
        return False
    if pins.workspace is not None and pins.workspace != call.workspace:
        return False
    if pins.command is not None and pins.command != call.command:
        return False
    if pins.arguments is not None and pins.arguments != request.arguments_digest:
        return False
    if pins.operations is not None and name not in pins.operations:
        return False
    return pins.targets is None or call.target is None or call.target in pins.targets


def spoken_within(seconds: float, view: View, now: float) -> bool:
    """Whether what the last user message allowed still counts: for so long, and only while time can be trusted."""
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
