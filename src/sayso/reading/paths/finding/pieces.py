"""A path in several arguments: a folder here, a name there, an ending elsewhere.

Pieces are put together in two ways. By name: where all the names of a guarded or secret place are there, each
in some piece. By what exists: where a piece is a folder, all others are looked for in it. Both cost little
unless they find something.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from urllib.parse import unquote

import msgspec

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import may_look
from sayso.reading.paths.finding.argument_texts import OUTPUTS, ArgumentText, PathArgument, is_link
from sayso.reading.paths.own_places import OwnPlaces, find_own_places
from sayso.reading.paths.places import is_secret
from sayso.reading.paths.protected import find_covered_places, find_named, find_spelled
from sayso.reading.paths.spellings import expand_braces, expand_home, fold_away, fold_path, in_system
from sayso.reading.urls import AROUND

_SEVERAL = lazy_pattern(
    r"(?:path|file|target|source|destination|ur[il]|folder|dir)s$|directories$", re.IGNORECASE
)
"""Names of lists whose members are paths of their own."""
_ENDINGS = lazy_pattern(r"(?:ext|extension|suffix|suffixe|ending|format|type|kind)s?$", re.IGNORECASE)
_ENDING = lazy_pattern(r"\.?\w{1,10}")
_PREFIXES = lazy_pattern(r"prefix$", re.IGNORECASE)
_BLANKS = lazy_pattern(r"\$?\{(\w+)\}|%\((\w+)\)s|%s|\{\}")
"""What a template leaves open."""
_SCHEME = lazy_pattern(r"^[a-z][a-z0-9+.-]+:(?://(?:localhost)?(?=/))?", re.IGNORECASE)
_MOST_PIECES = 4096
_LONG = 255
_MOST_ORDERED = 5
"""Pieces to try in every order. Of more of them, any order counts as possible."""
_DEEPEST = 4
_MOST_FOLDERS = 64
_COST = 2
"""Looks for a place that pieces make, beside those for its folders."""


class _PathPiece(msgspec.Struct, frozen=True):
    """`group`: the list of separate paths that it is a member of, 0 if none."""

    argument: str
    path: str
    group: int = 0
    made: bool = False


def find_joined_paths(texts: Sequence[ArgumentText], *, folder: str, home: str) -> Iterator[PathArgument]:
    """Every path of note that several texts make together and none of them makes alone."""
    found = _collect_pieces(texts)
    if len(found) > _MOST_PIECES:
        yield PathArgument(found[0].argument, found[0].path, lost=True)
        return
    pieces = [
        one
        for one in found
        if one.made or find_named(one.path if one.path.startswith("/") else f"x/{one.path}").at is None
    ]
    if len(pieces) < 2:
        return
    yield from (_new_path_argument(one.argument, one.path) for one in pieces if one.made)
    yield from _paths_by_spelling(pieces)
    yield from _paths_on_disk(pieces, folder, home)


def is_ending(name: str, text: str) -> bool:
    """Return whether a text under this name may be the ending of a file whose name is in another argument."""
    return _ENDINGS.search(name) is not None and _ENDING.fullmatch(text) is not None


def is_prefix(name: str) -> bool:
    """Return whether an argument of this name holds what the name of a file begins with."""
    return _PREFIXES.search(name) is not None


def _new_path_argument(argument: str, path: str) -> PathArgument:
    written = OUTPUTS.search(argument) is not None
    return PathArgument(argument, path, sure=True, file=True, hidden=True, written=written)


def _collect_pieces(texts: Sequence[ArgumentText]) -> list[_PathPiece]:
    """Return possible pieces of a path, each once; also names with an ending from another argument."""
    found: dict[tuple[str, int], _PathPiece] = {}
    endings: dict[str, None] = {}
    prefixes: dict[str, None] = {}
    for one in texts:
        path = _clean_piece(one.text) if one.is_piece else ""
        if not path:
            continue
        if is_ending(one.name, path):
            endings[path.lstrip(".")] = None
        elif is_prefix(one.name):
            prefixes[path] = None
        group = one.group if _SEVERAL.search(one.name) else 0
        for spelled in (path, *expand_braces(path)):
            found.setdefault((spelled, group), _PathPiece(one.argument, spelled, group))
    pieces = list(found.values())
    if len(pieces) == 1 and len(texts) == 1:
        endings.clear()  # there is no name that it could be the ending of
    made = [(one.argument, f"{one.path.rstrip('.')}.{end}") for end in endings for one in pieces]
    made += [(one.argument, f"{start}{one.path}") for start in prefixes for one in pieces]
    made += [(one.argument, path) for one in pieces for path in _fill_template(one.path, texts)]
    return [*pieces, *(_PathPiece(argument, path, made=True) for argument, path in made)]


def _fill_template(path: str, texts: Iterable[ArgumentText]) -> Iterator[str]:
    """A template with each of the texts that its blanks name."""
    blank = _BLANKS.search(path)
    wanted = blank and (blank[1] or blank[2])
    for one in texts if blank else ():
        if one.is_piece and (one.name == wanted or (wanted is None and one.text != path)):
            yield _BLANKS.sub(lambda _, text=one.text: text, path)  # type: ignore[misc]


def _clean_piece(text: str) -> str:
    """A piece without quotes, scheme, percent-encoding and backslashes."""
    inner = unquote(unquote(text.strip(AROUND))).replace("\\", "/")
    return _SCHEME.sub("", fold_away(inner) if len(inner) > _LONG else inner)


# --- by name ---


def _paths_by_spelling(pieces: Sequence[_PathPiece]) -> Iterator[PathArgument]:
    """Yield the paths that the pieces spell together in some order."""
    parts = {one: set(fold_path(one.path)) for one in pieces}
    covered = find_covered_places(set().union(*parts.values()))
    wanted = set().union(*(place.parts for place in covered))
    likely = [one for one, held in parts.items() if held & wanted]
    if len(likely) <= _MOST_ORDERED:
        yield from _paths_in_any_order(likely)
    elif not all(one.group == likely[0].group != 0 for one in likely):
        yield from (_new_path_argument(likely[0].argument, place.path) for place in covered)


def _paths_in_any_order(likely: Sequence[_PathPiece]) -> Iterator[PathArgument]:
    for length in range(2, len(likely) + 1):
        for first, *rest in permutations(likely, length):
            path = os.path.normpath(functools.reduce(_join_below, (one.path for one in rest), first.path))
            if not _clash((first, *rest)) and (find_named(path).at is not None or is_secret(path)):
                yield _new_path_argument(rest[-1].argument, path)


def _clash(order: Sequence[_PathPiece]) -> bool:
    """Return whether two of them are separate paths in one list."""
    groups = [one.group for one in order if one.group]
    return len(groups) != len(set(groups))


# --- by what exists ---


def _paths_on_disk(pieces: Sequence[_PathPiece], folder: str, home: str) -> Iterator[PathArgument]:
    """Yield entries of the folders that the pieces name, one after the other."""
    here = os.path.realpath(folder) if folder.startswith("/") else ""
    reached: list[tuple[str, tuple[_PathPiece, ...]]] = [(here, ())]
    seen, own = {here, f"{here}/"}, find_own_places(home)
    for base, used in reached:
        for one in pieces:
            first = os.path.join(base, expand_home(one.path, home))  # noqa: PTH118  it may start anywhere
            joined = _join_below(base, one.path) if used else first
            if not joined.startswith("/") or one in used or _clash((*used, one)):
                continue
            if len(reached) > _MOST_FOLDERS or not may_look(_COST + joined.count("/")):
                yield PathArgument(one.argument, one.path, lost=True)
                return
            if used and _is_notable(joined, own):
                yield _new_path_argument(one.argument, joined)
            there = os.path.normpath(joined)
            if there in seen or not os.path.isdir(joined):  # noqa: PTH112  never raises
                continue
            if len(used) == _DEEPEST:
                yield PathArgument(one.argument, one.path, lost=True)
            else:
                seen.add(there)
                reached.append((joined, (*used, one)))


def _join_below(base: str, path: str) -> str:
    """A later piece, below what came before it."""
    return f"{base.rstrip('/')}/{path.lstrip('/')}"


def _is_notable(path: str, own: OwnPlaces) -> bool:
    """Return whether a path leads to the guard, to a secret or into the system, or elsewhere by a link."""
    plain = os.path.normpath(path)
    risky = is_secret(plain) or in_system(plain) or is_link(path, "/")
    return risky or find_spelled(plain, own).at is not None
