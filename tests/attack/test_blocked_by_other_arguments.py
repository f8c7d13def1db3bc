"""What is blocked stays so whatever arguments an agent gives: no place and no flag makes it a question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import request_in_session
from sayso.gate.open import open_gate
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_text
from sayso.store.memory.store import MemoryStore
from tests.support.gates import KEY, Clock

POLICY = """\
domains:
  files: {autonomous: [read], requires_approval: [], blocked: [write, edit, delete]}
  git: {autonomous: [], requires_approval: [], blocked: [commit, push]}
  web: {autonomous: [], requires_approval: [], blocked: [fetch, api]}
tools:
  - {tool: get, resolve: url, domain: web, from: args.url}
  - {tool: write, resolve: path, operation: files.write, from: args.path}
  - {tool: edit, resolve: path, operation: files.edit, from: args.path}
  - {tool: remove, resolve: path, operation: files.delete, from: args.path}
  - {tool: commit, operation: git.commit}
  - {tool: push, operation: git.push}
  - {tool: shell, resolve: shell, command: args.command}
"""
MARKED = {
    "deny blocked": POLICY,
    "deny trusted_channel": POLICY.replace(
        "requires_approval: [], blocked: [commit, push]}",
        "requires_approval: [commit, push], blocked: [], trusted_channel_required: [commit, push]}",
    ),
}
AT_PATHS: list[tuple[str, dict[str, Any]]] = [
    (tool, args)
    for tool in ("write", "edit", "remove")
    for args in ({"path": "a"}, {"path": "../a"}, {"path": "/etc/hosts"}, {"path": ".env"}, {"path": 7}, {})
]
LINES = ["echo a > b", "echo a > ../b", "rm ../b", "echo a > .env", "git commit -m done", "git push"]
FLAGS: list[tuple[str, dict[str, Any]]] = [
    ("commit", {"message": "done"}),
    ("commit", {"message": "done", "unheard_of": "x"}),
    ("push", {"force": True}),
    ("push", {"branch": "main", "args": ["--force"]}),
    ("shell", {"command": ["git", "commit", "-m", "done"]}),
    ("shell", {"command": ["git", "push"]}),
]


def decide(text: str, folder: Path, tool: str, args: dict[str, Any]) -> str:
    place = folder / "work"
    place.mkdir()
    gate = open_gate(load_text(text), MemoryStore(clock=Clock()), key=KEY)
    session = open_session(gate, agent="claude", owner="me", workspace=str(place))
    found = authorize(gate, request_in_session(gate, session, tool, args, None, 0.0)).decision
    return f"{found.verdict.value} {found.rule}"


@pytest.mark.parametrize(("tool", "args"), AT_PATHS)
def test_a_worse_place_is_no_way_round(tmp_path: Path, tool: str, args: dict[str, Any]) -> None:
    assert decide(POLICY, tmp_path, tool, args) == "deny blocked"


@pytest.mark.parametrize(
    "url", ["https://example.org", "file:///etc/hosts", "file:a", "a", 7, None, ["a", "file:b"]]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_sort_of_address_is_no_way_round(tmp_path: Path, url: object, method: str) -> None:
    assert decide(POLICY, tmp_path, "get", {"url": url, "method": method}) == "deny blocked"


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_is_no_way_round(tmp_path: Path, line: str) -> None:
    assert decide(POLICY, tmp_path, "shell", {"command": line}) == "deny blocked"


@pytest.mark.parametrize("wanted", MARKED)
@pytest.mark.parametrize(("tool", "args"), FLAGS)
def test_an_argument_that_makes_it_riskier_is_no_way_round(
    tmp_path: Path, tool: str, args: dict[str, Any], wanted: str
) -> None:
    """It is the riskier operation as well, and still the one that was declared."""
    assert decide(MARKED[wanted], tmp_path, tool, args) == wanted


def test_a_worse_place_that_the_policy_lists_is_what_it_says(tmp_path: Path) -> None:
    text = POLICY.replace("requires_approval: []", "requires_approval: [write_outside_workspace]", 1)
    assert decide(text, tmp_path, "write", {"path": "../a"}) == "ask ask"
