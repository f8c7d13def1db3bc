"""The files that proposals may change: each inside its declared folder, read and replaced whole.

- A folder is known by its real path and by what the file system calls it. It is opened part by part, and if
  it is another one than it was when the proposal was filed, nothing in it is read or written.
- Every folder on the way is opened without following links, and the file in it by its name there. So nothing
  outside the folder is ever read or written, whatever is swapped meanwhile.
- A file is replaced by another in one step, after that is on the disk. There is no moment at which it is half
  written.
"""

from __future__ import annotations

import errno
import os
import platform
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sayso.core.digest import sha256
from sayso.core.proposals.proposal import FolderElsewhere, FolderIdentity, ProposalRefused

LARGEST_FILE = 1024 * 1024
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_MACHINE_ID = Path("/etc/machine-id")
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def digest_text(text: str | None) -> str | None:
    """Return the digest of a file's text; None for no file."""
    return None if text is None else sha256(text.encode())


def read_host() -> str:
    """Return a name of this machine that stays, and that tells nobody anything."""
    try:
        known = _MACHINE_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        known = ""
    return sha256((known or platform.node()).encode())


def identify_folder(root: Path, host: str) -> FolderIdentity:
    """Return which folder a declared one really is now."""
    real = os.fspath(root.resolve())
    descriptor = _open_real(real)
    try:
        found = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    return FolderIdentity(host, real, found.st_dev, found.st_ino)


def read_file_text(root: FolderIdentity, path: str) -> str | None:
    """Return the text of the file in this folder; None if it is not there."""
    with _open_folder(root, path) as (folder, name):
        return _read(folder, name)


def replace_text(
    root: FolderIdentity, path: str, *, before: str | None, after: str | None, carrying: str
) -> None:
    """Put this text in the file's place, or take the file away, if its digest is still `before`.

    The text lies beside the file first, under a name that `carrying` is part of, so that what a crash left of
    it is found again.
    """
    with _open_folder(root, path) as (folder, name):
        _check_unchanged(folder, name, before)
        if after is None:
            os.unlink(name, dir_fd=folder)
        else:
            _write(folder, name, before, after, _name_beside(name, carrying))
        os.fsync(folder)


def drop_text_beside(root: FolderIdentity, path: str, carrying: str) -> None:
    """Take away what a crash left beside the file."""
    with _open_folder(root, path) as (folder, name), suppress(OSError):
        os.unlink(_name_beside(name, carrying), dir_fd=folder)


def _name_beside(name: str, carrying: str) -> str:
    return f".{name[:100]}.{carrying}"


def _check_unchanged(folder: int, name: str, before: str | None) -> None:
    if digest_text(_read(folder, name)) != before:
        raise ProposalRefused(f"{name} was changed meanwhile, and is left as it is")


@contextmanager
def _open_folder(root: FolderIdentity, path: str) -> Iterator[tuple[int, str]]:
    """Open the folder that the file lies in, without following any link below the root."""
    parts = _split_path(path)
    opened = [_open_real(root.path)]
    try:
        found = os.fstat(opened[0])
        if (found.st_dev, found.st_ino) != (root.device, root.inode):
            raise FolderElsewhere(f"{root.path} is another folder than it was when this was proposed")
        for part in parts[:-1]:
            opened.append(_open(part, opened[-1], path))
        yield opened[-1], parts[-1]
    finally:
        for one in reversed(opened):
            os.close(one)


def _open_real(path: str) -> int:
    """Open a folder by its real path, part by part: a link put in the place of any part is not followed."""
    opened = os.open("/", _FOLDER)
    try:
        for part in Path(path).parts[1:]:
            inner = os.open(part, _FOLDER, dir_fd=opened)
            os.close(opened)
            opened = inner
    except OSError as error:
        os.close(opened)
        raise FolderElsewhere(
            f"the folder {path} cannot be opened: {error.strerror}",
            hint="create the folder first; for your policy, sayso init does",
        ) from error
    return opened


def _open(name: str, folder: int, path: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        raise ProposalRefused(
            f"{path} is not inside its folder, or that cannot be opened", reason="outside"
        ) from error


def _split_path(path: str) -> list[str]:
    parts = path.split("/")
    if not path.isprintable() or any(part in ("", ".", "..") for part in parts):
        raise ProposalRefused(f"{path!r} is not a plain path inside its folder", reason="outside")
    return parts


def _read(folder: int, name: str) -> str | None:
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise ProposalRefused(f"{name} cannot be opened: {why}", reason="not_a_file") from error
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or found.st_size > LARGEST_FILE:
            raise ProposalRefused(f"{name} is not a plain file of its own, or too large", reason="not_a_file")
        try:
            return file.read(LARGEST_FILE + 1).decode()
        except UnicodeDecodeError:
            raise ProposalRefused(f"{name} is not text", reason="not_a_file") from None


def _write(folder: int, name: str, before: str | None, text: str, fresh: str) -> None:
    """Write the text beside the file, and put it in its place once it is on the disk.

    The file is looked at again just before. One that is new is linked in its place, which fails if there is
    one by then.
    """
    mode = _read_mode(folder, name)
    with suppress(FileNotFoundError):
        os.unlink(fresh, dir_fd=folder)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        _check_unchanged(folder, name, before)
        if before is None:
            os.link(fresh, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            os.unlink(fresh, dir_fd=folder)
        else:
            os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=folder)
        raise


def _read_mode(folder: int, name: str) -> int:
    """Return who may read and write the file, from the file itself and never from a link."""
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except OSError:
        return 0o600
    try:
        return stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o777
    finally:
        os.close(descriptor)
