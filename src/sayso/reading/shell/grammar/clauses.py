"""Assignments, redirections, here-documents and tests, as the grammar of tree-sitter-bash has them."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.syntax import (
    Assignment,
    Command,
    Compound,
    Group,
    Literal,
    Odd,
    Part,
    Pipeline,
    Redirection,
    Sequence,
    Simple,
    Substitution,
    Variable,
    Word,
)
from sayso.reading.shell.grammar.words import EXPANDS, PARTS, WORDS, WordReader

_ELEMENT = lazy_pattern(r"\[(?!\d+\]=)[^\]]*\]?\+?=?")
_DOCUMENT = frozenset({"<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor"})
_COMPUTES = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"})
_NUMBERS = (["wc", "-l"], ["wc", "-c"], ["wc", "-w"], ["date", "+%s"], ["nproc"])
"""Commands that print a number. `wc` has its input."""


class ClauseReader(WordReader):
    """Reads what belongs to a command. `commands` are the kinds of nodes that are commands."""

    commands: frozenset[str] = frozenset()

    def assigned_word(self, node: Any) -> tuple[Part, ...]:
        """An assignment as an argument: its name, `=` and its value in one word."""
        made = self.assignment(node)
        if made.value is None:
            return Literal(f"{made.name}="), Odd("it sets an array or an element", made.inner)
        value = made.value.parts or (Literal(made.value.value or "", quoted=True),)
        return Literal(f"{made.name}="), *value

    def assignment(self, node: Any) -> Assignment:
        children = self.children(node)
        name, mark, value = (*children, None, None)[:3]
        if name.type == "subscript":
            return self.element(node, name)
        if name.type != "variable_name" or mark is None or mark.type not in ("=", "+="):
            raise self.fail("an assignment is not understood", node)
        written = self.text(name.start_byte, name.end_byte)
        if value is not None and value.type == "array":
            items = [one for one in value.children if one.type not in ("(", ")", "comment")]
            words = [self.word(one) for one in items]
            if any(_ELEMENT.match(one.text) for one in words):
                words.append(self.computed_place(value))
            return Assignment(written, None, tuple(words))
        end = self.at(node.end_byte)
        read = Word("", end, end, "") if value is None else self.word(value)
        if mark.type == "=":
            return Assignment(written, read)
        return Assignment(written, None, (read,) if value is not None else ())

    def element(self, node: Any, name: Any) -> Assignment:
        """`name[place]=value`: a place that is not a number is computed, and that can run commands."""
        written, _, place = self.text(name.start_byte, name.end_byte).partition("[")
        values = node.children[2:]
        if any(one.type == "array" for one in values):
            raise self.fail("an assignment is not understood", node)
        places = [one for one in name.children if one.is_named and one.type != "variable_name"]
        inner = [self.word(one) for one in (*places, *values)]
        if not place[:-1].isdigit():
            inner.insert(len(places), self.computed_place(name))
        return Assignment(written, None, tuple(inner))

    def computed_place(self, node: Any) -> Word:
        return Word("", *self.span(node), None, (Odd("an element's place is computed"),))

    def redirection(self, node: Any, after: list[tuple[str, Any]] | None = None) -> tuple[Redirection, ...]:
        """A redirection, and those beside it where it is a here-document; `after` gets what else is there."""
        children = self.children(node) if node.type != "heredoc_redirect" else node.children
        if node.type == "heredoc_redirect":
            made = Redirection("<<", None, self.document(node), *self.span(node))
            beside = [one for one in children if one.type not in _DOCUMENT]
            return made, *self.beside_document(beside, after)
        children = [one for one in children if one.type != "file_descriptor"]
        closes = bool(children) and children[0].type in ("<&-", ">&-")
        if not children or len(children) > 2 - closes:
            raise self.fail("a redirection is not understood", node)
        target = self.word(children[1]) if len(children) == 2 else None
        return (Redirection(children[0].type, target, None, *self.span(node)),)

    def beside_document(self, nodes: list[Any], after: list[tuple[str, Any]] | None) -> list[Redirection]:
        """Read what stands in the line in which a here-document begins."""
        found: list[Redirection] = []
        joiner = ""
        for one in nodes:
            if after is None:
                raise self.fail("what stands beside a here-document is not understood", one)
            if one.type in ("&&", "||"):
                joiner = one.type
            elif one.type == "file_redirect" and not joiner:
                found += self.redirection(one)
            elif one.type == "pipeline" and not joiner:
                after += [("|", each) for each in one.children if each.type not in ("|", "|&")]
            elif joiner and one.type in self.commands:
                after.append((joiner, one))
                joiner = ""
            else:
                raise self.fail("what stands beside a here-document is not understood", one)
        return found

    def document(self, node: Any) -> Word:
        """The text of a here-document, where the grammar ends it as a shell does: at the first such line."""
        named = {one.type: one for one in node.children}
        first, body, end = (named.get(f"heredoc_{one}") for one in ("start", "body", "end"))
        mark = "" if first is None else self.text(first.start_byte, first.end_byte)
        delimiter = re.sub(r"['\"\\]", "", mark)
        if first is not None and end is not None:
            start = end.start_byte if body is None else body.start_byte
            rest = self.source.find(b"\n", end.end_byte)
            whole = self.text(start, len(self.source) if rest < 0 else rest)
            lines = [one.lstrip("\t") if "<<-" in named else one for one in whole.split("\n")]
            if delimiter not in lines or lines.index(delimiter) != len(lines) - 1:
                raise self.fail("where a here-document ends is not sure", end)
        if body is None:
            return Word("", *self.span(node)[1:], self.at(node.end_byte), "")
        return self.document_body(body, quoted=delimiter != mark)

    def document_body(self, node: Any, *, quoted: bool) -> Word:
        start, end = self.span(node)
        written = self.text(node.start_byte, node.end_byte)
        literal = Literal(written, quoted=True)
        if quoted or not any(mark in written for mark in "$`\\"):
            return Word(written, start, end, written, (literal,))
        inner = [one for one in node.children if one.type not in ("heredoc_content", "\n")]
        starts = [node.start_byte, *(one.end_byte for one in inner)]
        ends = [*(one.start_byte for one in inner), node.end_byte]
        if any(EXPANDS.search(self.text(*place)) for place in zip(starts, ends, strict=True)):
            raise self.fail("a here-document expands something that is not understood", node)
        return Word(written, start, end, None, (*map(self.quoted_part, inner), literal, Odd()))

    def test(self, node: Any) -> Compound:
        """Read the words of `[[ … ]]`; a comparison of numbers can run commands."""
        first, *_, last = children = node.children
        if first.type != "[[":
            raise self.fail("an arithmetic command can run others", node)
        if b"\n" in self.source[node.start_byte : node.end_byte]:
            raise self.fail("a shell without `[[` would run the second line", node)
        if first.end_byte == children[1].start_byte or children[-2].end_byte == last.start_byte:
            raise self.fail("for bash this is not a test but the name of a program", node)
        words = self.words_below(node)
        if not all(map(_computes_nothing, words)) and any(word.value in _COMPUTES for word in words):
            raise self.fail("a comparison of numbers can run commands", node)
        return Compound("test", (), tuple(words), None, (), *self.span(node))

    def words_below(self, node: Any) -> list[Word]:
        found: list[Word] = []
        for one in node.children:
            if one.type in WORDS or one.type == "test_operator":
                found.append(self.word(one))
            elif one.type in _TESTS:
                found += self.read(one, _TESTS)
            elif one.children or one.is_named or one.type in ("<", ">"):
                raise self.fail("a test is not understood", one)
            elif one.type == "||" and not self.begins_as_test(one.next_sibling):
                raise self.fail("a shell without `[[` would run what follows", one)
        return found

    def begins_as_test(self, node: Any) -> bool:
        """Return whether no shell takes this for the name of a program: it is an operator, or a value."""
        return self.text(node.start_byte, node.end_byte).lstrip("!( ").startswith(("-", "$", '"$'))


PARTS["variable_assignment"] = ClauseReader.assigned_word
_TESTS = dict.fromkeys(
    ("binary_expression", "unary_expression", "parenthesized_expression", "negation_expression"),
    ClauseReader.words_below,
)


def _computes_nothing(word: Word) -> bool:
    """True for operators and numbers: in a test that computes, a name's value is computed as well."""
    if word.value is not None:
        return re.fullmatch(r"-?\d+|-[a-zA-Z]{1,2}|[=!<>&|()]+|==", word.value) is not None
    alone = word.parts[0] if len(word.parts) == 1 else None
    if isinstance(alone, Substitution):
        return prints_number(alone.body)
    return isinstance(alone, Variable) and alone.name in "?#$!"


def prints_number(body: Sequence) -> bool:
    """True if the last command prints a number: `wc` of its input, `date +%s` or `nproc`."""
    last = body.items[-1][1] if len(body.items) == 1 else None
    if isinstance(last, Pipeline):
        last = last.commands[-1]
    return isinstance(last, Simple) and [one.value for one in last.words] in _NUMBERS


def add_redirections(body: Command, added: tuple[Redirection, ...], start: int, end: int) -> Command:
    """The command with these redirections besides its own.

    The grammar hangs those of `a && b > f` and `a | b > f` on the whole row; they belong to the last of it.
    """
    if isinstance(body, Sequence):
        joiner, last = body.items[-1]
        last = add_redirections(last, added, getattr(last, "start", start), end)
        return Sequence((*body.items[:-1], (joiner, last)))
    if isinstance(body, Pipeline):
        last = add_redirections(body.commands[-1], added, getattr(body.commands[-1], "start", start), end)
        return Pipeline((*body.commands[:-1], last), body.start, body.end)
    if isinstance(body, (Simple, Group, Compound)):
        return replace(body, redirections=(*body.redirections, *added), start=start, end=end)
    return Group(Sequence(((";", body),)), False, added, start, end)
