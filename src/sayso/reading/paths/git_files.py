"""The files that git keeps in a repository and beside it: its index, its branches and tags, `.gitignore`.

The index records files, and commits of other repositories (gitlinks). git looks into each of the latter when
it shows the state of the working tree, whether or not `.gitmodules` lists it. It is read by its format
(versions 2 to 4, https://git-scm.com/docs/index-format); what is not understood is None, and never harmless.
"""

from __future__ import annotations

import fnmatch
import functools
import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

from sayso.reading.paths.budget import follow_links
from sayso.reading.paths.file_content import read_whole
from sayso.reading.paths.places import is_secret

MAX_INDEX = 64_000_000
MAX_NAMED = 200_000
MAX_REFS = 4_000_000
MAX_IGNORED = 64 * 1024
_COMMIT_MODE = b"\x00\x00\xe0\x00"
_LINK_MODE = b"\x00\x00\xa0\x00"
_BEFORE_HASH = 40
"""Bytes of an entry before its hash: times, device, inode, mode, owner, size. After it stand the flags."""
_YOUNG = 2_000_000_000
_REF_KINDS = ("tags", "heads")
_FILES_OF_TOOLS = (".ignore", ".rgignore", ".geminiignore")
"""Files that search tools prefer to `.gitignore`."""


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
    found = _read_entries(repository, _COMMIT_MODE, *version_of_file(f"{repository}/index"))
    return None if found is None else tuple(name for _, name in found)


def list_tracked_secrets(repository: str) -> tuple[tuple[bool, str], ...] | None:
    """Of the files that the index records, the secrets and the links: whether it is a link, and its name.

    None if it cannot be read.
    """
    found = _read_entries(repository, b"", *version_of_file(f"{repository}/index"))
    return None if found is None else tuple((mode == _LINK_MODE, name) for mode, name in found)


@functools.lru_cache(64)
def _read_entries(repository: str, wanted: bytes, *version: int) -> list[tuple[bytes, str]] | None:
    """The entries of this mode, or the secrets and links if none is named; None if one is not understood.

    A file in which the mode does not stand is not read entry by entry.
    """
    found: list[tuple[bytes, str]] = []
    if not version:
        return found
    with os.scandir(repository) as entries:
        shared = [entry.path for entry in entries if entry.name.startswith("sharedindex.")]
    for path in (f"{repository}/index", *shared):
        content = read_whole(path, MAX_INDEX)
        inside = _entries_in(content) if wanted in content else []
        if inside is None:
            return None
        found += [
            one for one in inside if one[0] == (wanted or _LINK_MODE) or (not wanted and is_secret(one[1]))
        ]
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


# --- branches and tags whose names begin with a dash: what prints one would pass for an option ---
# `git tag` makes none, but a clone brings those that somebody else made.


def may_name_ref_with_dash(folder: str) -> bool:
    """Return whether such a branch or tag is in the repository of this folder; in doubt, yes."""
    here = folder
    while not os.path.isdir(f"{here}/.git/refs"):  # noqa: PTH112 - asked for every folder above
        if here in ("", "/"):
            return False
        if os.path.isfile(f"{here}/.git"):  # noqa: PTH113 - a tree whose repository lies elsewhere
            return True
        here = here.rpartition("/")[0]
    refs = f"{here}/.git/refs"
    try:
        with suppress(FileNotFoundError):
            packed = read_whole(f"{here}/.git/packed-refs", MAX_REFS)
            if any(f"refs/{kind}/-".encode() in packed for kind in _REF_KINDS):
                return True
        for kind in _REF_KINDS:
            with suppress(FileNotFoundError):
                if any(name[0] == "-" for name in os.listdir(f"{refs}/{kind}")):  # noqa: PTH208 - only names
                    return True
    except (OSError, ValueError):
        return True
    return False


def find_only_tree(folder: str) -> str | None:
    """The working tree that this folder lies in; None if there is none, or one may lie in another."""
    above = [folder, *(str(one) for one in Path(folder).parents)]
    marked = [one for one in above if os.path.lexists(f"{one}/.git")]
    tree = marked[0] if len(marked) == 1 else ""
    return tree if os.path.isfile(f"{tree}/.git/HEAD") and follow_links(tree) == tree else None  # noqa: PTH113


# --- files that git plainly ignores: what search tools pass over ---
# Only lines that are easily read count: names with wildcards, anywhere or beside the `.gitignore`. In doubt
# a file is not ignored: a line that takes files out again (`!…`) counts for every file unless it is easily
# read, and in the files that only search tools read it always does.


def is_git_ignored(path: str, workspace: str) -> bool:
    """Return whether a `.gitignore` of this repository plainly names the path or its folder."""
    names = Path(os.path.relpath(path, workspace)).parts
    if names[:1] == ("..",) or not (Path(workspace) / ".git").exists():
        return False
    try:
        return not _tools_take_files_out(workspace, names) and any(
            _is_named(workspace, names[: depth + 1], depth + 1 < len(names)) for depth in range(len(names))
        )
    except (OSError, ValueError):  # a file that cannot be read may take something out again
        return False


def _is_named(workspace: str, names: tuple[str, ...], is_folder: bool) -> bool:
    """Return what the last line says that fits this file or folder, from the top down."""
    ignored = False
    for depth in range(len(names)):
        for line in _read_lines(Path(workspace, *names[:depth]) / ".gitignore"):
            if line.startswith("!"):
                ignored = ignored and not _may_fit(line[1:], names[-1])
            elif _fits(line, names[-1], beside=depth == len(names) - 1, is_folder=is_folder):
                ignored = True
    return ignored


def _tools_take_files_out(workspace: str, names: tuple[str, ...]) -> bool:
    """Return whether on the way to this path a file of search tools takes anything out again."""
    folders = (Path(workspace, *names[:depth]) for depth in range(len(names)))
    files = (folder / name for folder in folders for name in _FILES_OF_TOOLS)
    return any(line.startswith("!") for file in files for line in _read_lines(file))


def _may_fit(line: str, name: str) -> bool:
    """Return whether a line may be about this name: in doubt, yes."""
    pattern = line.removeprefix("**/").removesuffix("/")
    return any(letter in pattern for letter in "/\\[") or fnmatch.fnmatchcase(name, pattern)


def _fits(line: str, name: str, *, beside: bool, is_folder: bool) -> bool:
    pattern = line.removeprefix("**/")
    if pattern.endswith("/"):
        pattern = pattern[:-1] if is_folder else ""
    if pattern.startswith("/"):
        pattern = pattern[1:] if beside else ""
    return "/" not in pattern and "\\" not in pattern and fnmatch.fnmatchcase(name, pattern)


def _read_lines(file: Path) -> list[str]:
    try:
        text = read_whole(str(file), MAX_IGNORED).decode("utf-8")
    except FileNotFoundError:
        return []
    lines = (line.removesuffix("\r").rstrip(" ") for line in text.split("\n"))  # as git reads them
    return [line for line in lines if line and not line.startswith("#")]
