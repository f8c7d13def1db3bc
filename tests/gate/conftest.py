"""Gates on every embedded store, with a clock that tests move by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.signing import make_key
from sayso.policy import load_preset
from sayso.store.memory import MemoryStore
from sayso.store.sqlite import SqliteStore

KEY = make_key("test")


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


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
    yield open_gate(load_preset("chat"), store, key=KEY)
    store.close()
