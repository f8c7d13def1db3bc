"""What the host reports: plans shown, tasks begun and ended, how calls came out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.core.conversation import lifecycle, words
from sayso.core.deciding.decide import decide
from sayso.core.effects import (
    CategorySuspended,
    ConsentCleared,
    GrantAdded,
    PlanEnded,
    SessionChanged,
    SuspensionLifted,
)
from sayso.core.model import Operation, Request, Risk
from sayso.core.plans.plan import plan_from_parts
from sayso.core.policy import Detail, Domain, Policy, Settings, compile_policy
from sayso.core.session import Plan, Session, Suspension, Task, View, apply_effects
from sayso.core.session.plan_text import PlanText
from sayso.gate.deciding.request import make_call, make_request
from tests.unit.conversing import COMMIT, NOW, PLAN, POLICY, TASK


def test_a_concrete_plan_is_numbered_and_puts_the_one_under_way_aside() -> None:
    under_way = Plan("session.p1", PLAN, 2, 2, accepted=True)
    session = Session(turn=4, plan=under_way, plans=1, task=TASK)
    after = apply_effects(session, lifecycle.report_plan(session, PLAN).effects)
    assert after.plan == Plan("session.p2", PLAN, 4, 4)
    assert (after.shelved, after.plans) == (under_way, 2)
    assert after.task is not None
    assert after.task.plan_turn == 4
    newer = apply_effects(after, lifecycle.report_plan(after, PLAN).effects)
    assert newer.shelved == under_way


def test_a_plan_that_is_not_concrete_replaces_none_and_leaves_the_task_alone() -> None:
    vague = PlanText("we could look around")
    assert not vague.concrete
    under_way = Plan("session.p1", PLAN, 2, 2, accepted=True)
    assert lifecycle.report_plan(Session(turn=4, plan=under_way), vague).effects == ()
    after = apply_effects(
        Session(turn=4, task=TASK), lifecycle.report_plan(Session(turn=4, task=TASK), vague).effects
    )
    assert after.plan == Plan("session.p1", vague, 4, 4)
    assert (after.task, after.shelved) == (TASK, None)


def test_a_task_the_host_begins_ends_the_one_before() -> None:
    first = lifecycle.report_task_begin(Session(turn=4), "docs", NOW)
    assert first.effects == (SessionChanged(task=Task("session.t1", "docs", 4, 4), tasks=1),)
    assert (first.announced, first.cleared) == ((), ())
    second = lifecycle.report_task_begin(Session(turn=4, task=TASK, tasks=1), "docs", NOW)
    assert [type(effect) for effect in second.effects] == [ConsentCleared, SessionChanged]
    assert second.announced
    assert second.cleared


@pytest.mark.parametrize(
    ("report", "reach"),
    [
        (lifecycle.report_task_end, "task"),
        (lifecycle.report_switch, "all_but_allowlist"),
    ],
)
def test_the_end_of_a_task_or_a_context_clears_as_much_as_it_should(report: Any, reach: str) -> None:
    (effect,) = report(Session(task=TASK), NOW).effects
    assert effect.reach == reach


def outcome(
    session: Session, ok: bool, request: Request = COMMIT, policy: Policy = POLICY
) -> lifecycle.Report:
    return lifecycle.report_call_end(
        session, request, decide(request, policy, View(session), NOW), ok, policy, NOW
    )


def test_a_success_lifts_the_suspension_of_the_identical_call_only() -> None:
    same, other = Suspension(COMMIT.digest), Suspension("another call")
    assert outcome(Session(suspended={"git-local": same}), ok=True).effects == (
        SuspensionLifted("git-local"),
    )
    assert outcome(Session(suspended={"git-local": other}), ok=True).effects == ()
    assert outcome(Session(), ok=True).effects == ()


def test_a_failure_suspends_its_category_and_ends_the_plan_under_way() -> None:
    suspended, retry = outcome(Session(), ok=False).effects
    assert suspended == CategorySuspended("git-local", COMMIT.digest, 3)
    assert isinstance(retry, GrantAdded)
    plan = Plan("session.p1", PLAN, 2, 2)
    assert PlanEnded("failed") not in outcome(Session(plan=plan), ok=False).effects
    accepted = msgspec.structs.replace(plan, accepted=True)
    for session in (Session(plan=accepted), Session(plan=plan, shelved=accepted)):
        report = outcome(session, ok=False)
        assert report.effects[:2] == (CategorySuspended("git-local", COMMIT.digest, 3), PlanEnded("failed"))
        assert report.cleared
        assert report.announced
    strict = msgspec.structs.replace(POLICY, settings=Settings(on_failure="clear"))
    report = outcome(Session(task=TASK), ok=False, policy=strict)
    assert [type(effect) for effect in report.effects] == [CategorySuspended, ConsentCleared]
    assert report.announced
    assert report.cleared


@pytest.mark.parametrize(("category", "risk"), [("test-build", Risk.MODERATE), ("reads", Risk.LOW)])
def test_the_failure_of_a_test_a_build_or_a_read_says_nothing(category: str, risk: Risk) -> None:
    policy = compile_policy(
        domains={"some": Domain(("work",))}, operations={"some.work": Detail(category=category, risk=risk)}
    )
    request = make_request(make_call("tool"), [Operation("some.work")])
    assert outcome(Session(), ok=False, request=request, policy=policy) == lifecycle.Report()


def test_a_plan_is_done_when_each_operation_succeeded_on_each_target() -> None:
    text = plan_from_parts(["a.py", "b.py"], ["rename it"], None, None, ["files.edit"])
    session = Session(plan=Plan("session.p1", text, 2, 2, accepted=True))
    edits = [
        make_request(make_call("edit", {}, target=target), [Operation("files.edit")])
        for target in ("a.py", "b.py")
    ]
    session = apply_effects(session, outcome(session, ok=True, request=edits[0]).effects)
    assert session.plan is not None
    assert session.plan.done == (("files.edit", "a.py"),)
    report = outcome(session, ok=True, request=edits[1])
    assert report.effects == (PlanEnded("done"),)
    assert report.announced
    assert report.cleared
    everywhere = make_request(make_call("edit", {}), [Operation("files.edit")])
    assert outcome(session, ok=True, request=everywhere).effects == (PlanEnded("done"),)


@pytest.mark.parametrize("target", [None, "a.py"])
def test_a_plan_that_names_no_targets_is_done_wherever_its_operations_succeeded(target: str | None) -> None:
    plan = Plan("session.p1", PlanText("a plan", operations=("files.edit",)), 2, 2, accepted=True)
    edit = make_request(make_call("edit", {}, target=target), [Operation("files.edit")])
    assert outcome(Session(plan=plan), ok=True, request=edit).effects == (PlanEnded("done"),)


def test_a_success_counts_for_no_plan_that_was_only_shown() -> None:
    shown = Plan("session.p1", PLAN, 2, 2)
    edit = make_request(make_call("edit", {}, target="a.py"), [Operation("files.edit")])
    assert outcome(Session(plan=shown), ok=True, request=edit) == lifecycle.Report()


def test_a_failure_without_a_plan_clears_nothing_and_a_switch_is_announced_as_one() -> None:
    assert outcome(Session(), ok=False).cleared == ()
    assert lifecycle.report_switch(Session(task=TASK), NOW).announced == (
        words.announce_clearing("the context switched"),
    )


def test_a_plan_that_names_no_targets_is_not_done_before_its_last_operation() -> None:
    text = PlanText("a plan", operations=("files.edit", "git.commit"))
    session = Session(plan=Plan("session.p1", text, 2, 2, accepted=True))
    edit = make_request(make_call("edit"), [Operation("files.edit")])
    assert PlanEnded("done") not in outcome(session, ok=True, request=edit).effects
