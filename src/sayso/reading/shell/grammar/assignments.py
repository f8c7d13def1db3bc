"""Assignments, as the grammar of tree-sitter-bash tells them apart."""

from __future__ import annotations

from typing import Any

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.nodes import named_children
from sayso.reading.shell.grammar.syntax import Assignment, Literal, Odd, Part, Simple, Word
from sayso.reading.shell.grammar.words import WordReader

_ELEMENT = lazy_pattern(r"\[(?!\d+\]=)[^\]]*\]?\+?=?")


class AssignmentReader(WordReader):
    """Reads assignments."""

    def assignments_alone(self, node: Any) -> Simple:
        nodes = [node] if node.type == "variable_assignment" else node.children
        self.check_gaps(nodes, node.start_byte, node.end_byte)
        return Simple(tuple(self.assignment(one) for one in nodes), (), (), *self.span(node))

    def assigned_word(self, node: Any) -> Word:
        """An assignment as an argument: its name, `=` and its value in one word."""
        made = self.assignment(node)
        parts: tuple[Part, ...] = (Literal(f"{made.name}="),)
        if made.value is None:
            parts = (*parts, Odd("it sets an array or an element", made.inner))
        else:
            parts = (*parts, *(made.value.parts or (Literal(made.value.value or "", quoted=True),)))
        start, end = self.span(node)
        return Word(self.text(node.start_byte, node.end_byte), start, end, None, parts)

    def assignment(self, node: Any) -> Assignment:
        children = node.children
        self.check_gaps(children, node.start_byte, node.end_byte)
        name = children[0]
        if name.type == "subscript":
            return self.element(node, name)
        if name.type != "variable_name" or len(children) < 2:
            raise self.fail("an assignment is not understood", node)
        if children[1].type not in ("=", "+="):
            raise self.fail("an assignment is not understood", node)
        written = self.text(name.start_byte, name.end_byte)
        if len(children) == 2:
            end = self.at(node.end_byte)
            return Assignment(written, Word("", end, end, "") if children[1].type == "=" else None)
        value = children[2]
        if value.type == "array":
            items = [one for one in value.children if one.type not in ("(", ")", "comment")]
            words = [self.word(one) for one in items]
            if any(_ELEMENT.match(one.text) for one in words):
                words.append(Word("", *self.span(value), None, (Odd("an element's place is computed"),)))
            return Assignment(written, None, tuple(words))
        read = self.word(value)
        return Assignment(written, read) if children[1].type == "=" else Assignment(written, None, (read,))

    def element(self, node: Any, name: Any) -> Assignment:
        """`name[place]=value`: a place that is not a number is computed, and that can run commands."""
        written, _, place = self.text(name.start_byte, name.end_byte).partition("[")
        inner = [self.word(one) for one in named_children(name) if one.type != "variable_name"]
        if not place[:-1].isdigit():
            inner.append(Word("", *self.span(name), None, (Odd("an element's place is computed"),)))
        for one in node.children[2:]:
            if one.type == "array":
                raise self.fail("an assignment is not understood", node)
            inner.append(self.word(one))
        return Assignment(written, None, tuple(inner))
