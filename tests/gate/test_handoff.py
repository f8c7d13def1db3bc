"""An allowlist handed to the next context: only to the same user, agent and workspace, once, within a day."""

from __future__ import annotations

import pytest

from sayso.core.digest import canonical, sha256
from sayso.core.model import Operation, Request
from sayso.gate.authorize import authorize
from sayso.gate.conversation import hear_message
from sayso.gate.gate import Gate
from sayso.gate.handoff import SAVE, offer_handoff, save_handoff, show_handoff, take_handoff
from sayso.gate.request import make_call, make_request
from sayso.gate.sessions import end_session, open_session
from tests.gate.conftest import Clock


def push(session: str) -> Request:
    return make_request(make_call("shell", {}, command="git push"), [Operation("git.push")], session=session)


def session_of(gate: Gate, user: str = "ana", agent: str = "tester", workspace: str = "") -> str:
    return open_session(gate, agent=agent, owner="host", user=user, workspace=workspace)


@pytest.fixture
def saved(gate: Gate) -> str:
    """A session that granted a command, saved it for the next, and ended."""
    session = session_of(gate)
    assert offer_handoff(gate, session) is None
    hear_message(gate, session, "Grant standing consent for: git push")
    offer = offer_handoff(gate, session)
    assert offer is not None
    assert offer.endswith(SAVE)
    save_handoff(gate, session)
    end_session(gate, session)
    return session


def test_a_yes_in_the_next_context_brings_the_list_back_once(gate: Gate, saved: str) -> None:
    session = session_of(gate)
    assert authorize(gate, push(session)).decision.rule == "risky"
    shown = show_handoff(gate, session)
    assert shown is not None
    assert "- git push (high)" in shown
    assert take_handoff(gate, session) == ("git push",)
    assert authorize(gate, push(session)).decision.rule == "allowlist"
    another = session_of(gate)
    assert show_handoff(gate, another) is None
    assert take_handoff(gate, another) == ()


@pytest.mark.parametrize("other", [{"user": "ben"}, {"agent": "other"}, {"workspace": "/elsewhere"}])
def test_nobody_else_gets_it(gate: Gate, saved: str, other: dict[str, str]) -> None:
    assert take_handoff(gate, session_of(gate, **other)) == ()


def test_after_a_day_it_is_gone(gate: Gate, saved: str, clock: Clock) -> None:
    clock.now += 86_400
    assert take_handoff(gate, session_of(gate)) == ()


def test_one_written_by_hand_is_none(gate: Gate, saved: str) -> None:
    session = session_of(gate)
    place = f"handoff/{sha256(canonical({'user': 'ana', 'agent': 'tester', 'workspace': ''}))}"
    with gate.store.write() as tx:
        text = tx.meta(place)
        assert text is not None
        tx.set_meta(place, text.replace("git push", "rm -rf /"))
    assert take_handoff(gate, session) == ()
