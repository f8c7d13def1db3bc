"""A gate as programs open it, on every embedded store, with a person in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso import Sayso
from sayso.gate.open import open_gate
from sayso.policy import load_file
from sayso.store.memory import MemoryStore
from sayso.store.sqlite import SqliteStore
from tests.doors.people import Person
from tests.gate.conftest import KEY, Clock

POLICY = """
extends: [gateway]
domains:
  tasks: {autonomous: [], requires_approval: [list, create, delete], blocked: [wipe]}
  mail: {autonomous: [], requires_approval: [send], blocked: []}
operations:
  tasks.purge: {always_ask: true}
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


@pytest.fixture
def person() -> Person:
    return Person()


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


@pytest.fixture(params=["memory", "sqlite"])
def gate(
    request: pytest.FixtureRequest, clock: Clock, person: Person, policy: Path, tmp_path: Path
) -> Iterator[Sayso]:
    memory = request.param == "memory"
    store = MemoryStore(clock=clock) if memory else SqliteStore(tmp_path / "s.db", clock=clock)
    with Sayso(open_gate(load_file(policy), store, key=KEY), [person]) as opened:
        yield opened
