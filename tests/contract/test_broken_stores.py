"""The contract suite catches stores that are broken, each by the check that is about its fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.store.memory.store import MemoryStore
from tests.contract.broken import BROKEN, Place, of_kind
from tests.contract.suite import CHECKS
from tests.support.places import kept


def passes(place: Place, folder: Path, name: str) -> bool:
    """Whether a new store of this kind passes this check."""
    with kept(place(folder)) as make:
        try:
            CHECKS[name](make)
        except (Exception, pytest.fail.Exception):  # noqa: BLE001  however it fails, it has failed
            return False
    return True


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_store_is_caught(name: str, tmp_path: Path) -> None:
    place, check = BROKEN[name]
    assert not passes(place, tmp_path, check)


def test_a_whole_store_is_not_caught(tmp_path: Path) -> None:
    assert [name for name in CHECKS if not passes(of_kind(MemoryStore), tmp_path, name)] == []
