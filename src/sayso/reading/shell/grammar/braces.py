"""Braces: `{a,b}` and `{1..3}` make several words of one, before anything else is expanded."""

from __future__ import annotations

import re

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.syntax import Literal, Odd, Word

MAX_WORDS = 64
_RANGE = lazy_pattern(r"(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])")
_MAY_EXPAND = lazy_pattern(r"\{.*(?:,|\.\.).*\}", re.DOTALL)
_Marked = list[tuple[str, bool]]


def spread_braces(word: Word) -> tuple[Word, ...]:
    """The words that a shell makes of this one; an odd one if they are too many, or not all is literal."""
    if word.value is not None or "{" not in word.text:
        return (word,)
    written = "".join(one.text for one in word.parts if isinstance(one, Literal) and not one.quoted)
    whole = "".join(one.text if isinstance(one, Literal) else " " for one in word.parts)
    if "{" not in written or "}" not in written or _MAY_EXPAND.search(whole) is None:
        return (word,)
    if not all(isinstance(one, Literal) for one in word.parts):
        return (_odd(word),)
    marked = [(letter, one.quoted) for one in word.parts if isinstance(one, Literal) for letter in one.text]
    found = _expand(marked, 0)
    if found is None:
        return (_odd(word),)
    return tuple(_word(one, word) for one in found if one)


def _odd(word: Word) -> Word:
    return Word(word.text, word.start, word.end, None, (Odd("braces in it are not understood"),))


def _word(marked: _Marked, word: Word) -> Word:
    parts: list[Literal] = []
    for letter, quoted in marked:
        if parts and parts[-1].quoted is quoted:
            parts[-1] = Literal(parts[-1].text + letter, quoted)
        else:
            parts.append(Literal(letter, quoted))
    return Word(word.text, word.start, word.end, None, tuple(parts))


def _expand(marked: _Marked, depth: int) -> list[_Marked] | None:
    """Every way to read the first pair of braces, with those after it; None if it is too much."""
    if depth > 8:
        return None
    for start, one in enumerate(marked):
        if one != ("{", False):
            continue
        options = _options(marked, start)
        if options is None:
            continue
        inner, end = options
        found: list[_Marked] = []
        for each in inner:
            more = _expand(each + marked[end + 1 :], depth + 1)
            if more is None or len(found) + len(more) > MAX_WORDS:
                return None
            found += [marked[:start] + rest for rest in more]
        return found
    return [marked]


def _options(marked: _Marked, start: int) -> tuple[list[_Marked], int] | None:
    """What stands between these braces, by its commas or as a range, and where they end."""
    depth, pieces = 0, [[]]  # type: tuple[int, list[_Marked]]
    for here in range(start + 1, len(marked)):
        one = marked[here]
        if one == ("}", False) and depth == 0:
            if len(pieces) > 1:
                return pieces, here
            ranged = _range(pieces[0])
            return None if ranged is None else (ranged, here)
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
