"""Files that a command brings into a folder under names of their own: from archives, and from other folders.

- Each name is judged as if the line had written it: the guard's files, an agent's instructions, `.git`, and
  what lies outside count for what they are.
- An archive that cannot be listed is high risk: nobody can tell what it brings.
"""

from __future__ import annotations

import glob
import os
from itertools import islice, product

import msgspec

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import is_folder, may_look
from sayso.reading.paths.places import is_secret
from sayso.reading.paths.protected import GUARDED_FIRST_NAMES, find_named
from sayso.reading.secrets_below import MAX_ENTRIES
from sayso.reading.shell.commands.usage import judge_by_data, names_chosen
from sayso.reading.shell.files.archives import list_archive
from sayso.reading.shell.files.deep import MAX_WILD_PARTS, NamesTaken, secret_under
from sayso.reading.shell.files.guard import GUARD
from sayso.reading.shell.files.paths import judge_path, judge_path_into, split_pattern
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect
from sayso.reading.shell.programs.options import Argument, ParsedOptions
from sayso.reading.shell.specials.wrappers import known_part
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
    return judge.where.home + (path.text or "")[1:] if path.value.home else join_path(folder, path.text or "")


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
            if seen > MAX_ENTRIES or not may_look(_COST + len(names)):
                return None
            inner = here[len(start.rstrip("/")) + 1 :]
            below = [f"{inner}/{name}" if inner else name for name in names]
            found += [f"{top}{name}" for top in tops for name in below]
    return found


def _names_of_several(judge: Judge, source: Argument, state: ShellState, *, into: bool) -> list[str] | None:
    """The same of a pattern, or of a word that may be one of several; None if nobody can tell which."""
    found: list[str] = []
    for one in source.value.choices or (source.value,):
        for name in _list_matches(judge, one, state) if one.wild else [one.text]:
            value = Value(name, home=one.home)
            each = Argument(value, source.start, source.end)
            below = (
                None
                if name is None or not may_look(_COST)
                else _names_taken_along(judge, each, state, into=into)
            )
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


_COST = 5
"""Looks for one name that is followed, with the folder that it may be."""
_RENAMES = frozenset({"--transform", "--one-top-level", "--show-transformed-names"})
_WRITES = frozenset({"-c", "-r", "-u", "-A", "--delete"})


def judge_tar(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge tar as its data says; then its archive, its folder and what goes in."""
    earlier = invocation.state.changes.copy()
    arguments = _set_old_style(program, invocation.arguments)
    parsed = judge_by_data(judge, program, msgspec.structs.replace(invocation, arguments=arguments))
    chosen = names_chosen(parsed)
    writes = not _WRITES.isdisjoint(chosen)
    for option, value in parsed.options:
        if option.name == "-f" and value is not None:
            if ":" in known_part(value).partition("/")[0]:
                judge.effect(default_effect("network.api"), value.start, value.end)
            judge_path(judge, "files.write" if writes else "files.read", value, invocation.state)
        elif option.name == "-C" and value is not None and "-t" not in chosen:
            judge_folder = judge_path if writes else judge_path_into
            judge_folder(judge, "files.read" if writes else "files.write", value, invocation.state)
    if writes:
        for one in parsed.operands:
            judge_path(judge, "files.read", one, invocation.state)
        _judge_contents(judge, parsed, invocation)
    elif "-x" in chosen and "-O" not in chosen and parsed.problem is None:
        _judge_extraction(judge, parsed, invocation, earlier)


def _judge_contents(judge: Judge, parsed: ParsedOptions, invocation: Invocation) -> None:
    """Judge the contents of the folders that are packed."""
    given = [(option.name, value.text) for option, value in parsed.options if value is not None]
    excluded = tuple(text for name, text in given if name == "--exclude" and text)
    starts = [text for name, text in given if name == "-C"] or ["."]
    for one, folder in product(parsed.operands, invocation.state.folders):
        tops = [None if folder is None or text is None else join_path(folder, text) for text in starts]
        below = (secret_under(judge, top, one.text, NamesTaken(excluded)) for top in tops)
        secret = next(filter(None, below), None)
        if secret is not None:
            judge.record("files.read", Risk.HIGH, f"it packs {secret}", one.start, one.end)
            return


def _judge_extraction(
    judge: Judge, parsed: ParsedOptions, invocation: Invocation, earlier: ChangedFiles
) -> None:
    """The files that come out of the archive, under the names that the options give them."""
    given = {option.name: value for option, value in parsed.options if value is not None}
    strip = given["--strip-components"].text or "" if "--strip-components" in given else "0"
    archive = given.get("-f", Argument(Value(None), invocation.start, invocation.end))
    if not strip.isdigit() or _RENAMES & names_chosen(parsed):
        archive, strip = Argument(Value(None), archive.start, archive.end), "0"
    judge_unpacked(judge, archive, given.get("-C"), invocation, earlier, int(strip))


def _set_old_style(program: KnownProgram, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """`tfI A B`: letters without a dash as the first word, whose values are the next words in turn."""
    first = arguments[0] if arguments else None
    if first is None or not first.text or not first.text.isalpha():
        return arguments
    rest = list(arguments[1:])
    found: list[Argument] = []
    for letter in first.text:
        found.append(Argument(Value(f"-{letter}"), first.start, first.end))
        option = program.table.named.get(f"-{letter}")
        if option is not None and option.takes == ":" and rest:
            found.append(rest.pop(0))
    return (*found, *rest)
