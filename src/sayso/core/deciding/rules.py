"""The checks, one small function each, and the order in which they run.

A check takes a RuleInput, one operation of one request with everything known about it, and returns

- a `Ruling`: it speaks, and that decides;
- a sentence: it does not speak, and this is why (so `explain` shows exactly what `decide` did);
- a `RuleInput`: it does not speak, but the checks after it see this one instead.

Everything else about a rule is in its row of the rulebook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sayso.core import rulebook, words
from sayso.core.deciding.subject import (
    RuleInput,
    apply_reducers,
    find_covering_grants,
    fresh,
    has_approvals,
    has_lost_workspace,
    live,
    outlasts,
    risk_after_reducers,
)
from sayso.core.decision import Ruling
from sayso.core.durations import MINUTE
from sayso.core.effects import Alerted, GrantUsed, Noticed, PlanStarted, SlashUsed
from sayso.core.grants import Grant, HeldGrant, pins_fit
from sayso.core.model import Mode, Origin, Risk, Tier, Verdict
from sayso.core.policy import (
    GUARDED_DOMAIN,
    MARK_ALWAYS_ASK,
    MARK_AUTONOMOUS,
    MARK_CONFIDENT,
    MARK_FAN_OUT,
    MARK_TRUSTED_CHANNEL,
)
from sayso.core.rulebook import Rule
from sayso.core.session import Suspension

DENIAL_LASTS = 15 * MINUTE
SLASH_LASTS = 15 * MINUTE
SLASH_CALLS = 10
MESSAGE_LASTS = 60 * MINUTE
PLAN_TURNS = 3
FAN_OUT_LASTS = 10 * MINUTE

# Bound once: looking a member up on its enum class is the slowest thing a check would do.
ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
LOW, MODERATE, HIGH = Risk.LOW, Risk.MODERATE, Risk.HIGH
AUTONOMOUS, REQUIRES_APPROVAL, BLOCKED = Tier.AUTONOMOUS, Tier.REQUIRES_APPROVAL, Tier.BLOCKED
PARANOID, TRUSTING = Mode.PARANOID, Mode.TRUSTING
AGENT, TRUSTED_CHANNEL = Origin.AGENT, Origin.TRUSTED_CHANNEL
UNCONFIRMED = "whether the task goes on has not been confirmed"
_NO_COMMAND = "the call is not a command line, or has arguments beside it that count"
_NO_OPERATION_GRANT = "no live grant for this operation fits the call"
UNATTENDED = (Origin.SUBAGENT, Origin.SCHEDULE)
_RUN_BY_ITSELF = Ruling(ALLOW, rulebook.AUTONOMOUS.name, words.AUTONOMOUS)


RuleResult = Ruling | RuleInput | str
Check = Callable[[RuleInput], RuleResult]


def check_blocked(s: RuleInput) -> RuleResult:
    """Never runs: no grant, slash command, mode, signature or click is looked at after this."""
    if s.operation.barred is not None:  # whatever the policy says: that it blocks it too is not the reason
        return _deny(s, rulebook.BLOCKED, s.operation.barred)
    if s.tier is BLOCKED:
        return _deny(s, rulebook.BLOCKED, words.block_reason(s.entry))
    if s.tier is None and s.policy.settings.unlisted == "block":
        return _deny(s, rulebook.BLOCKED, words.block_unlisted_reason(s.entry.name))
    return "the policy does not block it"


def check_trusted_channel(s: RuleInput) -> RuleResult:
    """Self-modification counts only when it came through the signed endpoint."""
    if not s.entry.trusted_channel:
        return "it does not need the trusted channel"
    if s.request.origin is TRUSTED_CHANNEL:
        return "it came through the trusted channel"
    return _deny(s, rulebook.TRUSTED_CHANNEL, words.channel_reason(s.entry.name))


def check_approved_call(s: RuleInput) -> RuleResult:
    """A person said yes to exactly this call, and the yes has not been used."""
    if ("call", s.request.digest) not in s.session.grants:
        return "nobody approved exactly this call"
    for held in find_covering_grants(apply_reducers(s), "call", s.request.digest):
        if not has_approvals(s, held.grant):
            continue
        return _grant(rulebook.APPROVED_CALL, words.approval_reason(held.grant), held)
    return "no unused approval of exactly this call"


def check_denied_call(s: RuleInput) -> RuleResult:
    """A person said no to exactly this call in this turn; asking again would be nagging."""
    denial = s.session.denials.get(s.request.digest)
    if denial is None:
        return "nobody denied this call"
    if denial.turn != s.session.turn or s.now - denial.at > DENIAL_LASTS:
        return "it was denied in an earlier turn or long ago"
    return Ruling(DENY, rulebook.DENIED_CALL.name, words.DENIED)


def check_stopped(s: RuleInput) -> RuleResult:
    """After a stop everything asks, allowlisted or not, until a later message lifts it."""
    if s.session.stopped is None and not s.view.parent_stopped:
        return "no stop is in force"
    return Ruling(ASK, rulebook.STOPPED.name, words.STOPPED)


def check_always_ask(s: RuleInput) -> RuleResult:
    """The policy marks it so, or a rule of the team wants approvals of every such call."""
    if not s.entry.asks_always(s.risk):
        return "the policy does not ask for it every time"
    return Ruling(ASK, rulebook.ALWAYS_ASK.name, words.always_ask_reason(s.entry, s.risk))


def check_slash_command(s: RuleInput) -> RuleResult:
    """The user typed a command that declares this operation: that is the consent, for a short while."""
    name = s.session.slash
    if name is None:
        return "this turn's message is not a slash command"
    command = s.policy.slash_commands.get(name)
    if command is None or s.entry.name not in command.operations:
        return "this turn's slash command does not declare this operation"
    if s.request.call.command is not None and s.request.call.beside:
        return "arguments beside its command could change what it does"
    if s.request.origin is not AGENT:
        return "a slash command speaks only for the agent the user talks to"
    if s.operation.reading is not None and s.operation.reading > s.declared:
        return "reading the call raises its risk above what the slash command stands for"
    if s.risk > s.session.ceiling:
        return "the message is not assured enough for this risk"
    if not fresh(s, SLASH_LASTS) or s.session.slash_calls >= SLASH_CALLS:
        return "this turn's slash command is used up or too old"
    return Ruling(
        ALLOW, rulebook.SLASH_COMMAND.name, words.SLASH, words.announce_slash(name), effects=(SlashUsed(),)
    )


def check_user_initiated(s: RuleInput) -> RuleResult:
    """The user clicked; the code that runs for the click is inside this scope."""
    clicked = s.view.scope.user_initiated
    if clicked is None:
        return "not inside something the user started"
    return Ruling(ALLOW, rulebook.USER_INITIATED.name, words.user_initiated_reason(clicked))


def check_paranoid(s: RuleInput) -> RuleResult:
    if s.policy.mode is not PARANOID:
        return "the mode is not paranoid"
    return Ruling(ASK, rulebook.PARANOID.name, words.PARANOID)


def check_allowlist(s: RuleInput) -> RuleResult:
    """The user gave standing consent for this command, verbatim, in this workspace."""
    command = s.request.call.command_line
    if command is None:
        return _NO_COMMAND
    for held in find_covering_grants(s, "command", command):
        return _grant(
            rulebook.ALLOWLIST, words.ON_ALLOWLIST, held, words.announce_allowlist(held.grant.value)
        )
    return "the whole command is not on the session allowlist of this workspace"


def check_nested(s: RuleInput) -> RuleResult:
    """Inside an outer call that consent covers, what was granted there, or weighs no more, passes."""
    outer = s.view.scope.outer
    if outer is None:
        return "not inside an outer call that consent allowed"
    if s.view.scope.individual:
        return "this step wants a consent of its own"
    granted_at = outer.granted.get(s.entry.name)
    if granted_at is not None and s.risk <= granted_at:
        return Ruling(ALLOW, rulebook.NESTED.name, words.NESTED_GRANTED)
    if s.weight <= MODERATE and s.weight <= outer.weight:
        return Ruling(ALLOW, rulebook.NESTED.name, words.NESTED_LIGHT)
    return "it was not granted with the outer call and weighs more than what was"


def check_reduced_risk(s: RuleInput) -> RuleResult:
    """A declared safe caller lowers the risk, never below what reading the call found."""
    lowered = risk_after_reducers(s) if s.view.scope.reducers else None
    if lowered is None:
        return "no safe caller is around it"
    if lowered == LOW:
        return Ruling(ALLOW, rulebook.REDUCED_RISK.name, words.REDUCED)
    return apply_reducers(s)


def check_operation_grant(s: RuleInput) -> RuleResult:
    """A live grant for this operation, for calls like this one."""
    if ("operation", s.entry.name) not in s.session.grants:
        return _NO_OPERATION_GRANT
    standing = s.risk < HIGH or s.policy.settings.risky_grants == "standing"
    for held in find_covering_grants(s, "operation", s.entry.name):
        if held.grant.group is None and (standing or held.grant.uses == 1):
            return _grant(rulebook.OPERATION_GRANT, words.grant_reason(held.grant), held)
    return _NO_OPERATION_GRANT


def check_workflow_grant(s: RuleInput) -> RuleResult:
    """The run this call is part of was allowed, declares this operation, and may carry its weight."""
    run = s.view.scope.run
    if run is None or not run.alive:
        return "not part of a workflow run that goes on"
    if s.view.scope.individual:
        return "this step wants a consent of its own"
    if s.weight >= HIGH:
        return "workflows never carry high weight"
    limit = s.policy.workflows.get(run.workflow)
    if limit is not None and s.entry.name not in limit.operations:
        return "the policy does not let this workflow have the operation"
    for kind, value in (("run", run.id), ("workflow", run.workflow)):
        for held in find_covering_grants(s, kind, value):
            return _grant(rulebook.WORKFLOW_GRANT, words.workflow_grant_reason(run.workflow), held)
    return "neither the run nor its workflow was granted this operation"


def check_fan_out(s: RuleInput) -> RuleResult:
    """The same content goes to one destination; a second one is asked for."""
    content = s.operation.content
    if not s.entry.fan_out or content is None:
        return "its domain does not watch for the same content going out twice"
    for sending in s.session.sent.get((s.entry.domain, content), ()):
        if sending.operation != s.entry.name and s.now - sending.at <= FAN_OUT_LASTS:
            return Ruling(ASK, rulebook.FAN_OUT.name, words.fan_out_reason(sending.operation))
    for other in s.request.operations:
        if other.content == content and other.name != s.entry.name and _domain(other.name) == s.entry.domain:
            return Ruling(ASK, rulebook.FAN_OUT.name, words.fan_out_reason(other.name))
    return "this content has not gone out by another operation"


def check_remembered(s: RuleInput) -> RuleResult:
    """In mode trusting, a tool approved and remembered this session."""
    if s.policy.mode is not TRUSTING:
        return "the mode is not trusting"
    if s.risk >= HIGH and not s.policy.settings.trusting_remembers_high:
        return "high risk is not remembered"
    for held in find_covering_grants(s, "tool", s.request.call.tool):
        if s.risk < HIGH or held.grant.pins.arguments is not None:
            return _grant(rulebook.REMEMBERED, words.REMEMBERED, held)
    return "this tool was not approved and remembered for this"


def check_autonomous(s: RuleInput) -> RuleResult:
    """The operator lists it as free, and reviewed that not too long ago."""
    if s.tier is not AUTONOMOUS:
        return "the permission has decayed" if s.decayed else "the policy does not list it as autonomous"
    if s.risk >= HIGH:
        return "high risk is never autonomous"
    return _RUN_BY_ITSELF


def check_safe(s: RuleInput) -> RuleResult:
    """Low risk runs unasked, or when the user named exactly this command, as the policy says."""
    if s.risk > LOW:
        return "its risk is not low"
    how = s.policy.settings.safe
    if how == "auto":
        if s.tier is REQUIRES_APPROVAL:
            return "the policy lists it as requiring approval"
        return Ruling(ALLOW, rulebook.SAFE.name, words.SAFE)
    if how == "ask":
        return "the policy asks for low risk too"
    command = s.request.call.command_line
    if command is None or command not in s.session.imperatives:
        return "this turn's message did not order exactly this command"
    if s.request.origin in UNATTENDED or not fresh(s, MESSAGE_LASTS):
        return "the message does not speak for subagents, schedules, or an hour later"
    return Ruling(ALLOW, rulebook.SAFE.name, words.ORDERED, words.announce_command(command))


def check_risky(s: RuleInput) -> RuleResult:
    if s.risk < HIGH:
        return "its risk is not high"
    settings = s.policy.settings
    remembers = settings.trusting_remembers_high and s.policy.mode is TRUSTING
    every_time = not remembers and settings.risky_grants == "once"
    return Ruling(
        ASK, rulebook.RISKY.name, words.high_risk_reason(s.entry, s.operation.found, every_time=every_time)
    )


def check_task_grant(s: RuleInput) -> RuleResult:
    """This category was consented to for the task; after a failure, only the identical call goes on."""
    suspension = s.session.suspended.get(s.entry.category)
    if suspension is not None:
        return _retry(s, suspension)
    task = s.session.task
    if task is None:
        return "there is no task"
    if task.unconfirmed:
        return UNCONFIRMED
    for held in find_covering_grants(s, "category", s.entry.category):
        if held.grant.ends_with == "task":
            announce = words.announce_task_consent(s.entry.category_words, held.grant.turn)
            return _grant(
                rulebook.TASK_GRANT, words.task_grant_reason(s.entry.category_words), held, announce
            )
    return "this category was not consented to in this task"


def _retry(s: RuleInput, suspension: Suspension) -> RuleResult:
    """After a failure one more run of the identical call is granted; nothing else in its category."""
    if suspension.digest != s.request.digest:
        return "an operation of this category failed, and this is not its identical retry"
    if s.session.task is not None and s.session.task.unconfirmed:
        return UNCONFIRMED
    for held in find_covering_grants(s, "retry", s.request.digest):
        return _grant(rulebook.TASK_GRANT, words.RETRY, held, words.announce_retry(suspension.left))
    return "an operation of this category failed, and no retry of it is left"


def check_plan(s: RuleInput) -> RuleResult:
    """The user accepted a plan that names this operation and target."""
    accepted = s.session.plan
    if accepted is None or not accepted.accepted:
        return "no accepted plan is under way"
    if s.session.task is not None and s.session.task.unconfirmed:
        return UNCONFIRMED
    if not accepted.started and s.session.turn - accepted.since > PLAN_TURNS:
        return "the plan was not started in time"
    if s.request.origin in UNATTENDED or not fresh(s, MESSAGE_LASTS):
        return "a plan's consent does not serve subagents, schedules, or an hour after the last message"
    for held in find_covering_grants(s, "operation", s.entry.name):
        if held.grant.group == accepted.id:
            started = () if accepted.started else (PlanStarted(),)
            return _grant(
                rulebook.PLAN, words.IN_PLAN, held, words.announce_plan_consent(accepted.turn), started
            )
    return "the accepted plan does not name this operation on this target"


def check_confident(s: RuleInput) -> RuleResult:
    """The agent is sure enough, the policy lets that count, and the operator will be told."""
    if not s.entry.confidence_bypass:
        return "confidence does not count for it"
    if s.tier is not REQUIRES_APPROVAL or s.decayed:
        return "confidence counts only for what is listed as requiring approval"
    if s.entry.category in s.session.suspended:
        return "an operation of this category failed"
    if not s.view.notices:
        return "there is nowhere to send the notice to"
    if s.request.confidence < s.policy.settings.confidence_threshold:
        return "the confidence is below the threshold"
    text = words.confidence_reason(s.entry.name, s.request.confidence)
    return Ruling(ALLOW, rulebook.CONFIDENT.name, text, words.announce_notice(text), effects=(Noticed(text),))


def check_ask(s: RuleInput) -> RuleResult:
    """Nothing allowed it and nothing forbade it: a person decides."""
    return Ruling(ASK, rulebook.ASK.name, _why_asked(s))


def check_workflow_start(s: RuleInput) -> RuleResult:
    """A workflow is asked once, unless its class is granted or it weighs little."""
    name = s.request.workflow or ""
    for held in s.session.grants.get(("workflow", name), ()):
        fitting = pins_fit(held.grant.pins, s.request, s.entry.name) and s.weight <= _start_limit(held.grant)
        if fitting and live(s, held) and outlasts(s, held.grant):
            return _grant(rulebook.WORKFLOW_START, words.workflow_grant_reason(name), held)
    if s.weight <= LOW:
        return Ruling(ALLOW, rulebook.WORKFLOW_START.name, words.WORKFLOW_LIGHT)
    return Ruling(ASK, rulebook.WORKFLOW_START.name, words.workflow_start_reason(name))


def _start_limit(grant: Grant) -> Risk:
    """Up to which weight a class grant lets its workflow start: high weight is asked when it is reached."""
    return HIGH if grant.risk >= MODERATE else grant.risk


RULES: tuple[tuple[Rule, Check], ...] = (
    (rulebook.BLOCKED, check_blocked),
    (rulebook.TRUSTED_CHANNEL, check_trusted_channel),
    (rulebook.APPROVED_CALL, check_approved_call),
    (rulebook.DENIED_CALL, check_denied_call),
    (rulebook.STOPPED, check_stopped),
    (rulebook.ALWAYS_ASK, check_always_ask),
    (rulebook.SLASH_COMMAND, check_slash_command),
    (rulebook.USER_INITIATED, check_user_initiated),
    (rulebook.PARANOID, check_paranoid),
    (rulebook.ALLOWLIST, check_allowlist),
    (rulebook.NESTED, check_nested),
    (rulebook.REDUCED_RISK, check_reduced_risk),
    (rulebook.OPERATION_GRANT, check_operation_grant),
    (rulebook.WORKFLOW_GRANT, check_workflow_grant),
    (rulebook.FAN_OUT, check_fan_out),
    (rulebook.REMEMBERED, check_remembered),
    (rulebook.AUTONOMOUS, check_autonomous),
    (rulebook.SAFE, check_safe),
    (rulebook.RISKY, check_risky),
    (rulebook.TASK_GRANT, check_task_grant),
    (rulebook.PLAN, check_plan),
    (rulebook.CONFIDENT, check_confident),
    (rulebook.ASK, check_ask),
)
"""The order of the checks: the first that speaks decides."""

START_RULES: tuple[tuple[Rule, Check], ...] = (
    *RULES[: RULES.index((rulebook.SLASH_COMMAND, check_slash_command))],
    (rulebook.USER_INITIATED, check_user_initiated),
    (rulebook.WORKFLOW_START, check_workflow_start),
)
"""The checks of a call that starts a workflow."""

# Alone, because unpacking a pair for each check would slow every decision down.
CHECKS: tuple[Check, ...] = tuple(check for _, check in RULES)
START_CHECKS: tuple[Check, ...] = tuple(check for _, check in START_RULES)

_SILENT_ON_ITS_OWN = (
    check_user_initiated,
    check_paranoid,
    check_nested,
    check_reduced_risk,
    check_workflow_grant,
    check_remembered,
)


MARK_STOPPED, MARK_SLASH, MARK_PLAN, MARK_COMMAND = 32, 64, 128, 256
ALL_MARKS = 511

_SILENT_WITHOUT: dict[Check, int] = {
    check_trusted_channel: MARK_TRUSTED_CHANNEL,
    check_always_ask: MARK_ALWAYS_ASK,
    check_fan_out: MARK_FAN_OUT,
    check_autonomous: MARK_AUTONOMOUS,
    check_confident: MARK_CONFIDENT,
    check_stopped: MARK_STOPPED,
    check_slash_command: MARK_SLASH,
    check_plan: MARK_PLAN,
    check_allowlist: MARK_COMMAND,
}
"""The checks that keep silent where the entry, the session or the call does not have this mark."""


def speaking_on_its_own(checks: Iterable[Check]) -> tuple[tuple[Check, ...], ...]:
    """By marks: the checks that can speak of a call with nothing around it, in mode balanced: most calls.

    The others look for a click, an outer call, a safe caller, a run, or another mode, and find none; or for
    something that the marks say is not there.
    """
    always = ALL_MARKS + 1
    wanted = [(one, _SILENT_WITHOUT.get(one, always)) for one in checks if one not in _SILENT_ON_ITS_OWN]
    return tuple(
        tuple([one for one, mark in wanted if (marks | always) & mark]) for marks in range(ALL_MARKS + 1)
    )


CHECKS_ON_ITS_OWN = speaking_on_its_own(CHECKS)


def _why_asked(s: RuleInput) -> str:
    """The first reason that holds."""
    call = s.request.call
    if (call.leads_to or call.missing) and has_lost_workspace(s.request, s.session):
        return words.workspace_replaced(s.request.call.workspace, s.request.call.leads_to)
    if s.decayed:
        return words.decay_reason(s.policy.decay.review_interval_days)
    if s.tier is None:
        return words.not_listed_reason(s.entry.name)
    task = s.session.task
    if s.entry.category in s.session.suspended:
        return words.suspension_reason(s.entry.category_words)
    if task is not None and task.unconfirmed and s.entry.category in task.consented:
        return words.task_not_confirmed_reason(task.name)
    if s.entry.confidence_bypass and s.request.confidence < s.policy.settings.confidence_threshold:
        return words.low_confidence_reason(s.request.confidence, s.policy.settings.confidence_threshold)
    if task is None:
        return words.APPROVAL_REQUIRED
    if s.entry.category in task.consented or s.entry.category in task.ran:
        return words.APPROVAL_REQUIRED
    if s.session.tasks > 1 and not task.consented and not task.ran:
        return words.new_task_reason(s.entry.category_words)
    return words.first_in_category_reason(s.entry.category_words)


def _grant(
    rule: Rule, reason: str, held: HeldGrant, announce: str | None = None, extra: tuple[PlanStarted, ...] = ()
) -> Ruling:
    used = GrantUsed(held.grant.key, held.grant.id)
    return Ruling(ALLOW, rule.name, reason, announce, (held.grant.id,), (used, *extra))


def _deny(s: RuleInput, rule: Rule, reason: str) -> Ruling:
    """Deny, and alert the operator. An attempt on the guard itself is told with where it came from."""
    guarded, name = s.entry.domain == GUARDED_DOMAIN, s.entry.name
    alert = Alerted(words.guard_alert(name, s.request, reason) if guarded else words.block_alert(name))
    return Ruling(DENY, rule.name, reason, words.announce_block(reason), effects=(alert,))


def _domain(name: str) -> str:
    return name.partition(".")[0]
