"""The question of `ApprovalManager`: what a person is shown, and a ready-made way to ask at the terminal."""

from __future__ import annotations

import enum
import re
import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TextIO

import msgspec

from sayso.core.digest import encode_canonical, parse_json, spell_exactly
from sayso.core.errors import NotCanonical
from sayso.core.model import Mode
from sayso.core.words import FOLD_AT, visible

NARROWEST, WIDEST = 45, 76
MARGIN = "  "
GOES_ON = "… "
MARKS = ("Mn", "Me")
FRAME = re.compile("[\u2500-\u259f]")
PLAIN_NAME = re.compile(r"[\w.-]+")
PAUSE = 0.5
YES = ("y", "yes")


class RiskLevel(enum.Enum):
    """The harm a tool can do, in the words of tool systems."""

    SAFE = "safe"
    MEDIUM = "medium"
    HIGH = "high"


class Prompt(msgspec.Struct, frozen=True):
    """A question to a person. `args` are a copy: changing them changes nothing."""

    tool: str
    args: Mapping[str, Any]
    risk: RiskLevel
    mode: Mode

    @property
    def text(self) -> str:
        """The question in its box, with everything an agent wrote shown as data."""
        return _draw_box(_lines(self))

    def __str__(self) -> str:
        return self.text


def ask_at_terminal(prompt: Prompt) -> bool:
    """Show the box and read the answer: y or yes, in either case, approves; whatever else is a no.

    So are an end of input, Ctrl-C, and a program that has no terminal to show the box and read from. What was
    typed before the box could be read does not count.
    """
    screen = next((stream for stream in (sys.stderr, sys.stdout) if _is_terminal(stream)), None)
    if screen is None or not _is_terminal(sys.stdin):
        return False
    try:
        screen.write(f"{prompt}\n")
        screen.flush()
        time.sleep(PAUSE)
        _forget_typed(sys.stdin)
        screen.write("> ")
        screen.flush()
        return sys.stdin.readline().rstrip("\r\n").lower() in YES
    except (OSError, ValueError, KeyboardInterrupt):
        return False


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _forget_typed(stream: TextIO) -> None:
    """Drop what was typed so far. Where the system has no way to, the pause has to do."""
    try:
        import termios
    except ImportError:
        return
    try:
        termios.tcflush(stream, termios.TCIFLUSH)
    except termios.error as error:
        raise OSError("what was typed before cannot be told from the answer") from error


def _lines(prompt: Prompt) -> Iterator[str]:
    whole = prompt.risk is RiskLevel.HIGH
    yield from _wrap_line("", f"Tool: {_display_text(prompt.tool, whole)}")
    yield f"Risk: {prompt.risk.name}"
    yield ""
    yield "Arguments:" if prompt.args else "Arguments: none"
    for name, value in prompt.args.items():
        yield from _wrap_line("  ", f"{_name(name, whole)}: {_value(value, whole)}")
    yield ""
    yield "Allow execution? [y/N]"


def _name(name: str, whole: bool) -> str:
    """The name of an argument; one that is more than a word is quoted, so that it cannot pass for a line."""
    return name if PLAIN_NAME.fullmatch(name) and len(name) <= FOLD_AT else _display_text(_json(name), whole)


def _value(value: Any, whole: bool) -> str:
    """A value as JSON; a text that can be nothing else goes without its quotes."""
    if isinstance(value, str) and _speaks_for_itself(value):
        return _display_text(value, whole)
    return _display_text(_json(value), whole)


def _json(value: Any) -> str:
    return spell_exactly(encode_canonical(value))


def _speaks_for_itself(text: str) -> bool:
    if not text or text != text.strip() or text.startswith('"'):
        return False
    if any(_spelled_out(text[start : start + FOLD_AT]) for start in range(0, len(text), FOLD_AT)):
        return False
    try:
        parse_json(text)
    except NotCanonical:
        return True
    return False


def _spelled_out(piece: str) -> bool:
    """Return whether showing it takes escapes; those are told from a text's own backslashes by quoting it."""
    return _make_visible(piece) != piece


def _display_text(text: str, whole: bool) -> str:
    """Foreign text as data. At high risk nothing of it is left out, else long text is folded."""
    if not whole and len(text) > FOLD_AT:
        return f"{_make_visible(text[:FOLD_AT])} … ({len(text)} characters in all)"
    return "".join(_make_visible(text[start : start + FOLD_AT]) for start in range(0, len(text), FOLD_AT))


def _make_visible(piece: str) -> str:
    """At most FOLD_AT characters made visible. What could draw a box is spelled out: only Sayso draws one."""
    return FRAME.sub(lambda found: found[0].encode("unicode_escape").decode(), visible(piece))


def _wrap_line(indent: str, text: str) -> Iterator[str]:
    """The text in lines of the box. Every line after the first is marked as continued."""
    line, used, room = indent, len(indent), WIDEST - 2 * len(MARGIN)
    for character in text:
        width = _width(character)
        if used + width > room:
            yield line
            line, used = f"{indent}{GOES_ON}", len(indent) + len(GOES_ON)
        line, used = line + character, used + width
    yield line


def _draw_box(lines: Iterable[str]) -> str:
    rows = [(f"{MARGIN}{line}" if line else "") for line in lines]
    widths = [sum(map(_width, row)) for row in rows]
    inner = max(NARROWEST, *(width + len(MARGIN) for width in widths))
    rule = "─" * inner
    framed = [f"│{row}{' ' * (inner - width)}│" for row, width in zip(rows, widths, strict=True)]
    return "\n".join([f"┌{rule}┐", *framed, f"└{rule}┘"])


def _width(character: str) -> int:
    """Return how many columns of a terminal a character takes."""
    if unicodedata.category(character) in MARKS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
