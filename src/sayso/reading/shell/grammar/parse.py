"""A command line to its syntax, by the grammar of tree-sitter-bash. Nothing else here knows that grammar.

- A node of a kind that is not listed here, an error, a missing token: cannot tell.
- Every character must belong to a node that was read; between nodes stands only white space.
- Too long, too deep, or with characters that no terminal shows: cannot tell.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable
from typing import Any

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.escapes import read_ansi, unescape, unescape_in_quotes
from sayso.reading.shell.grammar.syntax import (
    Assignment,
    CannotTell,
    Command,
    Compound,
    Function,
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

MAX_LENGTH = 10_000
MAX_DEPTH = 40
_HIDDEN = lazy_pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180e"
    "\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)
_BLANK = lazy_pattern(r"(?:[ \t\n]|\\\n)*")
_PLAIN = lazy_pattern(r"[\w./:@%+,=-]+", re.ASCII)
"""A word that is its own value: nothing in it means anything to a shell."""
_NAME = lazy_pattern(r"[A-Za-z_]\w*", re.ASCII)
_EXPANDS = lazy_pattern(r"(?<!\\)(?:\\\\)*(?:`|\$[\w({\[@*#?$!-])")
"""What a shell would expand, in text of which the grammar says that it is literal."""
_JOINERS = frozenset({";", "&&", "||", "&", "\n", ";;", ";&", ";;&"})
_LOCAL = threading.local()


def parse_line(line: str) -> Sequence:
    """The syntax of this line; CannotTell if any of it is not understood."""
    if len(line) > MAX_LENGTH:
        raise CannotTell("the command line is too long to read", 0, len(line))
    hidden = _HIDDEN.search(line)
    if hidden is not None:
        raise CannotTell("it holds a character that is not shown", hidden.start(), hidden.end())
    return _Reader(line).read()


def open_parser() -> Any:
    """The parser of this thread. The grammar is loaded when the first line is read."""
    parser = getattr(_LOCAL, "parser", None)
    if parser is None:
        from tree_sitter import Parser

        parser = _LOCAL.parser = Parser(_language())
    return parser


@functools.cache
def _language() -> Any:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


class _Reader:
    """Reads the nodes of one line. Offsets are of bytes until a span is told."""

    def __init__(self, line: str) -> None:
        self.source = line.encode()
        self.line = line
        self.plain = len(self.source) == len(line)
        self.depth = 0

    def read(self) -> Sequence:
        root = open_parser().parse(self.source).root_node
        if root.has_error:
            raise CannotTell("it cannot be parsed", 0, len(self.line))
        if _gap(self.text(0, root.start_byte)) or _gap(self.text(root.end_byte, len(self.source))):
            raise CannotTell("a part of it was not read", 0, len(self.line))
        return self.sequence(root.children, root.start_byte, root.end_byte)

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
        here = start
        for node in nodes:
            if node.start_byte > here and _gap(self.text(here, node.start_byte)):
                raise CannotTell("a part of it was not read", self.at(here), self.at(node.start_byte))
            here = max(here, node.end_byte)
        if end > here and _gap(self.text(here, end)):
            raise CannotTell("a part of it was not read", self.at(here), self.at(end))

    # Lists

    def sequence(self, nodes: list[Any], start: int, end: int) -> Sequence:
        """Statements and what stands between them."""
        self.check_gaps(nodes, start, end)
        items: list[tuple[str, Command]] = []
        joiner = ";"
        for node in nodes:
            kind = node.type
            if kind in _JOINERS:
                if kind == "&" and items:
                    items[-1] = ("&", items[-1][1])
                joiner = kind if kind in ("&&", "||") else ";"
            elif kind == "comment":
                continue
            elif kind == "list":
                items += self.flatten(node, joiner)
                joiner = ";"
            else:
                items.append((joiner, self.command(node)))
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
                self.check_gaps(one.children, one.start_byte, one.end_byte)
                waiting += reversed(one.children)
            elif one.type != "comment":
                found.append((joiner, self.command(one)))
        return found

    def enter(self, node: Any) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail("it is nested too deeply", node)

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

    # Commands

    def simple(self, node: Any) -> Simple:
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        children = node.children
        self.check_gaps(children, node.start_byte, node.end_byte)
        for child in children:
            kind = child.type
            if kind == "command_name":
                inner = child.children
                if len(inner) != 1:
                    raise self.fail("its program's name is not understood", child)
                words.append(self.word(inner[0]))
            elif kind == "variable_assignment":
                if words:
                    raise self.fail("an assignment stands where none is understood", child)
                assignments.append(self.assignment(child))
            elif kind in _REDIRECTIONS:
                redirections.append(self.redirection(child))
            else:
                words.append(self.word(child))
        return Simple(tuple(assignments), tuple(words), tuple(redirections), *self.span(node))

    def assignments_alone(self, node: Any) -> Simple:
        nodes = [node] if node.type == "variable_assignment" else node.children
        self.check_gaps(nodes, node.start_byte, node.end_byte)
        return Simple(tuple(self.assignment(one) for one in nodes), (), (), *self.span(node))

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
        """`name[place]=value`: a place that is no number is computed, and that can run commands."""
        written, _, place = self.text(name.start_byte, name.end_byte).partition("[")
        inner = [self.word(one) for one in _named(name) if one.type != "variable_name"]
        if not place[:-1].isdigit():
            inner.append(Word("", *self.span(name), None, (Odd("an element's place is computed"),)))
        for one in node.children[2:]:
            if one.type == "array":
                raise self.fail("an assignment is not understood", node)
            inner.append(self.word(one))
        return Assignment(written, None, tuple(inner))

    def pipeline(self, node: Any) -> Pipeline:
        children = node.children
        self.check_gaps(children, node.start_byte, node.end_byte)
        commands = [self.command(one) for one in children if one.type not in ("|", "|&", "comment")]
        return Pipeline(tuple(commands), *self.span(node))

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
        if not children or children[0].type in _REDIRECTIONS:
            body: Command = Simple((), (), (), *self.span(node))
            rest = children
        else:
            body, rest = self.command(children[0]), children[1:]
        if any(one.type not in _REDIRECTIONS for one in rest):
            raise self.fail("it uses shell grammar that is not understood", node)
        after: list[tuple[str, Any]] = []
        added = tuple(self.redirection(one, after) for one in rest)
        added += tuple(self.redirection(one) for joiner, one in after if joiner == ">")
        after = [one for one in after if one[0] != ">"]
        found = _with_redirections(body, added, *self.span(node))
        piped = [self.command(one) for joiner, one in after if joiner == "|"]
        if piped:
            found = Pipeline((found, *piped), *self.span(node))
        listed = [(joiner, self.command(one)) for joiner, one in after if joiner != "|"]
        return Sequence(((";", found), *listed)) if listed else found

    def redirection(self, node: Any, after: list[tuple[str, Any]] | None = None) -> Redirection:
        if node.type == "heredoc_redirect":
            return self.heredoc(node, after)
        children = [one for one in node.children if one.type != "file_descriptor"]
        self.check_gaps(node.children, node.start_byte, node.end_byte)
        if not children or len(children) > 2:
            raise self.fail("a redirection is not understood", node)
        target = self.word(children[1]) if len(children) == 2 else None
        return Redirection(children[0].type, target, None, *self.span(node))

    def heredoc(self, node: Any, after: list[tuple[str, Any]] | None) -> Redirection:
        children = node.children
        body: Word | None = None
        quoted, joiner = False, ""
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
            elif joiner and after is not None and kind in _COMMANDS:
                after.append((joiner, one))
                joiner = ""
            else:
                raise self.fail("what stands beside a here-document is not understood", one)
        if body is None:
            body = Word("", *self.span(node)[1:], self.at(node.end_byte), "")
        return Redirection("<<", None, body, *self.span(node))

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
            if _EXPANDS.search(self.text(here, until)):
                raise self.fail("a here-document expands something that is not understood", node)
            here = until if one is None else one.end_byte
        parts = tuple(map(self.quoted_part, inner))
        return Word(written, start, end, None, (*parts, Literal(written, quoted=True), Odd()))

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

    def test(self, node: Any) -> Compound:
        """`[ … ]` and `[[ … ]]`: the words in them; an arithmetic comparison can run commands."""
        if node.children[0].type not in ("[", "[["):
            raise self.fail("an arithmetic command can run others", node)
        words = self.words_below(node)
        written = [word.value for word in words]
        if not _COMPUTES.isdisjoint(one for one in written if one) and not all(map(_computes_nothing, words)):
            raise self.fail("a comparison of numbers can run commands", node)
        return Compound("test", (), tuple(words), None, (), *self.span(node))

    def words_below(self, node: Any) -> list[Word]:
        self.enter(node)
        found: list[Word] = []
        for one in node.children:
            if one.type in _WORDS:
                found.append(self.word(one))
            elif one.type == "test_operator":
                found.append(self.leaf_word(one))
            elif one.type in _TEST_NODES:
                found += self.words_below(one)
            elif one.children or one.is_named:
                raise self.fail("a test is not understood", one)
        self.depth -= 1
        return found

    def function(self, node: Any) -> Function:
        children = node.children
        self.check_gaps(children, node.start_byte, node.end_byte)
        named = [one for one in children if one.is_named]
        if len(named) != 2 or named[0].type != "word":
            raise self.fail("a function is not understood", node)
        name = self.text(named[0].start_byte, named[0].end_byte)
        return Function(name, self.one(named[1]), *self.span(node))

    # Words

    def leaf_word(self, node: Any) -> Word:
        written = self.text(node.start_byte, node.end_byte)
        return Word(written, *self.span(node), written)

    def word(self, node: Any) -> Word:
        """A word of any kind, with its value where that is plain."""
        written = self.text(node.start_byte, node.end_byte)
        start, end = self.span(node)
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
        if any(one.is_named for one in node.children):
            raise self.fail("a word is not understood", node)
        return unescape(self.text(node.start_byte, node.end_byte))

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
        if '"' in re.sub(r"\\.", "", written, flags=re.DOTALL) or _EXPANDS.search(written):
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
        named = _named(node)
        if len(named) != 1 or named[0].type not in ("variable_name", "special_variable_name"):
            raise self.fail("a variable is not understood", node)
        return (Variable(self.text(named[0].start_byte, named[0].end_byte)),)

    def expansion(self, node: Any) -> tuple[Part, ...]:
        """`${…}`: a plain name is a variable; what indirects, assigns or expands again is odd."""
        children = node.children
        written = self.text(node.start_byte, node.end_byte).strip()
        name = written[2:-1]
        if _NAME.fullmatch(name):
            return (Variable(name),)
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
            if one.type in _WORDS:
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
        if inner and inner[0].type in _REDIRECTIONS:
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

    def refuse(self, node: Any) -> tuple[Part, ...]:
        return (Odd("it uses shell grammar that is not understood"),)


def _named(node: Any) -> list[Any]:
    return [one for one in node.children if one.is_named]


def _gap(text: str) -> bool:
    """True if something other than white space stands here.

    A line continuation alone is nothing at all: it joins what stands around it, whatever the grammar says.
    """
    return bool(text) and (_BLANK.fullmatch(text) is None or not text.replace("\\\n", ""))


def _with_redirections(body: Command, added: tuple[Redirection, ...], start: int, end: int) -> Command:
    if isinstance(body, Simple):
        return Simple(body.assignments, body.words, (*body.redirections, *added), start, end)
    if isinstance(body, Group):
        return Group(body.body, body.own_shell, (*body.redirections, *added), start, end)
    if isinstance(body, Compound):
        kept = (*body.redirections, *added)
        return Compound(body.kind, body.bodies, body.words, body.variable, kept, start, end)
    return Group(Sequence(((";", body),)), False, added, start, end)


_COMPUTES = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"})
_ELEMENT = lazy_pattern(r"\[(?!\d+\]=)[^\]]*\]?\+?=?")


def _computes_nothing(word: Word) -> bool:
    """True for operators and numbers: in a test that computes, a name's value is computed as well."""
    if word.value is not None:
        return re.fullmatch(r"-?\d+|-[a-zA-Z]{1,2}|[=!<>&|()]+|==", word.value) is not None
    parts = word.parts
    return len(parts) == 1 and (
        (isinstance(parts[0], Variable) and parts[0].name in "?#$!")
        or (isinstance(parts[0], Substitution) and _counts(parts[0].body))
    )


def _counts(body: Sequence) -> bool:
    """True if the last command prints a number: `wc` of its input, `date +%s` or `nproc`."""
    last = body.items[-1][1] if len(body.items) == 1 else None
    if isinstance(last, Pipeline):
        last = last.commands[-1]
    if not isinstance(last, Simple):
        return False
    return [one.value for one in last.words] in (
        ["wc", "-l"], ["wc", "-c"], ["wc", "-w"], ["date", "+%s"], ["nproc"],
    )  # fmt: skip


_REDIRECTIONS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_KEYWORDS = frozenset({"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "{", "}"})
_TEST_NODES = frozenset(
    {"binary_expression", "unary_expression", "parenthesized_expression", "negation_expression"}
)
_COMMANDS: dict[str, Callable[[_Reader, Any], Command]] = {
    "command": _Reader.simple,
    "variable_assignment": _Reader.assignments_alone,
    "variable_assignments": _Reader.assignments_alone,
    "declaration_command": _Reader.keyword_command,
    "unset_command": _Reader.keyword_command,
    "pipeline": _Reader.pipeline,
    "negated_command": _Reader.negated,
    "redirected_statement": _Reader.redirected,
    "subshell": _Reader.group,
    "compound_statement": _Reader.group,
    "if_statement": _Reader.if_or_loop,
    "while_statement": _Reader.if_or_loop,
    "until_statement": _Reader.if_or_loop,
    "for_statement": _Reader.loop_over,
    "case_statement": _Reader.case,
    "test_command": _Reader.test,
    "function_definition": _Reader.function,
    "list": lambda reader, node: Sequence(tuple(reader.flatten(node, ";"))),
}
_PARTS: dict[str, Callable[[_Reader, Any], tuple[Part, ...]]] = {
    "word": _Reader.bare,
    "variable_name": _Reader.bare,
    "extglob_pattern": _Reader.refuse,
    "regex": _Reader.refuse,
    "number": _Reader.number,
    "raw_string": _Reader.raw_string,
    "ansi_c_string": _Reader.ansi_string,
    "string": _Reader.string,
    "simple_expansion": _Reader.variable,
    "expansion": _Reader.expansion,
    "command_substitution": _Reader.substitution,
    "process_substitution": _Reader.substitution,
    "arithmetic_expansion": _Reader.arithmetic,
    "brace_expression": _Reader.braces,
}
_WORDS = frozenset({*_PARTS, "concatenation"})
