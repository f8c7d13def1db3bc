"""Every argument of the hosts' own tools that executes or writes something is declared for that host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sayso.policy import load_preset
from sayso.reading.resolve import operations_for
from tests.agents.conftest import Desk
from tests.agents.hosts import HOSTS
from tests.agents.test_tools_of_hosts import send
from tests.support.service import Service

LINE = "git push --force"
SPLIT: Any = ("git", "push", "--force")

COMMAND_LINES: list[tuple[str, str, dict[str, Any]]] = [
    ("claude", "Bash", {"command": LINE, "description": "x"}),
    ("claude", "PowerShell", {"command": LINE}),
    ("claude", "Monitor", {"command": LINE, "description": "x", "timeout_ms": 1000, "persistent": False}),
    ("codex", "Bash", {"command": LINE}),
    ("codex", "shell", {"command": [*SPLIT], "workdir": "."}),
    ("codex", "shell", {"command": ["bash", "-lc", LINE]}),
    ("codex", "shell_command", {"command": LINE, "timeout_ms": 1000}),
    ("codex", "local_shell", {"command": [*SPLIT]}),
    ("codex", "exec_command", {"cmd": LINE, "yield_time_ms": 1000}),
    ("codex", "unified_exec", {"cmd": LINE}),
    ("codex", "write_stdin", {"session_id": 7, "chars": f"{LINE}\n"}),
    ("gemini", "run_shell_command", {"command": LINE, "description": "x"}),
    ("cursor", "Shell", {"command": LINE, "description": "x"}),
    ("cursor", "run_terminal_cmd", {"command": LINE, "is_background": False}),
    ("cursor", "WriteShellStdin", {"shell_id": 7, "chars": f"{LINE}\n"}),
    ("copilot", "bash", {"command": LINE, "description": "x", "sessionId": "a", "async": False}),
    ("copilot", "powershell", {"command": LINE, "description": "x"}),
    ("copilot", "write_bash", {"sessionId": "a", "input": LINE, "delay": 5}),
    ("copilot", "write_powershell", {"sessionId": "a", "input": LINE}),
    ("vscode", "run_in_terminal", {"command": LINE, "explanation": "x", "isBackground": False}),
    ("vscode", "runTerminalCommand", {"command": LINE}),
    ("vscode", "runCommands", {"command": LINE}),
    ("vscode", "send_to_terminal", {"id": "7", "command": LINE}),
    ("opencode", "bash", {"command": LINE, "description": "x", "timeout": 1000}),
    ("cline", "execute_command", {"command": LINE, "requires_approval": "false"}),
    ("cline", "attempt_completion", {"result": "Done.", "command": LINE}),
    (
        "cline",
        "attempt_completion",
        {"result": "Done:\n- all", "command": LINE, "task_progress": "- [x] a\n"},
    ),
    ("openclaw", "exec", {"command": LINE, "timeout": 10}),
    ("openclaw", "process", {"action": "write", "sessionId": "a", "data": f"{LINE}\n"}),
    ("openclaw", "process", {"action": "submit", "sessionId": "a", "data": LINE}),
    ("openclaw", "nodes", {"action": "run", "node": "mac", "command": [*SPLIT]}),
]
"""Where the command line is an argument by itself."""

OTHERWISE: list[tuple[str, str, dict[str, Any]]] = [
    ("claude", "Workflow", {"script": f"await bash('{LINE}')"}),
    ("claude", "REPL", {"code": f"bash('{LINE}')"}),
    ("codex", "exec", {"input": f"await tools.exec_command({{cmd: '{LINE}'}})"}),
    ("codex", "js_repl", {"code": f"exec('{LINE}')"}),
    ("vscode", "create_and_run_task", {"task": {"label": "x", "type": "shell", "command": LINE}}),
    (
        "vscode",
        "create_and_run_task",
        {"task": {"label": "x", "type": "shell", "command": "git", "args": ["push", "--force"]}},
    ),
    ("vscode", "run_task", {"id": "shell: push", "workspaceFolder": "."}),
    ("vscode", "run_vscode_command", {"commandId": "workbench.action.terminal.sendSequence", "args": [LINE]}),
    ("vscode", "run_notebook_cell", {"filePath": "{project}/a.ipynb", "cellId": "1"}),
    (
        "vscode",
        "edit_notebook_file",
        {"filePath": "{project}/a.ipynb", "editType": "insert", "newCode": LINE},
    ),
    ("cursor", "EditNotebook", {"target_notebook": "a.ipynb", "new_string": f"!{LINE}"}),
    ("opencode", "batch", {"tool_calls": [{"tool": "bash", "parameters": {"command": LINE}}]}),
    ("cline", "run_commands", {"commands": [LINE]}),
    ("cline", "new_rule", {"path": ".clinerules/a.md", "content": LINE}),
    ("cline", "attempt_completion", {"result": "Done.", "command": [*SPLIT]}),
    ("openclaw", "process", {"action": "paste", "sessionId": "a", "text": LINE}),
    ("openclaw", "process", {"action": "send-keys", "sessionId": "a", "literal": LINE, "keys": ["Enter"]}),
    ("openclaw", "process", {"sessionId": "a", "data": LINE}),
    ("openclaw", "code_execution", {"code": f"exec('{LINE}')"}),
]
"""Where it stands in code, in another call, or in words of its own."""

EMPTY: list[tuple[str, str, dict[str, Any]]] = [
    ("cline", "attempt_completion", {"result": "Done:\n- all"}),
    ("cline", "attempt_completion", {"result": "Done.", "command": ""}),
    ("cline", "attempt_completion", {"result": "Done.", "command": " "}),
    ("cline", "attempt_completion", {"result": "Done.", "command": "pytest -q"}),
    ("codex", "write_stdin", {"session_id": 7, "chars": "", "yield_time_ms": 1000}),
    ("codex", "write_stdin", {"session_id": 7}),
    ("openclaw", "process", {"action": "poll", "sessionId": "a"}),
    ("copilot", "read_powershell", {"sessionId": "a", "delay": 5}),
]
"""Nothing is executed by it, or what is free by itself."""


def desk_of(service: Service, project: Path, label: str) -> Desk:
    host = next(one for one in HOSTS if (one.label or one.name) == label)
    return Desk(service, host, project)


def in_project(args: dict[str, Any], project: Path) -> dict[str, Any]:
    return {
        name: value.replace("{project}", str(project)) if isinstance(value, str) else value
        for name, value in args.items()
    }


@pytest.mark.parametrize(("label", "tool", "args"), [*COMMAND_LINES, *OTHERWISE])
def test_a_force_push_asks_in_whatever_argument_it_stands(
    service: Service, project: Path, label: str, tool: str, args: dict[str, Any]
) -> None:
    assert not send(desk_of(service, project, label), tool, in_project(args, project))


@pytest.mark.parametrize(("label", "tool", "args"), COMMAND_LINES)
def test_a_command_line_is_read_as_one(label: str, tool: str, args: dict[str, Any]) -> None:
    found = operations_for(tool, args, load_preset("coding"), folder="/w", workspace="/w", home="/h")
    assert "git.push_force" in {one.name for one in found}


@pytest.mark.parametrize(("label", "tool", "args"), EMPTY)
def test_a_call_that_executes_nothing_runs(
    service: Service, project: Path, label: str, tool: str, args: dict[str, Any]
) -> None:
    desk = desk_of(service, project, label)
    assert send(desk, tool, args), desk.questions()


def test_every_host_is_in_the_table() -> None:
    assert {label for label, _, _ in COMMAND_LINES} == {one.label or one.name for one in HOSTS}


def test_every_tool_in_the_table_is_declared() -> None:
    listed = {entry.tool for entry in load_preset("coding").tools}
    assert {tool for _, tool, _ in (*COMMAND_LINES, *OTHERWISE)} <= listed
