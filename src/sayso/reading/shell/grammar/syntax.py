"""The syntax of a command line, as small frozen values that know where they stand in it.

A word is a row of parts. Spans count characters of the line they were read from.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class CannotTell(Exception):
    """The line, or a part of it, is not understood. It is never low risk."""

    def __init__(self, why: str, start: int = 0, end: int = 0) -> None:
        super().__init__(why)
        self.why, self.start, self.end = why, start, end


class Literal(msgspec.Struct, frozen=True, gc=False):
    """Text that stands for itself. Unquoted text may hold wildcards and braces."""

    text: str
    quoted: bool = False


class Variable(msgspec.Struct, frozen=True, gc=False):
    """The value of a variable: `$name` or `${name}`."""

    name: str
    quoted: bool = False


class Substitution(msgspec.Struct, frozen=True, gc=False):
    """The output of commands, or a file that stands for it: `$(…)`, backquotes, `<(…)`, `>(…)`."""

    body: Sequence
    quoted: bool = False
    is_file: bool = False


class Odd(msgspec.Struct, frozen=True, gc=False):
    """A part whose value nobody can tell; `why` says what is wrong with it, if anything is."""

    why: str | None = None
    inner: tuple[Word, ...] = ()


Part: TypeAlias = Literal | Variable | Substitution | Odd


class Word(msgspec.Struct, frozen=True, gc=False):
    """One word. `value` is its text where that needs no look at its parts."""

    text: str
    start: int
    end: int
    value: str | None = None
    parts: tuple[Part, ...] = ()


class Assignment(msgspec.Struct, frozen=True, gc=False):
    """`name=value` before a command, or alone. Without a value: an array, an element, or an addition."""

    name: str
    value: Word | None
    inner: tuple[Word, ...] = ()


class Redirection(msgspec.Struct, frozen=True, gc=False):
    """A redirection: its operator, its target, and the text of a here-document."""

    operator: str
    target: Word | None
    body: Word | None = None
    start: int = 0
    end: int = 0


class Simple(msgspec.Struct, frozen=True, gc=False):
    """A simple command."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...]
    start: int
    end: int


class Pipeline(msgspec.Struct, frozen=True, gc=False):
    """Commands joined by pipes; each runs in a shell of its own."""

    commands: tuple[Command, ...]
    start: int
    end: int


class Group(msgspec.Struct, frozen=True, gc=False):
    """`{ …; }`, or `( … )` in a shell of its own."""

    body: Sequence
    own_shell: bool
    redirections: tuple[Redirection, ...]
    start: int
    end: int


class Compound(msgspec.Struct, frozen=True, gc=False):
    """`if`, `while`, `until`, `for`, `case`, `select`, `[[ … ]]`, `(( … ))`.

    `bodies` may each run or not, `words` are read, and `variable` takes each of them in turn.
    """

    kind: str
    bodies: tuple[Sequence, ...]
    words: tuple[Word, ...]
    variable: str | None
    redirections: tuple[Redirection, ...]
    start: int
    end: int


class Function(msgspec.Struct, frozen=True, gc=False):
    """A function's definition: nothing runs yet."""

    name: str
    body: Sequence
    start: int
    end: int


class Sequence(msgspec.Struct, frozen=True, gc=False):
    """Commands in order, each with the operator that joins it to the one before: `;`, `&&` or `||`."""

    items: tuple[tuple[str, Command], ...]


Command: TypeAlias = Simple | Pipeline | Group | Compound | Function | Sequence
