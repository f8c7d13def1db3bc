"""A throw-away place, and each program that this run drives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.agents.place import Place, Program
from tests.e2e.agents.programs.every import DRIVEN


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(params=DRIVEN, ids=lambda program: type(program).__name__)
def program(request: pytest.FixtureRequest) -> Program:
    driven: Program = request.param
    return driven
