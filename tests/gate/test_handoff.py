"""An allowlist handed to the next context: only to the same user, agent and workspace, once, within a day."""

from __future__ import annotations

import pytest

from sayso.core.digest import encode_canonical, sha256
from sayso.core.model import Assurance
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate
from sayso.gate.sessions.handoff import (
    SAVE,
    NotAgreed,
    ask_to_load_handoff,
    ask_to_save_handoff,
    check_handoff_saved,
    list_loaded_commands,
)
from sayso.gate.sessions.messages import ask_in_conversation, record_message
from sayso.gate.sessions.operator_grants import clear_allowlist, revoke_all
from sayso.gate.sessions.revoke import revoke_by_name
from sayso.gate.sessions.sessions import close_session, open_session
from tests.support.asking import push
from tests.support.gates import Clock


def session_of(gate: Gate, user: str = "ana", agent: str = "tester", workspace: str = "") -> str:
    return open_session(gate, agent=agent, owner="host", user=user, workspace=workspace)


@pytest.fixture
def saved(gate: Gate) -> str:
    """A session that granted a command, saved it for the next, and ended."""
    session = session_of(gate)
    assert ask_to_save_handoff(gate, session) is None
    record_message(gate, session, "Grant standing consent for: git push")
    offer = ask_to_save_handoff(gate, session)
    assert offer is not None
    assert offer.endswith(SAVE)
    assert "the allowlist is saved for the next context" in record_message(gate, session, "yes").did
    check_handoff_saved(gate, session)
    close_session(gate, session)
    return session


def test_a_yes_in_the_next_context_brings_the_list_back_once(gate: Gate, saved: str) -> None:
    session = session_of(gate)
    assert authorize(gate, push(session)).decision.rule == "risky"
    shown = ask_to_load_handoff(gate, session)
    assert shown is not None
    assert "- git push (high)" in shown
    assert authorize(gate, push(session)).decision.rule == "risky"
    record_message(gate, session, "yes")
    assert list_loaded_commands(gate, session) == ("git push",)
    assert authorize(gate, push(session)).decision.rule == "allowlist"
    another = session_of(gate)
    assert ask_to_load_handoff(gate, another) is None
    assert list_loaded_commands(gate, another) == ()


@pytest.mark.parametrize("other", [{"user": "ben"}, {"agent": "other"}, {"workspace": "/elsewhere"}])
def test_nobody_else_gets_it(gate: Gate, saved: str, other: dict[str, str]) -> None:
    session = session_of(gate, **other)
    assert ask_to_load_handoff(gate, session) is None
    record_message(gate, session, "yes")
    assert list_loaded_commands(gate, session) == ()


def test_after_a_day_it_is_gone(gate: Gate, saved: str, clock: Clock) -> None:
    session = session_of(gate)
    assert ask_to_load_handoff(gate, session) is not None
    clock.now += 86_400
    record_message(gate, session, "yes")
    assert list_loaded_commands(gate, session) == ()
    assert authorize(gate, push(session)).decision.rule == "risky"


@pytest.mark.parametrize("said", [None, "no", "hello there", "yes, but not git push", "just this once", "ok"])
def test_without_a_yes_of_the_user_nothing_is_saved(gate: Gate, said: str | None) -> None:
    session = session_of(gate)
    record_message(gate, session, "Grant standing consent for: git push")
    ask_to_save_handoff(gate, session)
    if said is not None:
        record_message(gate, session, said)
    with pytest.raises(NotAgreed):
        check_handoff_saved(gate, session)
    assert ask_to_load_handoff(gate, session_of(gate)) is None


@pytest.mark.parametrize("said", [None, "no", "hello there", "yes, but not git push", "just this once", "ok"])
def test_without_a_yes_of_the_user_nothing_is_loaded(gate: Gate, saved: str, said: str | None) -> None:
    session = session_of(gate)
    ask_to_load_handoff(gate, session)
    if said is not None:
        record_message(gate, session, said)
    with pytest.raises(NotAgreed):
        list_loaded_commands(gate, session)
    assert authorize(gate, push(session)).decision.rule == "risky"


def test_a_yes_that_answers_something_else_hands_nothing_on(gate: Gate, saved: str) -> None:
    session = session_of(gate)
    record_message(gate, session, "yes")
    with pytest.raises(NotAgreed):
        list_loaded_commands(gate, session)
    ask_to_load_handoff(gate, session)
    record_message(gate, session, "tell me about it")
    record_message(gate, session, "yes")
    with pytest.raises(NotAgreed):
        list_loaded_commands(gate, session)


def test_a_yes_to_an_open_question_hands_nothing_on(gate: Gate, saved: str) -> None:
    session = session_of(gate)
    asked = authorize(gate, push(session)).question
    assert asked is not None
    ask_in_conversation(gate, asked.id)
    ask_to_load_handoff(gate, session)
    assert record_message(gate, session, "yes").answered == "once"
    with pytest.raises(NotAgreed):
        list_loaded_commands(gate, session)


def test_a_hesitant_yes_is_asked_back_once_and_then_hands_on(gate: Gate, saved: str) -> None:
    session = session_of(gate)
    ask_to_load_handoff(gate, session)
    assert "Load it into this session?" in record_message(gate, session, "ok").announced
    record_message(gate, session, "ok")
    assert list_loaded_commands(gate, session) == ("git push",)


def test_a_message_that_is_only_claimed_hands_nothing_on(gate: Gate, saved: str) -> None:
    session = session_of(gate)
    ask_to_load_handoff(gate, session)
    record_message(gate, session, "yes", Assurance.CLAIMED)
    with pytest.raises(NotAgreed):
        list_loaded_commands(gate, session)


def test_a_list_that_changed_after_it_was_shown_is_not_loaded(gate: Gate, saved: str) -> None:
    session, other = session_of(gate), session_of(gate)
    ask_to_load_handoff(gate, session)
    record_message(gate, other, "Grant standing consent for: git push, rm -rf build")
    ask_to_save_handoff(gate, other)
    record_message(gate, other, "yes")
    assert "nothing is handed on" in record_message(gate, session, "yes").did[-1]
    with pytest.raises(NotAgreed):
        list_loaded_commands(gate, session)


TAKES_PUSH_BACK = (
    *("revoke all consent", "don't push", "clear session allowlist", "revoke consent for: git push"),
    *("nothing may be pushed", "my consent for git push is withdrawn", "/allowlist remove git push"),
)


@pytest.mark.parametrize("said", TAKES_PUSH_BACK)
def test_what_is_taken_back_after_it_was_saved_is_not_handed_on(gate: Gate, said: str) -> None:
    session = session_of(gate)
    record_message(gate, session, "Grant standing consent for: git push")
    ask_to_save_handoff(gate, session)
    record_message(gate, session, "yes")
    record_message(gate, session, said)
    later = session_of(gate)
    assert ask_to_load_handoff(gate, later) is None
    record_message(gate, later, "yes")
    assert authorize(gate, push(later)).decision.rule == "risky"


@pytest.mark.parametrize("said", TAKES_PUSH_BACK)
def test_what_is_taken_back_in_the_next_context_before_it_is_loaded_is_not_loaded(
    gate: Gate, saved: str, said: str
) -> None:
    session = session_of(gate)
    heard = record_message(gate, session, said)
    assert "git push, saved for the next context" in heard.cleared
    assert not any("Nothing was revoked" in line for line in heard.announced)
    assert ask_to_load_handoff(gate, session) is None


def test_what_is_taken_back_between_the_list_and_the_yes_is_not_loaded(gate: Gate, saved: str) -> None:
    session, other = session_of(gate), session_of(gate)
    ask_to_load_handoff(gate, session)
    record_message(gate, other, "revoke all consent")
    assert "nothing is handed on" in record_message(gate, session, "yes").did[-1]
    assert authorize(gate, push(session)).decision.rule == "risky"


@pytest.mark.parametrize(
    "said", ["stop", "that's wrong", "revoke consent for: npm test", "don't deploy", "hi"]
)
def test_what_takes_other_consent_back_leaves_what_was_saved(gate: Gate, saved: str, said: str) -> None:
    session = session_of(gate)
    record_message(gate, session, said)
    assert ask_to_load_handoff(gate, session) is not None


def test_only_what_is_taken_back_is_missing_from_what_was_saved(gate: Gate) -> None:
    session = session_of(gate)
    record_message(gate, session, "Grant standing consent for: git push, npm test")
    ask_to_save_handoff(gate, session)
    record_message(gate, session, "yes")
    record_message(gate, session, "don't push")
    shown = ask_to_load_handoff(gate, session_of(gate))
    assert shown is not None
    assert "npm test" in shown
    assert "git push" not in shown


@pytest.mark.parametrize("way", ["revoke all", "clear", "remove", "revoke"])
def test_what_the_operator_takes_back_is_not_handed_on(gate: Gate, way: str) -> None:
    session = session_of(gate)
    record_message(gate, session, "Grant standing consent for: git push")
    ask_to_save_handoff(gate, session)
    record_message(gate, session, "yes")
    if way == "revoke all":
        revoke_all(gate, session, "operator")
    elif way == "revoke":
        revoke_by_name(gate, session, "git push", "operator")
    else:
        clear_allowlist(gate, session, "operator", "git push" if way == "remove" else None)
    assert ask_to_load_handoff(gate, session_of(gate)) is None


def test_nobody_else_takes_it_back(gate: Gate, saved: str) -> None:
    record_message(gate, session_of(gate, user="ben"), "revoke all consent")
    assert ask_to_load_handoff(gate, session_of(gate)) is not None


def test_one_written_by_hand_is_none(gate: Gate, saved: str) -> None:
    session = session_of(gate)
    place = f"handoff/{sha256(encode_canonical({'user': 'ana', 'agent': 'tester', 'workspace': ''}))}"
    with gate.store.write() as tx:
        text = tx.meta(place)
        assert text is not None
        tx.set_meta(place, text.replace("git push", "rm -rf /"))
    assert ask_to_load_handoff(gate, session) is None
    record_message(gate, session, "yes")
    assert list_loaded_commands(gate, session) == ()


@pytest.mark.parametrize("said", ["no", "never mind", "I changed my mind"])
def test_a_no_after_the_yes_that_saved_it_leaves_nothing_saved(gate: Gate, said: str) -> None:
    session = session_of(gate)
    record_message(gate, session, "Grant standing consent for: git push")
    ask_to_save_handoff(gate, session)
    record_message(gate, session, "yes")
    record_message(gate, session, said)
    with pytest.raises(NotAgreed):
        check_handoff_saved(gate, session)
    assert ask_to_load_handoff(gate, session_of(gate)) is None
