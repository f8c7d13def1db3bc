"""A command line to its syntax, by the grammar of tree-sitter-bash, which nothing outside this room knows.

- A node of a kind that is not listed here, an error, a missing token: cannot tell.
- Every character must belong to a node that was read; between nodes stands only white space.
- Too long, too deep, or with characters that no terminal shows: cannot tell.
"""

from __future__ import annotations

import functools
import re
import threading
from typing import Any

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.grammar.commands import CommandReader
from sayso.reading.shell.grammar.syntax import CannotTell, Sequence

MAX_LENGTH = 10_000
_HIDDEN = lazy_pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180e"
    "\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)
_BRACKET = re.compile(rb"(?:(?<=[\s;&|(!{`])|^)\[(?=[ \t])")
"""`[` where it may be the name of a program. The grammar would take `[ a > b ]` for a comparison; behind the
name of another program it is a command with a redirection, as it is for every shell."""
_LOCAL = threading.local()


def parse_line(line: str) -> Sequence:
    """The syntax of this line; CannotTell if any of it is not understood."""
    if len(line) > MAX_LENGTH:
        raise CannotTell("the command line is too long to read", 0, len(line))
    if "$${" in line:
        raise CannotTell("shells read what follows a process number in different ways", 0, len(line))
    hidden = _HIDDEN.search(line)
    if hidden is not None:
        raise CannotTell("it holds a character that is not shown", hidden.start(), hidden.end())
    return _read(line)


def _read(line: str) -> Sequence:
    reader = CommandReader(line)
    source = reader.source
    root = open_parser().parse(_BRACKET.sub(b":", source)).root_node
    if root.has_error:
        raise CannotTell("it cannot be parsed", 0, len(line))
    return reader.sequence(root.children, 0, len(source))


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
