"""Gates on every embedded store, with a clock that tests move by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset
from tests.gate.copies import pair
from tests.support.gates import KEY, Clock, clock, embedded, no_settings

__all__ = ["clock", "no_settings", "pair"]


@pytest.fixture(params=["memory", "sqlite"])
def gate(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Gate]:
    with embedded(request.param, tmp_path, clock) as store:
        yield open_gate(load_preset("chat"), store, key=KEY)


@pytest.fixture
def session(gate: Gate) -> str:
    return open_session(gate, agent="tester", owner="host")
