from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.postgres_place import running_server
from tests.crash.nursery import Nursery, nursery


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with running_server() as address:
        yield address


@pytest.fixture(scope="module")
def processes() -> Iterator[Nursery]:
    with nursery() as running:
        yield running
