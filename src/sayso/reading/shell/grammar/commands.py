"""Commands of every kind, as the grammar of tree-sitter-bash tells them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sayso.reading.shell.grammar.assignments import AssignmentReader
from sayso.reading.shell.grammar.redirections import RedirectionReader, add_redirections
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
from sayso.reading.shell.grammar.tests import TestReader
from sayso.reading.shell.grammar.words import REDIRECTIONS

_JOINERS = frozenset({";", "&&", "||", "&", "\n", ";;", ";&", ";;&"})
_KEYWORDS = frozenset({"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "{", "}"})


class CommandReader(AssignmentReader, RedirectionReader, TestReader):
    """Reads commands, and rows of them."""

    def sequence(self, nodes: list[Any], start: int, end: int) -> Sequence:
        """Statements and what stands between them."""
        self.check_gaps(nodes, start, end)
        items: list[tuple[str, Command]] = []
        joiner, first = ";", 0
        for node in nodes:
            kind = node.type
            if joiner == ";" and kind not in _JOINERS and kind != "comment":
                first = len(items)
            if kind in _JOINERS:
                if kind == "&" and items:  # the whole list, in a shell of its own
                    behind = Sequence(((";", items[first][1]), *items[first + 1 :]))
                    span = self.at(start), self.at(node.end_byte)
                    items[first:] = [(items[first][0], Group(behind, True, (), *span))]
                joiner = kind if kind in ("&&", "||") else ";"
            elif kind == "comment":
                continue
            elif kind == "list":
                items += self.flatten(node, joiner)
                joiner = ";"
            else:
                items += _row(joiner, self.command(node))
                joiner = ";"
        return Sequence(tuple(items))

    def flatten(self, node: Any, joiner: str) -> list[tuple[str, Command]]:
        """`a && b || c`, which the grammar nests, as a row. However long it is, nothing in it is deeper."""
        found: list[tuple[str, Command]] = []
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if one.type in ("&&", "||"):
                joiner = one.type
            elif one.type == "list":
                children = one.children
                self.check_gaps(children, one.start_byte, one.end_byte)
                waiting += reversed(children)
            elif one.type != "comment":
                found += _row(joiner, self.command(one))
        return found

    def command(self, node: Any) -> Command:
        """One statement of any kind."""
        read = _COMMANDS.get(node.type)
        if read is None:
            raise self.fail("it uses shell grammar that is not understood", node)
        self.enter(node)
        found = read(self, node)
        self.depth -= 1
        return found

    def one(self, node: Any) -> Sequence:
        """A statement where a row of them is wanted."""
        return Sequence(
            tuple(self.flatten(node, ";")) if node.type == "list" else ((";", self.command(node)),)
        )

    def simple(self, node: Any) -> Simple:
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        children = node.children
        start, end = node.start_byte, node.end_byte
        self.check_gaps(children, start, end)
        for child in children:
            kind = child.type
            if kind == "command_name":
                inner = child.children
                if len(inner) != 1:
                    raise self.fail("its program's name is not understood", child)
                program = self.word(inner[0])
                words.append(Word("[", program.start, program.end, "[") if program.text == "[" else program)
            elif kind == "variable_assignment":
                if words:
                    raise self.fail("an assignment stands where none is understood", child)
                assignments.append(self.assignment(child))
            elif kind in REDIRECTIONS:
                redirections.append(self.redirection(child))
            else:
                words.append(self.word(child))
        if not self.plain:
            start, end = self.at(start), self.at(end)
        return Simple(tuple(assignments), tuple(words), tuple(redirections), start, end)

    def keyword_command(self, node: Any) -> Simple:
        """`export`, `declare`, `unset` …: the keyword and what follows it, as plain words."""
        children = node.children
        self.check_gaps(children, node.start_byte, node.end_byte)
        words = [self.leaf_word(children[0])]
        words += [
            self.assigned_word(one) if one.type == "variable_assignment" else self.word(one)
            for one in children[1:]
        ]
        return Simple((), tuple(words), (), *self.span(node))

    def pipeline(self, node: Any) -> Command:
        children = node.children
        self.check_gaps(children, node.start_byte, node.end_byte)
        commands = [self.command(one) for one in children if one.type not in ("|", "|&", "comment")]
        return _join_by_pipes(commands, *self.span(node))

    def negated(self, node: Any) -> Command:
        children = node.children
        self.check_gaps(children, node.start_byte, node.end_byte)
        if len(children) != 2 or children[0].type != "!":
            raise self.fail("it uses shell grammar that is not understood", node)
        return self.command(children[1])

    def redirected(self, node: Any) -> Command:
        """A statement with redirections. What follows a here-document's first line belongs to the list."""
        children = node.children
        self.check_gaps(children, node.start_byte, node.end_byte)
        if not children or children[0].type in REDIRECTIONS:
            body: Command = Simple((), (), (), *self.span(node))
            rest = children
        else:
            body, rest = self.command(children[0]), children[1:]
        if any(one.type not in REDIRECTIONS for one in rest):
            raise self.fail("it uses shell grammar that is not understood", node)
        after: list[tuple[str, Any]] = []
        added = tuple(self.redirection(one, after) for one in rest)
        added += tuple(self.redirection(one) for joiner, one in after if joiner == ">")
        after = [one for one in after if one[0] != ">"]
        found = add_redirections(body, added, *self.span(node))
        piped = [self.command(one) for joiner, one in after if joiner == "|"]
        if piped:
            found = _join_by_pipes([found, *piped], *self.span(node))
        listed = [(joiner, self.command(one)) for joiner, one in after if joiner != "|"]
        return Sequence(((";", found), *listed)) if listed else found

    def group(self, node: Any) -> Group:
        children = node.children
        first, last = children[0], children[-1]
        if (first.type, last.type) not in (("{", "}"), ("(", ")")):
            return self.arithmetic_command(node)  # type: ignore[return-value]
        body = self.sequence(children[1:-1], first.end_byte, last.start_byte)
        return Group(body, first.type == "(", (), *self.span(node))

    def arithmetic_command(self, node: Any) -> Compound:
        raise self.fail("an arithmetic command can run others", node)

    def if_or_loop(self, node: Any) -> Compound:
        """`if` with its branches, `while`, `until`: each a row of statements that may run."""
        bodies = self.blocks(node)
        return Compound(node.type, tuple(bodies), (), None, (), *self.span(node))

    def blocks(self, node: Any) -> list[Sequence]:
        """The statements of a node between its keywords, one block a keyword."""
        children = node.children
        self.check_gaps(children, node.start_byte, node.end_byte)
        found: list[Sequence] = []
        block: list[Any] = []
        for one in children:
            if one.type in _KEYWORDS:
                if block:
                    found.append(self.block(block))
                block = []
            elif one.type in ("elif_clause", "else_clause", "do_group"):
                if block:
                    found.append(self.block(block))
                block = []
                self.enter(one)
                found += self.blocks(one)
                self.depth -= 1
            else:
                block.append(one)
        if block:
            found.append(self.block(block))
        return found

    def block(self, nodes: list[Any]) -> Sequence:
        return self.sequence(nodes, nodes[0].start_byte, nodes[-1].end_byte)

    def loop_over(self, node: Any) -> Compound:
        """`for name in words; do …; done`."""
        children = node.children
        self.check_gaps(children, node.start_byte, node.end_byte)
        if len(children) < 3 or children[1].type != "variable_name":
            raise self.fail("it uses shell grammar that is not understood", node)
        words: list[Word] = []
        bodies: list[Sequence] = []
        for one in children[2:]:
            if one.type in ("in", ";", "\n"):
                continue
            if one.type in ("do_group", "compound_statement"):
                bodies += self.blocks(one)
            else:
                words.append(self.word(one))
        name = self.text(children[1].start_byte, children[1].end_byte)
        return Compound("for", tuple(bodies), tuple(words), name, (), *self.span(node))

    def case(self, node: Any) -> Compound:
        children = node.children
        self.check_gaps(children, node.start_byte, node.end_byte)
        words: list[Word] = []
        bodies: list[Sequence] = []
        for one in children:
            if one.type == "case_item":
                bodies += self.case_item(one, words)
            elif one.type not in ("case", "in", "esac", ";", "\n"):
                words.append(self.word(one))
        return Compound("case", tuple(bodies), tuple(words), None, (), *self.span(node))

    def case_item(self, node: Any, words: list[Word]) -> list[Sequence]:
        children = node.children
        self.check_gaps(children, node.start_byte, node.end_byte)
        closing = next((i for i, one in enumerate(children) if one.type == ")"), None)
        if closing is None:
            raise self.fail("it uses shell grammar that is not understood", node)
        for one in children[:closing]:
            if one.type == "extglob_pattern" and not one.children:
                continue
            if one.type not in ("|", "("):
                words.append(self.word(one))
        rest = children[closing + 1 :]
        return [self.block(rest)] if rest else []

    def function(self, node: Any) -> Function:
        children = node.children
        self.check_gaps(children, node.start_byte, node.end_byte)
        named = [one for one in children if one.is_named]
        if len(named) != 2 or named[0].type != "word":
            raise self.fail("a function is not understood", node)
        name = self.text(named[0].start_byte, named[0].end_byte)
        return Function(name, self.one(named[1]), *self.span(node))


_COMMANDS: dict[str, Callable[[CommandReader, Any], Command]] = {
    "command": CommandReader.simple,
    "variable_assignment": CommandReader.assignments_alone,
    "variable_assignments": CommandReader.assignments_alone,
    "declaration_command": CommandReader.keyword_command,
    "unset_command": CommandReader.keyword_command,
    "pipeline": CommandReader.pipeline,
    "negated_command": CommandReader.negated,
    "redirected_statement": CommandReader.redirected,
    "subshell": CommandReader.group,
    "compound_statement": CommandReader.group,
    "if_statement": CommandReader.if_or_loop,
    "while_statement": CommandReader.if_or_loop,
    "until_statement": CommandReader.if_or_loop,
    "for_statement": CommandReader.loop_over,
    "case_statement": CommandReader.case,
    "test_command": CommandReader.test,
    "function_definition": CommandReader.function,
    "list": lambda reader, node: Sequence(tuple(reader.flatten(node, ";"))),
}
CommandReader.commands = frozenset(_COMMANDS)


def _join_by_pipes(commands: list[Command], start: int, end: int) -> Command:
    """Commands joined by pipes.

    The grammar takes `a && b > f | c` for a pipe behind the whole row; it stands behind the last of it.
    """
    items: list[tuple[str, Command]] = []
    joiner, joined = ";", list[Command]()
    for one in commands:
        row = one.items if isinstance(one, Sequence) else ((";", one),)
        joined.append(row[0][1])
        for behind, each in row[1:]:
            items.append((joiner, _one_or_pipeline(joined, start, end)))
            joiner, joined = behind, [each]
    items.append((joiner, _one_or_pipeline(joined, start, end)))
    return Sequence(tuple(items)) if len(items) > 1 else items[0][1]


def _one_or_pipeline(commands: list[Command], start: int, end: int) -> Command:
    """One row of pipes. The grammar may nest them: it takes `a | b | c && d` for `a | (b | c && d)`."""
    row = [each for one in commands for each in (one.commands if isinstance(one, Pipeline) else (one,))]
    return Pipeline(tuple(row), start, end) if len(row) > 1 else row[0]


def _row(joiner: str, command: Command) -> tuple[tuple[str, Command], ...]:
    """A command where a row of them is wanted: what turns out to be several joins the row."""
    if not isinstance(command, Sequence) or not command.items:
        return ((joiner, command),)
    return ((joiner, command.items[0][1]), *command.items[1:])
