"""Attempts on the guard itself: each is recorded, with an alert that says what was tried and by whom."""

from __future__ import annotations

import json

import pytest

from sayso.core.audit.events import Blocked
from sayso.core.model import Verdict
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import CallDeclaration, request_in_session
from sayso.gate.open import open_gate
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset
from sayso.store.memory.store import MemoryStore
from tests.support.gates import KEY

ATTEMPTS = [
    ("Bash", {"command": "sayso policy apply --yes"}, "sayso policy"),
    ("Bash", {"command": "sayso policy unlock"}, "sayso policy"),
    ("Bash", {"command": "chattr -i ~/.config/sayso/policy.yaml"}, "sayso/policy.yaml"),
    ("Write", {"file_path": "~/.config/sayso/policy.yaml", "content": "sayso: 1"}, "sayso/policy.yaml"),
    ("Write", {"file_path": "/w/.sayso.yaml", "content": "sayso: 1"}, "/w/.sayso.yaml"),
    ("Edit", {"file_path": "/w/AGENTS.md", "old_string": "a", "new_string": "b"}, "/w/AGENTS.md"),
]


@pytest.mark.parametrize(("tool", "args", "tried"), ATTEMPTS)
def test_an_attempt_is_told_with_what_was_tried_and_where_it_came_from(
    tool: str, args: dict[str, str], tried: str
) -> None:
    gate = open_gate(load_preset("coding"), MemoryStore(), key=KEY)
    session = open_session(gate, agent="rm\u202eagent\x1b[2J", owner="test", workspace="/w")
    said = CallDeclaration(door="hook", subagent="helper")
    request = request_in_session(gate, session, tool, args, None, 1.0, said)
    assert authorize(gate, request).decision.verdict is Verdict.DENY
    with gate.store.read() as tx:
        row = next(row for row in tx.entries("main", limit=100) if row.event == Blocked.event)
    notice = json.loads(row.body or b"{}")["details"]["notice"]
    assert notice.startswith("self_modification.")
    for told in (
        tried,
        f"tool '{tool}'",
        f"session '{session}'",
        "origin subagent",
        "door 'hook'",
        "sub-agent helper",
    ):
        assert told in notice
    assert notice.isprintable()
    assert "\\u202e" in notice


def test_what_is_blocked_because_nothing_lists_it_is_told_once() -> None:
    from sayso.core import words
    from sayso.core.deciding.decide import decide
    from sayso.core.effects import Alerted
    from sayso.core.model import Operation
    from sayso.core.policy import Settings, compile_policy
    from sayso.core.session import Session, View
    from sayso.gate.deciding.request import make_call, make_request

    policy = compile_policy(settings=Settings(unlisted="block"))
    request = make_request(make_call("tool"), [Operation("mail.send")])
    decision = decide(request, policy, View(Session()), 0.0)
    assert decision.effects == (Alerted(words.block_alert("mail.send")),)
