"""`sayso doctor` without a program: what it may call good, and what a project can do to the hook."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sayso.cli.agents.doctor import is_here
from sayso.doors.agents import AGENTS, Agent
from sayso.doors.agents.agent import Place
from sayso.doors.agents.doctor import examine_agent, try_canary
from sayso.doors.agents.settings import changes, installed, registration
from sayso.doors.agents.settings.registration import HookSettings, hook_command, write_settings_text
from sayso.gate.settings import gate_config_folder
from sayso.wire import CANARY_SESSION, canary_word
from tests.agents.conftest import Desk
from tests.agents.listeners import HEAD, answering, listening
from tests.agents.test_install import sayso
from tests.support.service_process import a_home


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Place:
    a_home(monkeypatch, tmp_path)
    (tmp_path / "project").mkdir()
    return Place(tmp_path, tmp_path / "project", {})


def write_hook_file(agent: Agent, place: Place) -> tuple[Path, Path]:
    """The hook's file, and the socket it names."""
    file, socket = place.home / "hook-file", place.home / "s.sock"
    settings = HookSettings(socket, os.getuid(), "sayso_agent_x", 5, None, {})
    file.write_text(write_settings_text(agent, settings))
    return file, socket


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_a_missing_hook_is_no_proof(agent: Agent, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python ends with exit code 2 by itself if its file is not there."""
    monkeypatch.setattr(registration, "HOOK", place.home / "hook.py")
    file, _ = write_hook_file(agent, place)
    assert not try_canary(agent, place, file).good


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_a_service_that_is_not_there_is_no_proof(agent: Agent, place: Place) -> None:
    file, _ = write_hook_file(agent, place)
    assert not try_canary(agent, place, file).good


def test_the_service_signs_its_no_to_a_canary_and_to_no_other_call(desk: Desk) -> None:
    def deny(session: str) -> str:
        event, payload = desk.host.agent.canary(str(gate_config_folder() / "policy.yaml"), desk.file())
        answer = desk.fire(event, json.loads(json.dumps(payload).replace(CANARY_SESSION, session)))
        assert not desk.host.runs(answer)
        return answer.out + answer.err

    assert canary_word(f"{CANARY_SESSION}-1") in deny(f"{CANARY_SESSION}-1")
    assert "Sayso decided this for" not in deny("session-1")


def test_a_block_for_another_reason_is_no_proof(place: Place) -> None:
    file, socket = write_hook_file(AGENTS["claude"], place)
    with listening(socket, answering(HEAD + b"sayso-hook 2 0 6\nsorry\n")):
        found = try_canary(AGENTS["claude"], place, file)
    assert not found.good
    assert "sorry" in found.text


def test_a_program_that_repeats_the_call_and_blocks_is_no_proof(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = place.home / "hook.py"
    hook.write_text("import sys\nprint(sys.stdin.read(), file=sys.stderr)\nsys.exit(2)\n")
    monkeypatch.setattr(registration, "HOOK", hook)
    assert not try_canary(AGENTS["claude"], place, hook).good


def look_at_claude(place: Place) -> list[str]:
    """What doctor finds bad about the host's settings and the registration."""
    one = installed.Installation("claude", "user", str(place.project), 60, "t")
    found = examine_agent(AGENTS["claude"], place, "user", one)
    return [finding.text for finding in found if not finding.good and finding.about in ("host", "hook")]


@pytest.fixture
def registered(place: Place) -> Place:
    changes.apply_changes(changes.plan_install(installed.wanted_files(AGENTS["claude"], place, "user", 60)))
    return place


def write_project(place: Place, name: str, value: Any) -> None:
    (place.project / ".claude").mkdir(exist_ok=True)
    (place.project / ".claude" / name).write_text(json.dumps(value))


FILES = pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
FOREIGN = {"matcher": "*", "hooks": [{"type": "command", "command": "./change-the-call"}]}


@pytest.mark.parametrize(("old", "new"), [("{", "{ // mine\n"), ("{", '{"cleanupPeriodDays": "abc",')])
def test_settings_that_claude_drops_are_bad(registered: Place, old: str, new: str) -> None:
    assert look_at_claude(registered) == []
    file = registered.home / ".claude" / "settings.json"
    file.write_text(file.read_text().replace(old, new, 1))
    [text] = look_at_claude(registered)
    assert "strict JSON" in text or "drop the file or its hooks" in text


@FILES
@pytest.mark.parametrize(
    "variable",
    ["LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "PYTHONPATH", "SHELL",
     "BASH_FUNC_echo%%", "CLAUDE_CODE_SHELL_PREFIX", "NODE_OPTIONS"],
)  # fmt: skip
def test_a_project_that_sets_such_a_variable_is_bad(registered: Place, name: str, variable: str) -> None:
    write_project(registered, name, {"env": {variable: "x", "EDITOR": "vi"}})
    [text] = look_at_claude(registered)
    assert variable in text
    assert "EDITOR" not in text


@FILES
def test_a_project_with_a_hook_before_tools_is_bad(registered: Place, name: str) -> None:
    write_project(registered, name, {"hooks": {"PreToolUse": [FOREIGN]}})
    [text] = look_at_claude(registered)
    assert "PreToolUse hook of its own" in text


def test_an_ordinary_project_is_good(registered: Place) -> None:
    write_project(registered, "settings.json", {"env": {"EDITOR": "vi"}, "hooks": {"Stop": [FOREIGN]}})
    wanted = installed.wanted_files(AGENTS["claude"], registered, "project", 60)
    changes.apply_changes(changes.plan_install(wanted))
    assert look_at_claude(registered) == []


def test_the_hook_gets_nothing_of_the_hosts_environment(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "hook.py"
    script.write_text("import posix\nprint(sorted(set(posix.environ) - {b'LC_CTYPE'}))\n")
    monkeypatch.setattr(registration, "HOOK", script)
    command = hook_command(AGENTS["claude"], "PreToolUse", tmp_path / "file")
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"PYTHONPATH": "/x", "BASH_ENV": "/x", "LD_BIND_NOW": "1", "PATH": "/x"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"


@pytest.fixture
def one_gated(place: Place) -> Iterator[Place]:
    """Claude Code is gated; Gemini CLI is here, and was declined."""
    (place.home / ".gemini").mkdir()
    assert sayso("init", "--yes", "--agents", cwd=place.project).returncode == 0
    assert sayso("uninstall", "gemini", "--yes", cwd=place.project).returncode == 0
    made = sayso("install", "claude", "--yes", "--wait", "1", cwd=place.project)
    assert made.returncode == 0, made.stderr
    yield place
    for note in place.home.rglob("services/*.json"):
        os.kill(int(note.stem), 15)


def test_an_agent_that_was_declined_is_not_bad(one_gated: Place) -> None:
    assert is_here(AGENTS["gemini"])
    told = sayso("doctor", cwd=one_gated.project)
    assert told.returncode == 0, told.stdout
    assert "BAD" not in told.stdout
    assert "--   not gated: every call runs; sayso install gemini" in told.stdout
    assert sayso("doctor", "gemini", cwd=one_gated.project).returncode == 1
    assert sayso("uninstall", "claude", "--yes", cwd=one_gated.project).returncode == 0
    assert sayso("doctor", cwd=one_gated.project).returncode == 1


def test_codex_is_said_to_ask_only_once_its_hooks_are_trusted(place: Place) -> None:
    said = sayso("install", "codex", "--yes", cwd=place.project).stdout
    assert "asks Sayso before every tool call, once you have trusted its hooks" in said
    assert "once you have trusted its hooks" in sayso("install", "codex", "--yes", cwd=place.project).stdout
