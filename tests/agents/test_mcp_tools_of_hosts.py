"""Tools of MCP servers: what the policy says of one holds under every name that a host calls it by."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.policy import load_text
from tests.agents.conftest import Desk
from tests.agents.hosts import HOSTS
from tests.support.gates import KEY, Clock, embedded
from tests.support.service import Service

POLICY = """
extends: [coding]
domains:
  mail: {autonomous: [look], requires_approval: [send], blocked: [erase]}
  tools: {autonomous: [mcp__notes__list], requires_approval: [], blocked: [mcp__notes__remove]}
tools:
  - {tool: mcp__mail__list, operation: mail.look}
  - {tool: mcp__mail__send, operation: mail.send}
  - {tool: mcp__mail__delete, operation: mail.erase}
  - {tool: mcp__mail__purge, operation: mail.erase, when: "args.all == true"}
  - {tool: mcp__mail__purge, operation: mail.look}
  - {tool: mcp__other__send, operation: mail.look}
  - {tool: "mcp__open__*", operation: mail.look}
"""
ONE_SERVER_BLOCKED = f'{POLICY}  - {{tool: "mcp__old-mail__*", operation: mail.erase}}\n'


@pytest.fixture
def policy() -> str:
    return POLICY


@pytest.fixture
def gate(policy: str, store_kind: str, clock: Clock, tmp_path: Path) -> Iterator[Gate]:
    with embedded(store_kind, tmp_path, clock) as store:
        yield open_gate(load_text(policy), store, key=KEY)


Sent = tuple[str, dict[str, Any], dict[str, Any]]
"""The name and arguments that a host sends for a tool, and what it sends beside them."""


def _flat(server: str, tool: str, args: dict[str, Any]) -> Sent:
    return f"mcp_{server}_{tool}", args, {}


def _canonical(server: str, tool: str, args: dict[str, Any]) -> Sent:
    return f"mcp__{server}__{tool}", args, {}


def _joined(mark: str) -> Any:
    return lambda server, tool, args: (f"{server}{mark}{tool}", args, {})


def _gemini(server: str, tool: str, args: dict[str, Any]) -> Sent:
    name = f"{server}_{tool}"[:9]  # whatever it is shortened to
    return f"mcp_{name}", args, {"mcp_context": {"server_name": server, "tool_name": tool}}


def _cline(server: str, tool: str, args: dict[str, Any]) -> Sent:
    given = {"server_name": server, "tool_name": tool, "arguments": json.dumps(args)}
    return "use_mcp_tool", given, {}


def _cursor_calling(server: str, tool: str, args: dict[str, Any]) -> Sent:
    return "CallMcpTool", {"server": server, "toolName": tool, "arguments": args}, {}


WAYS = {
    "claude": ("claude", _canonical),
    "codex": ("codex", _canonical),
    "gemini": ("gemini", _gemini),
    "gemini without context": ("gemini", _flat),
    "cursor, unnamed": ("cursor", lambda _, tool, args: (f"MCP:{tool}", args, {})),
    "cursor, calling": ("cursor", _cursor_calling),
    "copilot": ("copilot", _joined("-")),
    "vscode": ("vscode", _flat),
    "opencode": ("opencode", _joined("_")),
    "cline": ("cline", _cline),
    "cline, native": ("cline", lambda _, tool, args: (f"c1Xu4O0mcp0{tool}", args, {})),
    "openclaw": ("openclaw", _joined("__")),
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def send(service: Service, project: Path, way: str, server: str, tool: str, **args: Any) -> tuple[bool, int]:
    """Return whether the call runs, and how many questions are open."""
    label, spell = WAYS[way]
    host = next(one for one in HOSTS if (one.label or one.name) == label)
    desk = Desk(service, host, project)
    name, given, beside = spell(server, tool, args)
    payload = desk.host.call(desk.session, desk.project, name, given, "call-1") | beside
    return desk.host.runs(desk.fire(desk.host.before, payload)), len(desk.questions())


def test_a_blocked_tool_is_blocked(service: Service, project: Path, way: str) -> None:
    assert send(service, project, way, "mail", "delete", id=3) == (False, 0)


def test_a_tool_blocked_by_its_own_name_is_blocked(service: Service, project: Path, way: str) -> None:
    assert send(service, project, way, "notes", "remove") == (False, 0)


def test_an_allowed_tool_runs(service: Service, project: Path, way: str) -> None:
    assert send(service, project, way, "notes", "list") == (True, 0)


def test_a_tool_that_is_not_listed_asks(service: Service, project: Path, way: str) -> None:
    assert send(service, project, way, "mail", "archive") == (False, 1)


def test_a_condition_sees_the_arguments_of_the_tool_itself(service: Service, project: Path, way: str) -> None:
    assert send(service, project, way, "mail", "purge", all=True) == (False, 0)
    assert send(service, project, way, "mail", "purge", all=False) == (True, 0)


@pytest.mark.parametrize("policy", [ONE_SERVER_BLOCKED], ids=["old-mail"])
def test_a_pattern_blocks(service: Service, project: Path, way: str) -> None:
    assert send(service, project, way, "old-mail", "fetch") == (False, 0)


def test_what_one_server_may_asks_where_the_server_is_not_named_and_another_is_asked_about(
    service: Service, project: Path
) -> None:
    assert send(service, project, "cursor, calling", "other", "send") == (True, 0)
    assert send(service, project, "cursor, unnamed", "other", "send") == (False, 1)


def test_a_pattern_of_one_server_allows_no_tool_of_a_server_that_is_not_named(
    service: Service, project: Path
) -> None:
    assert send(service, project, "cursor, calling", "open", "drop") == (True, 0)
    assert send(service, project, "cursor, unnamed", "open", "drop") == (False, 1)


def test_both_events_of_cursor_are_one_call(service: Service, project: Path) -> None:
    host = next(one for one in HOSTS if one.name == "cursor")
    desk = Desk(service, host, project)
    payload = host.call(desk.session, project, "MCP:archive", {"id": 1}, "call-1")
    assert not host.runs(desk.fire("preToolUse", payload))
    again = {"hook_event_name": "beforeMCPExecution", "tool_name": "archive", "tool_input": '{"id": 1}'}
    assert not host.runs(desk.fire("beforeMCPExecution", payload | again))
    assert len(desk.questions()) == 1


@pytest.mark.parametrize(
    "args",
    [
        {"server_name": "notes", "arguments": "{}"},
        {"server_name": "notes", "tool_name": "list", "arguments": "[]"},
        {"server_name": "notes", "tool_name": "list", "arguments": "{not json"},
        {"server_name": ["notes"], "tool_name": "list", "arguments": "{}"},
    ],
)
def test_a_call_of_a_server_that_cannot_be_read_does_not_run(
    service: Service, project: Path, args: dict[str, Any]
) -> None:
    host = next(one for one in HOSTS if one.name == "cline")
    desk = Desk(service, host, project)
    payload = host.call(desk.session, project, "use_mcp_tool", args, "call-1")
    assert not host.runs(desk.fire(host.before, payload))
