"""Stores as an older program made them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sayso.store.contract import Store
from sayso.store.sql import migrate


def make_old(open_store: Callable[[], Store], monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    """Make the schema of this version at an empty place."""
    known = migrate.load_migrations()[:version]
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "load_migrations", lambda: known)
        patch.setattr(migrate, "LATEST", version)
        open_store().close()
