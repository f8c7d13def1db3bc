"""What a decision changes: notices, a task's activity, what was sent, the plan."""

from __future__ import annotations

import msgspec
import pytest

from sayso.core import words
from sayso.core.decision import Decision
from sayso.core.effects import (
    Alerted,
    ContentSent,
    GrantAdded,
    GrantUsed,
    Noticed,
    PlanDeviated,
    PlanStarted,
    TaskActive,
)
from sayso.core.grants import Grant, HeldGrant
from sayso.core.model import Operation, Risk
from sayso.core.policy import Detail, Domain, compile_policy
from sayso.core.session import Denial, Plan, Session, Suspension, Task, apply_effects
from sayso.core.session.plan_text import PlanText
from sayso.gate.deciding.request import make_call, make_request
from tests.unit.deciding import COMMIT, NOW, POLICY, SURE, TASK, decided, retry_of

# Effects


def test_an_allow_by_confidence_owes_the_operator_a_notice() -> None:
    sure = msgspec.structs.replace(COMMIT, confidence=0.9)
    decision = decided(SURE, Session(), sure, notices=True)
    assert decision.rule == "confident"
    assert decision.effects == (Noticed(words.confidence_reason("git.commit", 0.9)),)


def test_the_operator_is_alerted_to_an_attempt_at_what_never_runs() -> None:
    wipe = make_request(make_call("wipe"), [Operation("files.wipe")])
    assert decided(POLICY, Session(), wipe).effects == (Alerted(words.block_alert("files.wipe")),)


@pytest.mark.parametrize("started", [False, True])
def test_the_first_call_on_a_plans_consent_starts_the_plan_and_no_later_one_does(started: bool) -> None:
    text = PlanText("a plan", operations=("git.commit",))
    plan = Plan("plan-1", text, turn=1, since=1, accepted=True, started=started)
    given = Grant("g1", "operation", "git.commit", Risk.MODERATE, NOW + 60, "session", group="plan-1")
    session = Session(turn=2, heard_at=NOW, plan=plan, grants={given.key: (HeldGrant(given),)})
    decision = decided(POLICY, session)
    assert decision.rule == "plan"
    assert (PlanStarted() in decision.effects) is not started


# What an allow changes in the task


def working(category: str, task: Task, turn: int) -> Decision:
    """An allowed call of this category in a task."""
    policy = compile_policy(
        domains={"some": Domain(("work",))}, operations={"some.work": Detail(category=category)}
    )
    request = make_request(make_call("tool"), [Operation("some.work")])
    return decided(policy, Session(turn=turn, task=task), request, reviews={"some": NOW})


@pytest.mark.parametrize(
    ("category", "phase"),
    [
        ("file-edit", "implementing"),
        ("scripts", "implementing"),
        ("test-build", "testing"),
        ("git-local", "committing"),
        ("git-remote", "committing"),
        ("network", None),
    ],
)
def test_an_allowed_call_keeps_its_task_active_and_its_category_tells_the_phase(
    category: str, phase: str | None
) -> None:
    assert working(category, TASK, turn=3).effects == (TaskActive(3, phase, (category,)),)


def test_the_activity_of_a_task_is_told_once_a_turn_unless_its_phase_or_what_ran_in_it_changes() -> None:
    ran = ("network", "test-build", "git-local")
    task = msgspec.structs.replace(TASK, active=3, phase="testing", ran=ran)
    assert working("scripts", task, turn=3).effects == (TaskActive(3, "implementing", ("scripts",)),)
    assert working("network", task, turn=3).effects == ()
    assert working("test-build", task, turn=3).effects == ()
    assert working("git-local", task, turn=3).effects == (TaskActive(3, "committing"),)
    assert working("test-build", task, turn=4).effects == (TaskActive(4, "testing"),)


def test_the_last_operation_of_a_call_tells_the_phase() -> None:
    details = {"some.edit": Detail(category="file-edit"), "some.test": Detail(category="test-build")}
    policy = compile_policy(domains={"some": Domain(("edit", "test"))}, operations=details)
    request = make_request(make_call("tool"), [Operation("some.edit"), Operation("some.test")])
    decision = decided(policy, Session(turn=3, task=TASK), request, reviews={"some": NOW})
    assert decision.effects == (TaskActive(3, "testing", ("file-edit", "test-build")),)


@pytest.mark.parametrize(
    ("content", "sent"), [("hello", (ContentSent("mail", "hello", "mail.send", NOW),)), (None, ())]
)
def test_only_what_has_content_is_remembered_as_sent(
    content: str | None, sent: tuple[ContentSent, ...]
) -> None:
    policy = compile_policy(domains={"mail": Domain(("send",), fan_out="single")})
    request = make_request(make_call("tool"), [Operation("mail.send", content=content)])
    assert decided(policy, Session(), request, reviews={"mail": NOW}).effects == sent


def test_where_content_may_go_out_twice_it_is_not_remembered_as_sent() -> None:
    policy = compile_policy(domains={"mail": Domain(("send",), fan_out="any")})
    request = make_request(make_call("tool"), [Operation("mail.send", content="hello")])
    assert decided(policy, Session(), request, reviews={"mail": NOW}).effects == ()


# Several operations in one call


def test_a_question_leaves_no_suspended_operation_out_because_another_one_retried() -> None:
    """The retry of one operation ends with the question; the suspension of another one stays what it is."""
    policy = compile_policy(
        domains={"git": Domain(requires_approval=("commit", "push", "fetch"))},
        operations={"git.push": Detail(risk=Risk.HIGH)},
    )
    request = make_request(
        make_call("tool"), [Operation(f"git.{each}") for each in ("commit", "push", "fetch")]
    )
    suspended = {"git.commit": Suspension(request.digest), "git.fetch": Suspension("another call")}
    given = Grant(
        "g1", "category", "git.fetch", Risk.MODERATE, NOW + 60, "session", ends_with="task", bound_to="task-1"
    )
    retry = retry_of(request, "git.commit", policy)
    grants = {given.key: (HeldGrant(given),), retry.key: (HeldGrant(retry),)}
    session = Session(task=TASK, suspended=suspended, grants=grants)
    decision = decided(policy, session, request)
    assert [item.operation for item in decision.items_to_ask] == ["git.commit", "git.push", "git.fetch"]


MANY = compile_policy(
    domains={
        "git": Domain(requires_approval=("commit",)),
        "files": Domain((), (), ("wipe",)),
        "self_modification": Domain(requires_approval=("prune",), trusted_channel_required=("prune",)),
    },
    operations={"files.wipe": Detail(risk=Risk.LOW)},
)


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [("self_modification.prune", "files.wipe"), ("git.commit", "self_modification.prune")],
)
def test_never_is_stricter_than_the_wrong_channel_and_that_than_a_persons_no_whatever_the_risks(
    weaker: str, stronger: str
) -> None:
    operations = [Operation(weaker, risk=Risk.HIGH), Operation(stronger)]
    request = make_request(make_call("tool"), operations)
    session = Session(turn=1, denials={request.digest: Denial(1, NOW)})
    rules = {
        "files.wipe": "blocked",
        "self_modification.prune": "trusted_channel",
        "git.commit": "denied_call",
    }
    decision = decided(MANY, session, request)
    assert [item.ruling.rule for item in decision.items] == [rules[weaker], rules[stronger]]
    assert decision.rule == rules[stronger]


TWO = make_request(make_call("tool"), [Operation("git.commit"), Operation("files.edit")])


def test_each_grant_that_a_call_of_several_operations_uses_is_counted_and_announced() -> None:
    grants = [
        Grant(
            f"g-{name}",
            "category",
            name,
            Risk.MODERATE,
            NOW + 60,
            "session",
            ends_with="task",
            bound_to="task-1",
        )
        for name in ("git.commit", "files.edit")
    ]
    session = Session(turn=1, task=TASK, grants={one.key: (HeldGrant(one),) for one in grants})
    decision = decided(POLICY, session, TWO)
    assert decision.grants == ("g-git.commit", "g-files.edit")
    activity = TaskActive(1, None, ("git.commit", "files.edit"))
    assert decision.effects == (*(GrantUsed(one.key, one.id) for one in grants), activity)
    assert decision.announce is not None
    assert decision.announce.splitlines() == [
        words.announce_task_consent("git.commit", 0),
        words.announce_task_consent("files.edit", 0),
    ]


def test_a_call_of_several_operations_that_have_nothing_to_announce_announces_nothing() -> None:
    policy = compile_policy(domains={"files": Domain(("read", "list"))})
    request = make_request(make_call("tool"), [Operation("files.read"), Operation("files.list")])
    assert decided(policy, Session(), request, reviews={"files": NOW}).announce is None


def test_a_call_that_never_runs_does_not_end_the_plan_as_one_that_is_asked_does() -> None:
    plan = Plan("plan-1", PlanText("a plan", operations=("files.edit",)), 1, 1, accepted=True)
    session = Session(turn=2, heard_at=NOW, plan=plan)
    assert decided(POLICY, session).effects == (PlanDeviated(),)
    never = make_request(make_call("tool"), [Operation("git.commit"), Operation("files.wipe")])
    decision = decided(POLICY, session, never)
    assert decision.rule == "blocked"
    assert PlanDeviated() not in decision.effects


@pytest.mark.parametrize(
    ("operations", "target", "accepted", "leaves"),
    [
        (("git.commit",), "a.py", True, False),
        (("git.commit",), None, True, False),
        (("git.commit",), "b.py", True, True),
        (("files.edit",), "a.py", True, True),
        (("files.edit",), "a.py", False, False),
    ],
)
def test_a_question_ends_the_accepted_plan_if_it_is_about_another_operation_or_target(
    operations: tuple[str, ...], target: str | None, accepted: bool, leaves: bool
) -> None:
    text = PlanText("a plan", targets=("a.py",), operations=("git.commit",))
    session = Session(turn=2, heard_at=NOW, plan=Plan("plan-1", text, 1, 1, accepted=accepted))
    request = make_request(make_call("tool", {}, target=target), [Operation(each) for each in operations])
    decision = decided(POLICY, session, request)
    assert decision.rule == "ask"
    assert (PlanDeviated() in decision.effects) is leaves


def test_what_is_allowed_beside_a_question_does_not_end_the_plan() -> None:
    text = PlanText("a plan", operations=("git.commit",))
    given = Grant("g1", "operation", "files.edit", Risk.MODERATE, NOW + 60, "session")
    plan = Plan("plan-1", text, 1, 1, accepted=True)
    decision = decided(POLICY, Session(turn=2, plan=plan, grants={given.key: (HeldGrant(given),)}), TWO)
    assert [item.ruling.rule for item in decision.items] == ["ask", "operation_grant"]
    assert PlanDeviated() not in decision.effects


def test_a_category_consented_to_twice_is_held_twice_and_named_once() -> None:
    given = [
        Grant(f"g{n}", "category", "git.commit", Risk.MODERATE, NOW + 60, "session", bound_to="task-1")
        for n in (1, 2)
    ]
    session = apply_effects(Session(task=TASK), [GrantAdded(one) for one in given])
    assert [held.grant.id for held in session.all_grants] == ["g1", "g2"]
    assert session.granted == 2
    assert session.task is not None
    assert session.task.consented == ("git.commit",)
    other = Grant("g3", "operation", "files.edit", Risk.MODERATE, NOW + 60, "session")
    assert apply_effects(Session(task=TASK), [GrantAdded(other)]).task == TASK
    assert apply_effects(Session(), [GrantAdded(given[0])]).task is None
