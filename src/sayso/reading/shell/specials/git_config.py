"""The configuration of the repository a git command works on, read from its files. git itself is never run.

- Only the repository's own files count: an agent may write there, or clone what somebody else wrote. The
  user's and the system's configuration are theirs.
- A key that is not known to be harmless is one that runs a program.
- Everything is bounded: sizes, includes, submodules. What goes beyond is not harmless.
- Paths go to the system as they are written: `link/..` is where the link leads, a space is part of a name.
"""

from __future__ import annotations

import functools
import itertools
import os
import stat

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import follow_links
from sayso.reading.paths.file_content import read_whole
from sayso.reading.paths.git_files import find_gitlinks, follow_git_file, version_of, version_of_file
from sayso.reading.paths.places import is_secret
from sayso.reading.shell.programs.known import named_set
from sayso.reading.shell.state import join_path

MAX_CONFIG = 200_000
MAX_SUBMODULES = 50
_SECTION = lazy_pattern(r'\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:\\.|[^"\\])*)")?\s*\]')
_KEY = lazy_pattern(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$")
_HEAD = lazy_pattern(r"(?:ref: refs/[!-~]+|[0-9a-f]{40}|[0-9a-f]{64})\n?")
READING_HOOKS = ("post-index-change",)
FETCHING_HOOKS = ("post-index-change", "reference-transaction")
"""Hooks that run where nothing is committed."""
_PLAIN_PATH = lazy_pattern(r"[\w./+-]+")
_NAMES_PLACES = frozenset({"remote", "url", "submodule"})
_SWITCHES = frozenset({"true", "false", "yes", "no", "on", "off", "0", "1", ""})
_UNREADABLE = "a configuration that cannot be read"


def find_running_key(
    folder: str, named: str | None = None, hooks: tuple[str, ...] = READING_HOOKS
) -> str | None:
    """The first key that may run a program when git reads in this folder; None if there is none.

    The folder goes by its real name. `named` is the repository where the command names it, and `hooks` are
    those that the command runs.
    """
    try:
        found = _find_repositories(folder) if named is None else [_from_name(named)]
        return next(filter(None, (_check_repository(*one, hooks, 0) for one in found)), None)
    except (OSError, ValueError, IndexError):
        return _UNREADABLE


def read_own_keys(folder: str) -> tuple[str, list[tuple[str, str]]] | None:
    """The tree and the keys of the repository that git works on in this folder; None if that is not plain."""
    try:
        found = _find_repositories(folder)
        repository, tree = found[0]
        if len(found) != 1 or tree is None or os.access(f"{repository}/config.worktree", os.F_OK):
            return None
        return tree, _read_keys(f"{_find_common(repository)}/config")
    except (OSError, ValueError, IndexError):
        return None


def is_harmless_key(key: str, value: str) -> bool:
    """Return whether setting this key runs nothing."""
    section, _, rest = key.casefold().partition(".")
    name = rest.rpartition(".")[2]
    harmless = named_set("git_keys")
    if is_secret(value) or (section in _NAMES_PLACES and "::" in f"{key}{value}"):
        return False  # `ext::sh …`, `foo::…` run a program
    if f"{section}.{name}" == "core.fsmonitor":
        return value.casefold() in _SWITCHES
    if f"{section}.{name}" == "core.pager":
        return value in ("cat", "less")
    return f"{section}.{name}" in harmless or f"{section}.*" in harmless


def _from_name(path: str) -> tuple[str, str | None]:
    real = follow_links(path)
    return follow_git_file(real), real.rpartition("/")[0] or "/"


def _find_repositories(folder: str) -> list[tuple[str, str | None]]:
    """The repository that git would find from here with its tree, after others that it might take for one."""
    here, found = folder, list[tuple[str, str | None]]()
    while True:
        mark = f"{here}/.git"
        state = _stat(mark)
        if state is not None and not stat.S_ISDIR(state.st_mode):
            return [*found, (follow_git_file(mark), here)]
        for repository, tree in ((mark, here), (here, None)) if state is not None else ((here, None),):
            taken = _is_repository(repository)
            if taken is not False:
                found.append((repository, tree))
            if taken:
                return found
        if here == "/":
            return found
        here = here.rpartition("/")[0] or "/"


def _is_repository(path: str) -> bool | None:
    """Return whether git takes this for a repository and looks no further up; None: some gits may."""
    head = _stat(f"{path}/HEAD")
    if head is None and not os.path.lexists(f"{path}/HEAD"):
        return False
    objects = _stat(f"{path}/objects")
    if objects is None and not any(os.path.lexists(f"{path}/{one}") for one in ("objects", "commondir")):
        return False
    if head is None or not stat.S_ISREG(head.st_mode) or not head.st_mode & stat.S_IRUSR:
        return None
    folders = _is_open_folder(objects) and _is_open_folder(_stat(f"{path}/refs"))
    return True if folders and _names_commit(f"{path}/HEAD", *version_of(head)) else None


def _is_open_folder(found: os.stat_result | None) -> bool:
    return found is not None and stat.S_ISDIR(found.st_mode) and bool(found.st_mode & stat.S_IXUSR)


@functools.lru_cache(256)
def _names_commit(head: str, *version: int) -> bool:
    return _HEAD.fullmatch(_read(head)) is not None


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - asked many times a line
    except (FileNotFoundError, NotADirectoryError):
        return None


def _find_common(repository: str) -> str:
    """The folder of the configuration and the hooks: another one for a second working tree."""
    file = f"{repository}/commondir"
    return join_path(repository, _read(file).rstrip("\r\n")) if os.access(file, os.F_OK) else repository


def _check_repository(repository: str, tree: str | None, names: tuple[str, ...], depth: int) -> str | None:
    common, own = _find_common(repository), f"{repository}/config.worktree"
    hooks = [f"{common}/hooks"]
    for file in (f"{common}/config", own) if os.access(own, os.F_OK) else (f"{common}/config",):
        version = version_of_file(file)
        key, named = _check_content(file, *version) if version else (None, ())
        if key is not None:
            return key
        hooks += [join_path(tree or common, one) for one in named]
    for folder, name in itertools.product(hooks, names):
        hook = f"{folder}/{name}"
        if os.access(hook, os.F_OK) and os.stat(hook).st_mode & 0o111:  # noqa: PTH116 - as above
            return f"the hook {name}"
    return None if tree is None else _check_submodules(repository, tree, names, depth)


def _names_hooks(key: str, value: str) -> bool:
    """Return whether this says, in plain letters, where hooks are: those of reading commands count."""
    return key == "core.hookspath" and _PLAIN_PATH.fullmatch(value) is not None


def _check_submodules(repository: str, tree: str, names: tuple[str, ...], depth: int) -> str | None:
    """git looks into submodules as well, each with a configuration of its own.

    Those that `.gitmodules` lists, and every other repository that the index records a commit of.
    """
    listed = f"{tree}/.gitmodules"
    keys = _read_keys(listed) if os.access(listed, os.F_OK) else []
    linked = find_gitlinks(repository)
    if linked is None:
        return _UNREADABLE
    paths = {*(value for key, value in keys if key.endswith(".path")), *linked}
    if paths and (depth > 3 or len(paths) > MAX_SUBMODULES):
        return "more submodules than are looked at"
    found = (
        _check_repository(follow_git_file(f"{inner}/.git"), inner, names, depth + 1)
        for inner in (join_path(tree, path) for path in sorted(paths))
        if _stat(f"{inner}/.git") is not None
    )
    return next(filter(None, found), None)


@functools.lru_cache(256)
def _check_content(path: str, *version: int) -> tuple[str | None, tuple[str, ...]]:
    """The first key of this file that may run a program, and where it says that hooks are."""
    keys = _read_keys(path)
    hooks = tuple(value for key, value in keys if _names_hooks(key, value))
    running = (key for key, value in keys if not _names_hooks(key, value) and not is_harmless_key(key, value))
    return next(running, None), hooks


def _read(path: str) -> str:
    return read_whole(path, MAX_CONFIG).decode()


def _read_keys(path: str) -> list[tuple[str, str]]:
    """The keys of a configuration with their values. ValueError if a line is not understood.

    Nor is one that ends in a backslash: whether the next belongs to it hangs on quotes and comments. Lines
    end where they end for git, and at no other character.
    """
    section = ""
    found: list[tuple[str, str]] = []
    for line in _read(path).split("\n"):
        rest = line.strip()
        if rest.endswith("\\"):
            raise ValueError(line)
        while rest.startswith("["):
            match = _SECTION.match(rest)
            if match is None:
                raise ValueError(line)
            section = match[1].casefold() + (f".{match[2]}" if match[2] is not None else "")
            rest = rest[match.end() :].strip()
        if not rest or rest[0] in "#;":
            continue
        match = _KEY.match(rest)
        if match is None or not section:
            raise ValueError(line)
        value = (match[2] or "true").strip().strip('"')
        found.append((f"{section}.{match[1].casefold()}", value))
    return found
