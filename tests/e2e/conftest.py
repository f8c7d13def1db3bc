"""A gate that an agent holds open, in a home where the operator's commands find its store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.gate.gate import Gate
from sayso.gate.sessions.sessions import open_session
from tests.e2e.operator_place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def gate(place: Place) -> Iterator[Gate]:
    opened = place.gate()
    yield opened
    opened.store.close()


@pytest.fixture
def session(gate: Gate) -> str:
    return open_session(gate, agent="tester", owner="host", user="ana", workspace="")
