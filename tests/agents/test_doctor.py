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
from sayso.doors.agents.doctor.canary import try_canary
from sayso.doors.agents.doctor.examine import examine_agent
from sayso.doors.agents.settings import changes, installed, registration
from sayso.doors.agents.settings.registration import HookSettings, hook_command, write_settings_text
from sayso.gate.open import gate_data_folder
from sayso.gate.running_services import list_running_services
from sayso.gate.settings import gate_config_folder
from sayso.wire import CANARY_SESSION, canary_word, heard_word
from tests.agents.conftest import Desk, with_messages
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
    file.write_text(write_settings_text(agent.events, settings))
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
        assert desk.host.agent.is_blocked(answer.code, answer.out)
        return answer.out + answer.err

    assert canary_word(f"{CANARY_SESSION}-1") in deny(f"{CANARY_SESSION}-1")
    assert "Sayso decided this for" not in deny("session-1")


def send_canary(desk: Desk, what: str) -> str:
    event, payload = desk.host.agent.canary(what, desk.file())
    answer = desk.fire(event, payload)
    assert desk.host.agent.is_blocked(answer.code, answer.out)
    return answer.out + answer.err


def test_the_doctors_call_is_recorded_as_its_own_and_its_session_is_over_at_once(desk: Desk) -> None:
    send_canary(desk, str(gate_config_folder() / "policy.yaml"))
    assert history(desk) == [(f"sayso doctor ({desk.host.name})", "deny")]
    assert desk.service.told("operator", "GET", "/v1/sessions") == []


def history(desk: Desk) -> list[tuple[str, str]]:
    rows = desk.service.told("operator", "GET", "/v1/history")
    return [(row["agent"], row["verdict"]) for row in rows]


def test_under_the_doctors_name_nothing_is_asked_and_nothing_runs(desk: Desk) -> None:
    """What a person reads as the doctor's must be: a session of that name is good for one call only."""
    desk.session = f"{CANARY_SESSION}-{'0' * 16}"
    for kind, what in (("read", desk.file()), ("shell", "git push"), ("shell", "ls")):
        answer = desk.call(kind, what)
        assert not desk.host.runs(answer)
        assert "sayso doctor" in answer.out + answer.err
    assert desk.questions() == []
    assert history(desk) == []


@with_messages
def test_the_service_says_whether_the_program_has_brought_the_canarys_name(desk: Desk) -> None:
    def ask(session: str) -> str:
        event, payload = desk.host.agent.canary(str(gate_config_folder() / "policy.yaml"), desk.file())
        answer = desk.fire(event, json.loads(json.dumps(payload).replace(CANARY_SESSION, session)))
        return answer.out + answer.err

    first, second = (f"{CANARY_SESSION}-{digit * 16}" for digit in "01")
    desk.says(first)
    desk.says(f"{second} and more")
    assert heard_word(first) in ask(first)
    assert heard_word(second) not in ask(second)
    assert heard_word(first) not in ask(second)


@with_messages
def test_a_message_that_begins_like_a_canary_is_heard(desk: Desk) -> None:
    desk.says(f"{CANARY_SESSION}-0000000000000000. Stop.")
    assert not desk.host.runs(desk.call("read", desk.file()))


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


@FILES
def test_a_project_that_switches_on_plugins_is_bad(registered: Place, name: str) -> None:
    write_project(registered, name, {"enabledPlugins": {"a@b": True, "c@d": False}})
    [text] = look_at_claude(registered)
    assert "plugins (a@b)" in text


TEXTS = {
    "a command in a line": ("Today is !`date`.\n", "commands that Claude Code runs"),
    "a block of commands": ("First:\n```!\ndate\n```\n", "commands that Claude Code runs"),
    "hooks": ("---\nname: x\nhooks:\n  PreToolUse: []\n---\ntext\n", "hooks of its own"),
    "hooks in a file of Windows": ("---\r\nhooks:\r\n  Stop: []\r\n---\r\n", "hooks of its own"),
}


@pytest.mark.parametrize("place_of_text", ["skills/x/SKILL.md", "commands/x.md", "agents/x.md"])
@pytest.mark.parametrize(("text", "why"), TEXTS.values(), ids=TEXTS)
def test_a_project_whose_texts_run_something_is_bad(
    registered: Place, place_of_text: str, text: str, why: str
) -> None:
    file = registered.project / ".claude" / place_of_text
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode())
    [found] = look_at_claude(registered)
    assert str(file) in found
    assert why in found


def test_a_text_that_only_speaks_of_hooks_is_good(registered: Place) -> None:
    file = registered.project / ".claude" / "skills" / "x" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: x\n---\nUse `date`!\n\nhooks:\n- none\n")
    assert look_at_claude(registered) == []


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
    last = sayso("uninstall", "claude", "--yes", cwd=one_gated.project)
    assert last.returncode == 0
    assert "the service still runs; `sayso serve --stop` stops it" in " ".join(last.stderr.split())
    assert sayso("doctor", cwd=one_gated.project).returncode == 1


def level_of(told: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    [level] = json.loads(told.stdout)["level"]
    return dict(level)


def test_without_a_gate_nothing_is_called_guarded(place: Place) -> None:
    told = sayso("doctor", "--json", cwd=place.project)
    assert told.returncode == 1
    assert not level_of(told)["good"]
    assert level_of(told)["text"].startswith("none:")


def test_a_gate_that_is_broken_is_not_called_guarded(one_gated: Place) -> None:
    assert level_of(sayso("doctor", "--json", cwd=one_gated.project))["text"].startswith("guarded:")
    (one_gated.home / ".claude" / "settings.json").write_text("{}")
    told = level_of(sayso("doctor", "--json", cwd=one_gated.project))
    assert not told["good"]
    assert told["text"].startswith("not proven for claude:")


def test_doctor_names_the_service_that_runs(one_gated: Place) -> None:
    told = sayso("doctor", cwd=one_gated.project).stdout
    [service] = list_running_services(gate_data_folder())
    assert f"service: runs at {service.page}" in told


FOLDERS = {
    "claude": ".claude", "codex": ".codex", "gemini": ".gemini", "cursor": ".cursor", "copilot": ".copilot",
    "opencode": "XDG_CONFIG_HOME/opencode", "cline": "Documents/Cline", "openclaw": ".openclaw",
}  # fmt: skip


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_an_agent_is_found_by_the_folder_that_it_keeps(
    agent: Agent, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some are not on the PATH, and none has a folder for plugins or hooks before somebody makes one."""
    monkeypatch.setenv("PATH", "")
    assert not is_here(agent)
    (place.home / FOLDERS[agent.name]).mkdir(parents=True)
    assert is_here(agent)


FIND_HOOK = """\
import json
hooks = json.load(open("HOME/.claude/settings.json"))["hooks"]
print(hooks["UserPromptSubmit"][0]["hooks"][0]["command"])
"""
RUNS_HOOK = f"""\
#!/bin/sh
[ "$1" = -p ] || exit 0
command=$(python3 -c '{FIND_HOOK}')
printf '{{"session_id": "s", "cwd": "/", "prompt": "%s"}}' "$2" | sh -c "$command"
"""


@pytest.mark.parametrize(("script", "good"), [(RUNS_HOOK, True), ("#!/bin/sh\nexit 0\n", False)])
def test_a_program_is_started_and_must_run_the_hook(one_gated: Place, script: str, good: bool) -> None:
    program = one_gated.home / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(script.replace("HOME", str(one_gated.home)))
    program.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        told = sayso("doctor", "claude", "--json", cwd=one_gated.project)
    found = {one["about"]: one["good"] for one in json.loads(told.stdout)["claude"]}
    assert found["canary"]
    assert found["run"] is good
    assert told.returncode == (0 if good else 1)


ONCE = {
    "codex": "you have trusted its hooks",
    "cline": "hooks are on in its settings",
    "openclaw": "its plugin is enabled",
}


@pytest.mark.parametrize(("name", "condition"), ONCE.items())
def test_an_agent_that_needs_more_is_said_to_ask_only_once_that_is_done(
    place: Place, name: str, condition: str
) -> None:
    for _ in range(2):
        said = " ".join(sayso("install", name, "--yes", cwd=place.project).stdout.split())
        assert f"asks Sayso before every tool call, once {condition}, and not before" in said


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_a_program_that_is_not_here_is_not_said_to_run_the_hook(
    agent: Agent, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    program, *_ = examine_agent(agent, place, "user", None)
    assert f"no command {agent.program} found, so" in program.text
    assert "whether it runs the hook is not proven here" in program.text
