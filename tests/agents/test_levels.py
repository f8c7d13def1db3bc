"""The level that `sayso doctor` names: guarded, or separated from the agents' user."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.doors.agents.doctor.canary import Diagnosis
from sayso.doors.agents.doctor.examine import find_level

OTHER, AGENTS_USER = 12_345, 65_534
GOOD = {"claude": [Diagnosis("canary", good=True, text="blocked")]}


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that every user can look into, with settings that name the service's user."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
            monkeypatch.setenv(variable, str(folder))
        (folder / "sayso").mkdir()
        (folder / "sayso" / "settings.json").write_text(json.dumps({"service_uid": OTHER}))
        (folder / "run").mkdir(mode=0o755)
        yield folder


def find_level_as_agent(socket: Path) -> Diagnosis:
    """Name the level as a user who does not own the folder: root may write everywhere."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setresuid(AGENTS_USER, AGENTS_USER, AGENTS_USER)
            found = find_level(socket, GOOD)
            os.write(writing, json.dumps([found.good, found.text]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as told:
        good, text = json.loads(told.read())
    return Diagnosis("level", good=good, text=text)


def test_a_service_of_another_user_behind_a_folder_of_theirs_is_separated(place: Path) -> None:
    (place / "run").chmod(0o555)
    level = find_level_as_agent(place / "run" / "sayso.sock")
    assert level.good
    assert level.text == f"separated: the service runs as user {OTHER}"


def test_a_folder_that_the_agent_can_write_to_is_not_separated(place: Path) -> None:
    (place / "run").chmod(0o777)
    level = find_level_as_agent(place / "run" / "sayso.sock")
    assert not level.good
    assert level.text.startswith("guarded: you can write to")


def test_a_folder_that_is_not_there_is_not_separated(place: Path) -> None:
    level = find_level(place / "gone" / "sayso.sock", GOOD)
    assert not level.good
    assert "separated" not in level.text


def test_a_service_of_the_agents_own_user_is_guarded(place: Path) -> None:
    (place / "sayso" / "settings.json").write_text(json.dumps({"service_uid": os.getuid()}))
    level = find_level(place / "run" / "sayso.sock", GOOD)
    assert level.good
    assert level.text.startswith("guarded: stops mistakes")


def test_a_gate_that_is_not_proven_is_neither(place: Path) -> None:
    broken = {**GOOD, "codex": [Diagnosis("host", good=False, text="skipped")]}
    (place / "run").chmod(0o555)
    level = find_level(place / "run" / "sayso.sock", broken)
    assert not level.good
    assert level.text == "not proven for codex: see BAD above"
