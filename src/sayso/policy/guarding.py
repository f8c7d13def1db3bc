"""Calls that touch the guard become operations of `self_modification`, which nothing allows.

Such an operation is barred by the reading itself: it is denied whether or not the policy in force lists it.
Two places make them: the path and URL resolvers, for the arguments that the policy names; and the making of
every request, for arguments that by their names hold paths, whatever tool and door they come from.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sayso.core import words
from sayso.core.digest import MAX_DEPTH, decode
from sayso.core.model import Call, Operation
from sayso.policy.because import because, piece
from sayso.policy.paths import Place, locate
from sayso.policy.protected import Found, find_named
from sayso.policy.protected_names import DOMAIN, Guarded
from sayso.policy.verbs import DELETES, INTO, READS, changes, only_reads, verb_of

_PATHS = re.compile(
    r"path|file|folder|dir(?:ectory)?s?$|ur[il]s?$|^(?:src|source|dst|dest|destination|target|from|to|old|new"
    r"|location|output|out|root|link|name|id|cwd|workdir)s?$",
    re.IGNORECASE,
)
"""Names of arguments that hold paths."""
_QUICK = re.compile(rb"[/\\.%~$]|soul|agents|sayso", re.IGNORECASE)
"""Without any of these there is no path to a guarded file."""
_LONGEST = 4096
_MOST_LINES = 4
_REMOTE = re.compile(r"(?:https?|wss?|ftps?|ssh|git)://[^/.\\][^/\\]*/?(?!.*\.\.)", re.IGNORECASE)
_PLAIN = re.compile(r"(?:/|~|\.\.?/|file:|\$|%|[A-Za-z]:)\S{3,300}")
"""A path whatever the argument is called."""
_OWN = re.compile(r"sayso|gate\.key", re.IGNORECASE)
"""Texts that may name one of Sayso's own files, however they are put."""
_TEXTS = re.compile(
    r"content|text|string|message|body|quer|pattern|regex|prompt|title|descri|comment|command|code|script|subject",
    re.IGNORECASE,
)
"""Names of arguments in which a path is only mentioned."""
_PATCHES = re.compile(r"patch|diff|^(?:input|changes|edits)$", re.IGNORECASE)
_PATCHED = re.compile(
    r"^[ \t]*(?:\*\*\* (?:Add|Update|Delete) File:|\*\*\* Move to:|\+\+\+|---|(?:rename|copy) (?:to|from)"
    r"|diff --git[ \t]+\S+)[ \t]*(?:[ab]/)?([^\t\r\n]+)",
    re.MULTILINE,
)
"""The files that a patch names."""


def touching_guard(operation: str, place: Place) -> Operation | None:
    """What an operation on this path does to the guard, if anything."""
    verb, found = verb_of(operation), place.guarded
    if verb not in READS:
        guarded = found.at or found.around
        return None if guarded is None else barred(_changing(guarded, verb), place.real)
    look = found.at.look if found.at is not None else None
    if look is None and verb in INTO and found.around is not None:
        look = found.around.look
    return None if look is None else barred(look, place.real)


def guarded_path(operation: str, path: object, *, folder: str, workspace: str, home: str) -> Operation | None:
    """The same for what may be a path, or something else; only what it leads to counts, not what is near."""
    place = locate(path, folder=folder, workspace=workspace, home=home)
    return touching_guard(operation, msgspec.structs.replace(place, guarded=Found(place.guarded.at)))


def with_guard(call: Call, operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """The operations, and those of self_modification that the call's arguments come to, by their names."""
    arguments = decode(call.arguments) if len(call.arguments) > len(b"{}") else {}
    if not _QUICK.search(call.arguments) and not any(_links_in(arguments, call.folder)):
        return tuple(operations)
    named = (call.tool, *(one.name for one in operations))
    known = {one.name for one in operations if one.barred is not None}
    found: dict[str, Operation] = {}
    for one in (*_paths_in(arguments), *_links_in(arguments, call.folder)):
        place = locate(one.path, folder=call.folder, workspace=call.workspace, home=str(Path.home()))
        action = _done_to(place.guarded.at, named, one.sure)
        operation = None if action is None else barred(action, f"{one.argument}: {place.real or one.path}")
        if operation is not None and operation.name not in known:
            found[operation.name] = because(operation, piece(one.argument, one.path))
    return (*operations, *found.values())


def barred(action: str, meant: str | None) -> Operation:
    """An operation of self_modification that no policy, grant or click allows, on the file that was meant."""
    return Operation(f"{DOMAIN}.{action}", barred=words.guarded(action, meant or "a path in its arguments"))


def _changing(guarded: Guarded, verb: str) -> str:
    return "delete_audit_log" if guarded.change == "modify_audit_log" and verb in DELETES else guarded.change


def _done_to(guarded: Guarded | None, named: Sequence[str], sure: bool) -> str | None:
    """What a tool with these names does to a file. Of one that names neither, Sayso's own files are safe."""
    if guarded is None or not (sure or guarded.own):
        return None
    if only_reads(named):
        return guarded.look
    return guarded.change if guarded.own or changes(named) else guarded.look


def paths_beside(args: Mapping[str, Any], read: Collection[str]) -> Iterator[tuple[str, str]]:
    """What else in the arguments may be a path, each with the argument it stands in."""
    rest = {name: value for name, value in args.items() if name not in read}
    yield from ((one.argument, one.path) for one in _paths_in(rest))
    yield from ((name, text) for name, text in _short_texts(rest) if not _TEXTS.search(name))


def _short_texts(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from _short_texts(key, name, depth + 1)
            yield from _short_texts(member, key, depth + 1)
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from _short_texts(member, name, depth + 1)
    elif isinstance(value, str) and _may_be_path(value) and "\n" not in value:
        yield name, value


class _Given(msgspec.Struct, frozen=True):
    """A path in an argument. `sure`: the name of the argument says that it is one."""

    argument: str
    path: str
    sure: bool


def _paths_in(value: Any, name: str = "", depth: int = 0) -> Iterator[_Given]:
    """Every text under a name for paths, any other that looks like one, and the files a patch names."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from _paths_in(key, name, depth + 1)
            yield from _paths_in(member, key, depth + 1)
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from _paths_in(member, name, depth + 1)
    elif isinstance(value, str):
        sure = _PATHS.search(name) is not None and _may_be_path(value)
        inner = value.strip(" \t\r\n'\"`<>()[]")
        called = not _TEXTS.search(name) and _may_be_path(inner)
        if not sure and called and find_named(inner).at is not None:
            yield _Given(name, inner, sure=True)
        elif sure or (called and _OWN.search(inner)) or _PLAIN.fullmatch(inner):
            yield _Given(name, value if sure else inner, sure)
        if _PATCHES.search(name):
            yield from (_Given(name, path, sure=True) for path in _PATCHED.findall(value))


def _links_in(value: Any, folder: str, name: str = "", depth: int = 0) -> Iterator[_Given]:
    """Every text that is the name of a link in the working folder, whatever the argument is called."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from _links_in(key, folder, name, depth + 1)
            yield from _links_in(member, folder, key, depth + 1)
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from _links_in(member, folder, name, depth + 1)
    elif isinstance(value, (str, int, float)) and _is_link(str(value).strip(), folder):
        yield _Given(name, str(value).strip(), sure=True)


def _is_link(text: str, folder: str) -> bool:
    """Whether a file of this name is a symbolic link, lies behind one, or has other names."""
    if not text or len(text) > _LONGEST or "\n" in text or "\0" in text:
        return False
    try:
        path = Path(os.path.realpath(folder or "."), text)
        found = path.lstat()
        elsewhere = os.path.realpath(path) != os.path.normpath(path)
    except (OSError, ValueError):
        return False
    return elsewhere or (stat.S_ISREG(found.st_mode) and found.st_nlink > 1)


def _may_be_path(text: str) -> bool:
    """Not the content of a file, nor an address on the internet."""
    inner = text.strip()
    return len(inner) <= _LONGEST and inner.count("\n") < _MOST_LINES and not _REMOTE.match(inner)
