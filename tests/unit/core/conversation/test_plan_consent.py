"""When a yes to a plan counts: once its rendering was shown, and for the very plan it was asked about."""

from __future__ import annotations

import msgspec
import pytest

from sayso.core.conversation import lifecycle, words
from sayso.core.conversation.hear import hear_text
from sayso.core.conversation.hearing import Heard
from sayso.core.effects import PlanDeviated, PlanEnded
from sayso.core.grants import Grant, HeldGrant
from sayso.core.model import Operation, Risk
from sayso.core.plans.plan import beside_policy, plan_from_parts, read_plan
from sayso.core.policy import Detail, Domain, compile_policy
from sayso.core.session import PendingPrompt, Plan, Session, View, apply_effects
from sayso.core.session.plan_text import PlanText
from sayso.gate.deciding.request import make_call, make_request
from tests.unit.conversing import NOW, PLAN, POLICY, TASK, given

OTHER = plan_from_parts(["c.py"], ["write it"], None, None, ["git.commit"])


def heard(session: Session, text: str) -> tuple[Heard, Session]:
    told = hear_text(session, text, POLICY, NOW)
    return told, apply_effects(session, told.effects)


def proposed(text: PlanText = PLAN, *, shown: bool) -> Session:
    session = Session(turn=4, task=TASK, tasks=1)
    return apply_effects(session, lifecycle.report_plan(session, text, shown=shown).effects)


@pytest.mark.parametrize(("first", "second"), [("yes", "yes"), ("go ahead", "ok"), ("ok", "sure")])
def test_a_yes_before_the_rendering_was_shown_is_answered_with_it_and_the_next_one_counts(
    first: str, second: str
) -> None:
    told, session = heard(proposed(shown=False), first)
    assert told.announced == (f"{PLAN.text}\nProceed with this?",)
    assert given(told.effects) == []
    told, session = heard(session, second)
    assert [grant.value for grant in given(told.effects)] == ["files.edit"]
    assert session.plan is not None
    assert session.plan.accepted


def test_the_rendering_asked_back_does_not_stand_for_a_later_message() -> None:
    _, session = heard(proposed(shown=False), "yes")
    _, session = heard(session, "what about the docs")
    told, session = heard(session, "yes")
    assert told.announced == (f"{PLAN.text}\n{words.CONFIRM_PLAN}",)
    assert given(told.effects) == []


def test_a_yes_that_was_asked_back_for_one_plan_does_not_approve_another() -> None:
    _, session = heard(proposed(shown=True), "ok")
    assert session.pending == PendingPrompt("plan", 5, plan="session.p1")
    session = apply_effects(session, lifecycle.report_plan(session, OTHER, shown=True).effects)
    told, session = heard(session, "ok")
    assert given(told.effects) == []
    assert session.pending == PendingPrompt("plan", 6, plan="session.p2")


def test_an_unshown_plan_is_not_approved_by_the_confirmation_of_another() -> None:
    _, session = heard(proposed(shown=True), "ok")
    session = apply_effects(session, lifecycle.report_plan(session, OTHER, shown=False).effects)
    told, session = heard(session, "yes")
    assert given(told.effects) == []
    assert told.announced == (f"{OTHER.text}\nProceed with this?",)


def test_a_vague_text_between_a_plan_and_the_yes_asks_for_the_rendering_again() -> None:
    session = proposed(shown=True)
    session = apply_effects(
        session, lifecycle.report_plan(session, PlanText("shall we look around"), shown=True).effects
    )
    told, _ = heard(session, "yes")
    assert told.announced == (f"{PLAN.text}\nProceed with this?",)


def test_a_yes_grants_each_operation_on_its_own_targets_only() -> None:
    text = read_plan("Edit a.py: add a cache. git.commit. Only this.", POLICY.table)
    text = msgspec.structs.replace(text, places={"files.edit": ("a.py",), "git.commit": ()})
    told, _ = heard(proposed(text, shown=True), "yes")
    assert [(one.value, one.pins.targets) for one in given(told.effects)] == [
        ("files.edit", ("a.py",)),
        ("git.commit", ()),
    ]


def test_a_yes_grants_nothing_that_is_blocked_high_or_always_asked() -> None:
    policy = compile_policy(
        domains={"files": Domain(requires_approval=("edit", "send", "show"), blocked=("wipe",))},
        operations={"files.send": Detail(risk=Risk.HIGH), "files.show": Detail(always_ask=True)},
    )
    names = ["files.edit", "files.send", "files.show", "files.wipe"]
    text = beside_policy(plan_from_parts(["a.py"], ["rename it"], None, None, names), policy)
    assert (text.operations_covered, text.asked, text.blocked) == (
        ("files.edit",),
        ("files.send", "files.show"),
        ("files.wipe",),
    )
    lines = text.text.splitlines()
    assert lines[lines.index("Blocked, never runs:") + 1] == "- files.wipe"
    assert lines[lines.index("Asked each time:") + 1 :][:2] == ["- files.send", "- files.show"]
    session = apply_effects(Session(turn=4), lifecycle.report_plan(Session(turn=4), text, shown=True).effects)
    told = hear_text(session, "yes", policy, NOW)
    assert [grant.value for grant in given(told.effects)] == ["files.edit"]


def test_what_the_policy_blocked_meanwhile_is_not_granted_by_the_yes() -> None:
    session = proposed(plan_from_parts(["a.py"], ["x"], None, None, ["files.edit", "git.commit"]), shown=True)
    tighter = compile_policy(
        domains={"git": Domain(blocked=("commit",)), "files": Domain(requires_approval=("edit",))}
    )
    told = hear_text(session, "yes", tighter, NOW)
    assert [grant.value for grant in given(told.effects)] == ["files.edit"]


def test_a_change_said_to_a_question_narrows_the_plan_under_way_too() -> None:
    _, session = heard(proposed(shown=True), "yes")
    told, session = heard(session, "yes, but don't touch a.py")
    assert session.plan is not None
    assert not session.plan.accepted
    assert session.plan.text.covers == {}
    assert not [held for held in session.all_grants if held.grant.group]
    assert "plan consent (you changed the plan)" in told.cleared


# --- a plan that a newer one suspends -----------------------------------------------------------------------


def suspended() -> Session:
    """Plan p1 under way, with a grant; plan p2 waits for an answer."""
    under_way = Plan("session.p1", PLAN, 4, 4, accepted=True, started=True, shown=True)
    waiting = Plan("session.p2", OTHER, 5, 5, shown=True)
    grant = Grant("g1", "operation", "files.edit", Risk.MODERATE, NOW + 60, "session", group="session.p1")
    return Session(
        turn=5,
        heard_at=NOW,
        task=TASK,
        tasks=1,
        plan=waiting,
        shelved=under_way,
        plans=2,
        grants={grant.key: (HeldGrant(grant),)},
    )


@pytest.mark.parametrize("effect", [PlanEnded("failed"), PlanDeviated(), PlanEnded("done")])
def test_the_end_of_a_suspended_plan_leaves_the_one_that_waits(effect: PlanEnded | PlanDeviated) -> None:
    session = suspended()
    after = apply_effects(session, (effect,))
    assert (after.plan, after.shelved, after.all_grants) == (session.plan, None, ())


def test_a_suspended_plan_does_not_miss_a_deviation() -> None:
    from sayso.core.deciding.decide import decide

    session = suspended()
    push = make_request(make_call("push", {}), [Operation("git.push")])
    decision = decide(push, POLICY, View(session), NOW)
    assert PlanDeviated() in decision.effects
    named = make_request(make_call("edit", {}, target="a.py"), [Operation("files.edit")])
    assert PlanDeviated() not in decide(named, POLICY, View(session), NOW).effects


def test_a_success_counts_for_the_plan_that_is_suspended() -> None:
    from sayso.core.deciding.decide import decide

    session = suspended()
    edit = make_request(make_call("edit", {}, target="a.py"), [Operation("files.edit")])
    decision = decide(edit, POLICY, View(session), NOW)
    report = lifecycle.report_call_end(session, edit, decision, True, POLICY, NOW)
    assert PlanEnded("done") in report.effects


def test_a_suspended_plan_that_was_never_started_ends_after_three_turns_and_the_other_waits_on() -> None:
    session = suspended()
    assert session.shelved is not None
    idle = msgspec.structs.replace(session.shelved, started=False, since=2)
    told, after = heard(msgspec.structs.replace(session, shelved=idle), "hm")
    assert "plan consent (not started within 3 turns)" in told.cleared
    assert (after.plan, after.shelved) == (session.plan, None)
