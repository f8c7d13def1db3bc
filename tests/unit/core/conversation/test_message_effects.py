"""Messages: what they record, how far they may loosen, what they end."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.core.conversation import lifecycle
from sayso.core.conversation.hear import hear_text
from sayso.core.conversation.hearing import Heard
from sayso.core.grants import Grant, Pins
from sayso.core.model import Assurance, Risk
from sayso.core.policy import Policy, Settings
from sayso.core.session import PendingPrompt, Plan, Session, apply_effects
from tests.unit.conversing import DAY, NOW, PLAN, POLICY, TASK, given


def heard(session: Session, text: str, policy: Policy = POLICY, **how: Any) -> tuple[Heard, Session]:
    told = hear_text(session, text, policy, NOW, **how)
    return told, apply_effects(session, told.effects)


def test_standing_consent_is_recorded_for_this_workspace_with_who_when_and_at_which_risk() -> None:
    session = Session(workspace="/w", turn=4, granted=7)
    told, after = heard(session, "Grant standing consent for: git push", risk_of=lambda _: Risk.MODERATE)
    assert given(told.effects) == [
        Grant(
            "session.g8",
            "command",
            "git push",
            Risk.MODERATE,
            NOW + DAY,
            "session",
            Pins(workspace="/w"),
            source="allowlist",
            turn=5,
            given_at=NOW,
            given_by="user",
            policy="policy-1",
        )
    ]
    again, _ = heard(after, "Grant standing consent for: git push, git status")
    assert [one.value for one in given(again.effects)] == ["git status"]
    assert [one.risk for one in given(again.effects)] == [Risk.HIGH]


def test_a_plan_agreed_to_gives_a_grant_for_each_operation_on_its_targets() -> None:
    session = apply_effects(
        Session(turn=4, granted=7), lifecycle.report_plan(Session(turn=4), PLAN, shown=True).effects
    )
    told, after = heard(session, "yes")
    assert given(told.effects) == [
        Grant(
            "session.g8",
            "operation",
            "files.edit",
            Risk.MODERATE,
            NOW + DAY,
            "session",
            Pins(targets=("a.py",)),
            ends_with="task",
            bound_to="session.t1",
            group="session.p1",
            source="composite",
            turn=5,
            given_at=NOW,
            given_by="user",
            policy="policy-1",
        )
    ]
    assert after.plan is not None
    assert (after.plan.accepted, after.plan.since, after.plan.turn, after.plan.started) == (True, 4, 4, False)
    assert after.task is not None
    assert (after.task.id, after.task.plan_turn, after.tasks) == ("session.t1", 4, 1)


@pytest.mark.parametrize(
    ("assurance", "trusted", "ceiling"),
    [
        (Assurance.ASSURED, False, Risk.HIGH),
        (Assurance.CLAIMED, True, Risk.MODERATE),
        (Assurance.CLAIMED, False, Risk.LOW),
    ],
)
def test_how_far_a_message_may_loosen_depends_on_how_sure_it_is_that_a_person_typed_it(
    assurance: Assurance, trusted: bool, ceiling: Risk
) -> None:
    policy = msgspec.structs.replace(POLICY, settings=Settings(trust_hook_messages=trusted))
    told, after = heard(Session(), "Grant standing consent for: git push", policy, assurance=assurance)
    assert after.ceiling is ceiling
    assert [one.risk for one in given(told.effects)] == ([ceiling] if ceiling > Risk.LOW else [])


@pytest.mark.parametrize(
    ("stop", "then", "goes_on"),
    [
        (Assurance.ASSURED, Assurance.ASSURED, True),
        (Assurance.ASSURED, Assurance.CLAIMED, False),
        (Assurance.CLAIMED, Assurance.CLAIMED, True),
        (Assurance.CLAIMED, Assurance.ASSURED, True),
    ],
)
def test_a_stop_is_lifted_only_by_a_message_at_least_as_sure(
    stop: Assurance, then: Assurance, goes_on: bool
) -> None:
    _, stopped = heard(Session(), "stop", assurance=stop)
    assert stopped.stopped is stop
    _, after = heard(stopped, "fix the parser", assurance=then)
    assert (after.stopped is None) is goes_on
    _, twice = heard(stopped, "stop", assurance=then)
    assert twice.stopped is max(stop, then)


def test_a_new_message_ends_what_the_last_one_allowed() -> None:
    session = Session(
        turn=3, slash="/go", slash_calls=4, imperatives=("git status",), pending=PendingPrompt("plan", 3)
    )
    _, after = heard(session, "fix the parser")
    assert (after.turn, after.heard_at, after.slash, after.slash_calls) == (4, NOW, None, 0)
    assert (after.imperatives, after.pending) == ((), None)


@pytest.mark.parametrize(("turn", "ends"), [(13, False), (14, True)])
def test_a_task_idle_for_more_than_ten_turns_ends(turn: int, ends: bool) -> None:
    _, after = heard(Session(turn=turn, task=TASK, tasks=1), "fix the parser")
    assert after.task is not None
    assert (after.task.id != TASK.id) is ends


@pytest.mark.parametrize(("turn", "started", "ends"), [(7, False, False), (8, False, True), (8, True, False)])
def test_an_accepted_plan_that_is_not_started_in_three_turns_ends(
    turn: int, started: bool, ends: bool
) -> None:
    plan = Plan("session.p1", PLAN, 4, 5, accepted=True, started=started)
    _, after = heard(Session(turn=turn, plan=plan, task=TASK, tasks=1), "fix the parser")
    assert (after.plan is None) is ends
