"""Tools of the hosts under preset coding: reads and searches run, edits ask once, patches by their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.conftest import Desk
from tests.agents.hosts import HOSTS, Host
from tests.support.service import Service

PATCH = "*** Begin Patch\n*** {verb} File: {path}\n+x\n*** End Patch"


def desk_of(service: Service, project: Path, label: str) -> Desk:
    host = next(one for one in HOSTS if (one.label or one.name) == label)
    return Desk(service, host, project)


def send(desk: Desk, tool: str, args: dict[str, Any], number: int = 1) -> bool:
    payload = desk.host.call(desk.session, desk.project, tool, args, f"call-{number}")
    return desk.host.runs(desk.fire(desk.host.before, payload))


FREE: list[tuple[str, str, dict[str, Any]]] = [
    ("vscode", "read_file", {"filePath": "{project}/a.txt", "startLine": 1, "endLine": 20}),
    ("vscode", "list_dir", {"path": "{project}"}),
    ("vscode", "file_search", {"query": "**/*.py"}),
    ("vscode", "grep_search", {"query": "x", "isRegexp": False, "includePattern": "src/**"}),
    ("vscode", "semantic_search", {"query": "where is it"}),
    ("vscode", "list_code_usages", {"symbolName": "f", "filePaths": ["{project}/a.txt"]}),
    ("vscode", "get_errors", {"filePaths": ["{project}/a.txt"]}),
    ("vscode", "get_errors", {}),
    ("vscode", "get_changed_files", {}),
    ("vscode", "manage_todo_list", {"todoList": []}),
    ("vscode", "runSubagent", {"prompt": "look", "description": "look"}),
    ("vscode", "runTests", {"files": ["{project}/a.txt"]}),
    ("vscode", "get_terminal_output", {"id": "1"}),
    (
        "vscode",
        "run_in_terminal",
        {"command": "pytest -q", "explanation": "x", "goal": "y", "mode": "sync", "timeout": 1000},
    ),
    ("gemini", "update_topic", {"title": "Tests", "summary": "Look at them"}),
    ("gemini", "invoke_agent", {"agent_name": "generalist", "prompt": "look"}),
    ("gemini", "enter_plan_mode", {"reason": "first a plan"}),
    ("gemini", "list_background_processes", {}),
    ("gemini", "read_background_output", {"pid": 7, "lines": 10}),
    ("gemini", "run_shell_command", {"command": "pytest -q", "is_background": True, "delay_ms": 100}),
    ("codex", "collaborationspawn_agent", {"task_name": "two", "message": "x", "fork_turns": "none"}),
    ("codex", "collaborationwait_agent", {"timeout_ms": 20000}),
    ("claude", "ListAgents", {}),
]


@pytest.mark.parametrize(("label", "tool", "args"), FREE, ids=lambda one: one if isinstance(one, str) else "")
def test_a_tool_that_only_looks_or_plans_runs(
    service: Service, project: Path, label: str, tool: str, args: dict[str, Any]
) -> None:
    desk = desk_of(service, project, label)
    assert send(desk, tool, place(args, project)), desk.questions()


def place(value: Any, project: Path) -> Any:
    """The arguments with the project's folder in them."""
    if isinstance(value, dict):
        return {name: place(one, project) for name, one in value.items()}
    if isinstance(value, list):
        return [place(one, project) for one in value]
    return value.replace("{project}", str(project)) if isinstance(value, str) else value


EDITS: list[tuple[str, dict[str, Any]]] = [
    ("create_file", {"filePath": "{path}", "content": "x"}),
    ("replace_string_in_file", {"filePath": "{path}", "oldString": "x", "newString": "y"}),
    ("insert_edit_into_file", {"filePath": "{path}", "code": "x", "explanation": "y"}),
    (
        "multi_replace_string_in_file",
        {"explanation": "y", "replacements": [{"filePath": "{path}", "oldString": "x", "newString": "y"}]},
    ),
    ("create_directory", {"dirPath": "{path}"}),
    ("editFiles", {"files": ["{path}"]}),
]


def at_path(value: Any, path: str) -> Any:
    if isinstance(value, dict):
        return {name: at_path(one, path) for name, one in value.items()}
    if isinstance(value, list):
        return [at_path(one, path) for one in value]
    return path if value == "{path}" else value


@pytest.mark.parametrize(("tool", "args"), EDITS, ids=lambda one: one if isinstance(one, str) else "")
def test_edits_of_vs_code_ask_once_a_task_and_never_reach_a_secret(
    service: Service, project: Path, tool: str, args: dict[str, Any]
) -> None:
    desk = desk_of(service, project, "vscode")
    desk.says("Please change it.")
    assert not send(desk, tool, at_path(args, f"{project}/a.txt"), 1)
    [question] = desk.questions()
    service.answer(question["id"], "task")
    assert send(desk, tool, at_path(args, f"{project}/a.txt"), 1)
    assert send(desk, tool, at_path(args, f"{project}/b.txt"), 2)
    assert not send(desk, tool, at_path(args, "/etc/passwd"), 3)
    assert not send(desk, tool, at_path(args, f"{project}/.env"), 4)
    assert not send(desk, tool, at_path(args, f"{project}/.claude/settings.json"), 5)


PATCHING = {
    "codex": "command", "vscode": "input", "opencode": "patchText", "cline": "input", "openclaw": "input"
}  # fmt: skip


@pytest.mark.parametrize(("label", "argument"), PATCHING.items())
def test_a_patch_of_any_host_is_judged_by_every_file_in_it(
    service: Service, project: Path, label: str, argument: str
) -> None:
    desk = desk_of(service, project, label)

    def patch(path: str, verb: str = "Update") -> dict[str, Any]:
        return {argument: PATCH.format(verb=verb, path=path)}

    assert not send(desk, "apply_patch", patch("a.txt"), 1)
    [question] = desk.questions()
    shown = service.told("operator", "GET", f"/v1/questions/{question['id']}")
    assert [item["risk"] for item in shown["items"]] == ["moderate"]
    service.answer(question["id"], "deny")
    assert not send(desk, "apply_patch", patch(".claude/settings.json"), 2)
    assert not send(desk, "apply_patch", {**patch(".env"), "paths": ["a.txt"]}, 3)
    assert desk.questions() == []


def test_labels_are_apart() -> None:
    names = [one.label or one.name for one in HOSTS]
    assert len(names) == len(set(names)) == 9
    assert all(isinstance(one, Host) for one in HOSTS)
