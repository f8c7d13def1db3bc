"""Commands of every kind, as the grammar of tree-sitter-bash tells them apart."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

from sayso.reading.shell.grammar.clauses import ClauseReader, add_redirections
from sayso.reading.shell.grammar.syntax import (
    Assignment,
    Command,
    Compound,
    Function,
    Group,
    Pipeline,
    Redirection,
    Sequence,
    Simple,
    Word,
)
from sayso.reading.shell.grammar.words import NOT_UNDERSTOOD, REDIRECTIONS, WORDS

_JOINERS = frozenset({";", "&&", "||", "&", "\n", ";;", ";&", ";;&"})
_CLAUSES = ("elif_clause", "else_clause", "do_group", "case_item")
_KEYWORDS = (
    "if", "then", "else", "elif", "fi", "while", "until", "for", "select", "do", "done", "case", "in", "esac",
    "{", "}", "(", ")", "|",
)  # fmt: skip
_ROLES = {
    **dict.fromkeys(_KEYWORDS, "keyword"),
    **dict.fromkeys(_CLAUSES, "clause"),
    **dict.fromkeys(WORDS, "word"),
}
"""What stands in a compound command besides statements."""


class CommandReader(ClauseReader):
    """Reads commands, and rows of them."""

    def sequence(self, nodes: list[Any], start: int, end: int) -> Sequence:
        """Statements and what stands between them."""
        self.check_gaps(nodes, start, end)
        items: list[tuple[str, Command]] = []
        joiner, first = ";", 0
        for node in nodes:
            kind = node.type
            if kind == "comment":
                continue
            if kind not in _JOINERS:
                first = len(items) if joiner == ";" else first
                items += self.flatten(node, joiner)
            elif kind == "&" and items:  # the whole list, in a shell of its own
                behind = Sequence(((";", items[first][1]), *items[first + 1 :]))
                span = self.at(nodes[0].start_byte), self.at(node.end_byte)
                items[first:] = [(items[first][0], Group(behind, True, (), *span))]
            joiner = kind if kind in ("&&", "||") else ";"
        return Sequence(tuple(items))

    def flatten(self, node: Any, joiner: str = ";") -> list[tuple[str, Command]]:
        """`a && b || c`, which the grammar nests, as a row. However long it is, nothing in it is deeper."""
        found: list[tuple[str, Command]] = []
        waiting = [node]
        while waiting:
            one = waiting.pop()
            kind = one.type
            if kind in ("&&", "||"):
                joiner = kind
            elif kind == "list":
                waiting += reversed(self.children(one))
            elif kind != "comment":
                (_, first), *rest = _row(self.command(one))
                found += [(joiner, first), *rest]
        return found

    def command(self, node: Any) -> Command:
        """One statement of any kind."""
        return self.read(node, _COMMANDS)

    def one(self, node: Any) -> Sequence:
        """A statement where a row of them is wanted."""
        return Sequence(tuple(self.flatten(node)))

    def simple(self, node: Any) -> Simple:
        """A command, assignments alone, or a keyword and what follows it: `export`, `declare`, `unset` …"""
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        for child in [node] if node.type == "variable_assignment" else self.children(node):
            kind = child.type
            if kind == "variable_assignment" and not words:
                assignments.append(self.assignment(child))
            elif kind in REDIRECTIONS:
                redirections += self.redirection(child)
            else:
                words.append(self.word(child))
        return Simple(tuple(assignments), tuple(words), tuple(redirections), *self.span(node))

    def pipeline(self, node: Any) -> Command:
        commands = [
            self.command(one) for one in self.children(node) if one.type not in ("|", "|&", "comment")
        ]
        return _join_by_pipes(commands, *self.span(node))

    def negated(self, node: Any) -> Command:
        mark, *commands = self.children(node)
        if mark.type != "!" or len(commands) != 1:
            raise self.fail(NOT_UNDERSTOOD, node)
        return self.command(commands[0])

    def redirected(self, node: Any) -> Command:
        """A statement with redirections. What follows a here-document's first line belongs to the list."""
        rest = self.children(node)
        body: Command | None = None
        if rest and rest[0].type not in REDIRECTIONS:
            body, rest = self.command(rest[0]), rest[1:]
        if any(one.type not in REDIRECTIONS for one in rest):
            raise self.fail(NOT_UNDERSTOOD, node)
        after: list[tuple[str, Any]] = []
        added = tuple(each for one in rest for each in self.redirection(one, after))
        span = self.span(node)
        found = add_redirections(body or Simple((), (), (), *span), added, *span)
        piped = [self.command(one) for joiner, one in after if joiner == "|"]
        found = _join_by_pipes([found, *piped], *span) if piped else found
        listed = [(joiner, self.command(one)) for joiner, one in after if joiner != "|"]
        return Sequence(((";", found), *listed)) if listed else found

    def group(self, node: Any) -> Group:
        first, *inner, last = node.children
        if (first.type, last.type) not in (("{", "}"), ("(", ")")):
            raise self.fail("an arithmetic command can run others", node)
        body = self.sequence(inner, first.end_byte, last.start_byte)
        return Group(body, first.type == "(", (), *self.span(node))

    def compound(self, node: Any) -> Compound:
        """`if`, `while`, `until`, `for`, `select`, `case`: rows of statements that may run, and words."""
        found = self.inside(node)
        words = [one for one in found if isinstance(one, Word)]
        kind = (
            node.type.removesuffix("_statement")
            if node.type in ("for_statement", "case_statement")
            else node.type
        )
        name = words.pop(0).text if kind == "for" else None
        bodies = tuple(one for one in found if isinstance(one, Sequence))
        return Compound(kind, bodies, tuple(words), name, (), *self.span(node))

    def inside(self, node: Any) -> list[Sequence | Word]:
        """The words and the statements of a node between its keywords."""
        found: list[Sequence | Word] = []
        for role, row in groupby(self.children(node), lambda one: _ROLES.get(one.type, "statement")):
            nodes = list(row)
            if role == "word":
                patterns = [one for one in nodes if one.type == "extglob_pattern" and not one.children]
                plain = patterns if node.type == "case_item" else []
                found += [self.word(one) for one in nodes if one not in plain]
            elif role == "clause":
                found += [each for one in nodes for each in self.read(one, _INNER)]
            elif role == "statement" and any(one.type not in _JOINERS for one in nodes):
                found.append(self.sequence(nodes, nodes[0].start_byte, nodes[-1].end_byte))
        return found

    def function(self, node: Any) -> Function:
        named = [one for one in self.children(node) if one.is_named]
        if len(named) != 2 or named[0].type != "word":
            raise self.fail("a function is not understood", node)
        name = self.text(named[0].start_byte, named[0].end_byte)
        return Function(name, self.one(named[1]), *self.span(node))


_INNER = dict.fromkeys(_CLAUSES, CommandReader.inside)
_COMMANDS: dict[str, Callable[[CommandReader, Any], Command]] = {
    "command": CommandReader.simple,
    "variable_assignment": CommandReader.simple,
    "variable_assignments": CommandReader.simple,
    "declaration_command": CommandReader.simple,
    "unset_command": CommandReader.simple,
    "pipeline": CommandReader.pipeline,
    "negated_command": CommandReader.negated,
    "redirected_statement": CommandReader.redirected,
    "subshell": CommandReader.group,
    "compound_statement": CommandReader.group,
    "if_statement": CommandReader.compound,
    "while_statement": CommandReader.compound,
    "until_statement": CommandReader.compound,
    "for_statement": CommandReader.compound,
    "case_statement": CommandReader.compound,
    "test_command": CommandReader.test,
    "function_definition": CommandReader.function,
    "list": CommandReader.one,
}
CommandReader.commands = frozenset(_COMMANDS)


def _join_by_pipes(commands: list[Command], start: int, end: int) -> Command:
    """Commands joined by pipes.

    The grammar takes `a && b > f | c` for a pipe behind the whole row; it stands behind the last of it.
    """
    items: list[tuple[str, Command]] = []
    joiner, joined = ";", list[Command]()
    for one in commands:
        (_, first), *rest = _row(one)
        joined.append(first)
        for behind, each in rest:
            items.append((joiner, _one_or_pipeline(joined, start, end)))
            joiner, joined = behind, [each]
    items.append((joiner, _one_or_pipeline(joined, start, end)))
    return Sequence(tuple(items)) if len(items) > 1 else items[0][1]


def _one_or_pipeline(commands: list[Command], start: int, end: int) -> Command:
    """One row of pipes. The grammar may nest them: it takes `a | b | c && d` for `a | (b | c && d)`."""
    row = [each for one in commands for each in (one.commands if isinstance(one, Pipeline) else (one,))]
    return Pipeline(tuple(row), start, end) if len(row) > 1 else row[0]


def _row(command: Command) -> tuple[tuple[str, Command], ...]:
    """A command where a row of them is wanted: what turns out to be several joins the row."""
    return command.items if isinstance(command, Sequence) and command.items else ((";", command),)
