"""A session whose workspace nobody named has that of the working folder: its paths can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso import Sayso
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import make_key
from sayso.policy import load_preset
from sayso.store.memory.store import MemoryStore


@pytest.fixture
def gate() -> Sayso:
    return Sayso(open_gate(load_preset("balanced"), MemoryStore(), key=make_key("test")))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a link to a key, and a folder in it to work in."""
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".ssh").mkdir(parents=True)
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    (project / "src" / "innocent.txt").symlink_to(home / ".ssh" / "id_rsa")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project / "src")
    return project


def test_a_link_to_a_key_is_not_read_because_nobody_named_the_workspace(gate: Sayso, project: Path) -> None:
    @gate.requires_consent("files.read", risk="low")
    def read_file(path: str) -> str:
        return path

    named = gate.check("read_file", {"path": "innocent.txt"}, session=gate.session())
    own = gate.check("read_file", {"path": "innocent.txt"})
    assert {named.rule, own.rule} == {"risky"}


def test_the_nearest_project_is_the_workspace_unless_another_is_named(gate: Sayso, project: Path) -> None:
    assert gate.door.row(gate.session().id).workspace == str(project)
    assert gate.door.row(gate.session(workspace="/elsewhere").id).workspace == "/elsewhere"
    assert gate.door.row(gate.door.session_here()).workspace == str(project)


def test_the_home_folder_is_nobodys_workspace(
    gate: Sayso, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert gate.door.row(gate.session().id).workspace == ""
