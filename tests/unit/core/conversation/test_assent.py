"""A yes or a no in the conversation: what it answers, how far, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.core.conversation.hear import hear_text
from sayso.core.conversation.hearing import Heard
from sayso.core.conversation.lifecycle import report_plan
from sayso.core.deciding.decide import decide
from sayso.core.deciding.offers import with_offers
from sayso.core.deciding.questions import effects_of_showing, find_or_open_question
from sayso.core.effects import GrantAdded, PlanEnded
from sayso.core.grants import Grant, HeldGrant
from sayso.core.model import Assurance, Operation, Request, Risk
from sayso.core.plans.plan import plan_from_parts
from sayso.core.policy import Detail, Domain, Settings, compile_policy
from sayso.core.session import PendingPrompt, Plan, Session, Task, View, apply_effects
from sayso.gate.deciding.request import make_call, make_request

NOW = 1_800_000_000.0
TASK = Task("session.t1", "work", 1, 4)
UNCONFIRMED = msgspec.structs.replace(TASK, unconfirmed=True)
POLICY = compile_policy(
    settings=Settings(trust_hook_messages=True),
    domains={"git": Domain(requires_approval=("commit", "push")), "files": Domain((), ("edit",))},
    operations={"git.push": Detail(risk=Risk.HIGH)},
)
PLAN = plan_from_parts(["a.py"], ["rename it"], None, None, ["files.edit"])


def call(*operations: str) -> Request:
    return make_request(make_call("tool"), [Operation(each) for each in operations])


def asking(session: Session, *requests: Request) -> Session:
    """The session after these calls were asked in the conversation, in its turn."""
    for request in requests:
        view = View(session)
        decision = with_offers(decide(request, POLICY, view, NOW), request, POLICY, view, NOW)
        session = apply_effects(
            session,
            effects_of_showing(find_or_open_question(decision, request, POLICY, session, NOW), session),
        )
    return session


def heard(session: Session, text: str, now: float = NOW, **how: Any) -> tuple[Heard, Session]:
    told = hear_text(session, text, POLICY, now, **how)
    return told, apply_effects(session, told.effects)


def grants(told: Heard) -> list[str]:
    return [effect.grant.kind for effect in told.effects if isinstance(effect, GrantAdded)]


# Questions


@pytest.mark.parametrize("word", ["yes", "no"])
def test_with_several_questions_open_each_is_numbered_and_shown_and_none_is_answered(word: str) -> None:
    session = asking(Session(turn=5), call("git.commit", "files.edit"), call("git.push"))
    told, after = heard(session, word)
    (asked,) = told.announced
    which, *lines = asked.split("\n")
    assert which == "Several questions are open. Which one do you mean?"
    assert [line for line in lines if line[0] != " "] == ["1. git.commit", "1. files.edit", "2. git.push"]
    assert after.questions == session.questions


def test_a_yes_with_a_change_answers_no_question_and_says_so() -> None:
    told, after = heard(asking(Session(turn=5), call("git.commit")), "yes, but skip the tests")
    assert "not an answer: a changed call is asked again" in told.did
    assert (told.answered, len(after.questions)) == (None, 1)


@pytest.mark.parametrize(
    ("operation", "assurance", "answered"),
    [
        ("git.push", Assurance.ASSURED, "once"),
        ("git.push", Assurance.CLAIMED, None),
        ("git.commit", Assurance.CLAIMED, "once"),
    ],
)
def test_a_message_that_a_hook_claims_answers_no_question_of_high_risk(
    operation: str, assurance: Assurance, answered: str | None
) -> None:
    told, _ = heard(asking(Session(turn=5), call(operation)), "yes", assurance=assurance)
    assert told.answered == answered
    refused = "the message is not assured enough to answer this question"
    assert (refused in told.did) is (answered is None)


@pytest.mark.parametrize(
    ("asked_in", "answered_in", "expected"),
    [(TASK, TASK, "task"), (None, None, "once"), (TASK, None, "once")],
)
def test_a_yes_reaches_for_the_task_only_in_the_task_it_was_asked_in(
    asked_in: Task | None, answered_in: Task | None, expected: str
) -> None:
    session = asking(Session(turn=5, task=asked_in, tasks=1), call("git.commit"))
    told, _ = heard(msgspec.structs.replace(session, task=answered_in), "yes")
    assert told.answered == expected


def test_a_yes_in_another_task_than_the_one_it_was_asked_in_allows_the_call_once() -> None:
    session = asking(Session(turn=5, task=TASK, tasks=2), call("git.commit"))
    other = msgspec.structs.replace(session, task=msgspec.structs.replace(TASK, id="session.t2"))
    told, after = heard(other, "yes")
    assert (told.answered, grants(told)) == ("once", ["call"])
    assert "answered: once" in told.did
    assert [held.grant.given_by for held in after.all_grants] == ["user"]


def test_a_yes_to_high_or_low_risk_is_never_taken_for_the_whole_task() -> None:
    told, _ = heard(asking(Session(turn=5, task=TASK), call("git.push")), "yes")
    assert (told.answered, grants(told)) == ("once", ["call"])


def test_a_yes_after_the_question_has_expired_answers_nothing() -> None:
    session = asking(Session(turn=5), call("git.commit"))
    assert heard(session, "yes", NOW + 7199)[0].answered == "once"
    told, _ = heard(session, "yes", NOW + 7200)
    assert (told.answered, grants(told)) == (None, [])


def test_a_hesitant_yes_is_asked_back_once_and_then_answers() -> None:
    session = asking(Session(turn=5), call("git.commit"))
    first, session = heard(session, "ok")
    assert first.answered is None
    assert session.pending == PendingPrompt("question", 6, "session.q1")
    assert "git.commit" in first.announced[0]
    assert heard(session, "ok")[0].answered == "once"


# "Still working?"


def test_only_a_plain_yes_confirms_that_the_task_goes_on() -> None:
    session = Session(turn=5, task=UNCONFIRMED, tasks=1)
    _, after = heard(session, "yes")
    assert after.task == TASK
    _, changed = heard(session, "yes, but skip the tests")
    assert changed.task == UNCONFIRMED


def test_a_hesitant_yes_to_whether_the_task_goes_on_is_asked_back_once() -> None:
    session = Session(turn=5, task=UNCONFIRMED, tasks=1)
    told, session = heard(session, "ok")
    assert (session.task, session.pending) == (UNCONFIRMED, PendingPrompt("still", 6))
    assert told.announced
    told, session = heard(session, "ok")
    assert session.task == TASK
    assert "the task's consent is confirmed" in told.did


@pytest.mark.parametrize(
    ("pending", "ends"),
    [
        (PendingPrompt("still", 5), True),
        (PendingPrompt("still", 4), False),
        (PendingPrompt("plan", 5), False),
        (None, False),
    ],
)
def test_a_no_ends_the_task_only_right_after_it_was_asked_whether_it_goes_on(
    pending: PendingPrompt | None, ends: bool
) -> None:
    _, after = heard(Session(turn=5, task=TASK, tasks=1, pending=pending), "no")
    assert after.task is not None
    assert (after.task.id != TASK.id) is ends


# Plans


def planned(turn: int, since: int, **fields: Any) -> Session:
    plan = Plan("session.p1", PLAN, since, since, shown=True, **fields)
    return Session(turn=turn, plan=plan, plans=1, task=TASK, tasks=1)


@pytest.mark.parametrize(
    ("since", "word", "accepted"),
    [(5, "yes", True), (5, "ok", False), (4, "yes", False), (3, "yes", False), (2, "yes", False)],
)
def test_only_a_clear_yes_right_after_a_plan_accepts_it(since: int, word: str, accepted: bool) -> None:
    told, after = heard(planned(5, since), word)
    assert bool(grants(told)) is accepted
    assert after.plan is not None
    assert after.plan.accepted is accepted
    waits = since >= 3 and not accepted
    assert (after.pending == PendingPrompt("plan", 6, plan="session.p1")) is waits


def test_asked_back_any_yes_accepts_the_plan() -> None:
    session = msgspec.structs.replace(planned(9, 2), pending=PendingPrompt("plan", 9, plan="session.p1"))
    told, after = heard(session, "ok")
    assert grants(told) == ["operation"]
    assert after.plan is not None
    assert after.plan.since == 9
    assert "plan of turn 2 accepted" in told.did
    assert "files.edit" in told.announced[0]


def test_an_accepted_plan_is_not_accepted_a_second_time() -> None:
    told, _ = heard(planned(5, 5, accepted=True, started=True), "yes")
    assert grants(told) == []


def test_a_change_to_a_plan_under_way_ends_its_consent_until_the_new_one_is_agreed_to() -> None:
    session = apply_effects(Session(turn=4), report_plan(Session(turn=4), PLAN, shown=True).effects)
    _, session = heard(session, "yes")
    assert session.all_grants
    told, after = heard(session, "yes, but skip b.py")
    assert not after.all_grants
    assert after.plan is not None
    assert (after.plan.accepted, after.plan.since) == (False, after.turn)
    assert after.pending == PendingPrompt("plan", after.turn, plan="session.p1")
    assert after.plan.text != PLAN
    assert after.plan.text.text in told.announced[0]
    assert PlanEnded("changed") in told.effects


def test_a_plan_agreed_to_again_after_a_change_has_not_been_started() -> None:
    _, changed = heard(planned(5, 5, accepted=True, started=True), "yes, but skip b.py")
    _, after = heard(changed, "yes")
    assert after.plan is not None
    assert (after.plan.accepted, after.plan.started) == (True, False)


def test_a_change_to_a_new_plan_leaves_the_consent_of_the_one_under_way_alone() -> None:
    under_way = Plan("session.p0", PLAN, 2, 2, accepted=True, started=True)
    given = Grant("g1", "operation", "files.edit", Risk.MODERATE, NOW + 60, "session", group="session.p0")
    session = msgspec.structs.replace(
        planned(5, 5), shelved=under_way, grants={given.key: (HeldGrant(given),)}, granted=1
    )
    _, after = heard(session, "yes, but skip b.py")
    assert after.shelved == under_way
    assert [held.grant.id for held in after.all_grants] == ["g1"]


def test_a_new_plan_accepted_ends_the_task_of_the_one_under_way_and_begins_its_own() -> None:
    session = planned(5, 5)
    under_way = Plan("session.p0", PLAN, 2, 2, accepted=True, started=True)
    told, after = heard(msgspec.structs.replace(session, shelved=under_way), "yes")
    assert after.task is not None
    assert (after.task.id, after.task.began, after.task.active, after.tasks) == ("session.t2", 6, 6, 2)
    assert after.task.name == "new plan"
    assert after.plan is not None
    assert (after.plan.id, after.plan.accepted, after.shelved) == ("session.p1", True, None)
    assert [held.grant.bound_to for held in after.all_grants] == ["session.t2"]
    assert told.cleared


def test_a_new_plan_refused_gives_the_one_under_way_back_and_that_one_refused_ends() -> None:
    under_way = Plan("session.p0", PLAN, 2, 2, accepted=True, started=True)
    session = msgspec.structs.replace(planned(5, 5), shelved=under_way)
    told, after = heard(session, "no")
    assert (after.plan, after.shelved) == (under_way, None)
    assert "the new plan is refused; the one under way goes on" in told.did
    assert told.cleared == ()
    told, after = heard(after, "no")
    assert after.plan is None
    assert "the plan is refused" in told.did
    assert PlanEnded("refused") in told.effects
    assert told.cleared == ("plan consent (you said no)",)
    told, after = heard(planned(5, 5), "no")
    assert (after.plan, told.cleared) == (None, ())
