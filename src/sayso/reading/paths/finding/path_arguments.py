"""Which arguments of a call hold paths, whatever the tool: the one walk through its arguments.

- A text is a path if its argument's name says so, if it is spelled like one, or if there is a link so named.
- Keys of objects count as texts. A patch names files. Several texts together may be the pieces of one path.
- Arguments that hold content, messages or search terms only mention paths.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any

import msgspec

from sayso.core.digest import MAX_DEPTH
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.patches.lines import PatchReading, names_in
from sayso.reading.paths.budget import current_budget
from sayso.reading.paths.finding.argument_texts import (
    CONTENT,
    OUTPUTS,
    REMOTE,
    WRITTEN,
    ArgumentText,
    PathArgument,
    is_link,
    may_be_path,
    read_patches,
)
from sayso.reading.paths.finding.pieces import find_joined_paths
from sayso.reading.paths.ground import real_folder
from sayso.reading.paths.places import is_secret, spells_secret
from sayso.reading.paths.protected import find_mentioned, find_named
from sayso.reading.paths.spellings import MAX_PATH_LENGTH, WILD, decode_text, fold_away, is_odd
from sayso.reading.urls import AROUND
from sayso.reading.verbs import words_in

_OWN = lazy_pattern(r"sayso|gate\.key", re.IGNORECASE)
"""Texts that may name one of Sayso's own files, however they are put."""
_LISTED = {"glob", "list", "find", "ls", "tree"}
"""Words for tools that take a pattern of paths."""
_OPTION = lazy_pattern(r"--?[\w-]+=(.+)|-[A-Za-z](.{3,})", re.DOTALL)
"""An option with its value in one text."""
_MOST_LINES = 64
"""Lines of a text to take for a path each."""
_PLAIN = lazy_pattern(r"(?:/|~|\.\.?/|file:|\$|%|[A-Za-z]:)\S{3,300}")
"""A path whatever the argument is called."""
_MOST_SHOWN = 80


def collect_texts(arguments: Mapping[str, Any]) -> tuple[ArgumentText, ...]:
    """Every text and number in the arguments of a call, keys included but for plain names of arguments."""
    groups = count(1)

    def walk(value: Any, argument: str, name: str, group: int, depth: int) -> Iterator[ArgumentText]:
        if depth > MAX_DEPTH:
            current_budget().too_deep = True  # what lies deeper is not read, which makes the call high risk
            return
        if isinstance(value, Mapping):
            for key, member in value.items():
                if depth or not key.isidentifier():
                    yield ArgumentText(argument or key, name, key, group, key=True)
                yield from walk(member, argument or key, key, 0, depth + 1)
        elif isinstance(value, (list, tuple)):
            inner = 0 if group else next(groups)  # a list in a list is one path in pieces
            for member in value:
                yield from walk(member, argument, name, inner, depth + 1)
        elif isinstance(value, str):
            one = ArgumentText(argument, name, value, group)
            yield one
            inside = (walk(inner, argument, name, group, depth + 1) for inner in _read_inside(one))
            yield from (
                each if each.text in value else msgspec.structs.replace(each, coded=True)
                for each in chain.from_iterable(inside)
            )
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield ArgumentText(argument, name, str(value), group)

    return tuple(walk(arguments, "", "", 0, 0))


def _parse_json(one: ArgumentText) -> Any:
    """The list or object that a text stands for, because many programs take it for that; None otherwise.

    In what is written to a file as it is, JSON stands for itself.
    """
    if one.text.lstrip()[:1] not in ("[", "{") or CONTENT.search(one.name) or WRITTEN.search(one.name):
        return None
    try:
        return json.loads(one.text)
    except (ValueError, RecursionError) as error:
        current_budget().too_deep |= isinstance(error, RecursionError)
        return None


def _read_inside(one: ArgumentText) -> Iterator[Any]:
    """Yield what a text stands for besides itself: the value of an option, JSON, and what base64 holds."""
    option = _OPTION.fullmatch(one.text) if len(one.text) <= MAX_PATH_LENGTH else None
    if option is not None:
        yield option[1] or option[2]
    yield _parse_json(one)
    yield decode_text(one.text)


def find_paths(
    texts: Sequence[ArgumentText], *, folder: str, home: str, named: Collection[str]
) -> Iterator[PathArgument]:
    """Every path in these texts. `named` are the names of the tool and its operations."""
    words = _words_of(named)
    here = real_folder(folder)
    for one in texts:
        found = _path_alone(one, words, here)
        is_output = OUTPUTS.search(one.name) is not None
        yield from (msgspec.structs.replace(each, written=True) for each in found) if is_output else found
    yield from _paths_in_patches(texts, words)
    yield from find_joined_paths(texts, folder=folder, home=home)


def find_other_paths(
    texts: Sequence[ArgumentText], read: Collection[str], *, folder: str, home: str, named: Collection[str]
) -> Iterator[PathArgument]:
    """Yield further possible paths where the policy reads some arguments as paths already."""
    given = find_paths(texts, folder=folder, home=home, named=named)
    yield from (one for one in given if one.hidden or one.argument not in read)
    for one in texts:
        mentioned = one.holds in ("mentions", "patterns")
        if one.argument not in read and not mentioned and may_be_path(one.text.strip()):
            yield PathArgument(one.argument, one.text, written=OUTPUTS.search(one.name) is not None)


def _path_alone(one: ArgumentText, words: set[str], here: str) -> Iterator[PathArgument]:
    """The path that a text is by itself. One that is too long or odd is folded first."""
    inner, odd = one.text.strip(AROUND), is_odd(one.text.strip())
    inner = fold_away(inner) if odd else inner
    if is_link(inner, here):
        yield PathArgument(one.argument, inner, sure=True, file=True, hidden=find_named(inner).at is None)
    if REMOTE.match(inner) or (
        current_budget().spent and one.holds != "paths" and find_mentioned(inner).at is None
    ):
        return
    if is_odd(inner):
        yield from _paths_in_odd_text(one, inner, here)
        return
    found = _paths_by_name(one, one.text if not odd else inner, inner, words, here)
    yield from (msgspec.structs.replace(given, hidden=True) for given in found) if one.coded else found


def _paths_by_name(
    one: ArgumentText, text: str, inner: str, words: set[str], here: str
) -> Iterator[PathArgument]:
    """The path that a text is, by the name of its argument and by its spelling."""
    holds = one.holds
    if holds in ("paths", "perhaps") and " " in inner and not _exists(inner, here):
        words_alone = (word for word in inner.split() if find_named(word).at is not None)
        yield from (PathArgument(one.argument, word, sure=True) for word in words_alone)
    if holds == "paths":
        yield PathArgument(one.argument, text, sure=True, file=True)
    elif holds == "perhaps":
        yield PathArgument(one.argument, text, sure=True, file=_is_secret_file(inner, here))
    elif (
        holds == "patterns"
        and words & _LISTED
        and spells_secret("/".join(WILD.split(name, maxsplit=1)[0] for name in inner.split("/")))
    ):
        yield PathArgument(one.argument, inner, file=True)
    elif holds != "anything":
        if _PLAIN.fullmatch(inner):
            yield PathArgument(one.argument, inner, file=_exists(inner, here))
    else:
        sure, secret = find_named(inner).at is not None, _is_secret_file(inner, here)
        if sure or secret or _OWN.search(inner) or _PLAIN.fullmatch(inner):
            yield PathArgument(one.argument, inner, sure=sure, file=secret)


def _paths_in_odd_text(one: ArgumentText, inner: str, here: str) -> Iterator[PathArgument]:
    """Yield the lines of a text that is too long or odd to be one path, even folded.

    The content of a file is none, unless there is a file or folder so named.
    """
    if _leads_somewhere(inner, here):
        yield PathArgument(one.argument, inner, sure=True, file=True)
    if one.holds not in ("paths", "perhaps") or CONTENT.search(one.name):
        return
    lines = list(dict.fromkeys(line.strip(AROUND) for line in (inner, *inner.splitlines())))
    short = [line for line in lines if len(line) <= MAX_PATH_LENGTH]
    for line in short[: _MOST_LINES + 1]:
        yield PathArgument(one.argument, line, sure=True, file=one.holds == "paths")
    if len(short) < len(lines) or len(lines) > _MOST_LINES + 1 or inner.count("\n") > _MOST_LINES:
        yield PathArgument(one.argument, shorten(inner), lost=True)


def shorten(text: str) -> str:
    """The beginning of a text that is too long to be told whole."""
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _leads_somewhere(inner: str, here: str) -> bool:
    """Return whether there is a file so named, or the folder that it would lie in."""
    if len(inner) > MAX_PATH_LENGTH:
        return False
    folder = os.path.dirname(inner)  # noqa: PTH120  a text, not a path yet
    return _exists(inner, here) or (is_odd(folder) and _exists(folder, here))


def _paths_in_patches(texts: Sequence[ArgumentText], words: set[str]) -> Iterator[PathArgument]:
    """Yield the files that patches change, what unread lines of them may name, and these lines themselves."""
    for one, found in read_patches(texts, words):
        paths = dict.fromkeys((*(file.path for file in found.files), *names_in(found.unread)))
        yield from (PathArgument(one.argument, path, sure=True, file=True) for path in paths)
        if found.unread:
            yield PathArgument(one.argument, "\n".join(found.unread), sure=True, hidden=True, lost=True)


def read_patches_in(arguments: Mapping[str, Any]) -> list[tuple[ArgumentText, PatchReading]]:
    """Return the patches in the arguments of a tool that takes nothing else."""
    return list(read_patches(collect_texts(arguments), {"patch"}))


def files_in_patches(texts: Sequence[ArgumentText], named: Iterable[str]) -> Iterator[str]:
    """Yield the files that the patches among these texts may change, given to a tool of these names."""
    yield from (one.path for one in _paths_in_patches(texts, _words_of(named)) if not one.lost)


def _words_of(named: Iterable[str]) -> set[str]:
    return {word for name in named for word in words_in(name)}


def _is_secret_file(text: str, here: str) -> bool:
    return spells_secret(text) or (is_secret(text) and _exists(text, here))


def _exists(text: str, here: str) -> bool:
    if "\0" in text:
        return False
    return os.path.lexists(os.path.join(here, os.path.expanduser(text)))  # noqa: PTH111, PTH118  never raises
