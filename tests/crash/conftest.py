from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crash.nursery import Nursery, nursery


@pytest.fixture(scope="module")
def processes() -> Iterator[Nursery]:
    with nursery() as running:
        yield running
