"""A pseudo-terminal and a person in front of it, with nothing of the tester's own surroundings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.terminals import Screen, plain_surroundings


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_surroundings(monkeypatch)


@pytest.fixture
def screen() -> Iterator[Screen]:
    screen = Screen()
    yield screen
    screen.close()
