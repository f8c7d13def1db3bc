"""Which parts of a call a reading went by, so that a person is shown them where they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sayso.core.digest import encode_canonical, spell_exactly
from sayso.core.errors import NotCanonical
from sayso.core.model import Operation, Piece
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.arguments import arguments_at

MAX_PIECES = 8
MAX_PIECE_LENGTH = 2_000
"""Of a longer part its beginning is told."""

# Texts are matched first, so that what only looks like an argument inside one is passed over.
_NAMED = lazy_pattern(
    r"""(?<![\w.])args(?P<dotted>(?:\.[A-Za-z_]\w*)+)(?!\s*\()
      | (?<![\w.])args\[\s*(?:"(?P<double>[^"\\]*)"|'(?P<single>[^'\\]*)')\s*\]
      | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*'""",
    re.VERBOSE,
)


def pieces_from_value(argument: str, value: object) -> tuple[Piece, ...]:
    """This value of an argument as a part of the call; none if it is not text, a number or a yes or no."""
    if not isinstance(value, (str, bool, int, float)):
        return ()
    try:
        text = value if isinstance(value, str) else spell_exactly(encode_canonical(value))
    except NotCanonical:
        return ()
    return (Piece(argument, text[:MAX_PIECE_LENGTH]),) if text else ()


def pieces_named_in(conditions: Iterable[str], args: Mapping[str, Any]) -> tuple[Piece, ...]:
    """Return the arguments that these `when` expressions name."""
    named = (match for condition in conditions for match in _NAMED.finditer(condition))
    paths = [match["dotted"] or match["double"] or match["single"] for match in named]
    plain = [f"args.{path.removeprefix('.')}" for path in paths if path and "," not in path]
    values = (each for path in plain for each in arguments_at(args, path))
    found = dict.fromkeys(one for name, value in values for one in pieces_from_value(name, value))
    return tuple(found)[:MAX_PIECES]


def add_evidence(operation: Operation, pieces: Iterable[Piece]) -> Operation:
    """The operation with these parts told as well."""
    told = tuple(dict.fromkeys((*operation.because, *pieces)))[:MAX_PIECES]
    return operation if told == operation.because else msgspec.structs.replace(operation, because=told)


def merge_same_operations(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """Each operation once, with the parts that any like it was told by: they make no second one of it."""
    found: dict[Operation, Operation] = {}
    for one in operations:
        bare = msgspec.structs.replace(one, because=()) if one.because else one
        found[bare] = add_evidence(found.get(bare, bare), one.because)
    return tuple(found.values())
