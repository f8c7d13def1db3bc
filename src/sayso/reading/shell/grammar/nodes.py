"""The nodes of one parsed line: their text, where they stand, and that nothing between them goes unread."""

from __future__ import annotations

from typing import Any

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.syntax import CannotTell

MAX_DEPTH = 40
WORDS = frozenset(
    {"word", "variable_name", "extglob_pattern", "regex", "number", "raw_string", "ansi_c_string", "string",
     "simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion",
     "brace_expression", "concatenation"}
)  # fmt: skip
"""The kinds of nodes that are words, or parts of them."""
_ENDS_WITH_WORD = frozenset({"command_name", "variable_assignment", "file_redirect", "herestring_redirect"})
_BLANK = lazy_pattern(r"[ \t\n]*")


class SyntaxNodeReader:
    """Reads the nodes of one line. Offsets are of bytes until a span is told."""

    def __init__(self, line: str) -> None:
        self.source = line.encode()
        self.line = line
        self.plain = len(self.source) == len(line)
        self.depth = 0

    def text(self, start: int, end: int) -> str:
        return self.line[start:end] if self.plain else self.source[start:end].decode()

    def at(self, offset: int) -> int:
        return offset if self.plain else len(self.source[:offset].decode())

    def span(self, node: Any) -> tuple[int, int]:
        start, end = node.start_byte, node.end_byte
        return (start, end) if self.plain else (self.at(start), self.at(end))

    def fail(self, why: str, node: Any) -> CannotTell:
        return CannotTell(why, *self.span(node))

    def check_gaps(self, nodes: list[Any], start: int, end: int) -> None:
        """Between nodes, and before and after them, stands nothing but white space."""
        here, source, before = start, self.source, None
        for node in nodes:
            first = node.start_byte
            if before is not None and first == before.end_byte and _touch(before.type, node.type):
                raise CannotTell("where one word ends and the next begins is not sure", *self.span(node))
            before = node
            if first > here and (between := source[here:first]) != b" " and has_gap(between.decode()):
                raise CannotTell("a part of it was not read", self.at(here), self.at(first))
            last = node.end_byte
            if last > here:
                here = last
        if end > here and has_gap(self.text(here, end)):
            raise CannotTell("a part of it was not read", self.at(here), self.at(end))

    def enter(self, node: Any) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail("it is too long or too deeply nested to be read", node)


def _touch(before: str, after: str) -> bool:
    """Return whether these are two words for the grammar and one for a shell, where nothing is between."""
    if after.endswith("_redirect"):
        return before == "number"
    if after == "comment":
        return before not in ("\n", ";", "&", "&&", "||", "|", "(", ")", "{", ";;")
    return after in WORDS and (before in WORDS or before in _ENDS_WITH_WORD)


def named_children(node: Any) -> list[Any]:
    """The children that the grammar gives a name."""
    return [one for one in node.children if one.is_named]


def has_gap(text: str) -> bool:
    """Return whether something other than white space stands here."""
    return text != " " and _BLANK.fullmatch(text) is None
