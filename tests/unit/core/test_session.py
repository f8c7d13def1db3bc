"""What each effect changes in a session, and that it leaves everything else as it was."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.core import effects as fx
from sayso.core.decision import Question
from sayso.core.grants import Grant, GrantKind, HeldGrant
from sayso.core.model import Operation, Risk
from sayso.core.session import Denial, PendingPrompt, Plan, Sending, Session, Suspension, Task, apply_effects
from sayso.core.session.plan_text import PlanText
from sayso.gate.deciding.request import make_call, make_request

NOW = 1_800_000_000.0
TASK = Task("session.t1", "work", 1, 4)
PLAN = Plan("session.p1", PlanText("a plan"), 2, 2, accepted=True)
OLDER = Plan("session.p0", PlanText("an older plan"), 1, 1, accepted=True)
REQUEST = make_request(make_call("tool"), [Operation("some.work")])


def grant(name: str, kind: GrantKind = "operation", value: str = "git.commit", **fields: Any) -> HeldGrant:
    return HeldGrant(Grant(name, kind, value, Risk.MODERATE, NOW + 60, "session", **fields))


def question(name: str) -> Question:
    """A question about a call of its own."""
    request = msgspec.structs.replace(REQUEST, digest=f"digest of {name}")
    return Question(name, request, (), (), "Proceed?", turn=1, opened_at=NOW)


COMMAND = grant("g1", "command", "git status")
CALL = grant("g2", "call", "digest")
FOR_TASK = grant("g3", "category", "git-local", ends_with="task", bound_to=TASK.id)
FOR_SESSION = grant("g4", "operation", "files.edit")
FULL = Session(
    id="session",
    workspace="/w",
    turn=5,
    heard_at=NOW,
    slash="/commit",
    slash_calls=2,
    imperatives=("git.push",),
    task=TASK,
    tasks=1,
    plan=PLAN,
    shelved=OLDER,
    plans=2,
    pending=PendingPrompt("plan", 5),
    suspended={"tests": Suspension("one"), "network": Suspension("two", 2)},
    shown={"q1": 4, "q2": 5},
    granted=4,
    asked=2,
    grants={each.grant.key: (each,) for each in (COMMAND, CALL, FOR_TASK, FOR_SESSION)},
    denials={"earlier": Denial(3, NOW - 60)},
    questions={"q1": question("q1"), "q2": question("q2")},
    sent={("mail", "hello"): (Sending("mail.send", NOW - 60),)},
)


def changes(effect: fx.Effect, session: Session = FULL) -> dict[str, Any]:
    """The fields that this effect alters, with their values afterwards."""
    before, after = msgspec.structs.asdict(session), msgspec.structs.asdict(apply_effects(session, [effect]))
    return {name: after[name] for name in before if after[name] != before[name]}


# Grants


def test_a_grant_joins_those_of_its_key_and_a_new_category_is_noted_in_the_task() -> None:
    second = grant("g5", "category", "git-local", ends_with="task", bound_to=TASK.id).grant
    noted = msgspec.structs.replace(TASK, consented=("git-local",))
    assert changes(fx.GrantAdded(second)) == {
        "grants": {**FULL.grants, second.key: (FOR_TASK, HeldGrant(second))},
        "granted": 5,
        "task": noted,
    }
    after = apply_effects(
        FULL, [fx.GrantAdded(second), fx.GrantAdded(grant("g6", "category", "network").grant)]
    )
    assert after.task is not None
    assert after.task.consented == ("git-local", "network")


def test_a_use_and_a_revocation_touch_the_one_grant_they_name() -> None:
    twin = grant("g5", "operation", "files.edit")
    key = twin.grant.key
    session = msgspec.structs.replace(FULL, grants={**FULL.grants, key: (FOR_SESSION, twin)})
    used = msgspec.structs.replace(twin, used=1)
    revoked = msgspec.structs.replace(twin, revoked=True)
    assert changes(fx.GrantUsed(key, "g5"), session) == {"grants": {**FULL.grants, key: (FOR_SESSION, used)}}
    assert changes(fx.UseReturned(key, "g5"), session) == {}
    assert changes(fx.UseReturned(key, "g5"), apply_effects(session, [fx.GrantUsed(key, "g5")])) == {
        "grants": session.grants
    }
    assert changes(fx.GrantRevoked(key, "g5"), session) == {
        "grants": {**FULL.grants, key: (FOR_SESSION, revoked)}
    }


# Clearing


EXHAUSTED = {"tests": Suspension("one", 0), "network": Suspension("two", 0)}
NO_WORK: dict[str, Any] = {
    "task": None,
    "plan": None,
    "shelved": None,
    "pending": None,
    "suspended": EXHAUSTED,
}
NOTHING: dict[str, Any] = {
    **NO_WORK,
    "questions": {},
    "slash": None,
    "imperatives": (),
    "shown": {},
    "outdated_turn": 5,
    "clearings": 1,
}


def rows(*held: HeldGrant) -> dict[str, Any]:
    return {"grants": {each.grant.key: (each,) for each in held}}


@pytest.mark.parametrize(
    ("reach", "after"),
    [
        ("allowlist", rows(CALL, FOR_TASK, FOR_SESSION)),
        ("task", {**rows(COMMAND, FOR_SESSION), **NO_WORK}),
        ("all_but_allowlist", {**rows(COMMAND), **NOTHING}),
        ("everything", {**rows(), **NOTHING}),
    ],
)
def test_clearing_ends_what_it_reaches_and_leaves_no_retry_and_nothing_else(
    reach: fx.ClearReach, after: dict[str, Any]
) -> None:
    assert changes(fx.ConsentCleared(reach, "because")) == after


@pytest.mark.parametrize("effect", [fx.PlanEnded("done"), fx.PlanDeviated()])
def test_the_end_of_a_plan_ends_its_grants_and_the_shelved_plan(effect: fx.Effect) -> None:
    of_plan = grant("g5", "operation", "files.wipe", group=PLAN.id)
    session = msgspec.structs.replace(FULL, grants={**FULL.grants, of_plan.grant.key: (of_plan,)})
    more = {} if isinstance(effect, fx.PlanEnded) else {"task": msgspec.structs.replace(TASK, deviations=1)}
    assert changes(effect, session) == {"grants": FULL.grants, "plan": None, "shelved": None, **more}


def test_a_deviation_without_a_task_ends_the_plan_as_well() -> None:
    session = msgspec.structs.replace(FULL, task=None)
    assert changes(fx.PlanDeviated(), session) == {"plan": None, "shelved": None}
    twice = apply_effects(FULL, [fx.PlanDeviated(), fx.PlanDeviated()])
    assert twice.task is not None
    assert twice.task.deviations == 2


# Questions and refusals


def test_a_refusal_is_remembered_beside_the_earlier_ones() -> None:
    assert changes(fx.CallRefused("now", 5, NOW)) == {
        "denials": {"earlier": Denial(3, NOW - 60), "now": Denial(5, NOW)}
    }


def test_a_question_counts_once_however_often_it_is_opened() -> None:
    third = question("q3")
    assert changes(fx.QuestionOpened(third)) == {"questions": {**FULL.questions, "q3": third}, "asked": 3}
    again = msgspec.structs.replace(question("q1"), text="Still?")
    assert changes(fx.QuestionOpened(again)) == {"questions": {**FULL.questions, "q1": again}}


def test_a_call_has_one_open_question() -> None:
    other = msgspec.structs.replace(question("q1"), id="q3")
    assert changes(fx.QuestionOpened(other)) == {
        "questions": {"q2": question("q2"), "q3": other},
        "shown": {"q2": 5},
        "outdated_turn": 4,
        "asked": 3,
    }


def test_a_question_is_shown_in_its_turn_and_closed_with_all_that_is_known_of_it() -> None:
    assert changes(fx.QuestionShown("q1", 5)) == {"shown": {"q1": 5, "q2": 5}}
    left = {"questions": {"q2": question("q2")}, "shown": {"q2": 5}, "outdated_turn": 4}
    assert changes(fx.QuestionClosed("q1", "once")) == left


# Turn, task and plan


def test_each_call_on_a_slash_command_is_counted() -> None:
    assert changes(fx.SlashUsed()) == {"slash_calls": 3}


def test_a_failure_says_how_many_retries_are_left_of_its_call_and_leaves_the_other_categories() -> None:
    assert changes(fx.CategorySuspended("network", "two", 2)) == {}
    for category in ("network", "git-local"):
        after = {**FULL.suspended, category: Suspension("three", 1)}
        assert changes(fx.CategorySuspended(category, "three", 1)) == {"suspended": after}


def test_a_run_whose_end_nobody_knows_leaves_no_retry_of_its_call() -> None:
    after = {**FULL.suspended, "network": Suspension("two", 0)}
    assert changes(fx.RetriesEnded("two")) == {"suspended": after}


def test_lifting_a_suspension_leaves_the_others() -> None:
    assert changes(fx.SuspensionLifted("network")) == {"suspended": {"tests": Suspension("one")}}


def test_what_is_sent_joins_what_was_sent_before() -> None:
    before = FULL.sent["mail", "hello"]
    assert changes(fx.ContentSent("mail", "hello", "chat.post", NOW)) == {
        "sent": {("mail", "hello"): (*before, Sending("chat.post", NOW))}
    }
    assert changes(fx.ContentSent("mail", "bye", "chat.post", NOW)) == {
        "sent": {**FULL.sent, ("mail", "bye"): (Sending("chat.post", NOW),)}
    }


def test_activity_moves_the_task_to_this_turn_and_to_a_phase_if_it_names_one() -> None:
    assert changes(fx.TaskActive(5)) == {"task": msgspec.structs.replace(TASK, active=5)}
    assert changes(fx.TaskActive(5, "testing")) == {
        "task": msgspec.structs.replace(TASK, active=5, phase="testing")
    }
    assert changes(fx.TaskActive(5), msgspec.structs.replace(FULL, task=None)) == {}


def test_a_plan_starts_where_there_is_one() -> None:
    assert changes(fx.PlanStarted()) == {"plan": msgspec.structs.replace(PLAN, started=True)}
    assert changes(fx.PlanStarted(), msgspec.structs.replace(FULL, plan=None)) == {}


def test_a_change_names_its_fields_and_what_is_only_told_changes_nothing() -> None:
    assert changes(fx.SessionChanged(turn=6, slash=None)) == {"turn": 6, "slash": None}
    for told in (fx.Noticed("a notice"), fx.Alerted("an alert"), fx.MessageClaimed("a message", "stop")):
        assert apply_effects(FULL, [told]) is FULL


def test_effects_are_applied_in_their_order() -> None:
    after = apply_effects(
        FULL, [fx.SessionChanged(turn=6), fx.Noticed("a notice"), fx.SessionChanged(turn=7)]
    )
    assert after == msgspec.structs.replace(FULL, turn=7)


def test_nothing_changes_whose_session_it_is_and_where() -> None:
    assert {"id", "agent", "workspace"}.isdisjoint(fx.SessionChanged.__struct_fields__)
