"""Details of the conversation: what clearing tells, what answers and messages record, how far they reach."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.core import lifecycle, words
from sayso.core.asking import answer, is_open, open_question, show
from sayso.core.clearing import lost
from sayso.core.decide import decide
from sayso.core.decision import Question
from sayso.core.effects import (
    Changed,
    Cleared,
    Closed,
    Effect,
    Granted,
    Lifted,
    PlanEnded,
    Refused,
    Suspended,
)
from sayso.core.errors import UnknownAnswer
from sayso.core.grants import Grant, Held, Kind, Pins
from sayso.core.hear import Heard, hear
from sayso.core.model import Assurance, Mode, Operation, Request, Risk
from sayso.core.offers import with_offers
from sayso.core.plan_text import PlanText
from sayso.core.plans import render_plan
from sayso.core.policy import Detail, Domain, Policy, Settings, compile_policy
from sayso.core.session import Pending, Plan, Session, Suspension, Task, View, apply
from sayso.gate.request import make_call, make_request

NOW = 1_800_000_000.0
DAY = 86_400.0
POLICY = compile_policy(
    mode=Mode.TRUSTING,
    domains={
        "git": Domain(requires_approval=("commit", "push")),
        "files": Domain(requires_approval=("edit",)),
    },
    operations={"git.commit": Detail(category="git-local"), "git.push": Detail(risk=Risk.HIGH)},
    digest="policy-1",
)
TASK = Task("session.t1", "work", 1, 4)
COMMIT = make_request(make_call("commit", {"all": True}, workspace="/w"), [Operation("git.commit")])
PUSH = make_request(make_call("push", {}, workspace="/w"), [Operation("git.push")])
PLAN = render_plan(["a.py"], ["rename it"], None, None, ["files.edit"])


def grant(name: str, kind: Kind, value: str, **fields: Any) -> Grant:
    return Grant(
        name, kind, value, **{"risk": Risk.MODERATE, "expires_at": NOW + 60, "session": "session", **fields}
    )


def holding(*held: Held, **fields: Any) -> Session:
    return Session(turn=2, heard_at=NOW, grants={each.grant.key: (each,) for each in held}, **fields)


def question(name: str, *operations: str) -> Question:
    request = make_request(make_call("tool"), [Operation(each) for each in operations])
    items = decide(request, POLICY, View(Session()), NOW).items
    return Question(name, request, items, (), "Proceed?", turn=1, opened_at=NOW)


def asked(session: Session, request: Request = COMMIT, policy: Policy = POLICY) -> tuple[Question, Session]:
    """The question a call opens, and the session in which it has been shown."""
    view = View(session)
    decision = with_offers(decide(request, policy, view, NOW), request, policy, view, NOW)
    opened = open_question(decision, request, policy, session, NOW)
    return opened, apply(session, show(opened, session))


def heard(session: Session, text: str, policy: Policy = POLICY, **how: Any) -> tuple[Heard, Session]:
    told = hear(session, text, policy, NOW, **how)
    return told, apply(session, told.effects)


def given(effects: tuple[Effect, ...]) -> list[Grant]:
    return [effect.grant for effect in effects if isinstance(effect, Granted)]


# Clearing


def test_what_clearing_tells_is_what_was_live_before_and_is_gone_or_revoked_after() -> None:
    stays = Held(grant("g1", "operation", "git.commit"))
    goes = Held(grant("g2", "operation", "git.push"))
    over = Held(grant("g3", "command", "git status", expires_at=NOW))
    taken = Held(grant("g4", "command", "git push"))
    open_ones = {"q1": question("q1", "git.push", "git.commit"), "q2": question("q2", "git.commit")}
    before = holding(stays, goes, over, taken, questions=open_ones)
    after = holding(
        stays, msgspec.structs.replace(taken, revoked=True), questions={"q2": question("q2", "git.commit")}
    )
    assert lost(before, after, NOW) == (
        "grant for git.push",
        "standing consent for git push",
        "open question about git.push",
    )


# Questions and answers


def test_a_question_remembers_call_turn_task_and_time_and_gets_the_next_number() -> None:
    session = Session(turn=5, asked=6, task=TASK)
    opened, _ = asked(session)
    assert (opened.id, opened.turn, opened.task, opened.opened_at) == ("session.q7", 5, TASK.id, NOW)
    assert opened.request is COMMIT
    assert [item.operation for item in opened.items] == ["git.commit"]
    assert asked(Session())[0].task is None


def test_the_same_call_asked_again_joins_the_open_question_and_keeps_its_age() -> None:
    first, session = asked(Session(turn=5, asked=6))
    view = View(session)
    decision = decide(COMMIT, POLICY, view, NOW + 60)
    again = open_question(decision, COMMIT, POLICY, session, NOW + 60)
    assert (again.id, again.opened_at) == (first.id, NOW)
    other = open_question(decide(PUSH, POLICY, view, NOW + 60), PUSH, POLICY, session, NOW + 60)
    assert (other.id, other.opened_at) == ("session.q8", NOW + 60)


def test_a_question_is_open_for_two_hours_and_not_a_second_longer() -> None:
    opened, session = asked(Session())
    assert is_open(opened, session, NOW + 7199)
    assert not is_open(opened, session, NOW + 7200)


ANSWERED: dict[str, Any] = {
    "turn": 5,
    "given_at": NOW,
    "given_by": "ana",
    "question": "session.q1",
    "policy": "policy-1",
}
APPROVAL = Grant(
    "session.g3",
    "call",
    COMMIT.digest,
    Risk.MODERATE,
    NOW + 900,
    "session",
    Pins(operations=("git.commit",)),
    uses=1,
    ends_with="task",
    bound_to=TASK.id,
    **ANSWERED,
)
EXACT = Pins(tool="commit", workspace="/w", arguments=COMMIT.arguments_digest)


def wider(kind: Kind, value: str, lasts: float, pins: Pins, **ends: Any) -> Grant:
    """What an answer gives beside the approval of the call."""
    return Grant("session.g4", kind, value, Risk.MODERATE, NOW + lasts, "session", pins, **ends, **ANSWERED)


@pytest.mark.parametrize(
    ("reply", "more"),
    [
        ("once", []),
        ("task", [wider("category", "git-local", DAY, Pins(), ends_with="task", bound_to=TASK.id)]),
        ("temporary", [wider("operation", "git.commit", 900, EXACT)]),
        ("always", [wider("operation", "git.commit", DAY, EXACT)]),
        ("remember", [wider("tool", "commit", DAY, Pins(operations=("git.commit",)))]),
    ],
)
def test_an_answer_gives_exactly_its_grants_with_who_gave_them_when_and_on_which_question(
    reply: str, more: list[Grant]
) -> None:
    opened, session = asked(Session(turn=5, granted=2, task=TASK))
    effects = answer(opened, reply, POLICY, session, NOW, by="ana")
    assert given(effects) == [APPROVAL, *more]
    assert effects[-1] == Closed("session.q1", reply)
    assert {one.source for one in given(effects)} == {"explicit"}


def test_without_a_task_an_approval_ends_with_the_session_and_high_risk_waits_ten_minutes() -> None:
    opened, session = asked(Session(turn=5), PUSH)
    (approval,) = given(answer(opened, "once", POLICY, session, NOW))
    assert (approval.ends_with, approval.bound_to, approval.expires_at) == ("session", None, NOW + 600)
    assert (approval.given_by, approval.risk) == ("operator", Risk.HIGH)


def test_pinned_to_the_operation_a_grant_still_holds_in_one_workspace_only() -> None:
    loose = msgspec.structs.replace(POLICY, settings=Settings(grant_pins="operation"))
    opened, session = asked(Session(turn=5), policy=loose)
    _, always = given(answer(opened, "always", loose, session, NOW))
    assert always.pins == Pins(workspace="/w")
    offers = {offer.answer: offer.words for offer in opened.offers}
    assert offers["always"].endswith(": git.commit")
    exact = {offer.answer: offer.words for offer in asked(Session(turn=5))[0].offers}
    assert exact["always"].endswith(": git.commit with exactly these arguments")


def test_a_no_closes_the_question_and_is_remembered_for_this_turn() -> None:
    opened, session = asked(Session(turn=5))
    assert answer(opened, "deny", POLICY, session, NOW) == (
        Refused(COMMIT.digest, 5, NOW),
        Closed("session.q1", "deny"),
    )


def test_a_yes_for_the_task_does_not_outlive_the_task_it_was_asked_in() -> None:
    opened, session = asked(Session(turn=5, task=TASK))
    for task in (None, msgspec.structs.replace(TASK, id="session.t2")):
        later = msgspec.structs.replace(session, task=task)
        with pytest.raises(UnknownAnswer):
            answer(opened, "task", POLICY, later, NOW)
        assert answer(opened, "once", POLICY, later, NOW)


def test_a_yes_lifts_the_suspension_of_what_it_is_about_and_of_nothing_else() -> None:
    suspended = {"git-local": Suspension("another call"), "files.edit": Suspension("another call")}
    opened, session = asked(Session(turn=5, suspended=suspended))
    effects = answer(opened, "once", POLICY, session, NOW)
    assert [effect for effect in effects if isinstance(effect, Lifted)] == [Lifted("git-local")]


# Messages


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
    session = apply(Session(turn=4, granted=7), lifecycle.show_plan(Session(turn=4), PLAN).effects)
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
        turn=3, slash="/go", slash_calls=4, imperatives=("git status",), pending=Pending("plan", 3)
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


# What the host reports


def test_a_concrete_plan_is_numbered_and_puts_the_one_under_way_aside() -> None:
    under_way = Plan("session.p1", PLAN, 2, 2, accepted=True)
    session = Session(turn=4, plan=under_way, plans=1, task=TASK)
    after = apply(session, lifecycle.show_plan(session, PLAN).effects)
    assert after.plan == Plan("session.p2", PLAN, 4, 4)
    assert (after.shelved, after.plans) == (under_way, 2)
    assert after.task is not None
    assert after.task.plan_turn == 4
    newer = apply(after, lifecycle.show_plan(after, PLAN).effects)
    assert newer.shelved == under_way


def test_a_plan_that_is_not_concrete_replaces_none_and_leaves_the_task_alone() -> None:
    vague = PlanText("we could look around")
    assert not vague.concrete
    under_way = Plan("session.p1", PLAN, 2, 2, accepted=True)
    assert lifecycle.show_plan(Session(turn=4, plan=under_way), vague).effects == ()
    after = apply(Session(turn=4, task=TASK), lifecycle.show_plan(Session(turn=4, task=TASK), vague).effects)
    assert after.plan == Plan("session.p1", vague, 4, 4)
    assert (after.task, after.shelved) == (TASK, None)


def test_a_task_the_host_begins_ends_the_one_before() -> None:
    first = lifecycle.begin_task(Session(turn=4), "docs", NOW)
    assert first.effects == (Changed({"task": Task("session.t1", "docs", 4, 4), "tasks": 1}),)
    assert (first.announced, first.cleared) == ((), ())
    second = lifecycle.begin_task(Session(turn=4, task=TASK, tasks=1), "docs", NOW)
    assert [type(effect) for effect in second.effects] == [Cleared, Changed]
    assert second.announced
    assert second.cleared


@pytest.mark.parametrize(
    ("report", "reach"),
    [
        (lifecycle.end_task, "task"),
        (lifecycle.switch, "all_but_allowlist"),
        (lifecycle.end_session, "everything"),
    ],
)
def test_the_end_of_a_task_a_context_or_a_session_clears_as_much_as_it_should(
    report: Any, reach: str
) -> None:
    (effect,) = report(Session(task=TASK), NOW).effects
    assert effect.reach == reach


def outcome(
    session: Session, ok: bool, request: Request = COMMIT, policy: Policy = POLICY
) -> lifecycle.Report:
    return lifecycle.outcome(session, request, decide(request, policy, View(session), NOW), ok, policy, NOW)


def test_a_success_lifts_the_suspension_of_the_identical_call_only() -> None:
    same, other = Suspension(COMMIT.digest), Suspension("another call")
    assert outcome(Session(suspended={"git-local": same}), ok=True).effects == (Lifted("git-local"),)
    assert outcome(Session(suspended={"git-local": other}), ok=True).effects == ()
    assert outcome(Session(), ok=True).effects == ()


def test_a_failure_suspends_its_category_and_ends_the_plan_under_way() -> None:
    assert outcome(Session(), ok=False).effects == (Suspended("git-local", COMMIT.digest),)
    plan = Plan("session.p1", PLAN, 2, 2)
    assert PlanEnded("failed") not in outcome(Session(plan=plan), ok=False).effects
    accepted = msgspec.structs.replace(plan, accepted=True)
    for session in (Session(plan=accepted), Session(plan=plan, shelved=accepted)):
        report = outcome(session, ok=False)
        assert report.effects == (Suspended("git-local", COMMIT.digest), PlanEnded("failed"))
        assert report.cleared
        assert report.announced
    strict = msgspec.structs.replace(POLICY, settings=Settings(on_failure="clear"))
    report = outcome(Session(task=TASK), ok=False, policy=strict)
    assert [type(effect) for effect in report.effects] == [Suspended, Cleared]
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
    text = render_plan(["a.py", "b.py"], ["rename it"], None, None, ["files.edit"])
    session = Session(plan=Plan("session.p1", text, 2, 2, accepted=True))
    edits = [
        make_request(make_call("edit", {}, target=target), [Operation("files.edit")])
        for target in ("a.py", "b.py")
    ]
    session = apply(session, outcome(session, ok=True, request=edits[0]).effects)
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
    assert lifecycle.switch(Session(task=TASK), NOW).announced == (words.cleared("the context switched"),)
