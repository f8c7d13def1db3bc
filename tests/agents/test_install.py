"""`sayso install`, `uninstall` and `doctor`: the user's files, before and after."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.doors.agents import AGENTS, Agent
from sayso.doors.agents.agent import Place, WantedEntries
from sayso.doors.agents.doctor.examine import examine_agent
from sayso.doors.agents.settings import changes, installed
from tests.support.repository import ROOT
from tests.support.service_process import Home, a_home

PATIENCE = 120
EXAMPLES = {
    ".claude/settings.json": '{\n  "model": "opus",\n  "hooks": {"Stop": []}\n}\n',
    ".codex/hooks.json": '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "mine"}]}]}}\n',
    ".gemini/settings.json": '{\n\t// mine\n\t"ui": {"theme": "x"}\n}',
    ".cursor/hooks.json": '{\r\n  "version": 1,\r\n  "hooks": {}\r\n}\r\n',
}


@pytest.fixture(params=list(AGENTS.values()), ids=list(AGENTS))
def agent(request: pytest.FixtureRequest) -> Agent:
    found: Agent = request.param
    return found


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Home:
    return a_home(monkeypatch, tmp_path)


@pytest.fixture
def place(home: Home, tmp_path: Path) -> Place:
    return Place(tmp_path, tmp_path / "project", {})


def sayso(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sayso", *arguments],
        cwd=cwd or ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file outside Sayso's own folders."""
    own = ("XDG_", "policy.yaml", ".local", ".config/sayso")
    names = {str(one.relative_to(folder)): one for one in folder.rglob("*") if one.is_file()}
    return {name: one.read_bytes() for name, one in names.items() if not name.startswith(own)}


def test_installing_twice_changes_nothing_and_uninstalling_restores_every_byte(
    agent: Agent, place: Place
) -> None:
    for name, text in EXAMPLES.items():
        path = place.home / name
        path.parent.mkdir(parents=True)
        path.write_bytes(text.encode())
    before = files_of(place.home)
    planned = changes.plan_install(installed.wanted_files(agent, place, "user", agent.wait))
    assert all(one.is_needed for one in planned)
    changes.apply_changes(planned)
    kept = installed.note_files(planned, None)
    again = changes.plan_install(installed.wanted_files(agent, place, "user", agent.wait))
    assert not any(one.is_needed for one in again)
    assert set(before) <= set(files_of(place.home))
    changes.apply_changes(
        changes.plan_uninstall(installed.wanted_files(agent, place, "user", agent.wait), kept)
    )
    assert files_of(place.home) == before


def test_what_the_user_wrote_since_stays_when_it_is_uninstalled(place: Place) -> None:
    agent, path = AGENTS["claude"], place.home / ".claude" / "settings.json"
    wanted = installed.wanted_files(agent, place, "user", 60)
    planned = changes.plan_install(wanted)
    changes.apply_changes(planned)
    told = json.loads(path.read_text())
    told["model"] = "opus"
    told["hooks"]["PreToolUse"].insert(0, {"hooks": [{"type": "command", "command": "mine"}]})
    path.write_text(json.dumps(told))
    changes.apply_changes(changes.plan_uninstall(wanted, installed.note_files(planned, None)))
    assert json.loads(path.read_text()) == {
        "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "mine"}]}]},
        "model": "opus",
    }


BROKEN = ['{"hooks": ', "not json", '{"a":1,"a":2}', '{"hooks": []}', "[]", "\xff"]


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "cursor"])
def test_a_broken_settings_file_is_left_alone(place: Place, name: str, text: str) -> None:
    agent = AGENTS[name]
    wanted = installed.wanted_files(agent, place, "user", 60)
    [one] = wanted
    assert isinstance(one, WantedEntries)
    one.path.parent.mkdir(parents=True)
    one.path.write_bytes(text.encode("latin-1"))
    with pytest.raises(changes.CannotInstall, match=r"left alone|UTF-8|no list|no JSON|twice|no object"):
        changes.plan_install(wanted)
    assert one.path.read_bytes() == text.encode("latin-1")


@pytest.mark.parametrize("name", ["copilot", "opencode", "cline", "openclaw"])
def test_a_file_of_somebody_else_is_not_replaced(place: Place, name: str) -> None:
    wanted = installed.wanted_files(AGENTS[name], place, "user", 15)
    wanted[0].path.parent.mkdir(parents=True)
    wanted[0].path.write_text("mine")
    with pytest.raises(changes.CannotInstall, match="not Sayso's"):
        changes.plan_install(wanted)


def test_a_link_of_the_users_stays_a_link(place: Place) -> None:
    real = place.home / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text("{}")
    link = place.home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    changes.apply_changes(changes.plan_install(installed.wanted_files(AGENTS["claude"], place, "user", 60)))
    assert link.is_symlink()
    assert "hook.py" in real.read_text()


def test_a_project_whose_settings_lead_elsewhere_is_refused(place: Place, tmp_path: Path) -> None:
    place.project.mkdir()
    outside = tmp_path / "outside.json"
    outside.write_text("{}")
    (place.project / ".claude").mkdir()
    (place.project / ".claude" / "settings.local.json").symlink_to(outside)
    wanted = installed.wanted_files(AGENTS["claude"], place, "project", 60)
    with pytest.raises(changes.CannotInstall, match="leads out of the project"):
        changes.plan_install(wanted, place.project)
    assert outside.read_text() == "{}"


def test_settings_follow_the_variables_that_move_them(place: Place, tmp_path: Path) -> None:
    moved = {"CLAUDE_CONFIG_DIR": "c", "CODEX_HOME": "x", "GEMINI_CLI_HOME": "g", "OPENCODE_CONFIG_DIR": "o"}
    variables = {name: str(tmp_path / folder) for name, folder in moved.items()}
    there = Place(place.home, place.project, variables)
    found = [
        str(AGENTS[name].wanted(there, "user", lambda event: event, 60)[0].path.relative_to(tmp_path))
        for name in ("claude", "codex", "gemini", "opencode")
    ]
    assert found == ["c/settings.json", "x/hooks.json", "g/.gemini/settings.json", "o/plugins/sayso.js"]


@pytest.mark.parametrize("agent", [AGENTS["claude"], AGENTS["opencode"]], ids=["claude", "opencode"])
def test_settings_that_have_moved_since_are_restored_where_they_were(
    place: Place, tmp_path: Path, agent: Agent
) -> None:
    variable = {"claude": "CLAUDE_CONFIG_DIR", "opencode": "OPENCODE_CONFIG_DIR"}[agent.name]
    before, noted = files_of(place.home), None
    for folder in ("one", "two"):
        there = Place(place.home, place.project, {variable: str(tmp_path / folder)})
        planned = changes.plan_install(installed.wanted_files(agent, there, "user", 60))
        changes.apply_changes(planned)
        kept = installed.note_files(planned, noted)
        noted = installed.Installation(agent.name, "user", "", 60, "t", kept)
    assert noted is not None
    assert len(files_of(place.home)) == len(before) + 2
    wanted = changes.add_earlier_places(installed.wanted_files(agent, place, "user", 60), noted.files)
    changes.apply_changes(changes.plan_uninstall(wanted, noted.files))
    assert files_of(place.home) == before


def test_no_folder_is_left_that_installing_made(agent: Agent, place: Place) -> None:
    wanted = installed.wanted_files(agent, place, "user", agent.wait)
    kept = wanted[0].path.parents[agent.levels - 1]
    kept.mkdir(parents=True)
    (kept / "mine").write_text("mine")
    before = sorted(place.home.rglob("*"))
    planned = changes.plan_install(wanted)
    changes.apply_changes(planned)
    files = installed.note_files(planned, None)
    assert not any(one.is_needed for one in changes.plan_install(wanted))
    changes.apply_changes(changes.plan_uninstall(wanted, files))
    assert sorted(place.home.rglob("*")) == before


def test_a_folder_of_the_users_stays_though_it_is_empty(place: Place) -> None:
    agent = AGENTS["opencode"]
    wanted = installed.wanted_files(agent, place, "user", agent.wait)
    wanted[0].path.parent.mkdir(parents=True)
    planned = changes.plan_install(wanted)
    changes.apply_changes(planned)
    changes.apply_changes(changes.plan_uninstall(wanted, installed.note_files(planned, None)))
    assert wanted[0].path.parent.is_dir()


def test_times_are_in_the_hosts_own_unit(place: Place) -> None:
    def hooks(name: str, *path: str) -> object:
        [one] = AGENTS[name].wanted(place, "user", lambda event: event, 330)
        assert isinstance(one, WantedEntries)
        return one.lists["hooks", path[0]]

    assert hooks("gemini", "BeforeTool")["hooks"][0]["timeout"] == 330_000  # type: ignore[index]
    assert hooks("claude", "PreToolUse")["hooks"][0]["timeout"] == 330  # type: ignore[index]
    assert hooks("claude", "PreToolUse")["hooks"][0]["onFailure"] == "block"  # type: ignore[index]
    assert hooks("codex", "PreToolUse")["hooks"][0]["timeout"] == 330  # type: ignore[index]
    assert hooks("cursor", "preToolUse")["failClosed"] is True  # type: ignore[index]


@pytest.fixture
def gated(home: Home, tmp_path: Path) -> Iterator[Path]:
    """Claude Code gated by the command line, with a service that the hook starts."""
    project = tmp_path / "project"
    project.mkdir()
    assert sayso("init", "--yes", "--agents", cwd=project).returncode == 0
    made = sayso("install", "claude", "--yes", "--wait", "1", cwd=project)
    assert made.returncode == 0, made.stderr
    yield project
    sayso("uninstall", "claude", "--yes")
    _end_services(tmp_path)


def _end_services(home: Path) -> None:
    for note in home.rglob("services/*.json"):
        os.kill(int(note.stem), 15)


@pytest.mark.parametrize("others", [(), (".gemini",)], ids=["alone", "beside one that is gated"])
def test_init_fails_if_an_agent_cannot_be_gated(home: Home, tmp_path: Path, others: tuple[str, ...]) -> None:
    for folder in (".claude", *others, "project"):
        (tmp_path / folder).mkdir()
    settings = tmp_path / ".claude" / "settings.json"
    settings.write_text('{"hooks": {')
    told = sayso("init", "--yes", cwd=tmp_path / "project")
    _end_services(tmp_path)
    assert told.returncode == 1, told.stdout
    assert "Claude Code is not gated" in told.stdout + told.stderr
    assert "claude\n  --   not gated: every call runs" in told.stdout
    assert settings.read_text() == '{"hooks": {'


def test_init_fails_if_doctor_finds_something_wrong(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (".codex", "project", "bin"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))  # no command codex, so nobody knows what it trusts
    told = sayso("init", "--yes", cwd=tmp_path / "project")
    _end_services(tmp_path)
    assert told.returncode == 1, told.stdout
    assert "BAD  host" in told.stdout


def test_the_whole_way_by_the_command_line(gated: Path, tmp_path: Path) -> None:
    again = sayso("install", "claude", "--yes", cwd=gated)
    assert "nothing to change" in again.stdout
    told = sayso("doctor", "claude", "--json", cwd=gated)
    found = json.loads(told.stdout)
    assert told.returncode == 0, found
    assert {one["about"] for one in found["claude"]} == {"program", "hook", "canary", "failure"}
    assert found["not_gated"] == []
    assert "guarded" in found["level"][0]["text"]
    settings = tmp_path / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace("PreToolUse", "PreToolUsed"))
    assert sayso("doctor", "claude", cwd=gated).returncode == 1
    settings.unlink()
    assert sayso("uninstall", "claude", "--yes", cwd=gated).returncode == 0
    assert not settings.exists()
    assert sayso("doctor", "claude", cwd=gated).returncode == 1


def test_codex_that_cannot_be_asked_is_reported(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(place.home))
    one = installed.Installation("codex", "user", str(place.project), 60, "t")
    found = {finding.about: finding for finding in examine_agent(AGENTS["codex"], place, "user", one)}
    assert not found["host"].good
    assert "cannot be asked" in found["host"].text
