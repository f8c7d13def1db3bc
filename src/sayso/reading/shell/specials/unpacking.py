"""Files that a command brings into a folder under names of their own: from archives, and from other folders.

- Each name is judged as if the line had written it: the guard's files, an agent's instructions, `.git`, and
  what lies outside count for what they are.
- An archive that cannot be listed is high risk: nobody can tell what it brings.
"""

from __future__ import annotations

import glob
import os
from itertools import islice

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import is_folder
from sayso.reading.paths.places import is_secret
from sayso.reading.paths.protected import GUARDED_FIRST_NAMES, find_named
from sayso.reading.secrets_below import MAX_ENTRIES
from sayso.reading.shell.commands.usage import judge_by_data, names_chosen
from sayso.reading.shell.files.archives import list_archive
from sayso.reading.shell.files.deep import MAX_WILD_PARTS
from sayso.reading.shell.files.guard import GUARD
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.files.patterns import split_pattern
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import ChangedFiles, ShellState, join_path
from sayso.reading.shell.value import Value

MAX_NOTED = 20
_WILDCARD = lazy_pattern(r"[*?\[]")
_ONLY_SHOWS = frozenset({"-l", "-t", "-v", "-z", "-Z", "-Z1", "-h", "-hh", "-p", "-c"})
UNTOLD = "which files it brings cannot be told"


def judge_unpacked(
    judge: Judge,
    archive: Argument,
    target: Argument | None,
    invocation: Invocation,
    earlier: ChangedFiles,
    strip: int = 0,
) -> None:
    """Judge the files that this archive brings into this folder, or into the one that the command runs in.

    `earlier` are the changes of the line before this command.
    """
    state = invocation.state
    for folder in state.folders:
        names = None
        if folder is not None and archive.text is not None and not archive.value.wild:
            path = _expand(judge, archive, folder)
            names = None if earlier.may_include(path) else list_archive(path)
        if names is None:
            judge.record("files.write", Risk.HIGH, UNTOLD, invocation.start, invocation.end)
            return
        stripped = ["/".join(name.split("/")[strip:]) if strip else name for name in names]
        _judge_names(judge, stripped, target, archive, state)


def _judge_names(
    judge: Judge, names: list[str], target: Argument | None, at: Argument, state: ShellState
) -> None:
    """Judge the names that are of note, the guard's first, until one is blocked or enough are told."""
    top = "" if target is None else f"{(target.text or '').rstrip('/')}/"
    home = target is not None and target.value.home
    noted = [name for name in names if is_of_note(f"{top}{name}")]
    noted.sort(key=lambda name: find_named(name).at is None)
    for name in noted[:MAX_NOTED]:
        place = Value(name if name.startswith("/") else f"{top}{name}", home=home)
        judge_path(judge, "files.write", Argument(place, at.start, at.end), state)
        if judge.findings[-1].barred is not None:
            return


def is_of_note(path: str) -> bool:
    """Return whether a file of this name is more than a file of the workspace, or may be."""
    parts = path.casefold().split("/")
    return (
        path.startswith("/")
        or ".." in parts
        or ".git" in parts
        or not GUARDED_FIRST_NAMES.isdisjoint(parts)
        or not path.isascii()
        or GUARD.search(path) is not None
    )


def _expand(judge: Judge, path: Argument, folder: str) -> str:
    text = path.text or ""
    return judge.where.home + text[1:] if path.value.home else join_path(folder, text)


def judge_unzip(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`unzip`: as its data says; where it writes, the files that the archive brings."""
    earlier = invocation.state.changes.copy()
    parsed = judge_by_data(judge, program, invocation)
    if parsed.problem is None and parsed.operands and _ONLY_SHOWS.isdisjoint(names_chosen(parsed)):
        target = next((value for option, value in parsed.options if option.name == "-d"), None)
        judge_unpacked(judge, parsed.operands[0], target, invocation, earlier)


def judge_copying(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`cp`, `mv`, `ln`, `rsync` into a folder: each source takes its name along, and what lies in it."""
    earlier, state = invocation.state.changes.copy(), invocation.state
    parsed = judge_by_data(judge, program, invocation)
    named = [value for option, value in parsed.options if option.name == "-t" and value is not None]
    sources = parsed.operands if named else parsed.operands[:-1]
    target = next(iter((*named, *parsed.operands[-1:])), None)
    if target is None or target.text is None:
        return
    into = bool(named) or len(sources) > 1 or _may_be_folder(judge, target, state, earlier)
    for one in sources:
        names = _names_taken_along(judge, one, state, into=into)
        if names is None:
            judge.record("files.write", Risk.HIGH, "it copies more than can be looked at", one.start, one.end)
        elif any(map(is_secret, names)):
            why = "it takes a file along that holds secrets"
            judge.record("files.read", Risk.HIGH, why, one.start, one.end)
        _judge_names(judge, names or [], target, one, state)


def _may_be_folder(judge: Judge, target: Argument, state: ShellState, earlier: ChangedFiles) -> bool:
    """Return whether what is copied there keeps its name: the target is a folder, or may be one by then."""
    places = [_expand(judge, target, folder or "/") for folder in state.folders]
    return (target.text or "").endswith("/") or any(
        is_folder(one) or earlier.may_include(f"{one}/x") for one in places
    )


def _names_taken_along(judge: Judge, source: Argument, state: ShellState, *, into: bool) -> list[str] | None:
    """The names that a source has in its target, with those below it; None if there are too many."""
    if source.value.wild or source.value.choices or source.text is None:
        return _names_of_several(judge, source, state, into=into)
    own = source.text.rstrip("/").rpartition("/")[2]
    tops = [f"{own}/"] if into and own not in ("", ".", "..") else [""]
    found = [top[:-1] for top in tops if top]
    if found and source.text[-1] == "/":
        tops.insert(0, "")  # rsync takes what is in it
    for start in (_expand(judge, source, folder or "/") for folder in state.folders):
        seen = 0
        for here, _, names in os.walk(start) if is_folder(start) else ():
            seen += 1 + len(names)
            if seen > MAX_ENTRIES:
                return None
            below = [os.path.normpath(f"{os.path.relpath(here, start)}/{name}") for name in names]
            found += [f"{top}{name}" for top in tops for name in below]
    return found


def _names_of_several(judge: Judge, source: Argument, state: ShellState, *, into: bool) -> list[str] | None:
    """The same of a pattern, or of a word that may be one of several; None if nobody can tell which."""
    found: list[str] = []
    for one in source.value.choices or (source.value,):
        for name in _list_matches(judge, one, state) if one.wild else [one.text]:
            value = Value(name, home=one.home)
            each = Argument(value, source.start, source.end)
            below = None if name is None else _names_taken_along(judge, each, state, into=into)
            if below is None or len(found) > MAX_ENTRIES:
                return None
            found += below
    return found


def _list_matches(judge: Judge, value: Value, state: ShellState) -> list[str | None]:
    """The files that a pattern names as the folders are now, with None if that cannot be told."""
    pattern = value.text or ""
    parts = sum(_WILDCARD.search(part) is not None for part in pattern.split("/"))
    home, fixed = judge.where.home, split_pattern(pattern)[0]
    found: list[str | None] = []
    for folder in state.folders:
        top = home + fixed[1:] if value.home else join_path(folder or "/", fixed)
        changed = judge.changes.may_include(f"{top.rstrip('/')}/x")
        if folder is None or changed or parts > MAX_WILD_PARTS or "(" in pattern:
            return [None]
        whole = home + pattern[1:] if value.home else pattern
        found += islice(glob.iglob(whole, root_dir=folder), MAX_ENTRIES)  # noqa: PTH207
    return found
