"""What gates in tests stand on: a key, a clock that tests move by hand, and an embedded store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sayso.gate.gate import Gate
from sayso.gate.rows.keys import make_key
from sayso.store.contract import SessionRow, Store
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


def list_session_rows(gate: Gate) -> list[SessionRow]:
    with gate.store.read() as tx:
        return list(tx.sessions())
