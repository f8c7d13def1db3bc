"""Backslashes and escapes in words, as bash takes them away."""

from __future__ import annotations

import re

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.syntax import Literal, Odd, Part

_ESCAPED = lazy_pattern(r"\\(.)", re.DOTALL)
_IN_QUOTES = lazy_pattern(r"\\([$`\"\\])")
_ANSI = lazy_pattern(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|(c.)|(.?))",
    re.DOTALL,
)
_SHORT = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


def unescape(text: str) -> tuple[Part, ...]:
    """Return the parts of an unquoted word: a character behind a backslash is quoted."""
    if "\\" not in text:
        return (Literal(text),)
    found: list[Part] = []
    here = 0
    for match in _ESCAPED.finditer(text):
        if match.start() > here:
            found.append(Literal(text[here : match.start()]))
        found.append(Literal(match[1], quoted=True))
        here = match.end()
    rest = text[here:]
    if rest.endswith("\\"):
        return (Odd("a backslash stands at its end"),)
    if rest:
        found.append(Literal(rest))
    return tuple(found)


def unescape_in_quotes(text: str) -> str:
    """Return the text of a double-quoted string: a backslash counts before four characters only."""
    return _IN_QUOTES.sub(r"\1", text)


def read_ansi(text: str) -> str | None:
    """Return the text of `$'…'`; None if an escape in it is not known, or other shells end it early."""
    if "'" in text:
        return None
    found: list[str] = []
    here = 0
    for match in _ANSI.finditer(text):
        found.append(text[here : match.start()])
        here = match.end()
        short, octal, hexa, four, eight, control, other = match.groups()
        if short is not None:
            found.append(_SHORT[short])
        elif control is not None or other is not None:
            return None
        else:
            code = int(octal, 8) if octal else int(hexa or four or eight or "0", 16)
            if not 0 < code < 0x110000 or (octal and code > 0o177) or (hexa and code > 0x7F):
                return None
            found.append(chr(code))
    found.append(text[here:])
    return "".join(found)
