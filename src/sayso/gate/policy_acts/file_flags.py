"""Files that nobody can change: immutable where the system permits it, else read-only."""

from __future__ import annotations

import os
import stat
import struct
import sys
from pathlib import Path
from typing import Literal

Protection = Literal["immutable", "read-only"]
_GET_FLAGS, _SET_FLAGS, _IMMUTABLE = 0x80086601, 0x40086602, 0x10
"""Linux: FS_IOC_GETFLAGS, FS_IOC_SETFLAGS and FS_IMMUTABLE_FL, as `chattr +i` uses them."""
_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def protect_file(path: Path) -> Protection:
    """Make the file immutable; where that is not permitted, read-only. Says which it is now."""
    if _is_immutable(path):  # nobody can change its mode then
        return "immutable"
    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_WRITE)
    return "immutable" if _set_immutable(path, on=True) else "read-only"


def unprotect_file(path: Path) -> None:
    """Let the owner of the file change it again."""
    _set_immutable(path, on=False)
    path.chmod(stat.S_IMODE(path.stat().st_mode) | stat.S_IWUSR)


def read_protection(path: Path) -> Protection | None:
    """Return how the file is protected; None if its owner can change it."""
    try:
        mode = path.stat().st_mode
        if _is_immutable(path):
            return "immutable"
    except OSError:
        return None
    return None if mode & _WRITE else "read-only"


def _set_immutable(path: Path, *, on: bool) -> bool:
    """Set or clear the flag; False where the system or the file system does not permit it."""
    if sys.platform == "darwin":
        flags = path.stat().st_flags
        try:
            os.chflags(path, flags | stat.UF_IMMUTABLE if on else flags & ~stat.UF_IMMUTABLE)
        except OSError:
            return False
        return True
    if sys.platform != "linux":
        return False
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        flags = _read_flags(descriptor)
        wanted = flags | _IMMUTABLE if on else flags & ~_IMMUTABLE
        if wanted != flags:
            fcntl.ioctl(descriptor, _SET_FLAGS, struct.pack("l", wanted))
        return _read_flags(descriptor) == wanted
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _is_immutable(path: Path) -> bool:
    if sys.platform == "darwin":
        return bool(path.stat().st_flags & stat.UF_IMMUTABLE)
    if sys.platform != "linux":
        return False
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return bool(_read_flags(descriptor) & _IMMUTABLE)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _read_flags(descriptor: int) -> int:
    import fcntl

    found = bytearray(struct.calcsize("l"))
    fcntl.ioctl(descriptor, _GET_FLAGS, found)
    return int(struct.unpack("l", found)[0])
