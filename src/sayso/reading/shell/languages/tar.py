"""tar's old style: letters without a dash as its first word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sayso.reading.shell.programs.known import KnownProgram
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.words import Value

if TYPE_CHECKING:
    from sayso.reading.shell.judge import Invocation, Judge


def judge_tar(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge tar as its data says, the first word with a dash before it."""
    from sayso.reading.shell.judge import Invocation as Made

    arguments = invocation.arguments
    if arguments and arguments[0].text and arguments[0].text[0] not in "-/." and arguments[0].text.isalpha():
        first = arguments[0]
        arguments = (Argument(Value(f"-{first.text}"), first.start, first.end), *arguments[1:])
    made = Made(invocation.name, arguments, invocation.state, invocation.start, invocation.end)
    judge.by_data(program, made)
