"""Cases that the second evaluator, or a made-up conversation, once showed to be wrong."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.core.deciding.decide import decide
from sayso.core.deciding.offers import with_offers
from sayso.core.deciding.questions import effects_of_answer, effects_of_showing, find_or_open_question
from sayso.core.decision import Decision
from sayso.core.grants import Grant, GrantKind, HeldGrant, Pins
from sayso.core.model import Mode, Operation, Request, Risk
from sayso.core.policy import Decay, Detail, Domain, Policy, compile_policy
from sayso.core.session import Plan, Run, Scope, Session, Task, View, apply_effects
from sayso.core.session.plan_text import PlanText
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.sessions.play import Player

NOW = 1_800_000_000.0
DAY = 86_400.0
POLICY = compile_policy(
    domains={"git": Domain(requires_approval=("commit",)), "files": Domain(("read",), ("edit",))}
)
COMMIT = make_request(make_call("shell", {}, command="git commit", workspace="/w"), [Operation("git.commit")])
TASK = Task("task-1", "work", 1, 1)


def grant(kind: GrantKind, value: str, **fields: Any) -> Grant:
    usual = {"risk": Risk.MODERATE, "expires_at": NOW + 60, "session": "session", "given_at": NOW}
    return Grant("g1", kind, value, **{**usual, **fields})


def held(one: Grant, **fields: Any) -> Session:
    return Session(turn=2, heard_at=NOW, workspace="/w", grants={one.key: (HeldGrant(one),)}, **fields)


def decided(session: Session, policy: Policy = POLICY, request: Request = COMMIT, **view: Any) -> Decision:
    return decide(request, policy, View(session, **view), NOW)


def test_an_approval_that_names_no_operations_approves_none() -> None:
    assert decided(held(grant("call", COMMIT.digest))).rule == "ask"
    named = grant("call", COMMIT.digest, pins=Pins(operations=("git.commit",)))
    assert decided(held(named)).rule == "approved_call"


def test_a_remembered_tool_that_names_no_operations_remembers_none() -> None:
    trusting = msgspec.structs.replace(POLICY, mode=Mode.TRUSTING)
    assert decided(held(grant("tool", "shell")), trusting).rule == "ask"
    named = grant("tool", "shell", pins=Pins(operations=("git.commit",)))
    assert decided(held(named), trusting).rule == "remembered"


def test_a_consent_to_a_category_serves_only_the_task_it_was_given_in() -> None:
    assert decided(held(grant("category", "git.commit"), task=TASK)).rule == "ask"
    given = grant("category", "git.commit", ends_with="task", bound_to="task-1")
    assert decided(held(given, task=TASK)).rule == "task_grant"
    assert decided(held(given, task=msgspec.structs.replace(TASK, id="task-2"))).rule == "ask"


def test_a_consent_to_a_category_is_held_to_what_it_was_pinned_to() -> None:
    given = grant("category", "git.commit", ends_with="task", bound_to="task-1", pins=Pins(workspace="/v"))
    assert decided(held(given, task=TASK)).rule == "ask"


@pytest.mark.parametrize(("kind", "value"), [("run", "run-1"), ("workflow", "digest")])
def test_a_run_whose_lease_has_lapsed_carries_nothing(kind: GrantKind, value: str) -> None:
    session = held(grant(kind, value, pins=Pins(operations=("git.commit",))))
    assert decided(session, scope=Scope(run=Run("run-1", "digest"))).rule == "workflow_grant"
    assert decided(session, scope=Scope(run=Run("run-1", "digest", alive=False))).rule == "ask"


def test_a_workflows_grant_is_held_to_what_it_was_pinned_to() -> None:
    session = held(grant("run", "run-1", pins=Pins(workspace="/v", operations=("git.commit",))))
    assert decided(session, scope=Scope(run=Run("run-1", "digest"))).rule == "ask"


def test_while_nobody_confirmed_that_the_task_goes_on_its_plan_allows_nothing() -> None:
    text = PlanText("a plan", targets=("a.py",), operations=("git.commit",))
    plan = Plan("plan-1", text, turn=1, since=1, accepted=True)
    named = grant("operation", "git.commit", group="plan-1", ends_with="task", bound_to="task-1")
    assert decided(held(named, task=TASK, plan=plan)).rule == "plan"
    unconfirmed = msgspec.structs.replace(TASK, unconfirmed=True)
    assert decided(held(named, task=unconfirmed, plan=plan)).rule == "ask"


def test_a_review_written_in_the_file_is_not_made_younger_by_when_the_store_first_saw_the_permission() -> (
    None
):
    policy = compile_policy(
        decay=Decay(review_interval_days=30),
        domains={"files": Domain(("read",), last_reviewed=NOW - 40 * DAY)},
    )
    request = make_request(make_call("read"), [Operation("files.read")])
    first_seen = decide(request, policy, View(Session(), reviews={"files.read": NOW - DAY}), NOW)
    assert first_seen.rule == "ask"
    reviewed = decide(request, policy, View(Session(), reviews={"files": NOW - DAY}), NOW)
    assert reviewed.rule == "autonomous"


# Asked, answered, and asked again


def player(**fields: Any) -> Player:
    return Player(msgspec.structs.replace(POLICY, **fields), start=NOW)


def test_an_approval_given_in_a_safe_callers_scope_serves_there_and_not_where_the_risk_is_higher() -> None:
    request = make_request(make_call("eval"), [Operation("git.commit", risk=Risk.HIGH)])
    view = View(Session(), scope=Scope(reducers={"git.commit": Risk.MODERATE}))
    decision = with_offers(decide(request, POLICY, view, NOW), request, POLICY, view, NOW)
    assert decision.rule == "ask"
    question = find_or_open_question(decision, request, POLICY, view.session, NOW)
    session = apply_effects(view.session, effects_of_showing(question, view.session))
    session = apply_effects(session, effects_of_answer(question, "once", POLICY, session, NOW))
    again = decide(request, POLICY, msgspec.structs.replace(view, session=session), NOW)
    assert again.rule == "approved_call"
    assert decide(request, POLICY, View(session), NOW).rule == "risky"


def test_what_the_plan_allowed_of_a_call_that_ends_the_plan_is_asked_in_the_same_question() -> None:
    play = player()
    play.step({"hear": "clean up a.py"})
    play.step({"plan": {"targets": ["a.py"], "changes": ["rename it"], "operations": ["files.edit"]}})
    play.step({"hear": "yes"})
    call = {"call": {"operations": ["git.commit", "files.edit"], "target": "a.py"}}
    assert play.step(call)["verdict"] == "ask"
    play.step({"answer": "once"})
    assert play.step(call)["verdict"] == "allow"


def test_a_yes_that_lifts_a_suspension_leaves_nothing_of_the_call_to_ask_again() -> None:
    """One operation retries on a suspension that the yes to another one of its category lifts."""
    details = {name: Detail(category="remote") for name in ("git.commit", "git.push")}
    policy = compile_policy(
        domains={"git": Domain(requires_approval=("commit", "push"))},
        operations={**details, "git.push": Detail(risk=Risk.HIGH, category="remote")},
    )
    play = Player(policy, start=NOW)
    call = {"call": {"operations": ["git.commit", "git.push"]}}
    for _ in range(2):
        assert play.step(call)["verdict"] == "ask"
        play.step({"answer": "once"})
        assert play.step(call)["verdict"] == "allow"
        play.step({"outcome": "error"})


@pytest.mark.parametrize("message", ["yes", "ok", "no"])
def test_a_message_after_a_question_expired_is_heard_and_answers_nothing(message: str) -> None:
    play = player()
    play.step({"hear": "commit it"})
    play.step({"call": {"operations": ["git.commit"]}})
    play.step({"advance": 7200})
    heard = play.step({"hear": message})
    assert heard["turn"] == 2
    assert heard["answered"] is None
    assert not play.session.all_grants


def test_a_call_made_again_after_its_question_expired_can_be_answered() -> None:
    play = player()
    call = {"call": {"operations": ["git.commit"]}}
    play.step(call)
    play.step({"advance": 7200})
    assert play.step(call)["verdict"] == "ask"
    play.step({"answer": "once"})
    assert play.step(call)["rule"] == "approved_call"
