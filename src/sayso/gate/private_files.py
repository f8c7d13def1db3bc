"""Files with secrets: their owner's alone, written whole and put in their place at once."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sayso.core.errors import SaysoError
from sayso.gate.rows.keys import OTHERS, PLAIN_FILE
from sayso.reading.paths.own_places import guard_keys

LARGEST_FILE = 64 * 1024


def read_private_file(path: Path, refused: type[SaysoError]) -> bytes:
    """Read the file. One that others can read, or that is not ours, is refused; FileNotFoundError passes."""
    guard_keys(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | PLAIN_FILE)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refused(f"{path} cannot be read: {error.strerror}") from error
    try:
        _check_private(path, os.fstat(descriptor), refused)
        return os.read(descriptor, LARGEST_FILE)
    finally:
        os.close(descriptor)


def write_private_file(path: Path, content: bytes, put: Callable[[Path, Path], object] = os.replace) -> None:
    """Write a new file beside the old one, and put it in its place."""
    guard_keys(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        put(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def hold_file(path: Path) -> Iterator[None]:
    """Let one process at a time change this file: the others wait here."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    held = os.open(path.with_name(f".{path.name}.lock"), flags, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _check_private(path: Path, found: os.stat_result, refused: type[SaysoError]) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise refused(f"{path} is not a plain file")
    if found.st_uid != os.geteuid():
        raise refused(f"{path} belongs to somebody else", hint="the user who runs the service has to own it")
    if found.st_mode & OTHERS:
        raise refused(f"others can read {path}", hint=f"chmod 600 {path}, and then replace its secrets")
