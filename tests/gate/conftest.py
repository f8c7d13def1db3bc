"""Gates on every embedded store, with a clock that tests move by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import make_key
from sayso.policy import load_preset
from sayso.store.contract import Store
from sayso.store.memory.store import MemoryStore
from sayso.store.sqlite.store import SqliteStore

KEY = make_key("test")


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def embedded(kind: str, folder: Path, clock: Clock) -> Iterator[Store]:
    """An embedded store of this kind, for one test."""
    store = MemoryStore(clock=clock) if kind == "memory" else SqliteStore(folder / "s.db", clock=clock)
    with closing(store):
        yield store


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The settings of whoever runs the tests decide nothing in them."""
    monkeypatch.delenv("SAYSO_APPROVAL_MODE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def gate(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Gate]:
    with embedded(request.param, tmp_path, clock) as store:
        yield open_gate(load_preset("chat"), store, key=KEY)
