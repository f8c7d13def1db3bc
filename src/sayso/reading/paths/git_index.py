"""The index of a repository: the files it records, and commits of other repositories (gitlinks).

git looks into each of the latter when it shows the state of the working tree, whether or not `.gitmodules`
lists it. The file is read by its format (versions 2 to 4, https://git-scm.com/docs/index-format); what is not
understood is None, and never harmless.
"""

from __future__ import annotations

import functools
import hashlib
import os
import time

from sayso.reading.paths.file_content import read_whole
from sayso.reading.paths.places import is_secret

MAX_INDEX = 64_000_000
MAX_NAMED = 200_000
_COMMIT_MODE = b"\x00\x00\xe0\x00"
_LINK_MODE = b"\x00\x00\xa0\x00"
_BEFORE_HASH = 40
"""Bytes of an entry before its hash: times, device, inode, mode, owner, size. After it stand the flags."""
_YOUNG = 2_000_000_000


def version_of_file(path: str) -> tuple[int, ...]:
    """What tells one state of a file from another; empty if there is none.

    A file that was changed just now may change again within one tick of the clock: its version counts once.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - asked several times a line
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return version_of(found)


def version_of(found: os.stat_result) -> tuple[int, ...]:
    """The same of a file that was looked at."""
    now = time.time_ns()
    once = now if now - found.st_ctime_ns < _YOUNG else 0
    return found.st_ino, found.st_dev, found.st_size, found.st_mtime_ns, found.st_ctime_ns, once


def follow_git_file(mark: str) -> str:
    """The repository at `.git`, which is a folder, or a file that names one."""
    if os.path.isdir(mark) or not os.path.exists(mark):  # noqa: PTH110, PTH112 - asked for every line of git
        return mark
    text = read_whole(mark, MAX_NAMED).decode()
    if not text.startswith("gitdir: "):
        raise ValueError(mark)
    named = text.removeprefix("gitdir: ").rstrip("\r\n")
    return os.path.join(mark.rpartition("/")[0], named)  # noqa: PTH118 - as it is spelled


def find_gitlinks(repository: str) -> tuple[str, ...] | None:
    """The paths of the commits that the index records; None if it cannot be read."""
    version = version_of_file(f"{repository}/index")
    return _read_links(repository, *version) if version else ()


def list_tracked_secrets(repository: str) -> tuple[tuple[bool, str], ...] | None:
    """Of the files that the index records, the secrets and the links: whether it is a link, and its name.

    None if it cannot be read.
    """
    version = version_of_file(f"{repository}/index")
    return _read_tracked(repository, *version) if version else ()


@functools.lru_cache(64)
def _read_links(repository: str, *version: int) -> tuple[str, ...] | None:
    entries = _read_entries(repository, _COMMIT_MODE)
    return None if entries is None else tuple(name for mode, name in entries if mode == _COMMIT_MODE)


@functools.lru_cache(16)
def _read_tracked(repository: str, *version: int) -> tuple[tuple[bool, str], ...] | None:
    entries = _read_entries(repository, b"")
    if entries is None:
        return None
    return tuple(
        (mode == _LINK_MODE, name) for mode, name in entries if mode == _LINK_MODE or is_secret(name)
    )


def _read_entries(repository: str, wanted: bytes) -> list[tuple[bytes, str]] | None:
    """Modes and names of all entries, in files where these bytes stand; None if one is not understood."""
    found: list[tuple[bytes, str]] = []
    with os.scandir(repository) as entries:
        shared = [entry.path for entry in entries if entry.name.startswith("sharedindex.")]
    for path in (f"{repository}/index", *shared):
        content = read_whole(path, MAX_INDEX)
        if wanted not in content:
            continue
        inside = _entries_in(content)
        if inside is None:
            return None
        found += inside
    return found


def _entries_in(content: bytes) -> list[tuple[bytes, str]] | None:
    version = int.from_bytes(content[4:8], "big")
    count = int.from_bytes(content[8:12], "big")
    size = _hash_size(content)
    if content[:4] != b"DIRC" or not 2 <= version <= 4 or size is None:
        return None
    found: list[tuple[bytes, str]] = []
    here, before = 12, b""
    for _ in range(count):
        start = here + _BEFORE_HASH + size + 2
        if start >= len(content):
            return None
        start += 2 if content[start - 2] & 0x40 else 0
        kept = before
        if version == 4:
            strip, start = _read_number(content, start)
            kept = before[: len(before) - strip]
        end = content.find(b"\x00", start)
        if end < 0:
            return None
        before = (kept if version == 4 else b"") + content[start:end]
        found.append((content[here + 24 : here + 28], os.fsdecode(before)))
        here = end + 1 if version == 4 else here + (((end - here) + 8) & ~7)
    return found


def _hash_size(content: bytes) -> int | None:
    """The size of the hashes, told by the one at the end; None if there is none."""
    for size, digest in ((20, hashlib.sha1), (32, hashlib.sha256)):  # what git uses
        if digest(content[:-size]).digest() == content[-size:]:
            return size
    return 20 if not any(content[-20:]) and any(content[-32:]) else None


def _read_number(content: bytes, here: int) -> tuple[int, int]:
    """A number of variable length, and where the next byte is."""
    value = content[here] & 0x7F
    while content[here] & 0x80:
        here += 1
        value = ((value + 1) << 7) | (content[here] & 0x7F)
    return value, here + 1
