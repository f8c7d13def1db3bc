"""Words: their parts, as the grammar of tree-sitter-bash tells them apart, and that nothing goes unread."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.escapes import read_ansi, unescape, unescape_in_quotes
from sayso.reading.shell.grammar.syntax import (
    CannotTell,
    Literal,
    Odd,
    Part,
    Sequence,
    Substitution,
    Variable,
    Word,
)

MAX_DEPTH = 40
REDIRECTIONS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_ENDS_WITH_WORD = frozenset({"command_name", "variable_assignment", "file_redirect", "herestring_redirect"})
_ESCAPED = lazy_pattern(r"\\.", re.DOTALL)
_BLANK = lazy_pattern(r"[ \t\n]*")
_PLAIN = lazy_pattern(r"[A-Za-z0-9_./:@%+,=-]+")
"""A word that is its own value: nothing in it means anything to a shell."""
_NAME = lazy_pattern(r"\$\{([A-Za-z_]\w*|0|BASH_SOURCE(?=\[0\]\}))(?:\[0\])?\}", re.ASCII)
EXPANDS = lazy_pattern(r"(?<!\\)(?:\\\\)*(?:`|\$[\w({\[@*#?$!^=~+-])")
"""What a shell would expand, in text of which the grammar says that it is literal."""
_PLAIN_PATTERN = lazy_pattern(r"\^?[\w./*?+|,:=@%\[\]-]+\$?", re.ASCII)
_RUNS = lazy_pattern(r"(?<!\\)(?:\\\\)*(?:`|\$[(\[]|\$\{[^}]*[`(\[@!:=]|[<>]\()")
"""What runs commands or computes, in text of which the grammar says that it is a word or a pattern."""
_HARMLESS_ARITHMETIC = lazy_pattern(r"\$(?:\(\(|\[)[\d\s+*/%()<>=!&|^~?:,-]*(?:\)\)|\])")
_EXPANSIONS = (
    (lazy_pattern(r"^\$\{!"), "it expands the variable that another one names"),
    (lazy_pattern(r"(?<!\[)@|@(?!\])"), "it may expand a value once more"),
    (
        lazy_pattern(r"^\$\{\w+(?:\[[@*]\])?:(?![-+?=])(?!\s*-?\d+(?::\s*-?\d+)?\})"),
        "where it cuts is computed, and that can run commands",
    ),
    (
        lazy_pattern(r"^\$\{\w+:?=|\[(?![@*]\])"),
        "it sets a variable, or computes an element, while it is expanded",
    ),
)
"""What is wrong with `${…}`: the first that fits."""
NOT_UNDERSTOOD = "it uses shell grammar that is not understood"
_Read = TypeVar("_Read")


class WordReader:
    """Reads the nodes of one line that are words. Offsets are of bytes until a span is told.

    Commands inside them are read by `sequence`, which the reader of commands has.
    """

    def __init__(self, line: str) -> None:
        self.source = line.encode()
        self.line = line
        self.plain = len(self.source) == len(line)
        self.depth = 0

    def sequence(self, nodes: list[Any], start: int, end: int) -> Sequence:
        """Statements and what stands between them."""
        raise NotImplementedError

    def text(self, start: int, end: int) -> str:
        return self.line[start:end] if self.plain else self.source[start:end].decode()

    def at(self, offset: int) -> int:
        return offset if self.plain else len(self.source[:offset].decode())

    def span(self, node: Any) -> tuple[int, int]:
        start, end = node.start_byte, node.end_byte
        return (start, end) if self.plain else (self.at(start), self.at(end))

    def fail(self, why: str, node: Any) -> CannotTell:
        return CannotTell(why, *self.span(node))

    def read(self, node: Any, readers: Mapping[str, Callable[[Any, Any], _Read]]) -> _Read:
        """Read a node by its kind. One that has no reader is not understood."""
        reader = readers.get(node.type)
        if reader is None:
            raise self.fail(NOT_UNDERSTOOD, node)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail("it is too long or too deeply nested to be read", node)
        found = reader(self, node)
        self.depth -= 1
        return found

    def children(self, node: Any) -> list[Any]:
        """The nodes of a node that has nothing but these."""
        children: list[Any] = node.children
        self.check_gaps(children, node.start_byte, node.end_byte)
        return children

    def check_gaps(self, nodes: list[Any], start: int, end: int) -> None:
        """Between nodes, and before and after them, stands nothing but white space."""
        before: Any = None
        here, source, ended = start, self.source, -1
        for node in nodes:
            first = node.start_byte
            if first == ended and _touch(before.type, node.type):
                raise self.fail("where one word ends and the next begins is not sure", node)
            if first > here and source[here:first] != b" ":
                self.check_blank(here, first)
                if node.type in _SAME_LINE and b"\n" in self.source[here:first]:
                    raise self.fail("a line ends where the grammar goes on", node)
            before, ended = node, node.end_byte
            if ended > here:
                here = ended
        if end > here:
            self.check_blank(here, end)

    def check_blank(self, start: int, end: int) -> None:
        """Check that nothing but white space stands here."""
        if _BLANK.fullmatch(self.text(start, end)) is None:
            raise CannotTell("a part of it was not read", self.at(start), self.at(end))

    def word(self, node: Any) -> Word:
        """A word of any kind, with its value where that is plain."""
        start, end = node.start_byte, node.end_byte
        written = self.text(start, end)
        if not self.plain:
            start, end = self.at(start), self.at(end)
        if _PLAIN.fullmatch(written):
            return Word(written, start, end, written)
        if node.type == "command_name" and len(node.children) == 1:
            node = node.children[0]
            if written == "[":
                return Word(written, start, end, written)
        parts = self.parts(node)
        alone = parts[0] if len(parts) == 1 else None
        value = alone.text if isinstance(alone, Literal) and alone.quoted else None
        return Word(written, start, end, value, parts)

    def parts(self, node: Any) -> tuple[Part, ...]:
        return self.read(node, PARTS)

    def concatenation(self, node: Any) -> tuple[Part, ...]:
        children = node.children
        starts = [*(one.start_byte for one in children), node.end_byte]
        if starts != [node.start_byte, *(one.end_byte for one in children)]:
            raise self.fail("a word is not understood", node)
        return tuple(part for one in children for part in self.parts(one))

    def bare(self, node: Any) -> tuple[Part, ...]:
        written = self.text(node.start_byte, node.end_byte)
        if "\n" in written:
            raise self.fail("a line ends where the grammar goes on", node)
        if any(one.is_named for one in node.children) or _RUNS.search(written):
            raise self.fail("a word is not understood", node)
        return unescape(written)

    def raw_string(self, node: Any) -> tuple[Part, ...]:
        return (Literal(self.text(node.start_byte + 1, node.end_byte - 1), quoted=True),)

    def ansi_string(self, node: Any) -> tuple[Part, ...]:
        read = read_ansi(self.text(node.start_byte + 2, node.end_byte - 1))
        return (Odd("an escape in it is not understood"),) if read is None else (Literal(read, quoted=True),)

    def string(self, node: Any) -> tuple[Part, ...]:
        """A double-quoted string. What its named parts leave out is literal text."""
        first, *children, last = node.children
        inner = [one for one in children if one.type not in ("string_content", "$")]
        if first.type != '"' or last.type != '"' or not all(one.is_named for one in inner):
            raise self.fail("a string is not understood", node)
        found: list[Part] = []
        here = node.start_byte + 1
        for one in inner:
            written = self.text(one.start_byte, one.end_byte)
            blank = len(written) - len(written.lstrip(" \t\n"))
            found += [*self.string_literal(here, one.start_byte + blank), self.quoted_part(one)]
            here = one.end_byte
        found += self.string_literal(here, node.end_byte - 1)
        if all(isinstance(one, Literal) for one in found):
            return (Literal("".join(one.text for one in found if isinstance(one, Literal)), quoted=True),)
        return tuple(found)

    def string_literal(self, start: int, end: int) -> list[Part]:
        if start == end:
            return []
        written = self.text(start, end)
        if ('"' in written and '"' in _ESCAPED.sub("", written)) or EXPANDS.search(written):
            raise CannotTell("a string is not understood", self.at(start), self.at(end))
        return [Literal(unescape_in_quotes(written), quoted=True)]

    def quoted_part(self, node: Any) -> Part:
        """A part inside double quotes: it stays one word."""
        made = self.parts(node)
        if len(made) != 1:
            raise self.fail("a string is not understood", node)
        return made[0] if isinstance(made[0], Odd) else replace(made[0], quoted=True)

    def variable(self, node: Any) -> tuple[Part, ...]:
        named = [one for one in node.children if one.is_named]
        if len(named) != 1 or named[0].type not in ("variable_name", "special_variable_name"):
            raise self.fail("a variable is not understood", node)
        name = self.text(named[0].start_byte, named[0].end_byte)
        if self.text(node.start_byte, node.end_byte).lstrip(" \t\n") != f"${name}":
            raise self.fail("a dollar sign stands apart from the name behind it", node)
        return (Variable(name),)

    def expansion(self, node: Any) -> tuple[Part, ...]:
        """`${…}`: a plain name is a variable; what indirects, assigns or expands again is odd."""
        written = self.text(node.start_byte, node.end_byte).strip()
        name = _NAME.fullmatch(written)
        if name is not None:
            return (Variable(name[1]),)
        why = next((why for pattern, why in _EXPANSIONS if pattern.search(written)), None)
        return (Odd(why, tuple(self.inner_words(node.children[1:-1]))),)

    def inner_words(self, nodes: list[Any]) -> list[Word]:
        """What stands inside `${…}` that may run commands."""
        found: list[Word] = []
        for one in nodes:
            if one.type == "regex":
                if _RUNS.search(self.text(one.start_byte, one.end_byte)):
                    raise self.fail("a pattern in it runs commands", one)
            elif one.type in WORDS:
                found.append(self.word(one))
            else:
                found += self.inner_words(one.children)
        return found

    def substitution(self, node: Any) -> tuple[Part, ...]:
        first, *inner, last = node.children
        opening = self.text(first.start_byte, first.end_byte).strip()
        closing = self.text(last.start_byte, last.end_byte)
        redirects = bool(inner) and inner[0].type in REDIRECTIONS
        if redirects or (opening, closing) not in (("$(", ")"), ("`", "`"), ("<(", ")"), (">(", ")")):
            raise self.fail("a substitution is not understood", node)
        if opening == "`" and "\\" in self.text(first.end_byte, last.start_byte):
            raise self.fail("backslashes in backquotes are read twice", node)
        body = self.sequence(inner, first.end_byte, last.start_byte)
        return (Substitution(body, is_file=opening in ("<(", ">(")),)

    def arithmetic(self, node: Any) -> tuple[Part, ...]:
        """Numbers and operators are harmless; a name's value is computed in turn, and may run commands."""
        plain = _HARMLESS_ARITHMETIC.fullmatch(self.text(node.start_byte, node.end_byte).strip())
        return (Odd(None if plain else "an arithmetic expression can run commands"),)

    def number(self, node: Any) -> tuple[Part, ...]:
        written = self.text(node.start_byte, node.end_byte)
        return (Odd("a number is computed") if node.children else Literal(written, quoted=True),)

    def braces(self, node: Any) -> tuple[Part, ...]:
        return (Literal(self.text(node.start_byte, node.end_byte)),)

    def pattern(self, node: Any) -> tuple[Part, ...]:
        """A pattern of a test or a case: plain text that names no file; anything more is refused."""
        written = self.text(node.start_byte, node.end_byte)
        return (Literal(written, quoted=True) if _PLAIN_PATTERN.fullmatch(written) else Odd(NOT_UNDERSTOOD),)


PARTS: dict[str, Callable[[Any, Any], tuple[Part, ...]]] = {
    "word": WordReader.bare,
    "variable_name": WordReader.bare,
    "extglob_pattern": WordReader.pattern,
    "regex": WordReader.pattern,
    "number": WordReader.number,
    "raw_string": WordReader.raw_string,
    "ansi_c_string": WordReader.ansi_string,
    "string": WordReader.string,
    "simple_expansion": WordReader.variable,
    "expansion": WordReader.expansion,
    "command_substitution": WordReader.substitution,
    "process_substitution": WordReader.substitution,
    "arithmetic_expansion": WordReader.arithmetic,
    "brace_expression": WordReader.braces,
    "concatenation": WordReader.concatenation,
}
WORDS = frozenset(PARTS)
"""The kinds of nodes that are words, or parts of them."""
_SAME_LINE = WORDS | REDIRECTIONS | {"test_operator"}
"""Nodes that no shell takes for a part of what a line before them says."""


def _touch(before: str, after: str) -> bool:
    """Return whether these are two words for the grammar and one for a shell, where nothing is between."""
    if after.endswith("_redirect"):
        return before == "number"
    if after == "comment":
        return before not in ("\n", ";", "&", "&&", "||", "|", "(", ")", "{", ";;")
    return after in WORDS and (before in WORDS or before in _ENDS_WITH_WORD)
