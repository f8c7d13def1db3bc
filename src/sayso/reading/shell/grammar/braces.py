"""Braces: `{a,b}` and `{1..3}` make several words of one, before anything else is expanded."""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter

from msgspec.structs import replace

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.syntax import Literal, Odd, Word

MAX_WORDS = 64
MAX_PAIRS = 8
_RANGE = lazy_pattern(r"(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])")
_MAY_EXPAND = lazy_pattern(r"\{.*(?:,|\.\.).*\}", re.DOTALL)
_Marked = list[tuple[str, bool]]


def spread_braces(word: Word) -> tuple[Word, ...]:
    """The words that a shell makes of this one; an odd one if they are too many, or not all is literal."""
    if word.value is not None or "{" not in word.text:
        return (word,)
    literals = [one for one in word.parts if isinstance(one, Literal)]
    written = "".join(one.text for one in literals if not one.quoted)
    whole = "".join(one.text if isinstance(one, Literal) else " " for one in word.parts)
    if "{" not in written or "}" not in written or _MAY_EXPAND.search(whole) is None:
        return (word,)
    found: list[_Marked] = []
    waiting = [(0, 0, [(letter, one.quoted) for one in literals for letter in one.text])]
    odd = len(literals) < len(word.parts)
    while waiting and not odd:
        depth, begin, marked = waiting.pop()
        start, end, options = _first_pair(marked, begin)
        if options:
            behind = marked[end + 1 :]
            waiting += [(depth + 1, start, marked[:start] + one + behind) for one in reversed(options)]
        else:
            found.append(marked)
        odd = depth > MAX_PAIRS or len(found) + len(waiting) > MAX_WORDS
    if odd:
        return (replace(word, parts=(Odd("braces in it are not understood"),)),)
    return tuple(replace(word, parts=_join(one)) for one in found if one)


def _join(marked: _Marked) -> tuple[Literal, ...]:
    rows = groupby(marked, itemgetter(1))
    return tuple(Literal("".join(letter for letter, _ in row), quoted) for quoted, row in rows)


def _first_pair(marked: _Marked, begin: int) -> tuple[int, int, list[_Marked]]:
    """Where the first pair of braces that expands begins and ends, and what may stand for it."""
    for start in range(begin, len(marked)):
        options = _options(marked, start) if marked[start] == ("{", False) else None
        if options is not None:
            return start, options[1], options[0]
    return 0, 0, []


def _options(marked: _Marked, start: int) -> tuple[list[_Marked], int] | None:
    """What stands between these braces, by its commas or as a range, and where they end."""
    depth, pieces = 0, [[]]  # type: tuple[int, list[_Marked]]
    for here in range(start + 1, len(marked)):
        one = marked[here]
        if one == ("}", False) and depth == 0:
            options = pieces if len(pieces) > 1 else _range(pieces[0])
            return None if options is None else (options, here)
        if one == (",", False) and depth == 0:
            pieces.append([])
            continue
        depth += (one == ("{", False)) - (one == ("}", False))
        pieces[-1].append(one)
    return None


def _range(marked: _Marked) -> list[_Marked] | None:
    match = _RANGE.fullmatch("".join(letter for letter, _ in marked))
    if match is None or any(quoted for _, quoted in marked):
        return None
    first, last = match[1], match[2]
    if first.lstrip("-").isdigit() and last.lstrip("-").isdigit():
        low, high = sorted((int(first), int(last)))
        if high - low >= MAX_WORDS:
            return [[("*", False)]]
        return [[(letter, False) for letter in str(number)] for number in range(low, high + 1)]
    if len(first) == len(last) == 1:
        low, high = sorted((ord(first), ord(last)))
        return [[(chr(code), False)] for code in range(low, high + 1)]
    return None
