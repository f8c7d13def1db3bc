"""The whole service in this process: a gate, a token for each role, and requests without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.doors.python.embedded import EmbeddedDoor
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.signing import make_key
from sayso.policy import load_text
from sayso.store.memory import MemoryStore
from sayso.store.sqlite import SqliteStore
from tests.gate.conftest import Clock
from tests.service.calling import Service
from tests.service.process import Home, a_home
from tests.service.process import Service as Served

KEY = make_key("test")
in_memory = pytest.mark.parametrize("gate", ["memory"], indirect=True)
"""For tests of what comes before any store is asked."""
POLICY = """
sayso: 1
settings: {safe: auto}
categories: {file-edit: file edits}
domains:
  files: {trust_level: high, autonomous: [read], requires_approval: [write], blocked: [wipe]}
  git: {trust_level: medium, autonomous: [], requires_approval: [commit, push], blocked: []}
operations:
  files.write: {category: file-edit, reason: changes a file}
  git.push: {risk: high, reason: changes a remote}
tools:
  - {tool: read_file, operation: files.read}
  - {tool: write_file, operation: files.write}
  - {tool: wipe, operation: files.wipe}
  - {tool: push, operation: git.push}
  - {tool: read_files, resolve: path, operation: files.read, from: args.paths}
"""


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The settings of whoever runs the tests decide nothing in them."""
    monkeypatch.delenv("SAYSO_APPROVAL_MODE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def gate(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Gate]:
    store = (
        MemoryStore(clock=clock) if request.param == "memory" else SqliteStore(tmp_path / "s.db", clock=clock)
    )
    yield open_gate(load_text(POLICY), store, key=KEY)
    store.close()


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def service(gate: Gate, runner: asyncio.Runner) -> Service:
    return Service(EmbeddedDoor(gate, ()), runner)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Home:
    """Somebody whose service is a process of its own."""
    return a_home(monkeypatch, tmp_path)


@pytest.fixture
def served(home: Home) -> Iterator[Served]:
    with home.serve() as running:
        yield running
