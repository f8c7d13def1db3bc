"""What a refusal takes back in a session, it takes back in the sessions below."""

from __future__ import annotations

import pytest

from sayso.core.model import Verdict
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.sessions import open_session
from tests.support.asking import approve, push


@pytest.fixture
def session(gate: Gate) -> str:
    return open_session(gate, agent="bot", owner="host")


@pytest.mark.parametrize("text", ["no", "actually, don't", "I changed my mind"])
def test_a_no_never_leaves_an_unused_approval_in_a_child_session(gate: Gate, session: str, text: str) -> None:
    child = open_session(gate, agent="sub", owner="host", parent=session)
    grandchild = open_session(gate, agent="subsub", owner="host", parent=child)
    for name in (session, child, grandchild):
        approve(gate, push(name))
    heard = record_message(gate, session, text)
    told = "\n".join(heard.announced)
    for name in (child, grandchild):
        assert f"approval of git.push (in session {name})" in heard.cleared
        assert f"approval of git.push (in session {name})" in told
    for name in (session, child, grandchild):
        assert authorize(gate, push(name)).decision.verdict is Verdict.ASK


def test_a_prohibition_never_leaves_a_forbidden_command_on_the_allowlist_of_a_child_session(
    gate: Gate, session: str
) -> None:
    child = open_session(gate, agent="sub", owner="host", parent=session)
    record_message(gate, child, "Grant standing consent for: git push, npm test")
    heard = record_message(gate, session, "don't push")
    assert f"standing consent for git push (in session {child})" in heard.cleared
    assert authorize(gate, push(child)).decision.verdict is Verdict.ASK
