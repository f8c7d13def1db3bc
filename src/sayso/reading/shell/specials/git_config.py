"""The configuration of the repository a git command works on, read from its files. git itself is never run.

- Only the repository's own files count: an agent may write there, or clone what somebody else wrote. The
  user's and the system's configuration are theirs.
- A key that is not known to be harmless is one that runs a program.
- Everything is bounded: sizes, includes, submodules. What goes beyond is not harmless.
"""

from __future__ import annotations

import functools
import os
import stat
from pathlib import Path

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.programs.known import named_set
from sayso.reading.shell.state import join_path

MAX_CONFIG = 200_000
MAX_SUBMODULES = 50
_SECTION = lazy_pattern(r'\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:\\.|[^"\\])*)")?\s*\]')
_KEY = lazy_pattern(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$")
_PLAIN_PATH = lazy_pattern(r"[\w./+-]+")
_SWITCHES = frozenset({"true", "false", "yes", "no", "on", "off", "0", "1", ""})
_UNREADABLE = "a configuration that cannot be read"


def find_running_key(folder: str, named: str | None = None) -> str | None:
    """The first key that may run a program when git reads in this folder; None if there is none.

    `named` is the repository where the command names it.
    """
    try:
        found = _from_name(named) if named is not None else _find_repository(folder)
        return None if found is None else _check_repository(found[0], found[1], 0)
    except (OSError, ValueError):
        return _UNREADABLE


def is_harmless_key(key: str, value: str) -> bool:
    """Return whether setting this key runs nothing."""
    section, _, rest = key.casefold().partition(".")
    name = rest.rpartition(".")[2]
    harmless = named_set("git_keys")
    if f"{section}.{name}" == "core.fsmonitor":
        return value.casefold() in _SWITCHES
    if f"{section}.{name}" == "core.pager":
        return value in ("cat", "less")
    return f"{section}.{name}" in harmless or f"{section}.*" in harmless


def _from_name(path: str) -> tuple[str, str | None]:
    real = os.path.realpath(path)
    return _follow_file(real), real.rpartition("/")[0] or "/"


def _find_repository(folder: str) -> tuple[str, str | None] | None:
    """The repository folder that git would find from here, and its working tree."""
    here = folder
    while True:
        mark = f"{here}/.git"
        mode = _mode(mark)
        if mode and not (stat.S_ISDIR(mode) and not _mode(f"{mark}/HEAD")):
            return _follow_file(mark), here
        if (
            _mode(f"{here}/HEAD")
            and stat.S_ISDIR(_mode(f"{here}/objects"))
            and stat.S_ISDIR(_mode(f"{here}/refs"))
        ):
            return here, None
        parent = here.rpartition("/")[0] or "/"
        if parent == here:
            return None
        here = parent


def _mode(path: str) -> int:
    try:
        return Path(path).stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _follow_file(mark: str) -> str:
    """`.git` is a folder, or a file that names one."""
    if stat.S_ISDIR(_mode(mark)) or not _mode(mark):
        return mark
    text = _read(mark) or ""
    if not text.startswith("gitdir:"):
        raise ValueError(mark)
    return os.path.normpath(join_path(mark.rpartition("/")[0], text[7:].strip()))


def _check_repository(repository: str, tree: str | None, depth: int) -> str | None:
    common = repository
    shared = _read(f"{repository}/commondir")
    if shared is not None:
        common = os.path.normpath(join_path(repository, shared.strip()))
    for file in (f"{common}/config", f"{repository}/config.worktree"):
        key = _check_file(file)
        if key is not None:
            return key
    for folder in (f"{common}/hooks", *_hook_folders(common, repository, tree)):
        if _mode(f"{folder}/post-index-change") & 0o111:
            return "the hook post-index-change"
    return None if tree is None else _check_submodules(tree, depth)


def _names_hooks(key: str, value: str) -> bool:
    """Return whether this says, in plain letters, where hooks are; `_hook_folders` looks there."""
    return key == "core.hookspath" and _PLAIN_PATH.fullmatch(value) is not None


def _hook_folders(common: str, repository: str, tree: str | None) -> list[str]:
    """Where the configuration says that hooks are: those of reading commands count, the others do not run."""
    files = (f"{common}/config", f"{repository}/config.worktree")
    named = [value for file in files for value in _hooks_named(file, *_version(file))]
    return [os.path.normpath(join_path(tree or common, value)) for value in named]


@functools.lru_cache(256)
def _hooks_named(path: str, *version: int) -> tuple[str, ...]:
    keys = _keys(_read(path) or "") if version else None
    return tuple(value for key, value in keys or () if _names_hooks(key, value))


def _version(path: str) -> tuple[int, ...]:
    """What tells one state of a file from another; empty if there is none."""
    try:
        found = Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return found.st_ino, found.st_dev, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _check_submodules(tree: str, depth: int) -> str | None:
    """git looks into submodules as well, each with a configuration of its own."""
    listed = _read(f"{tree}/.gitmodules")
    if listed is None:
        return None
    paths = [value for key, value in _keys(listed) or () if key.endswith(".path")]
    if depth > 3 or len(paths) > MAX_SUBMODULES:
        return "more submodules than are looked at"
    for path in paths:
        inner = os.path.normpath(join_path(tree, path))
        if _mode(f"{inner}/.git"):
            key = _check_repository(_follow_file(f"{inner}/.git"), inner, depth + 1)
            if key is not None:
                return key
    return None


def _check_file(path: str) -> str | None:
    version = _version(path)
    return _check_content(path, *version) if version else None


@functools.lru_cache(256)
def _check_content(path: str, *version: int) -> str | None:
    """The first key of this file that may run a program. Kept for the file as it is."""
    text = _read(path)
    keys = None if text is None else _keys(text)
    if keys is None:
        return _UNREADABLE
    return next(
        (key for key, value in keys if not _names_hooks(key, value) and not is_harmless_key(key, value)), None
    )


def _read(path: str) -> str | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - its descriptor is asked what it is
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_CONFIG:
                raise ValueError(path)
            return file.read(MAX_CONFIG + 1).decode()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _keys(text: str) -> list[tuple[str, str]] | None:
    """The keys of a configuration with their values; None if a line is not understood."""
    section = ""
    found: list[tuple[str, str]] = []
    lines = text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines()
    for line in lines:
        rest = line.strip()
        while rest.startswith("["):
            match = _SECTION.match(rest)
            if match is None:
                return None
            section = match[1].casefold() + (f".{match[2]}" if match[2] is not None else "")
            rest = rest[match.end() :].strip()
        if not rest or rest[0] in "#;":
            continue
        match = _KEY.match(rest)
        if match is None or not section:
            return None
        value = (match[2] or "true").strip().strip('"')
        found.append((f"{section}.{match[1].casefold()}", value))
    return found
