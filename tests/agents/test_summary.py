"""What `sayso install` shows before it writes: short, and still everything that changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sayso.doors.agents import AGENTS, Agent
from sayso.doors.agents.agent import Place, WantedEntries
from sayso.doors.agents.settings import changes, installed
from sayso.doors.agents.settings.summary import summarize_changes
from tests.support.service_process import a_home

COMMAND = "the command of EVENT"


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Place:
    a_home(monkeypatch, tmp_path)
    return Place(tmp_path, tmp_path / "project", {})


def summarize_install(agent: Agent, place: Place, wait: int = 60) -> list[str]:
    wanted = installed.wanted_files(agent, place, "user", wait)
    return summarize_changes(agent.name, wanted, changes.plan_install(wanted), COMMAND)


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_every_file_and_every_event_is_named(agent: Agent, place: Place) -> None:
    told = "\n".join(summarize_install(agent, place))
    assert len(told.splitlines()) <= 20
    assert "/bin/sh" not in told
    for one in installed.wanted_files(agent, place, "user", 60):
        assert str(one.path) in told
        if isinstance(one, WantedEntries):
            assert all(".".join(where) in told for where in one.lists)
            assert told.splitlines()[-1] == f"Each of them runs: {COMMAND}"


def test_a_file_of_our_own_is_counted_in_lines_and_shown_on_demand(place: Place) -> None:
    [told] = summarize_install(AGENTS["copilot"], place)
    assert told.endswith(": a new file of 1 line (sayso install copilot --diff shows it)")
    [told] = summarize_install(AGENTS["opencode"], place)
    assert told.endswith(" lines (sayso install opencode --diff shows them)")


def test_a_key_that_is_set_beside_the_hooks_is_named(place: Place) -> None:
    assert any(line.split() == ["+", "version", "1"] for line in summarize_install(AGENTS["cursor"], place))
    (place.home / ".cursor").mkdir()
    (place.home / ".cursor" / "hooks.json").write_text('{"version": 1}')
    assert not any("version" in line for line in summarize_install(AGENTS["cursor"], place))


def test_what_is_set_is_spelled_as_the_file_spells_it(place: Place) -> None:
    told = "\n".join(summarize_install(AGENTS["cursor"], place))
    assert "failClosed true" in told
    assert "True" not in told


def test_only_what_differs_is_shown_of_a_hook_that_changes(place: Place) -> None:
    agent = AGENTS["claude"]
    changes.apply_changes(changes.plan_install(installed.wanted_files(agent, place, "user", 60)))
    assert summarize_install(agent, place) == []
    told = summarize_install(agent, place, wait=70)
    names = ["hooks.PreToolUse", "hooks.PermissionRequest"]
    assert [line.split()[:2] for line in told[1:-1]] == [[sign, name] for name in names for sign in "-+"]
    assert all("timeout 90" in line for line in told if line.startswith("  -"))


def test_what_goes_is_counted(place: Place) -> None:
    agent = AGENTS["claude"]
    wanted = installed.wanted_files(agent, place, "user", 60)
    changes.apply_changes(changes.plan_install(wanted))
    settings = place.home / ".claude" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "model": "opus"}))
    planned = changes.plan_uninstall(wanted, ())
    assert summarize_changes(agent.name, wanted, planned, COMMAND) == [
        f"{settings}: 6 hooks of Sayso's go, the rest stays"
    ]
