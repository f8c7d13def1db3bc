"""What the user has in the same files: kept if theirs, refused if the agent would drop the file for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sayso.doors.agents import AGENTS
from sayso.doors.agents.agent import Place, WantedEntries
from sayso.doors.agents.settings import changes, installed
from sayso.doors.agents.settings.registration import is_hook_command
from tests.support.service_process import a_home

MINE = {"type": "command", "command": "python3 /home/ana/sayso-notes/hook.py"}
LISTS = ["claude", "codex", "gemini", "cursor"]


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Place:
    a_home(monkeypatch, tmp_path)
    return Place(tmp_path, tmp_path / "project", {})


def wanted_entries(place: Place, name: str) -> WantedEntries:
    [one] = installed.wanted_files(AGENTS[name], place, "user", 60)
    assert isinstance(one, WantedEntries)
    return one


def write_settings(one: WantedEntries, text: str) -> None:
    one.path.parent.mkdir(parents=True, exist_ok=True)
    one.path.write_text(text, encoding="utf-8")


def install(one: WantedEntries) -> Any:
    changes.apply_changes(changes.plan_install([one]))
    return json.loads(one.path.read_text(encoding="utf-8"))


def uninstall(one: WantedEntries) -> Any:
    changes.apply_changes(changes.plan_uninstall([one], ()))
    return json.loads(one.path.read_text(encoding="utf-8"))


def list_before_tools(one: WantedEntries, settings: Any) -> list[Any]:
    """The entries of the event that decides."""
    event = next(iter(one.lists))[1]
    found: list[Any] = settings["hooks"].get(event, [])
    return found


@pytest.mark.parametrize("name", LISTS)
def test_a_hook_of_the_users_with_a_name_like_ours_is_kept(place: Place, name: str) -> None:
    one = wanted_entries(place, name)
    event = next(iter(one.lists))[1]
    mine: Any = MINE if name == "cursor" else {"hooks": [MINE]}
    write_settings(one, json.dumps({"hooks": {event: [mine]}}))
    assert list_before_tools(one, install(one))[0] == mine
    assert list_before_tools(one, uninstall(one)) == [mine]


@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
@pytest.mark.parametrize("place_of_mine", [0, 1])
def test_a_hook_of_the_users_in_our_entry_is_kept(place: Place, name: str, place_of_mine: int) -> None:
    one = wanted_entries(place, name)
    settings = install(one)
    list_before_tools(one, settings)[0]["hooks"].insert(place_of_mine, MINE)
    write_settings(one, json.dumps(settings))
    assert not any(change.is_needed for change in changes.plan_install([one]))
    [left] = list_before_tools(one, uninstall(one))
    assert left["hooks"] == [MINE]


def test_a_hook_of_the_users_in_an_older_entry_of_ours_is_kept(place: Place) -> None:
    one = wanted_entries(place, "claude")
    settings = install(one)
    entry = list_before_tools(one, settings)[0]
    entry["hooks"] = [{**entry["hooks"][0], "timeout": 7}, MINE]
    write_settings(one, json.dumps(settings))
    kept, new = list_before_tools(one, install(one))
    assert kept["hooks"] == [MINE]
    assert new == one.lists["hooks", "PreToolUse"]


def test_our_command_is_known_from_every_folder_of_the_program(place: Place) -> None:
    command = wanted_entries(place, "claude").lists["hooks", "PreToolUse"]["hooks"][0]["command"]
    assert is_hook_command(command)
    assert is_hook_command(command.replace("/src/sayso/", "/old/sayso/"))


@pytest.mark.parametrize(
    "command",
    ["sayso /hook.py", MINE["command"], "/bin/sh -c true sayso /x/hook.py", "'", "", None, 1, ["sayso"]],
)
def test_no_other_command_is_ours(command: object) -> None:
    assert not is_hook_command(command)


@pytest.mark.parametrize("text", ["// run sayso install first", "python3 /opt/sayso/hook.py"])
@pytest.mark.parametrize("name", ["copilot", "opencode", "cline", "openclaw"])
def test_a_file_that_only_speaks_of_sayso_is_not_replaced(place: Place, name: str, text: str) -> None:
    wanted = installed.wanted_files(AGENTS[name], place, "user", 15)
    wanted[0].path.parent.mkdir(parents=True)
    wanted[0].path.write_text(text)
    with pytest.raises(changes.CannotInstall, match="not Sayso's"):
        changes.plan_install(wanted)


COMMENT = '{\n  // mine\n  "model": "opus"\n}\n'
LOOSE = {"a trailing comma": '{"model": "opus",}', "one in a list": '{"a": [1,]}'}


@pytest.mark.parametrize("text", LOOSE.values(), ids=LOOSE.keys())
@pytest.mark.parametrize("name", LISTS)
def test_a_trailing_comma_is_refused(place: Place, name: str, text: str) -> None:
    one = wanted_entries(place, name)
    write_settings(one, text)
    with pytest.raises(changes.CannotInstall, match="not strict JSON"):
        changes.plan_install([one])
    assert one.path.read_text() == text


@pytest.mark.parametrize("name", LISTS)
def test_comments_are_refused_where_the_agent_does_not_read_them(place: Place, name: str) -> None:
    one = wanted_entries(place, name)
    write_settings(one, COMMENT)
    if name == "gemini":
        assert changes.plan_install([one])[0].is_needed
        return
    with pytest.raises(changes.CannotInstall, match="line 2: this is not strict JSON"):
        changes.plan_install([one])


FAULTS: dict[str, Any] = {
    "a number as text": {"cleanupPeriodDays": "abc"},
    "env as a list": {"env": []},
    "an event without a list": {"hooks": {"Stop": {"hooks": []}}},
    "an entry that is a hook": {"hooks": {"Stop": [{"type": "command", "command": "x"}]}},
    "a hook that is a text": {"hooks": {"Stop": [{"hooks": ["x"]}]}},
    "a hook without its command": {"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}},
    "a matcher that is a list": {"hooks": {"Stop": [{"matcher": ["x"], "hooks": []}]}},
    "permissions as texts": {"permissions": ["Bash"]},
}


@pytest.mark.parametrize("settings", FAULTS.values(), ids=FAULTS.keys())
def test_settings_that_claude_drops_are_refused(place: Place, settings: Any) -> None:
    one = wanted_entries(place, "claude")
    write_settings(one, json.dumps(settings))
    with pytest.raises(changes.CannotInstall, match="drop the file or its hooks"):
        changes.plan_install([one])


def test_our_entries_go_from_a_file_with_comments(place: Place) -> None:
    one = wanted_entries(place, "claude")
    install(one)
    text = one.path.read_text()
    write_settings(one, text.replace("{", '{ // mine\n"model": "opus",', 1))
    [change] = changes.plan_uninstall([one], ())
    assert change.after is not None
    assert "// mine" in change.after
    assert "hook.py" not in change.after


@pytest.mark.parametrize("name", LISTS)
def test_a_byte_order_mark_is_named_and_the_file_left_alone(place: Place, name: str) -> None:
    one = wanted_entries(place, name)
    one.path.parent.mkdir(parents=True)
    one.path.write_bytes(b'\xef\xbb\xbf{"version": 1}')
    with pytest.raises(changes.CannotInstall, match="begins with a byte order mark"):
        changes.plan_install([one])
    assert one.path.read_bytes() == b'\xef\xbb\xbf{"version": 1}'
