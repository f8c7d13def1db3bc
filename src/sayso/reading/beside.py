"""Arguments beside a command line: which of them count, and what they do to it.

- Standing consent and orders cover a call only if nothing stands beside its command but what its entry lists
  as harmless.
- A command line is read in every folder that its call names.
- Whatever else stands beside it makes it high risk, unless it is known to change nothing about it. A no
  changes nothing, but to a sandbox; a zero may be the number of a user.
- Where an entry names the operation of its command lines, an argument that is never harmless does so, and one
  that nobody knows makes it moderate at least. What the entry itself names is neither.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sayso.core.command_arguments import NEVER_HARMLESS, fold_argument
from sayso.core.model import Risk
from sayso.core.policy import Tool
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.path_operations import CallFolders
from sayso.reading.paths.spellings import expand_home

_EMPTY: tuple[object, ...] = (None, "", [], {}, ())
_FOLDERS = frozenset(
    {"cd", "chdir", "cwd", "dir", "directory", "dirpath", "folder", "folderpath", "pwd", "wd", "workdir",
     "workingdir", "workingdirectory", "workingfolder"}
)  # fmt: skip
"""Names of arguments that say where a command runs."""
_CHANGE_NOTHING = frozenset(
    {"async", "background", "blockuntilms", "callid", "captureoutput", "comment", "delayms", "description",
     "detach", "explanation", "goal", "id", "initialwait", "interactive", "isbackground", "justification",
     "label", "maxoutput", "maxoutputchars", "maxoutputtokens", "note", "pty", "purpose", "reason",
     "requestid", "requiresapproval", "requireuserapproval", "runinbackground", "sessionid", "shellid",
     "stream", "summary", "taskid", "timeout", "timeoutms", "timeoutseconds", "timeoutsecs", "title",
     "toolcallid", "tty", "verbose", "wait", "yieldms", "yieldtimems"}
)  # fmt: skip
"""Names of arguments that say why a command is run, or how long and in what way it is waited for."""
_KEEPS_SAFE = lazy_pattern(r"(?:use|with|in|enable|run(?:in)?)?(?:sandbox|container)(?:ed|ing)?(?:enabled)?")
"""Names of switches that keep a command from doing harm, folded: switching one off is not a default."""


def arguments_beside(args: Mapping[str, Any], entry: Tool | None, holding: Sequence[str]) -> tuple[str, ...]:
    """The arguments that do not hold the command, are not empty, and are not listed as harmless."""
    listed = () if entry is None else entry.ignore
    holds = {name.removeprefix("args.") for name in holding}
    harmless = {name.removeprefix("args.") for name in listed}
    return tuple(
        name
        for name, value in args.items()
        if name not in holds and value not in _EMPTY and not (name in harmless and _is_plain(value))
    )


def change_line(args: Mapping[str, Any], entry: Tool) -> bool:
    """Return whether an argument beside the command line may change what that does."""
    beside = arguments_beside(args, entry, (entry.command_from or "",))
    return any(not _changes_nothing(name, args[name]) for name in beside)


def risk_beside(args: Mapping[str, Any], entry: Tool) -> Risk:
    """Return the risk that arguments add to a command line whose operation the entry names."""
    named = {
        one.strip().removeprefix("args.").partition(".")[0]
        for path in (entry.source, entry.target, entry.context)
        for one in (path or "").split(",")
    }
    harmless = {one.removeprefix("args.") for one in entry.ignore}
    beside = arguments_beside(args, entry, (entry.command_from or "",))
    changing = {
        one
        for one in beside
        if one in harmless or (one not in named and not _changes_nothing(one, args[one]))
    }
    if any(one in harmless or fold_argument(one) in NEVER_HARMLESS for one in changing):
        return Risk.HIGH
    return Risk.MODERATE if changing else Risk.LOW


def folders_of_line(args: Mapping[str, Any], entry: Tool, where: CallFolders) -> tuple[CallFolders, ...]:
    """Every folder that the command line may run in: the call's own, and those that its arguments name.

    A door that knows where the call runs has gone there already, and the argument still says so.
    """
    beside = arguments_beside(args, entry, (entry.command_from or "",))
    named = (args[name] for name in beside if fold_argument(name) in _FOLDERS)
    found = (one for path in named if _is_folder(path) for one in _join(where, path))
    return tuple(dict.fromkeys((where, *found)))


def _changes_nothing(name: str, value: Any) -> bool:
    folded = fold_argument(name)
    if value is False:
        return _KEEPS_SAFE.fullmatch(folded) is None
    waits = folded == "mode" and value in ("sync", "async", "foreground", "background")
    return (
        waits
        or (folded in _FOLDERS and _is_folder(value))
        or (folded in _CHANGE_NOTHING and _is_plain(value))
    )


def _is_plain(value: object) -> bool:
    """One line of text, a number, or a yes or no; what holds more may hold anything."""
    return isinstance(value, (bool, int, float)) or (isinstance(value, str) and "\n" not in value)


def _is_folder(value: object) -> bool:
    return isinstance(value, str) and bool(value) and "\n" not in value and "\0" not in value


def _join(where: CallFolders, path: str) -> tuple[CallFolders, ...]:
    """Where this leads for the system, and for a host that shortens `link/..` as text first."""
    joined = os.path.join(where.folder or "/", expand_home(path, where.home))  # noqa: PTH118  links stay
    folders = dict.fromkeys((os.path.normpath(joined), os.path.realpath(joined)))
    return tuple(msgspec.structs.replace(where, folder=folder) for folder in folders)
