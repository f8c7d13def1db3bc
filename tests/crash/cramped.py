"""A service whose files may not grow any more while all its callers come at once, and later may.

Prints the session, and what each caller was told. With `deaf` its store does not hear that a commit failed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sayso.store.contract import StoreError
from sayso.store.sqlite.store import SqliteStore
from tests.crash.together import Together
from tests.support.failing_disks import no_room


class DeafStore(SqliteStore):
    """Takes every commit for one that was kept: broken on purpose."""

    def _commit(self, transaction: Any, *, urgent: bool) -> None:
        with suppress(StoreError):
            super()._commit(transaction, urgent=urgent)


def main(file: str, room: str, ears: str) -> None:
    path = Path(file)
    store = DeafStore(path) if ears == "deaf" else SqliteStore(path)
    with closing(store), asyncio.Runner() as runner:
        one = Together(store, path.parent, runner)
        told = one.call_and_end_all("before")
        with no_room(path, room=int(room)):
            told |= one.call_and_end_all("full")
        told |= one.call_and_end_all("after")
    json.dump([one.session, told], sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
