"""Redirections and here-documents, as the grammar of tree-sitter-bash tells them apart."""

from __future__ import annotations

import re
from typing import Any

from sayso.reading.shell.grammar.syntax import (
    Command,
    Compound,
    Group,
    Literal,
    Odd,
    Pipeline,
    Redirection,
    Sequence,
    Simple,
    Word,
)
from sayso.reading.shell.grammar.words import EXPANDS, WordReader


class RedirectionReader(WordReader):
    """Reads redirections. `commands` are the kinds of nodes that are commands."""

    commands: frozenset[str] = frozenset()

    def redirection(self, node: Any, after: list[tuple[str, Any]] | None = None) -> Redirection:
        if node.type == "heredoc_redirect":
            return self.heredoc(node, after)
        children = [one for one in node.children if one.type != "file_descriptor"]
        self.check_gaps(node.children, node.start_byte, node.end_byte)
        closes = bool(children) and children[0].type in ("<&-", ">&-")
        if not children or len(children) > 2 - closes:
            raise self.fail("a redirection is not understood", node)
        target = self.word(children[1]) if len(children) == 2 else None
        return Redirection(children[0].type, target, None, *self.span(node))

    def heredoc(self, node: Any, after: list[tuple[str, Any]] | None) -> Redirection:
        children = node.children
        body: Word | None = None
        quoted, joiner = False, ""
        self.check_document(children)
        for one in children:
            kind = one.type
            if kind in ("<<", "<<-", "heredoc_end", "file_descriptor"):
                continue
            if kind == "file_redirect" and after is not None and not joiner:
                after.append((">", one))
                continue
            if kind == "heredoc_start":
                quoted = any(mark in self.text(one.start_byte, one.end_byte) for mark in "'\"\\")
            elif kind == "heredoc_body":
                body = self.heredoc_body(one, quoted)
            elif kind in ("&&", "||"):
                joiner = kind
            elif kind == "pipeline" and after is not None and not joiner:
                after += [("|", each) for each in one.children if each.type not in ("|", "|&")]
            elif joiner and after is not None and kind in self.commands:
                after.append((joiner, one))
                joiner = ""
            else:
                raise self.fail("what stands beside a here-document is not understood", one)
        if body is None:
            body = Word("", *self.span(node)[1:], self.at(node.end_byte), "")
        return Redirection("<<", None, body, *self.span(node))

    def check_document(self, children: list[Any]) -> None:
        """Check that the grammar ends a here-document where a shell does: at the first such line."""
        named = {one.type: one for one in children}
        first, body, end = (named.get(f"heredoc_{one}") for one in ("start", "body", "end"))
        if first is None or end is None:
            return
        delimiter = re.sub(r"['\"\\]", "", self.text(first.start_byte, first.end_byte))
        start = end.start_byte if body is None else body.start_byte
        rest = self.source.find(b"\n", end.end_byte)
        whole = self.text(start, len(self.source) if rest < 0 else rest)
        lines = [one.lstrip("\t") if "<<-" in named else one for one in whole.split("\n")]
        if delimiter not in lines or lines.index(delimiter) != len(lines) - 1:
            raise self.fail("where a here-document ends is not sure", end)

    def heredoc_body(self, node: Any, quoted: bool) -> Word:
        start, end = self.span(node)
        written = self.text(node.start_byte, node.end_byte)
        if quoted:
            return Word(written, start, end, written, (Literal(written, quoted=True),))
        if not any(mark in written for mark in "$`\\"):
            return Word(written, start, end, written, (Literal(written, quoted=True),))
        inner = [one for one in node.children if one.type not in ("heredoc_content", "\n")]
        here = node.start_byte
        for one in [*inner, None]:
            until = node.end_byte if one is None else one.start_byte
            if EXPANDS.search(self.text(here, until)):
                raise self.fail("a here-document expands something that is not understood", node)
            here = until if one is None else one.end_byte
        parts = tuple(map(self.quoted_part, inner))
        return Word(written, start, end, None, (*parts, Literal(written, quoted=True), Odd()))


def add_redirections(body: Command, added: tuple[Redirection, ...], start: int, end: int) -> Command:
    """The command with these redirections besides its own.

    The grammar hangs those of `a && b > f` and `a | b > f` on the whole row; they belong to the last of it.
    """
    if isinstance(body, Sequence):
        joiner, last = body.items[-1]
        return Sequence(
            (*body.items[:-1], (joiner, add_redirections(last, added, getattr(last, "start", start), end)))
        )
    if isinstance(body, Pipeline):
        last = add_redirections(body.commands[-1], added, getattr(body.commands[-1], "start", start), end)
        return Pipeline((*body.commands[:-1], last), body.start, body.end)
    if isinstance(body, Simple):
        return Simple(body.assignments, body.words, (*body.redirections, *added), start, end)
    if isinstance(body, Group):
        return Group(body.body, body.own_shell, (*body.redirections, *added), start, end)
    if isinstance(body, Compound):
        kept = (*body.redirections, *added)
        return Compound(body.kind, body.bodies, body.words, body.variable, kept, start, end)
    return Group(Sequence(((";", body),)), False, added, start, end)
