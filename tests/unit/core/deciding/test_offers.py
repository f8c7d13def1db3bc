"""What is offered and what an answer then gives."""

from __future__ import annotations

import msgspec

from sayso.core.deciding.decide import decide
from sayso.core.deciding.offers import with_offers
from sayso.core.deciding.questions import effects_of_answer, effects_of_showing, find_or_open_question
from sayso.core.deciding.showing import describe_whole_call
from sayso.core.decision import Question
from sayso.core.effects import GrantAdded, SuspensionLifted
from sayso.core.grants import Grant, HeldGrant
from sayso.core.model import Mode, Operation, Request, Risk
from sayso.core.policy import Detail, Domain, Policy, Settings, compile_policy
from sayso.core.session import Session, Suspension, Task, View, apply_effects
from sayso.gate.deciding.request import make_call, make_request

NOW = 1_800_000_000.0
TASK = Task("task-1", "work", 1, 1)
POLICY = compile_policy(
    domains={"git": Domain(requires_approval=("commit", "push", "fetch"))},
    operations={
        "git.commit": Detail(category="git-local"),
        "git.fetch": Detail(category="git-local", risk=Risk.LOW),
        "git.push": Detail(risk=Risk.HIGH),
    },
)
TRUSTING = msgspec.structs.replace(
    POLICY, mode=Mode.TRUSTING, settings=Settings(trusting_remembers_high=True)
)


def call(*operations: str, command: str | None = None) -> Request:
    made = make_call("shell", {}, command=command, workspace="/w")
    return make_request(made, [Operation(f"git.{each}") for each in operations])


def asked(session: Session, request: Request, policy: Policy = POLICY) -> tuple[Question, Session]:
    view = View(session)
    decision = with_offers(decide(request, policy, view, NOW), request, policy, view, NOW)
    question = find_or_open_question(decision, request, policy, session, NOW)
    return question, apply_effects(session, effects_of_showing(question, session))


def given(reply: str, request: Request, session: Session, policy: Policy = POLICY) -> list[Grant]:
    """What an answer gives beside the approval of the call."""
    question, session = asked(session, request, policy)
    effects = effects_of_answer(question, reply, policy, session, NOW, seen=request.digest)
    return [effect.grant for effect in effects if isinstance(effect, GrantAdded)][1:]


def test_an_answer_that_makes_no_sense_is_not_offered_because_a_yes_would_lift_a_suspension() -> None:
    """The yes itself lets the consent of the task count again; to remember the tool adds nothing to that."""
    consent = Grant(
        "g1", "category", "git-local", Risk.MODERATE, NOW + 60, "session", ends_with="task", bound_to="task-1"
    )
    session = Session(
        task=TASK,
        suspended={"git-local": Suspension("another call")},
        grants={consent.key: (HeldGrant(consent),)},
    )
    question, _ = asked(session, call("commit"))
    assert [offer.answer for offer in question.offers] == ["once", "task", "temporary", "always", "deny"]


def test_where_nothing_is_suspended_a_yes_lifts_nothing() -> None:
    question, session = asked(Session(), call("commit"))
    effects = effects_of_answer(question, "once", POLICY, session, NOW)
    assert not [effect for effect in effects if isinstance(effect, SuspensionLifted)]


def test_a_tool_is_remembered_at_the_highest_risk_of_its_operations_and_then_with_its_arguments() -> None:
    request = call("commit", "push")
    (remembered,) = given("remember", request, Session(), TRUSTING)
    assert remembered.risk is Risk.HIGH
    assert remembered.pins.arguments == request.arguments_digest


def test_a_category_is_consented_to_at_the_highest_risk_that_was_asked_for() -> None:
    policy = msgspec.structs.replace(POLICY, settings=Settings(safe="ask"))
    for operations in (("commit", "fetch"), ("fetch", "commit")):
        (consent,) = given("task", call(*operations), Session(task=TASK), policy)
        assert (consent.value, consent.risk) == ("git-local", Risk.MODERATE)


def test_a_command_is_granted_for_this_tool_in_this_workspace_and_named_in_the_offer() -> None:
    request = call("commit", command="git commit -m done")
    (always,) = given("always", request, Session())
    assert (always.pins.tool, always.pins.workspace) == ("shell", "/w")
    assert always.pins.command == "git commit -m done"
    words = {offer.answer: offer.words for offer in asked(Session(), request)[0].offers}
    assert words["always"].endswith(": git commit -m done")


def test_a_question_shows_target_and_arguments_where_there_are_any() -> None:
    operations = [Operation("git.commit")]
    plain = make_request(make_call("tool"), operations)
    full = make_request(make_call("tool", {"all": True, "message": "done"}, target="a.py"), operations)
    items = decide(plain, POLICY, View(Session()), NOW).items
    facts = ["  tool: tool", "  does: git.commit (moderate risk)"]
    assert describe_whole_call(plain, items) == ["- git.commit", *facts]
    arguments = ["  arguments:", "    all: true", '    message: "done"']
    assert describe_whole_call(full, items) == ["- git.commit a.py", *facts, *arguments]
