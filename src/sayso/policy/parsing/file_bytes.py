"""The bytes of a file that somebody names: a regular file or nothing, and never waited for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_KINDS = {
    stat.S_IFDIR: "it is a folder",
    stat.S_IFIFO: "it is a pipe",
    stat.S_IFSOCK: "it is a socket",
    stat.S_IFCHR: "it is a device",
    stat.S_IFBLK: "it is a device",
}


def read_bytes(path: str | Path, limit: int) -> bytes:
    """At most `limit` bytes of a regular file. OSError or ValueError for what is none or cannot be read."""
    _check_regular(Path(path).stat().st_mode)  # opening a device may already do something
    with os.fdopen(os.open(path, _OPEN), "rb") as file:
        _check_regular(os.fstat(file.fileno()).st_mode)  # it may have been swapped in between
        return file.read(limit)


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise ValueError(_KINDS.get(stat.S_IFMT(mode), "it is not a file"))
