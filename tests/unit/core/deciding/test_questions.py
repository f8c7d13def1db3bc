"""Questions: what is kept of one, what each answer gives, what clearing tells."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.core.conversation.clearing import list_lost_consents
from sayso.core.deciding.decide import decide
from sayso.core.deciding.offers import with_offers
from sayso.core.deciding.questions import (
    effects_of_answer,
    effects_of_showing,
    find_or_open_question,
    is_open,
)
from sayso.core.decision import Question
from sayso.core.effects import CallRefused, QuestionClosed, SuspensionLifted
from sayso.core.errors import UnknownAnswer
from sayso.core.grants import Grant, GrantKind, HeldGrant, Pins
from sayso.core.model import Operation, Request, Risk
from sayso.core.policy import Policy, Settings, terms_of
from sayso.core.session import Session, Suspension, View, apply_effects
from sayso.gate.deciding.request import make_call, make_request
from tests.unit.conversing import COMMIT, DAY, NOW, POLICY, PUSH, TASK, given


def grant(name: str, kind: GrantKind, value: str, **fields: Any) -> Grant:
    return Grant(
        name, kind, value, **{"risk": Risk.MODERATE, "expires_at": NOW + 60, "session": "session", **fields}
    )


def holding(*held: HeldGrant, **fields: Any) -> Session:
    return Session(turn=2, heard_at=NOW, grants={each.grant.key: (each,) for each in held}, **fields)


def question(name: str, *operations: str) -> Question:
    request = make_request(make_call("tool"), [Operation(each) for each in operations])
    items = decide(request, POLICY, View(Session()), NOW).items
    return Question(name, request, items, (), "Proceed?", turn=1, opened_at=NOW)


def asked(session: Session, request: Request = COMMIT, policy: Policy = POLICY) -> tuple[Question, Session]:
    """The question a call opens, and the session in which it has been shown."""
    view = View(session)
    decision = with_offers(decide(request, policy, view, NOW), request, policy, view, NOW)
    opened = find_or_open_question(decision, request, policy, session, NOW)
    return opened, apply_effects(session, effects_of_showing(opened, session))


# Clearing


def test_what_clearing_tells_is_what_was_live_before_and_is_gone_or_revoked_after() -> None:
    stays = HeldGrant(grant("g1", "operation", "git.commit"))
    goes = HeldGrant(grant("g2", "operation", "git.push"))
    over = HeldGrant(grant("g3", "command", "git status", expires_at=NOW))
    taken = HeldGrant(grant("g4", "command", "git push"))
    open_ones = {"q1": question("q1", "git.push", "git.commit"), "q2": question("q2", "git.commit")}
    before = holding(stays, goes, over, taken, questions=open_ones)
    after = holding(
        stays, msgspec.structs.replace(taken, revoked=True), questions={"q2": question("q2", "git.commit")}
    )
    assert list_lost_consents(before, after, NOW) == (
        "grant for git.push",
        "standing consent for git push",
        "open question about git.push",
    )


def test_no_question_or_consent_is_missing_from_what_clearing_tells_because_another_has_its_name() -> None:
    pinned = [
        HeldGrant(grant(f"g{n}", "call", f"digest {n}", pins=Pins(operations=("git.push",)))) for n in (1, 2)
    ]
    planned = [HeldGrant(grant(f"p{n}", "operation", f"git.{n}", group="plan 1")) for n in (1, 2)]
    open_ones = {f"q{n}": question(f"q{n}", "git.push") for n in (1, 2, 3)}
    before = holding(*pinned, *planned, questions=open_ones)
    assert list_lost_consents(before, Session(), NOW) == (
        "plan consent",
        "approval of git.push (2 of them)",
        "3 open questions about git.push",
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
    again = find_or_open_question(decision, COMMIT, POLICY, session, NOW + 60)
    assert (again.id, again.opened_at) == (first.id, NOW)
    other = find_or_open_question(decide(PUSH, POLICY, view, NOW + 60), PUSH, POLICY, session, NOW + 60)
    assert (other.id, other.opened_at) == ("session.q8", NOW + 60)


def test_a_question_is_open_for_two_hours_and_not_a_second_longer() -> None:
    opened, session = asked(Session())
    assert is_open(opened, session, POLICY, NOW + 7199)
    assert not is_open(opened, session, POLICY, NOW + 7200)


ANSWERED: dict[str, Any] = {
    "turn": 5,
    "given_at": NOW,
    "given_by": "ana",
    "question": "session.q1",
    "policy": "policy-1",
    "asked_for": "commit",
    "terms": terms_of(POLICY, [("git.commit", Risk.MODERATE)]),
}
APPROVAL = Grant(
    "session.g3",
    "call",
    COMMIT.digest,
    Risk.MODERATE,
    NOW + 900,
    "session",
    Pins(tool="commit", operations=("git.commit",)),
    uses=1,
    ends_with="task",
    bound_to=TASK.id,
    **ANSWERED,
)
EXACT = Pins(tool="commit", workspace="/w", arguments=COMMIT.arguments_digest)


def wider(kind: GrantKind, value: str, lasts: float, pins: Pins, **ends: Any) -> Grant:
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
    effects = effects_of_answer(opened, reply, POLICY, session, NOW, by="ana")
    assert given(effects) == [APPROVAL, *more]
    assert effects[-1] == QuestionClosed("session.q1", reply)
    assert {one.source for one in given(effects)} == {"explicit"}


def test_without_a_task_an_approval_ends_with_the_session_and_high_risk_waits_ten_minutes() -> None:
    opened, session = asked(Session(turn=5), PUSH)
    (approval,) = given(effects_of_answer(opened, "once", POLICY, session, NOW, seen=PUSH.digest))
    assert (approval.ends_with, approval.bound_to, approval.expires_at) == ("session", None, NOW + 600)
    assert (approval.given_by, approval.risk) == ("operator", Risk.HIGH)


def test_pinned_to_the_operation_a_grant_still_holds_in_one_workspace_only() -> None:
    loose = msgspec.structs.replace(POLICY, settings=Settings(grant_pins="operation"))
    opened, session = asked(Session(turn=5), policy=loose)
    _, always = given(effects_of_answer(opened, "always", loose, session, NOW))
    assert always.pins == Pins(workspace="/w")
    offers = {offer.answer: offer.words for offer in opened.offers}
    assert offers["always"].endswith(": git.commit")
    exact = {offer.answer: offer.words for offer in asked(Session(turn=5))[0].offers}
    assert exact["always"].endswith(": git.commit with exactly these arguments")


def test_a_no_closes_the_question_and_is_remembered_for_this_turn() -> None:
    opened, session = asked(Session(turn=5))
    assert effects_of_answer(opened, "deny", POLICY, session, NOW) == (
        CallRefused(COMMIT.digest, 5, NOW),
        QuestionClosed("session.q1", "deny"),
    )


def test_a_yes_for_the_task_does_not_outlive_the_task_it_was_asked_in() -> None:
    opened, session = asked(Session(turn=5, task=TASK))
    for task in (None, msgspec.structs.replace(TASK, id="session.t2")):
        later = msgspec.structs.replace(session, task=task)
        with pytest.raises(UnknownAnswer):
            effects_of_answer(opened, "task", POLICY, later, NOW)
        assert effects_of_answer(opened, "once", POLICY, later, NOW)


def test_a_yes_lifts_the_suspension_of_what_it_is_about_and_of_nothing_else() -> None:
    suspended = {"git-local": Suspension("another call"), "files.edit": Suspension("another call")}
    opened, session = asked(Session(turn=5, suspended=suspended))
    effects = effects_of_answer(opened, "once", POLICY, session, NOW)
    assert [effect for effect in effects if isinstance(effect, SuspensionLifted)] == [
        SuspensionLifted("git-local")
    ]


def test_a_folded_question_names_the_command_that_shows_all_of_it() -> None:
    request = make_request(make_call("write", {"text": "x" * 3_000}), [Operation("git.commit")])
    opened, _ = asked(Session(), request)
    assert not opened.complete
    assert f"`sayso inbox {opened.id}` and the page show all of it" in opened.text
