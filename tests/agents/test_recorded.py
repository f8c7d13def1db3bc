"""Payloads recorded from the real programs, read again: what `python -m tests.e2e.agents.record` has written.

Of each event that Sayso registers for, the agent's file must read what the program really sent.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sayso.doors.agents import AGENTS
from sayso.policy import load_preset
from sayso.wire import HostCall, HostEvent, HostMessage, HostOutcome
from tests.agents.conftest import Desk
from tests.agents.hosts import HOSTS
from tests.support.repository import ROOT
from tests.support.service import Service

RECORDED = {path.stem.partition("-")[0]: path for path in (Path(__file__).parent / "recorded").iterdir()}
WORK = "/home/dev/project"
NOTE = f"{WORK}/note.txt"
CALLS = {
    "claude": ["Write", "Read", "Edit", "Bash", "Bash", "Agent", "Bash"],
    "codex": ["Bash", "Bash", "apply_patch", "collaborationspawn_agent", "collaborationwait_agent", "Bash"],
    "gemini": [
        *("write_file", "read_file", "replace", "run_shell_command", "run_shell_command", "invoke_agent"),
        "run_shell_command",
    ],
    "opencode": ["write", "read", "edit", "bash", "bash", "task", "bash"],
}
SUBAGENTS = {"claude": "general-purpose", "codex": "default", "gemini": "", "opencode": "general"}


def load_payloads(name: str) -> list[dict[str, Any]]:
    lines = RECORDED[name].read_text(encoding="utf-8").splitlines()
    known = {event.name for event in AGENTS[name].events}
    return [one for one in map(json.loads, lines) if one["hook_event_name"] in known]


def read_payloads(name: str) -> list[HostEvent]:
    return [AGENTS[name].read_event(one["hook_event_name"], one) for one in load_payloads(name)]


@pytest.fixture(params=sorted(RECORDED))
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def test_the_recorded_versions_are_those_that_the_tests_drive() -> None:
    for name, path in RECORDED.items():
        package = json.loads((ROOT / "tools" / "agents" / name / "package.json").read_text(encoding="utf-8"))
        assert [path.stem] == [f"{name}-{version}" for version in package["devDependencies"].values()]


def test_every_call_of_the_tour_is_read(name: str) -> None:
    events = read_payloads(name)
    assert sorted(one.tool for one in events if isinstance(one, HostCall)) == sorted(CALLS[name])
    assert len({one.session for one in events}) == 1


def test_every_tool_of_the_tour_is_declared_for_coding_agents(name: str) -> None:
    coding = load_preset("coding")
    tools = {one.tool for one in read_payloads(name) if isinstance(one, HostCall)}
    assert [tool for tool in sorted(tools) if not coding.entries_for(tool)] == []


def test_a_call_and_its_end_are_one_call(name: str) -> None:
    events = read_payloads(name)
    calls = [(one.tool, one.args, one.call_id) for one in events if isinstance(one, HostCall)]
    ends = [(one.tool, one.args, one.call_id) for one in events if isinstance(one, HostOutcome)]
    assert ends
    assert [end for end in ends if end not in calls] == []


def test_only_what_the_user_typed_is_heard(name: str) -> None:
    heard = [one.text for one in read_payloads(name) if isinstance(one, HostMessage)]
    assert heard == ["Please do the work."]


def test_a_subagent_is_named_where_the_program_names_it(name: str) -> None:
    calls = [one for one in read_payloads(name) if isinstance(one, HostCall)]
    second = next(one for one in calls if "second.txt" in str(one.args.get("command")))
    assert second.subagent == SUBAGENTS[name]
    assert {one.subagent for one in calls if one is not second} == {""}


def test_a_call_is_read_in_the_folder_it_runs_in(name: str) -> None:
    folders = {one.folder for one in read_payloads(name) if isinstance(one, HostCall)}
    other = {"claude": WORK, "codex": "/", "gemini": f"{WORK}/sub", "opencode": f"{WORK}/sub"}
    assert folders == {WORK, other[name]}


def test_a_folder_that_is_listed_is_not_the_one_the_call_runs_in() -> None:
    payload = {
        "session_id": "s",
        "cwd": WORK,
        "tool_name": "list_directory",
        "tool_input": {"dir_path": "sub"},
    }
    assert AGENTS["gemini"].read_event("BeforeTool", payload).folder == WORK


def test_the_service_answers_every_recorded_payload(name: str, service: Service, tmp_path: Path) -> None:
    host = next(one for one in HOSTS if one.name == name)
    desk = Desk(service, host, tmp_path)
    for payload in load_payloads(name):
        output = desk.fire(payload["hook_event_name"], payload)
        assert output.code in (0, 2)
        assert "malformed" not in output.err
