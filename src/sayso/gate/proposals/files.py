"""The files that proposals may change: each inside its declared folder, read and replaced whole.

- Every folder on the way is opened without following links, and the file in it by its name there. So nothing
  outside the folder is ever read or written, whatever is swapped meanwhile.
- A file is replaced by another in one step, after that is on the disk. There is no moment at which it is half
  written.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sayso.core.digest import sha256
from sayso.core.proposals.proposal import ProposalRefused

LARGEST_FILE = 1024 * 1024
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def digest_text(text: str | None) -> str | None:
    """Return the digest of a file's text; None for no file."""
    return None if text is None else sha256(text.encode())


def read_file_text(root: Path, path: str) -> str | None:
    """Return the text of the file in this folder; None if it is not there."""
    with _open_folder(root, path) as (folder, name):
        return _read(folder, name)


def replace_text(root: Path, path: str, *, before: str | None, after: str | None) -> None:
    """Put this text in the file's place, or take the file away, if its digest is still `before`."""
    with _open_folder(root, path) as (folder, name):
        if digest_text(_read(folder, name)) != before:
            raise ProposalRefused(f"{path} was changed meanwhile, and is left as it is")
        if after is None:
            os.unlink(name, dir_fd=folder)
        else:
            _write(folder, name, after)
        os.fsync(folder)


@contextmanager
def _open_folder(root: Path, path: str) -> Iterator[tuple[int, str]]:
    """Open the folder that the file lies in, without following any link below the root."""
    parts = _split_path(path)
    opened = [_open(os.fspath(root.resolve()), None, path)]
    try:
        for part in parts[:-1]:
            opened.append(_open(part, opened[-1], path))
        yield opened[-1], parts[-1]
    finally:
        for one in reversed(opened):
            os.close(one)


def _open(name: str, folder: int | None, path: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        raise ProposalRefused(f"{path} is not inside its folder, or that cannot be opened") from error


def _split_path(path: str) -> list[str]:
    parts = path.split("/")
    if not path.isprintable() or any(part in ("", ".", "..") for part in parts):
        raise ProposalRefused(f"{path!r} is not a plain path inside its folder")
    return parts


def _read(folder: int, name: str) -> str | None:
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ProposalRefused(f"{name} cannot be opened: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or found.st_size > LARGEST_FILE:
            raise ProposalRefused(f"{name} is not a plain file of its own, or too large")
        try:
            return file.read(LARGEST_FILE + 1).decode()
        except UnicodeDecodeError:
            raise ProposalRefused(f"{name} is not text") from None


def _write(folder: int, name: str, text: str) -> None:
    """Write the text beside the file, and put it in its place once it is on the disk."""
    mode = 0o600
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    fresh = f".{name[:100]}.{secrets.token_hex(6)}"
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=folder)
        raise
