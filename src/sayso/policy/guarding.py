"""Calls that touch the guard become operations of `self_modification`, which nothing allows.

Such an operation is barred by the reading itself: it is denied whether or not the policy in force lists it.
Two places make them: the path and URL resolvers, for the arguments that the policy names; and the making of
every request, for arguments that by their names hold paths, whatever tool and door they come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sayso.core import words
from sayso.core.digest import decode
from sayso.core.model import Call, Operation
from sayso.policy.because import because, piece
from sayso.policy.paths import Place, locate
from sayso.policy.protected import Found
from sayso.policy.protected_names import DOMAIN, Guarded
from sayso.policy.spellings import DEEPEST, texts_in
from sayso.policy.verbs import DELETES, INTO, READS, changes, only_reads, verb_of

_PATHS = re.compile(
    r"path|file|folder|dir(?:ectory)?s?$|ur[il]s?$|^(?:src|source|dst|dest|destination|target|from|to|old|new"
    r"|location|output|out|root|link|name|cwd|workdir)s?$",
    re.IGNORECASE,
)
"""Names of arguments that hold paths."""
_QUICK = re.compile(rb"[/\\.%~$]|soul|agents|sayso", re.IGNORECASE)
"""Without any of these there is no path to a guarded file."""
_LONGEST = 4096
_MOST_LINES = 4
_REMOTE = re.compile(r"(?:https?|wss?|ftps?|ssh|git)://[^/.\\][^/\\]*/?(?!.*\.\.)", re.IGNORECASE)
_PATCHES = re.compile(r"patch|diff|^(?:input|changes|edits)$", re.IGNORECASE)
_PATCHED = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File:|\*\*\* Move to:|\+\+\+|---|(?:rename|copy) (?:to|from))"
    r"[ \t]+(?:[ab]/)?([^\t\r\n]+)",
    re.MULTILINE,
)
"""The files that a patch names."""


def touching_guard(operation: str, place: Place) -> Operation | None:
    """What an operation on this path does to the guard, if anything."""
    verb, found = verb_of(operation), place.guarded
    if verb not in READS:
        guarded = found.at or found.around
        return None if guarded is None else barred(_changing(guarded, verb))
    look = found.at.look if found.at is not None else None
    if look is None and verb in INTO and found.around is not None:
        look = found.around.look
    return None if look is None else barred(look)


def guarded_path(operation: str, path: object, *, folder: str, workspace: str, home: str) -> Operation | None:
    """The same for what may be a path, or something else; only what it leads to counts, not what is near."""
    place = locate(path, folder=folder, workspace=workspace, home=home)
    return touching_guard(operation, msgspec.structs.replace(place, guarded=Found(place.guarded.at)))


def with_guard(call: Call, operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """The operations, and those of self_modification that the call's arguments come to, by their names."""
    if not _QUICK.search(call.arguments):
        return tuple(operations)
    named = (call.tool, *(one.name for one in operations))
    known = {one.name for one in operations if one.barred is not None}
    found: dict[str, Operation] = {}
    for name, path in _paths_in(decode(call.arguments)):
        place = locate(path, folder=call.folder, workspace=call.workspace, home=str(Path.home()))
        action = _done_to(place.guarded.at, named)
        operation = None if action is None else barred(action)
        if operation is not None and operation.name not in known:
            found[operation.name] = because(operation, piece(name, path))
    return (*operations, *found.values())


def barred(action: str) -> Operation:
    """An operation of self_modification that no policy, grant or click allows."""
    return Operation(f"{DOMAIN}.{action}", barred=words.guarded(action))


def _changing(guarded: Guarded, verb: str) -> str:
    return "delete_audit_log" if guarded.change == "modify_audit_log" and verb in DELETES else guarded.change


def _done_to(guarded: Guarded | None, named: Sequence[str]) -> str | None:
    """What a tool with these names does to a file. Of one that names neither, Sayso's own files are safe."""
    if guarded is None:
        return None
    if changes(named):
        return guarded.change
    if only_reads(named):
        return guarded.look
    return guarded.change if guarded.own else guarded.look


def _paths_in(args: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every text that stands under a name for paths, and the files that a patch names."""
    if isinstance(args, (list, tuple)) and depth < DEEPEST:
        for member in args:
            yield from _paths_in(member, depth + 1)
    if not isinstance(args, Mapping) or depth >= DEEPEST:
        return
    for name, value in args.items():
        if _PATHS.search(name):
            yield from ((name, text) for text in texts_in(value) if _may_be_path(text))
        else:
            yield from _paths_in(value, depth + 1)
        if _PATCHES.search(name):
            yield from ((name, path) for text in texts_in(value) for path in _PATCHED.findall(text))


def _may_be_path(text: str) -> bool:
    """Not the content of a file, nor an address on the internet."""
    inner = text.strip()
    return len(inner) <= _LONGEST and inner.count("\n") < _MOST_LINES and not _REMOTE.match(inner)
