"""A store in memory whose time the attacker moves, and a gate that runs on or is opened again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.store.contract import Store
from tests.attack.opening import Again, opened_anew, runs_on
from tests.support.gates import Clock, clock, embedded

__all__ = ["clock"]


@pytest.fixture
def store(clock: Clock, tmp_path: Path) -> Iterator[Store]:
    with embedded("memory", tmp_path, clock) as opened:
        yield opened


@pytest.fixture(params=[runs_on, opened_anew])
def again(request: pytest.FixtureRequest) -> Again:
    """The gate after rows were changed: the one that runs on, and one opened on the same store."""
    chosen: Again = request.param
    return chosen
