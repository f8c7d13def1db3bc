"""Calls that touch the guard become operations of `self_modification`, which nothing allows.

Such an operation is barred by the reading itself: it is denied whether or not the policy in force lists it.
Two places make them: the path and URL resolvers, for the arguments that the policy names; and the making of
every request, for all paths in its arguments, whatever tool and door they come from. There, too, a path that
leads to a secret or into the system raises the risk of what was declared.

Calls with nothing but words and numbers in them are told at one look (`name_no_path`); in doubt every text is
read (`follow_every_path`), and `tests/property/test_plain_words.py` compares the two.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Sequence

import msgspec

from sayso.core import words
from sayso.core.digest import read_arguments
from sayso.core.model import Call, Operation, Piece, Risk
from sayso.core.policy import GUARDED_DOMAIN
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.evidence import add_evidence, pieces_from_value
from sayso.reading.paths.budget import MAX_LOOKS, current_budget
from sayso.reading.paths.finding.argument_texts import (
    ArgumentText,
    PathArgument,
    classify_argument,
    runs_text,
    takes_patch,
)
from sayso.reading.paths.finding.path_arguments import collect_texts, find_paths, shorten
from sayso.reading.paths.finding.pieces import is_ending, is_prefix
from sayso.reading.paths.finding.targets import targets_in, trees_reached
from sayso.reading.paths.named_files import find_named_links
from sayso.reading.paths.own_places import home_folder
from sayso.reading.paths.places import PathPlace, locate
from sayso.reading.paths.protected import GuardMatch, begins_guarded, find_mentioned
from sayso.reading.paths.protected_names import Guarded
from sayso.reading.paths.spellings import decode_text
from sayso.reading.urls import is_address
from sayso.reading.verbs import (
    CONTENT_VERBS,
    DELETE_VERBS,
    READ_VERBS,
    is_git,
    only_reads,
    suggests_change,
    verb_of,
    words_in,
)

_TOO_MUCH = "more than can be followed"
_PLAIN_WORDS = lazy_pattern(
    r"-?[0-9]+(?:\.[0-9]+)?|(?!id_)[A-Z0-9]+(?:(?:[-_]|[,.;!]? )[A-Z0-9]+)*[.!]?", re.ASCII | re.IGNORECASE
)
_LONGEST_NAME = 255
SHORT_NUMBERS = range(-999_999, 10_000_000)
"""Whole numbers too short for a code, and no guarded or secret place begins with one: all are plain."""
MOST_ARGUMENTS = 16
_MOST_LOOKS = 8
"""Looks that the full reading takes for one text, beside those for the folders above it; and more."""


def operation_on_guard(operation: str, place: PathPlace) -> Operation | None:
    """Return the change an operation on this path makes to the guard, if any."""
    verb, found = verb_of(operation), place.guarded
    if verb not in READ_VERBS:
        guarded = found.at or found.around
        action = None if guarded is None else guarded.change
        if action == "modify_audit_log" and verb in DELETE_VERBS:
            action = "delete_audit_log"
    else:
        seen = (found.at, found.around if verb in CONTENT_VERBS else None)
        action = next((one.look for one in seen if one is not None and one.look is not None), None)
    return None if action is None else bar_action(action, place.real)


def operation_on_guarded_path(
    operation: str, path: object, *, folder: str, workspace: str, home: str
) -> Operation | None:
    """The same for what may be a path, or something else; only what it leads to counts, not what is near."""
    place = locate(path, folder=folder, workspace=workspace, home=home)
    return operation_on_guard(operation, msgspec.structs.replace(place, guarded=GuardMatch(place.guarded.at)))


class PathReading(msgspec.Struct, frozen=True):
    """The operations of a call as its paths make them, where links among these lead, and what it works on."""

    operations: tuple[Operation, ...]
    links: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


def follow_paths(call: Call, operations: Sequence[Operation]) -> PathReading:
    """Return the operations from paths in the call's arguments, whatever its tool and door.

    What touches the guard adds an operation of self_modification; a secret or the system raises the risk.
    """
    named = (call.tool, *[one.name for one in operations])
    arguments = read_arguments(call.arguments)
    if not _may_name_files(arguments, call.command) and name_no_path(arguments, call.folder, named):
        return PathReading(tuple(operations))
    return follow_every_path(call, operations, named, collect_texts(arguments))


def _may_name_files(arguments: object, command: str | None) -> bool:
    """Return whether files may stand in the middle of a text, beside the declared command line."""
    run = filter(runs_text, arguments if isinstance(arguments, dict) else ())
    return any(command is None or arguments[name] != command for name in run)  # type: ignore[index]


def follow_every_path(
    call: Call, operations: Sequence[Operation], named: Sequence[str], texts: Sequence[ArgumentText]
) -> PathReading:
    """The same by the full reading of every text."""
    known = {one.name for one in operations if one.barred is not None}
    found: dict[str, Operation] = {}
    raised: list[Piece] = []
    links: set[str] = set()
    for one, place in _locate_paths(call, texts, named):
        links.update(place.links)
        action = _action_on_file(place.guarded.at, named, one)
        meant = f"{one.argument}: {place.real or shorten(one.path)}"
        operation = None if action is None else bar_action(action, meant)
        if operation is not None and operation.name not in known:
            found[operation.name] = add_evidence(operation, pieces_from_value(one.argument, one.path))
        # A tool that is given a guarded file, and whose names do not say that it only reads it.
        doubtful = one.sure and place.guarded.at is not None and not _only_looks(one, named)
        if doubtful or one.lost or (one.file and _is_risky(one, place, named)):
            raised += pieces_from_value(one.argument, one.path)
    for text in texts:
        if text.is_file_name and is_address(text.text):
            raised += pieces_from_value(text.argument, text.text)
        if text.may_name_files and text.text != call.command:  # whose files its own reading has found
            links |= find_named_links(text.text, folder=call.folder, home=home_folder())
    for tree in trees_reached(texts, named, call.folder, call.workspace) if is_git(named) else ():
        raised += pieces_from_value(tree.argument, tree.text)
        if tree.guarded is not None:
            operation = bar_action(tree.guarded.change, f"{tree.argument}: {tree.text}")
            found[operation.name] = add_evidence(operation, pieces_from_value(tree.argument, tree.text))
    kept = (add_evidence(one.read_as(Risk.HIGH), raised) for one in operations) if raised else operations
    targets = targets_in(texts, named, folder=call.folder, workspace=call.workspace, home=home_folder())
    return PathReading((*kept, *found.values()), tuple(sorted(links)), targets)


def _locate_paths(
    call: Call, texts: Sequence[ArgumentText], named: Sequence[str]
) -> Iterator[tuple[PathArgument, PathPlace]]:
    """Every path in the arguments of a call, and where it leads."""
    if not texts:
        return
    home = home_folder()
    given = find_paths(texts, folder=call.folder, home=home, named=named)
    for one in dict.fromkeys(given):
        if not (one.lost and one.sure):
            yield one, locate(one.path, folder=call.folder, workspace=call.workspace, home=home)
        elif not only_reads(named):  # lines of a patch, which a tool that reads only shows
            yield one, PathPlace(None, guarded=find_mentioned(one.path))
    if current_budget().unread:
        yield PathArgument(next(one.argument for one in texts), _TOO_MUCH, lost=True), PathPlace(None)


def _only_looks(given: PathArgument, named: Sequence[str]) -> bool:
    """Return whether a tool of these names only reads this path."""
    return only_reads(named) and not given.written


def _is_risky(given: PathArgument, place: PathPlace, named: Sequence[str]) -> bool:
    """Return whether a tool of these names does more than its declaration says, on this path."""
    return place.secret or place.telling or (place.system and not _only_looks(given, named))


def bar_action(action: str, meant: str | None) -> Operation:
    """An operation of self_modification that no policy, grant or click allows, on the file that was meant."""
    return Operation(
        f"{GUARDED_DOMAIN}.{action}", barred=words.guard_reason(action, meant or "a path in its arguments")
    )


def _action_on_file(guarded: Guarded | None, named: Sequence[str], given: PathArgument) -> str | None:
    """Return the action on a file of a tool with these names.

    Of one that names neither reading nor changing, Sayso's own files are safe, and those that nobody sees it
    is given.
    """
    if guarded is None or not (given.sure or guarded.own):
        return None
    if _only_looks(given, named):
        return guarded.look
    hidden = given.hidden and not is_git(named)
    changed = guarded.own or hidden or given.written or suggests_change(named)
    return guarded.change if changed else guarded.look


# --- words and numbers, which most calls are given and nothing else ---


def name_no_path(arguments: object, folder: str, named: Sequence[str]) -> bool:
    """Return whether nothing in these arguments is a path or part of one; False if that takes a closer look.

    `named` are the names of the tool and its operations.

    - Every text is letters and digits with single separators: no slash, dot within, option, wildcard, scheme,
      quote, bracket or line end. So none is a path by its spelling, a patch, a template or JSON, and the only
      path it can be is the entry of the working folder that is so called.
    - There is no such entry. So none is a link or a file, or a folder that others may lie in.
    - None is a name that a guarded or secret place begins with. So they complete no such place together.
    """
    if type(arguments) is not dict or len(arguments) > MOST_ARGUMENTS or folder[:1] not in ("", "/"):
        return False
    if not _are_looks_left(folder) or _takes_more_than_paths(tuple(named)):
        return False
    for name, value in arguments.items():
        if not _is_plain_name(name) or not _is_plain(value):
            return False
        if len(arguments) > 1 and is_ending(name, str(value)):
            return False
    texts = [str(value) for value in arguments.values() if value is not None and type(value) is not bool]
    # a call without a folder is read from that of this process
    return not any(map(_is_entry, [f"{folder}/{text}" if folder else text for text in texts]))


@functools.lru_cache(maxsize=1024)
def _takes_more_than_paths(named: tuple[str, ...]) -> bool:
    """Return whether a tool of these names reads what it is given as git does, or as a patch."""
    return is_git(named) or any(takes_patch(words_in(name)) for name in named)


def _are_looks_left(folder: str) -> bool:
    """Return whether the full reading would not run out of looks."""
    budget = current_budget()
    most = budget.made + MOST_ARGUMENTS * (_MOST_LOOKS + folder.count("/"))
    return most < MAX_LOOKS and not budget.too_deep


def _is_plain(value: object) -> bool:
    """Return whether the value is a plain text, a number that is spelled as one, or no text at all."""
    kind = type(value)
    if kind is str:
        return _is_plain_text(value)
    if kind is int:
        return value in SHORT_NUMBERS or _is_plain_text(str(value))
    return kind is bool or value is None or (kind is float and _is_plain_text(str(value)))


def _is_entry(path: str) -> bool:
    """Return whether anything is there, be it a link to nowhere. Most often nothing is."""
    if _SAYS_WHAT_IS_THERE:
        return os.access(path, os.F_OK, effective_ids=True, follow_symlinks=False)
    return os.path.lexists(path)


def _says_what_is_there() -> bool:
    """Return whether `access` can be asked without an error for each no; some sandboxes answer only no."""
    able = os.access in os.supports_effective_ids and os.access in os.supports_follow_symlinks
    return able and os.access(os.sep, os.F_OK, effective_ids=True, follow_symlinks=False)


_SAYS_WHAT_IS_THERE = _says_what_is_there()


@functools.lru_cache(maxsize=1024)
def _is_plain_text(text: str) -> bool:
    """Return whether the text is plain by its spelling, which no file, setting or time changes."""
    if len(text) > _LONGEST_NAME or _PLAIN_WORDS.fullmatch(text) is None or "sayso" in text.lower():
        return False
    return not begins_guarded(text) and decode_text(text) is None


@functools.lru_cache(maxsize=1024)
def _is_plain_name(name: str) -> bool:
    """Return whether an argument of this name holds neither paths, patterns, patches nor prefixes."""
    return (
        name.isidentifier()
        and classify_argument(name) in ("mentions", "anything")
        and not takes_patch((), name)
        and not is_prefix(name)
    )
