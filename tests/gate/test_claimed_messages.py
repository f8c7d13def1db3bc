"""What a host only claims that the user said: it tightens at once; before it loosens, somebody is asked."""

from __future__ import annotations

import msgspec
import pytest

from sayso.core.conversation.hearing import Heard
from sayso.core.errors import UnknownAnswer
from sayso.core.model import Assurance, Operation, Risk
from sayso.gate.deciding.authorize import Authorization, authorize
from sayso.gate.deciding.plan_from_host import read_host_plan
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.questions.answer import EditRefused
from sayso.gate.questions.explain import describe_why_asked
from sayso.gate.questions.read import UnknownQuestion, find_question
from sayso.gate.questions.wait import load_question_row
from sayso.gate.sessions.messages import ask_in_conversation, record_message, record_plan
from sayso.gate.sessions.operator_grants import list_grants
from sayso.gate.sessions.sessions import open_session
from tests.gate.calling import events
from tests.support.answers import answer_items, answer_question, edit_and_allow
from tests.support.gates import Clock

PLAN = {"targets": ["a.py"], "changes": ["rename f"], "scope": "a.py only", "operations": ["git.commit"]}
GRANT = "Grant standing consent for: git push"


@pytest.fixture
def session(gate: Gate) -> str:
    return open_session(gate, agent="claude", owner="t")


def claim(gate: Gate, session: str, text: str) -> Heard:
    return record_message(gate, session, text, Assurance.CLAIMED)


def push(gate: Gate, session: str) -> Authorization:
    call = make_call("shell", {"command": "git push"}, command="git push")
    operations = [Operation("git.push", risk=Risk.HIGH)]
    return authorize(gate, make_request(call, operations, agent="claude", session=session))


def test_standing_consent_that_is_claimed_is_asked_about_and_given_by_a_yes(gate: Gate, session: str) -> None:
    heard = claim(gate, session, GRANT)
    assert heard.question is not None
    assert list_grants(gate, session) == []
    asked = find_question(gate, heard.question).question
    assert asked.claim == GRANT
    assert GRANT in asked.text
    assert "claimed" in describe_why_asked(gate, asked)
    assert [offer.answer for offer in asked.offers] == ["once", "deny"]
    assert answer_question(gate, heard.question, "once", by="eve").yours
    assert [one.value for one in list_grants(gate, session)] == ["git push"]
    assert push(gate, session).decision.rule == "allowlist"
    assert events(gate, session)[1:5] == ["CLAIMED", "HEARD", "ANSWERED", "GRANTED"]


def test_a_no_changes_nothing(gate: Gate, session: str) -> None:
    question = claim(gate, session, GRANT).question or ""
    answer_question(gate, question, "deny", by="eve")
    assert list_grants(gate, session) == []
    assert push(gate, session).decision.rule == "risky"
    assert not answer_question(gate, question, "once", by="eve").yours


@pytest.mark.parametrize("given", ["task", "always", "remember", "temporary", "yes", "", "edit"])
def test_only_an_exact_answer_makes_it_count(gate: Gate, session: str, given: str) -> None:
    question = claim(gate, session, GRANT).question or ""
    with pytest.raises(UnknownAnswer):
        answer_question(gate, question, given, by="eve")
    with pytest.raises(UnknownAnswer):
        answer_items(gate, question, {"1": "once", "2": "once"}, by="eve")
    assert list_grants(gate, session) == []


@pytest.mark.parametrize("text", ["and now?", "stop", GRANT, "no"])
def test_the_next_message_takes_the_question_back(gate: Gate, session: str, text: str) -> None:
    question = claim(gate, session, GRANT).question or ""
    record_message(gate, session, text, Assurance.CLAIMED)
    assert load_question_row(gate, question).state == "cancelled"
    assert not answer_question(gate, question, "once", by="eve").yours
    assert list_grants(gate, session) == []


def test_a_claimed_yes_answers_the_question_that_was_shown_only_once_it_is_confirmed(
    gate: Gate, session: str
) -> None:
    record_message(gate, session, "publish it")
    question = push(gate, session).question
    assert question is not None
    ask_in_conversation(gate, question.id)
    whether = claim(gate, session, "yes, go ahead").question or ""
    assert load_question_row(gate, question.id).state == "open"
    assert push(gate, session).decision.rule == "risky"
    answer_question(gate, whether, "once", by="eve")
    row = load_question_row(gate, question.id)
    assert (row.state, row.answer, row.by) == ("answered", "once", "user")
    assert push(gate, session).decision.rule == "approved_call"
    assert push(gate, session).decision.rule == "risky"


def test_whoever_is_asked_is_shown_what_the_message_would_do(gate: Gate, session: str) -> None:
    record_message(gate, session, "publish it")
    question = push(gate, session).question
    assert question is not None
    ask_in_conversation(gate, question.id)
    whether = find_question(gate, claim(gate, session, "yes").question or "").question
    says, *call = whether.offers[0].words.split("\n")
    assert says == "it counts as written by you: answered: once"
    assert call[:2] == ["- git push", "  tool: shell"]
    bare = find_question(gate, claim(gate, session, "yes").question or "").question
    assert "git push" not in bare.offers[0].words, "it was not shown in the turn just before"


def test_a_claimed_yes_does_nothing_else_than_was_shown(gate: Gate, session: str) -> None:
    record_plan(gate, session, read_host_plan(PLAN, gate.policy))
    question = push(gate, session).question
    assert question is not None
    ask_in_conversation(gate, question.id)
    whether = claim(gate, session, "yes").question or ""
    answer_question(gate, question.id, "deny", by="eve")
    with pytest.raises(UnknownAnswer):  # the yes is left to the plan, and nobody was told so
        answer_question(gate, whether, "once", by="eve")
    assert list_grants(gate, session) == []


def test_a_call_does_not_join_the_question_about_a_message(gate: Gate, session: str) -> None:
    whether = find_question(gate, claim(gate, session, GRANT).question or "").question
    joined = authorize(gate, whether.request).question
    assert joined is not None
    assert joined.id != whether.id


def test_a_slash_command_that_is_confirmed_stands_for_its_turn(gate: Gate, session: str) -> None:
    def commit() -> str:
        call = make_call("shell", {}, command="git commit")
        wanted = make_request(call, [Operation("git.commit")], agent="claude", session=session)
        return authorize(gate, wanted).decision.rule

    whether = claim(gate, session, "/commit").question or ""
    assert commit() != "slash_command"
    answer_question(gate, whether, "once", by="eve")
    assert commit() == "slash_command"
    claim(gate, session, "thanks")
    assert commit() != "slash_command"


def test_a_claimed_yes_cannot_confirm_a_claim(gate: Gate, session: str) -> None:
    question = claim(gate, session, GRANT).question or ""
    with pytest.raises(UnknownQuestion):
        ask_in_conversation(gate, question)
    record_message(gate, session, "yes", Assurance.CLAIMED)
    assert list_grants(gate, session) == []


def test_a_message_cannot_be_edited(gate: Gate, session: str) -> None:
    question = claim(gate, session, GRANT).question or ""
    other = make_request(
        make_call("message", {"text": "Grant standing consent for: rm -rf /"}),
        [Operation("conversation.message")],
        agent="claude",
        session=session,
    )
    with pytest.raises(EditRefused):
        edit_and_allow(gate, question, other, by="eve")


def test_what_tightens_or_says_nothing_opens_no_question(gate: Gate, session: str) -> None:
    for text in ("stop", "Revoke all consent", "no", "what do you think?", "the parser is broken"):
        assert claim(gate, session, text).question is None


def test_where_the_policy_trusts_hooks_nobody_is_asked(gate: Gate) -> None:
    settings = msgspec.structs.replace(gate.policy.settings, trust_hook_messages=True)
    policy = msgspec.structs.replace(gate.policy, settings=settings)
    trusting = msgspec.structs.replace(gate, live=None, policy=policy)
    session = open_session(trusting, agent="claude", owner="t")
    assert claim(trusting, session, GRANT).question is None
    assert [one.risk for one in list_grants(trusting, session)] == ["moderate"]


def test_claims_are_not_asked_without_end(gate: Gate, session: str, clock: Clock) -> None:
    asked = [claim(gate, session, GRANT).question for _ in range(70)]
    assert [one is not None for one in asked] == [True] * 60 + [False] * 10
    clock.now += 3_601
    assert claim(gate, session, GRANT).question is not None


@pytest.mark.parametrize("second", ["yes", "ok"])
def test_a_claimed_ok_that_was_asked_back_can_be_confirmed(gate: Gate, session: str, second: str) -> None:
    record_message(gate, session, "publish it")
    question = push(gate, session).question
    assert question is not None
    ask_in_conversation(gate, question.id)
    answer_question(gate, claim(gate, session, "ok").question or "", "once", by="eve")
    assert load_question_row(gate, question.id).state == "open", "it is asked back"
    whether = claim(gate, session, second).question or ""
    assert "git push" in find_question(gate, whether).question.offers[0].words
    assert push(gate, session).decision.rule == "risky"
    answer_question(gate, whether, "once", by="eve")
    assert push(gate, session).decision.rule == "approved_call"


def test_a_claimed_ok_that_nobody_confirmed_asks_nothing_back(gate: Gate, session: str) -> None:
    record_message(gate, session, "publish it")
    question = push(gate, session).question
    assert question is not None
    ask_in_conversation(gate, question.id)
    claim(gate, session, "ok")
    record_message(gate, session, "yes")
    assert push(gate, session).decision.rule == "risky"


def test_what_was_asked_back_is_confirmed_by_the_very_next_message_only(gate: Gate, session: str) -> None:
    record_message(gate, session, "publish it")
    question = push(gate, session).question
    assert question is not None
    ask_in_conversation(gate, question.id)
    record_message(gate, session, "ok")
    claim(gate, session, "yes")
    record_message(gate, session, "yes")
    assert push(gate, session).decision.rule == "risky"
