"""Whether Codex runs the hook, by its own word. Here a script stands for Codex and says what it is told."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from sayso.doors.agents.codex import is_trusted_by_codex

HOOK = {
    "eventName": "preToolUse",
    "sourcePath": "/home/dev/.codex/hooks.json",
    "command": "/bin/sh -c '...' sayso /usr/bin/python3 -I -S /opt/sayso/hook/hook.py codex PreToolUse /f",
    "enabled": True,
    "trustStatus": "trusted",
}


def ask(folder: Path, *lines: str) -> bool | None:
    """Ask a Codex that prints these lines."""
    program = folder / "codex"
    says = " ".join(shlex.quote(line) for line in lines)
    program.write_text(f"#!/bin/sh\nread -r one\nread -r two\nread -r three\nprintf '%s\\n' {says}\n")
    program.chmod(0o755)
    return is_trusted_by_codex(str(program), folder, Path(str(HOOK["sourcePath"])), str(HOOK["command"]))


def answer_with(*hooks: dict[str, Any]) -> str:
    return json.dumps({"id": 2, "result": {"data": [{"cwd": "/", "hooks": list(hooks)}]}})


def test_a_hook_that_codex_trusts_runs(tmp_path: Path) -> None:
    assert ask(tmp_path, '{"id": 1, "result": {}}', '{"method": "news"}', answer_with(HOOK)) is True


@pytest.mark.parametrize(
    "change",
    [
        {"trustStatus": "untrusted"},
        {"trustStatus": "modified"},
        {"trustStatus": None},
        {"enabled": False},
        {"enabled": "yes"},
        {"eventName": "postToolUse"},
        {"sourcePath": "/elsewhere/hooks.json"},
        {"command": "true"},
        {"command": f"true {HOOK['command']}"},
    ],
)
def test_every_other_hook_does_not_count(tmp_path: Path, change: dict[str, Any]) -> None:
    assert ask(tmp_path, answer_with({**HOOK, **change})) is False


def test_no_hook_is_none_that_runs(tmp_path: Path) -> None:
    assert ask(tmp_path, answer_with()) is False


@pytest.mark.parametrize(
    "line", ["", "garbage", '{"id": 1}', '{"id": 2}', '{"id": 2, "result": {"data": []}}', "[2]", "null"]
)
def test_what_is_no_answer_tells_nothing(tmp_path: Path, line: str) -> None:
    assert ask(tmp_path, line) is None


def test_a_codex_that_is_not_there_tells_nothing(tmp_path: Path) -> None:
    assert is_trusted_by_codex(str(tmp_path / "codex"), tmp_path, Path("/hooks.json"), "x") is None
