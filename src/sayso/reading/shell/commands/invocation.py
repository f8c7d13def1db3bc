"""One program with its arguments, as it is about to run."""

from __future__ import annotations

import msgspec

from sayso.reading.shell.programs.known import ProgramEffect
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import ShellState
from sayso.reading.shell.words import Value


class Invocation(msgspec.Struct, gc=False):
    """A program's name, its arguments, the state of the shell that runs it, and where it stands in the line.

    `body` is what stands on its standard input, where the line says so. `added` is what options before a
    subcommand do besides.
    """

    name: str
    arguments: tuple[Argument, ...]
    state: ShellState
    start: int
    end: int
    body: Value | None = None
    added: tuple[ProgramEffect, ...] = ()
