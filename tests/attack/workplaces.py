"""A project and a home folder with secrets in it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with two files; beside it lies the user's home with keys."""
    home, work = tmp_path / "home", tmp_path / "work"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_rsa").write_text("secret")
    (home / ".ssh" / "authorized_keys").write_text("")
    work.mkdir()
    (work / "notes.txt").write_text("notes")
    (work / "other.txt").write_text("other")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(work)
    return work
