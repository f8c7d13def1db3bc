"""Disks that fail: one on which no file grows any more, and a program whose syncs fail from a moment on."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FAILS = "TEST_SYNCS_FAIL"
"""Names a file: once it is there, every sync of the program below fails."""
SAYSO_WITH_FAILING_SYNCS = ("-m", "tests.support.failing_disks")


@contextmanager
def no_room(store: Path, process: int = 0, room: int = 0) -> Iterator[None]:
    """No file of this process grows more than so far beyond what the store's write-ahead log holds now."""
    before = resource.prlimit(process, resource.RLIMIT_FSIZE)
    size = Path(f"{store}-wal").stat().st_size
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size + room, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, before)


def fail_sync(file: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


if __name__ == "__main__":
    from sayso.__main__ import main
    from sayso.store.sqlite import log_sync

    sync = log_sync.sync_file

    def sync_until_it_fails(file: Any) -> None:
        (fail_sync if Path(os.environ[FAILS]).exists() else sync)(file)

    log_sync.sync_file = sync_until_it_fails
    main()
