from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import places
from tests.support.places import Open
from tests.support.postgres_place import postgres


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
