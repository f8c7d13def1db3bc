"""Words: their parts, as the grammar of tree-sitter-bash tells them apart."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.escapes import read_ansi, unescape, unescape_in_quotes
from sayso.reading.shell.grammar.nodes import WORDS, SyntaxNodeReader, named_children
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

_PLAIN = lazy_pattern(r"[A-Za-z0-9_./:@%+,=-]+")
"""A word that is its own value: nothing in it means anything to a shell."""
_NAME = lazy_pattern(r"[A-Za-z_]\w*", re.ASCII)
EXPANDS = lazy_pattern(r"(?<!\\)(?:\\\\)*(?:`|\$[\w({\[@*#?$!-])")
"""What a shell would expand, in text of which the grammar says that it is literal."""
_PLAIN_PATTERN = lazy_pattern(r"\^?[\w./*?+|,:=@%\[\]-]+\$?", re.ASCII)
_RUNS = lazy_pattern(r"(?<!\\)(?:\\\\)*(?:`|\$[(\[]|\$\{[^}]*[`(\[@!:=]|[<>]\()")
"""What runs commands or computes, in text of which the grammar says that it is a word or a pattern."""
REDIRECTIONS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})


class WordReader(SyntaxNodeReader):
    """Reads words. Commands inside them are read by `sequence`, which the reader of commands has."""

    def sequence(self, nodes: list[Any], start: int, end: int) -> Sequence:
        """Statements and what stands between them."""
        raise NotImplementedError

    def leaf_word(self, node: Any) -> Word:
        written = self.text(node.start_byte, node.end_byte)
        return Word(written, *self.span(node), written)

    def word(self, node: Any) -> Word:
        """A word of any kind, with its value where that is plain."""
        start, end = node.start_byte, node.end_byte
        written = self.text(start, end)
        if not self.plain:
            start, end = self.at(start), self.at(end)
        if _PLAIN.fullmatch(written):
            return Word(written, start, end, written)
        parts = self.parts(node)
        if len(parts) == 1 and isinstance(parts[0], Literal) and parts[0].quoted:
            return Word(written, start, end, parts[0].text, parts)
        return Word(written, start, end, None, parts)

    def parts(self, node: Any) -> tuple[Part, ...]:
        kind = node.type
        if kind == "concatenation":
            children = node.children
            here = node.start_byte
            found: list[Part] = []
            self.enter(node)
            for one in children:
                if one.start_byte != here:
                    raise self.fail("a word is not understood", node)
                here = one.end_byte
                found += self.parts(one)
            self.depth -= 1
            if here != node.end_byte:
                raise self.fail("a word is not understood", node)
            return tuple(found)
        read = _PARTS.get(kind)
        if read is None:
            raise self.fail("it uses shell grammar that is not understood", node)
        self.enter(node)
        made = read(self, node)
        self.depth -= 1
        return made

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
        children = node.children
        if children[0].type != '"' or children[-1].type != '"':
            raise self.fail("a string is not understood", node)
        found: list[Part] = []
        here = node.start_byte + 1
        for one in children[1:-1]:
            if one.type == "string_content":
                continue
            if not one.is_named:
                if one.type == "$":  # a dollar sign that begins nothing
                    continue
                raise self.fail("a string is not understood", one)
            found += self.string_literal(here, one.start_byte)
            written = self.text(one.start_byte, one.end_byte)
            blank = len(written) - len(written.lstrip(" \t\n"))
            if blank:
                found.append(Literal(written[:blank], quoted=True))
            found.append(self.quoted_part(one))
            here = one.end_byte
        found += self.string_literal(here, node.end_byte - 1)
        if all(isinstance(one, Literal) for one in found):
            return (Literal("".join(one.text for one in found if isinstance(one, Literal)), quoted=True),)
        return tuple(found)

    def string_literal(self, start: int, end: int) -> list[Part]:
        written = self.text(start, end)
        if not written:
            return []
        if '"' in re.sub(r"\\.", "", written, flags=re.DOTALL) or EXPANDS.search(written):
            raise CannotTell("a string is not understood", self.at(start), self.at(end))
        return [Literal(unescape_in_quotes(written), quoted=True)]

    def quoted_part(self, node: Any) -> Part:
        """A part inside double quotes: it stays one word."""
        made = self.parts(node)
        if len(made) != 1:
            raise self.fail("a string is not understood", node)
        one = made[0]
        if isinstance(one, Variable):
            return Variable(one.name, quoted=True)
        if isinstance(one, Substitution):
            return Substitution(one.body, quoted=True, is_file=one.is_file)
        if isinstance(one, Literal):
            return Literal(one.text, quoted=True)
        return one

    def variable(self, node: Any) -> tuple[Part, ...]:
        named = named_children(node)
        if len(named) != 1 or named[0].type not in ("variable_name", "special_variable_name"):
            raise self.fail("a variable is not understood", node)
        return (Variable(self.text(named[0].start_byte, named[0].end_byte)),)

    def expansion(self, node: Any) -> tuple[Part, ...]:
        """`${…}`: a plain name is a variable; what indirects, assigns or expands again is odd."""
        children = node.children
        written = self.text(node.start_byte, node.end_byte).strip()
        name = written[2:-1]
        if _NAME.fullmatch(name) or name in ("0", "BASH_SOURCE[0]"):
            return (Variable(name.removesuffix("[0]")),)
        inner = tuple(self.inner_words(children[1:-1]))
        if written.startswith("${!"):
            return (Odd("it expands the variable that another one names", inner),)
        if "@" in re.sub(r"\[@\]", "", written):
            return (Odd("it may expand a value once more", inner),)
        if re.match(r"\$\{\w+(?:\[[@*]\])?:(?![-+?=])(?!\s*-?\d+(?::\s*-?\d+)?\})", written):
            return (Odd("where it cuts is computed, and that can run commands", inner),)
        if re.match(r"\$\{\w+:?=", written) or "[" in written.replace("[@]", "").replace("[*]", ""):
            return (Odd("it sets a variable, or computes an element, while it is expanded", inner),)
        return (Odd(None, inner),)

    def inner_words(self, nodes: list[Any]) -> list[Word]:
        """What stands inside `${…}` that may run commands."""
        found: list[Word] = []
        for one in nodes:
            if one.type == "regex":
                if _RUNS.search(self.text(one.start_byte, one.end_byte)):
                    raise self.fail("a pattern in it runs commands", one)
            elif one.type in WORDS:
                found.append(self.word(one))
            elif one.children:
                found += self.inner_words(one.children)
        return found

    def substitution(self, node: Any) -> tuple[Part, ...]:
        children = node.children
        first, last = children[0], children[-1]
        opening = self.text(first.start_byte, first.end_byte).strip()
        closing = self.text(last.start_byte, last.end_byte)
        if (opening, closing) not in (("$(", ")"), ("`", "`"), ("<(", ")"), (">(", ")")):
            raise self.fail("a substitution is not understood", node)
        inner = children[1:-1]
        if opening == "`" and "\\" in self.text(first.end_byte, last.start_byte):
            raise self.fail("backslashes in backquotes are read twice", node)
        if inner and inner[0].type in REDIRECTIONS:
            raise self.fail("a substitution is not understood", node)
        body = self.sequence(inner, first.end_byte, last.start_byte)
        return (Substitution(body, is_file=opening in ("<(", ">(")),)

    def arithmetic(self, node: Any) -> tuple[Part, ...]:
        """Numbers and operators are harmless; a name's value is computed in turn, and may run commands."""
        inner = self.text(node.start_byte, node.end_byte).strip()
        computed = re.fullmatch(r"\$(?:\(\(|\[)[\d\s+*/%()<>=!&|^~?:,-]*(?:\)\)|\])", inner)
        return (Odd(None if computed else "an arithmetic expression can run commands"),)

    def number(self, node: Any) -> tuple[Part, ...]:
        if node.children:
            return (Odd("a number is computed"),)
        return (Literal(self.text(node.start_byte, node.end_byte), quoted=True),)

    def braces(self, node: Any) -> tuple[Part, ...]:
        return (Literal(self.text(node.start_byte, node.end_byte)),)

    def pattern(self, node: Any) -> tuple[Part, ...]:
        """A pattern of a test or a case: plain text that names no file; anything more is refused."""
        written = self.text(node.start_byte, node.end_byte)
        if _PLAIN_PATTERN.fullmatch(written):
            return (Literal(written, quoted=True),)
        return (Odd("it uses shell grammar that is not understood"),)


_PARTS: dict[str, Callable[[WordReader, Any], tuple[Part, ...]]] = {
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
}
