from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract import places
from tests.contract.places import Open
from tests.contract.postgres_place import postgres, running_server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with running_server() as address:
        yield address


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens a store, empty at first and the same each time, of each kind in turn."""
    if request.param == "memory":
        place = places.memory()
    elif request.param == "sqlite":
        place = places.sqlite(tmp_path)
    else:
        place = postgres(request.getfixturevalue("postgres_server"))
    with place as make:
        yield make
