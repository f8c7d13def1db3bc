"""`[ … ]` and `[[ … ]]`: the words in them, and which of them compute."""

from __future__ import annotations

import re
from typing import Any

from sayso.reading.shell.grammar.nodes import WORDS
from sayso.reading.shell.grammar.syntax import (
    Compound,
    Pipeline,
    Sequence,
    Simple,
    Substitution,
    Variable,
    Word,
)
from sayso.reading.shell.grammar.words import WordReader

_COMPUTES = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"})
_TEST_NODES = frozenset(
    {"binary_expression", "unary_expression", "parenthesized_expression", "negation_expression"}
)


class TestReader(WordReader):
    """Reads tests."""

    def test(self, node: Any) -> Compound:
        """Read the words of `[[ … ]]`; a comparison of numbers can run commands."""
        if node.children[0].type != "[[":
            raise self.fail("an arithmetic command can run others", node)
        first, *_, last = children = node.children
        if first.end_byte == children[1].start_byte or children[-2].end_byte == last.start_byte:
            raise self.fail("for bash this is not a test but the name of a program", node)
        words = self.words_below(node)
        written = [word.value for word in words]
        if not _COMPUTES.isdisjoint(one for one in written if one) and not all(map(_computes_nothing, words)):
            raise self.fail("a comparison of numbers can run commands", node)
        return Compound("test", (), tuple(words), None, (), *self.span(node))

    def words_below(self, node: Any) -> list[Word]:
        self.enter(node)
        found: list[Word] = []
        for one in node.children:
            if one.type in WORDS:
                found.append(self.word(one))
            elif one.type == "test_operator":
                found.append(self.leaf_word(one))
            elif one.type in _TEST_NODES:
                found += self.words_below(one)
            elif one.children or one.is_named or one.type in ("<", ">"):
                raise self.fail("a test is not understood", one)
            elif one.type == "||" and not self.begins_as_test(one.next_sibling):
                raise self.fail("a shell without `[[` would run what follows", one)
        self.depth -= 1
        return found

    def begins_as_test(self, node: Any) -> bool:
        """Return whether no shell takes this for the name of a program: it is an operator, or a value."""
        return self.text(node.start_byte, node.end_byte).lstrip("!( ").startswith(("-", "$", '"$'))


def _computes_nothing(word: Word) -> bool:
    """True for operators and numbers: in a test that computes, a name's value is computed as well."""
    if word.value is not None:
        return re.fullmatch(r"-?\d+|-[a-zA-Z]{1,2}|[=!<>&|()]+|==", word.value) is not None
    parts = word.parts
    return len(parts) == 1 and (
        (isinstance(parts[0], Variable) and parts[0].name in "?#$!")
        or (isinstance(parts[0], Substitution) and prints_number(parts[0].body))
    )


def prints_number(body: Sequence) -> bool:
    """True if the last command prints a number: `wc` of its input, `date +%s` or `nproc`."""
    last = body.items[-1][1] if len(body.items) == 1 else None
    if isinstance(last, Pipeline):
        last = last.commands[-1]
    if not isinstance(last, Simple):
        return False
    return [one.value for one in last.words] in (
        ["wc", "-l"], ["wc", "-c"], ["wc", "-w"], ["date", "+%s"], ["nproc"],
    )  # fmt: skip
