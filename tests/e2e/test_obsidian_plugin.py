"""The Obsidian plugin, built with npm: its own tests, and against a real service.

It runs in a stub of Obsidian's documented API; Obsidian itself is not free to run here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sayso.core.signed_messages import encode_secret
from sayso.surfaces.remote.settings_file import add_surface
from tests.support.service_process import Home, Service, a_home, said

ROOT = Path(__file__).resolve().parents[2]
SOURCE, TOOLS = ROOT / "plugins" / "obsidian", ROOT / ".venv" / "obsidian"
SECRET = encode_secret(b"0123456789abcdef0123456789abcdef")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin as `npm run build` makes it."""
    if not (TOOLS / "node_modules").is_dir():
        told = "the plugin's tools are not installed: make .venv/.obsidian"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(told)
    place = tmp_path_factory.mktemp("obsidian") / "plugin"
    shutil.copytree(SOURCE, place, ignore=shutil.ignore_patterns("node_modules", "main.js"))
    (place / "node_modules").symlink_to(TOOLS / "node_modules")
    run("npm", "run", "build", place=place)
    return place


def run(program: str, *args: str, place: Path) -> str:
    path = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(ROOT / ".venv" / "bin" / program), *args],
        cwd=place,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_own_tests_pass(built: Path) -> None:
    told = run("node", "--test", "test/plugin.test.mjs", place=built)
    assert "# fail 0" in told or "ℹ fail 0" in told
    assert "# tests 0" not in told


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    made = a_home(monkeypatch, tmp_path)
    add_surface("obsidian", {"name": "vault", "secret": SECRET, "approvers": ["ana"]})
    return made


@pytest.fixture
def service(home: Home) -> Iterator[Service]:
    with home.serve() as running:
        yield running


def press(built: Path, service: Service, button: str, **other: str) -> dict[str, Any]:
    """Somebody sees the question in Obsidian and presses this."""
    secret, name = other.get("secret", SECRET), other.get("name", "ana")
    place = ["main.js", f"http://127.0.0.1:{service.port}", "vault"]
    told: dict[str, Any] = json.loads(run("node", "test/live.mjs", *place, secret, name, button, place=built))
    return told


def ask(home: Home, service: Service) -> Any:
    gate = service.connect(home.token("host"))

    @gate.requires_consent("tasks.create")
    def create(title: str) -> str:
        return title

    return gate, gate.run("create", {"title": "buy milk"}, wait=0.1)


def test_the_answer_counts_in_the_program_that_asked(built: Path, home: Home, service: Service) -> None:
    gate, first = ask(home, service)
    assert first.status == "timeout"
    told = press(built, service, "Allow once")
    assert "buy milk" in told["text"]
    assert told["notices"] == ["Sayso: You answered: once."]
    assert gate.retry(first.operation_id).status == "ok"
    gate.close()


def test_who_does_not_know_the_secret_sees_nothing(built: Path, home: Home, service: Service) -> None:
    gate, _ = ask(home, service)
    gate.close()
    told = press(built, service, "Allow once", secret=encode_secret(b"x" * 32))
    assert (told["text"], "signature" in told["notices"][0]) == ("", True)
    assert "the signature does not fit" in said("audit", "export", "--store", home.store)[1]


def test_who_is_not_an_approver_answers_nothing(built: Path, home: Home, service: Service) -> None:
    gate, first = ask(home, service)
    told = press(built, service, "Allow once", name="mallory")
    assert "may not answer" in told["after"]
    assert gate.retry(first.operation_id, wait=0.1).status == "timeout"
    gate.close()
