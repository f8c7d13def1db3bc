"""Every store keeps the whole contract."""

from __future__ import annotations

import pytest

from tests.contract.suite import CHECKS
from tests.support.places import Open


@pytest.mark.parametrize("name", CHECKS)
def test_the_store_keeps_the_contract(make_store: Open, name: str) -> None:
    CHECKS[name](make_store)


def test_the_suite_is_whole() -> None:
    assert len(CHECKS) > 45
