"""The checks: what the trace and the reason tell, and how risk and weight are found."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.core import words
from sayso.core.deciding.decide import TracedCheck, decide, explain
from sayso.core.grants import Grant, GrantKind, HeldGrant, Pins
from sayso.core.model import Mode, Operation, Request, Risk
from sayso.core.policy import Detail, Domain, Policy, PolicyWorkflow, compile_policy
from sayso.core.session import Plan, Run, Scope, Session, Suspension, View
from sayso.core.session.plan_text import PlanText
from sayso.gate.deciding.request import make_call, make_request
from tests.unit.deciding import COMMIT, DAY, NOW, POLICY, READ, SURE, TASK, decided, retry_of


def told(policy: Policy, session: Session, request: Request = COMMIT, **view: Any) -> dict[str, str]:
    """What each check said of the call's first operation."""
    _, traces = explain(request, policy, View(session, **view), NOW)
    return {check.rule: check.why for check in traces[0].checks}


# The trace


def test_each_check_tells_why_it_kept_silent_on_a_plain_call() -> None:
    assert told(POLICY, Session(turn=1)) == {
        "blocked": "the policy does not block it",
        "trusted_channel": "it does not need the trusted channel",
        "approved_call": "nobody approved exactly this call",
        "denied_call": "nobody denied this call",
        "stopped": "no stop is in force",
        "always_ask": "the policy does not ask for it every time",
        "slash_command": "this turn's message is not a slash command",
        "user_initiated": "not inside something the user started",
        "paranoid": "the mode is not paranoid",
        "allowlist": "the whole command is not on the session allowlist of this workspace",
        "nested": "not inside an outer call that consent allowed",
        "reduced_risk": "no safe caller is around it",
        "operation_grant": "no live grant for this operation fits the call",
        "workflow_grant": "not part of a workflow run that goes on",
        "fan_out": "its domain does not watch for the same content going out twice",
        "remembered": "the mode is not trusting",
        "autonomous": "the policy does not list it as autonomous",
        "safe": "its risk is not low",
        "risky": "its risk is not high",
        "task_grant": "there is no task",
        "plan": "no accepted plan is under way",
        "confident": "confidence does not count for it",
        "ask": words.APPROVAL_REQUIRED,
    }


def test_the_trace_tells_a_decayed_permission_from_one_that_never_was() -> None:
    old = {"files": NOW - 40 * DAY}
    assert told(POLICY, Session(), READ, reviews=old)["autonomous"] == "the permission has decayed"


def test_the_trace_tells_what_a_safe_caller_lowered_the_operation_to() -> None:
    scope = Scope(reducers={"git.commit": Risk.MODERATE})
    assert told(POLICY, Session(), scope=scope)["reduced_risk"] == "a safe caller lowers it to moderate risk"


def test_the_trace_tells_that_an_unconfirmed_task_carries_neither_its_consents_nor_its_plan() -> None:
    text = PlanText("a plan", operations=("git.commit",))
    plan = Plan("plan-1", text, turn=1, since=1, accepted=True)
    unconfirmed = msgspec.structs.replace(TASK, unconfirmed=True)
    why = told(POLICY, Session(turn=2, task=unconfirmed, plan=plan))
    assert why["task_grant"] == why["plan"] == "whether the task goes on has not been confirmed"


def test_an_allow_is_explained_as_well_up_to_the_check_that_spoke() -> None:
    view = View(Session(), reviews={"files": NOW})
    decision, (trace,) = explain(READ, POLICY, view, NOW)
    assert decision == decide(READ, POLICY, view, NOW)
    assert trace.checks[-1] == TracedCheck("autonomous", True, words.AUTONOMOUS)
    assert not any(check.spoke for check in trace.checks[:-1])
    assert (trace.operation, trace.risk, trace.weight, trace.tier) == (
        "files.read",
        Risk.LOW,
        Risk.LOW,
        "autonomous",
    )
    unlisted = make_request(make_call("tool"), [Operation("some.work")])
    assert explain(unlisted, POLICY, view, NOW)[1][0].tier == "unlisted"


# Conditions that the random worlds seldom reach


def test_with_an_untrusted_clock_even_the_identical_retry_asks() -> None:
    retry = retry_of(COMMIT, "git.commit")
    session = Session(
        turn=1, suspended={"git.commit": Suspension(COMMIT.digest)}, grants={retry.key: (HeldGrant(retry),)}
    )
    assert decided(POLICY, session).rule == "task_grant"
    assert decided(POLICY, session, time_trusted=False).rule == "ask"


def test_a_low_confidence_is_the_reason_only_where_it_is_low() -> None:
    sure = msgspec.structs.replace(COMMIT, confidence=0.85)
    assert decided(SURE, Session()).reason == words.low_confidence_reason(0.0, 0.85)
    assert decided(SURE, Session(), sure, notices=False).reason == words.APPROVAL_REQUIRED


def test_mode_paranoid_asks_even_for_what_the_policy_lists_as_free() -> None:
    paranoid = msgspec.structs.replace(POLICY, mode=Mode.PARANOID)
    assert decided(paranoid, Session(), READ, reviews={"files": NOW}).rule == "paranoid"


def test_always_ask_says_why_the_policy_wants_it() -> None:
    policy = compile_policy(
        domains={"git": Domain(requires_approval=("commit",))},
        operations={"git.commit": Detail(always_ask=True, reason="rewrites history")},
    )
    assert (
        decided(policy, Session()).reason == "the policy asks every time for git.commit: it rewrites history"
    )


# Why it is asked, within a task


def consenting(*categories: str, tasks: int) -> Session:
    return Session(turn=3, task=msgspec.structs.replace(TASK, consented=categories), tasks=tasks)


@pytest.mark.parametrize(
    ("session", "reason"),
    [
        (consenting(tasks=1), words.first_in_category_reason("git.commit")),
        (consenting(tasks=2), words.new_task_reason("git.commit")),
        (consenting("files.edit", tasks=2), words.first_in_category_reason("git.commit")),
        (consenting("git.commit", tasks=1), words.APPROVAL_REQUIRED),
        (consenting("git.commit", tasks=2), words.APPROVAL_REQUIRED),
    ],
)
def test_the_reason_tells_a_new_task_from_a_first_category_and_both_from_a_consent_that_does_not_reach(
    session: Session, reason: str
) -> None:
    assert decided(POLICY, session).reason == reason


# Risk and weight


def weighed(declared: Risk, weight: Risk, reading: Risk) -> Risk:
    operation = Operation("git.commit", risk=declared, weight=weight, reading=reading)
    (item,) = decided(compile_policy(), Session(), make_request(make_call("tool"), [operation])).items
    return item.weight


@pytest.mark.parametrize(
    ("declared", "weight", "reading", "after"),
    [
        (Risk.LOW, Risk.LOW, Risk.MODERATE, Risk.MODERATE),
        (Risk.LOW, Risk.HIGH, Risk.MODERATE, Risk.HIGH),
        (Risk.HIGH, Risk.LOW, Risk.MODERATE, Risk.LOW),
        (Risk.MODERATE, Risk.LOW, Risk.MODERATE, Risk.LOW),
    ],
)
def test_a_reading_raises_the_weight_only_where_it_raises_the_risk_and_never_lowers_it(
    declared: Risk, weight: Risk, reading: Risk, after: Risk
) -> None:
    assert weighed(declared, weight, reading) is after


def running(kind: GrantKind, **pins: Any) -> Session:
    value = {"run": "run-1", "workflow": "digest"}[kind]
    given = Grant("g1", kind, value, Risk.MODERATE, NOW + 60, "session", Pins(**pins))
    return Session(grants={given.key: (HeldGrant(given),)})


@pytest.mark.parametrize("kind", ["run", "workflow"])
def test_a_workflows_grant_that_names_no_operations_carries_none(kind: GrantKind) -> None:
    scope = Scope(run=Run("run-1", "digest"))
    assert decided(POLICY, running(kind, operations=("git.commit",)), scope=scope).rule == "workflow_grant"
    assert decided(POLICY, running(kind), scope=scope).rule == "ask"


@pytest.mark.parametrize("kind", ["run", "workflow"])
def test_a_limit_of_the_policy_counts_for_what_was_granted_before(kind: GrantKind) -> None:
    session, scope = running(kind, operations=("git.commit",)), Scope(run=Run("run-1", "digest"))
    for operations, rule in ((("git.commit",), "workflow_grant"), ((), "ask")):
        limited = msgspec.structs.replace(POLICY, workflows={"digest": PolicyWorkflow(operations)})
        assert decided(limited, session, scope=scope).rule == rule


def test_a_safe_caller_lowers_the_weight_as_well_so_that_a_workflow_can_carry_it() -> None:
    heavy = make_request(make_call("tool"), [Operation("git.commit", weight=Risk.HIGH)])
    session, run = running("run", operations=("git.commit",)), Run("run-1", "digest")
    assert decided(POLICY, session, heavy, scope=Scope(run=run)).rule == "ask"
    lowered = Scope(run=run, reducers={"git.commit": Risk.MODERATE})
    decision = decided(POLICY, session, heavy, scope=lowered)
    assert decision.rule == "workflow_grant"
    assert decision.items[0].weight is Risk.MODERATE


def test_a_grant_is_an_explicit_one_of_the_operator_unless_it_says_otherwise() -> None:
    plain = Grant("g1", "operation", "git.commit", Risk.MODERATE, NOW, "session")
    assert (plain.source, plain.given_by, plain.turn, plain.given_at) == ("explicit", "operator", 0, 0.0)


def test_a_session_begins_with_no_turn_task_plan_question_or_grant_and_a_view_without_notices() -> None:
    session = Session()
    assert (session.id, session.agent, session.workspace) == ("session", "agent", "")
    assert (session.turn, session.slash_calls, session.tasks, session.plans) == (0, 0, 0, 0)
    assert (session.granted, session.asked, session.ceiling, session.all_grants) == (0, 0, Risk.HIGH, ())
    view = View(session)
    assert (view.notices, view.time_trusted, view.parent_stopped) == (False, True, False)
    assert (TASK.phase, TASK.deviations, TASK.unconfirmed) == ("planning", 0, False)
    plan = Plan("plan-1", PlanText("a plan"), 1, 1)
    assert (plan.accepted, plan.started, plan.done) == (False, False, ())
    assert Run("run-1", "digest").alive
    assert not Scope().individual
