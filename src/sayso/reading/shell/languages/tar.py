"""tar: its old style, and archives that are read, written, or lie on another machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sayso.reading.shell.commands.invocation import Invocation
from sayso.reading.shell.commands.usage import judge_by_data
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.programs.known import KnownProgram, default_effect
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.words import Value

if TYPE_CHECKING:
    from sayso.reading.shell.judge import Judge

_WRITES = frozenset({"-c", "-r", "-u", "-A", "--delete"})


def judge_tar(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge tar as its data says; then its archive, its folder and what goes in."""
    arguments = _set_old_style(program, invocation.arguments)
    made = Invocation(invocation.name, arguments, invocation.state, invocation.start, invocation.end)
    parsed = judge_by_data(judge, program, made)
    if parsed is None:
        return
    chosen = {option.name for option, _ in parsed.options}
    writes = not _WRITES.isdisjoint(chosen)
    for option, value in parsed.options:
        if value is None:
            continue
        if option.name == "-f":
            _judge_archive(judge, value, invocation, writes=writes)
        elif option.name == "-C" and "-t" not in chosen:
            judge_path(judge, "files.read" if writes else "files.write", value, invocation.state)
    if writes:
        for one in parsed.operands:
            judge_path(judge, "files.read", one, invocation.state)


def _judge_archive(judge: Judge, value: Argument, invocation: Invocation, *, writes: bool) -> None:
    text = value.text or value.value.prefix
    if ":" in text.partition("/")[0]:
        judge.effect(default_effect("network.api"), value.start, value.end)
    judge_path(judge, "files.write" if writes else "files.read", value, invocation.state)


def _set_old_style(program: KnownProgram, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """`tfI A B`: letters without a dash as the first word, whose values are the next words in turn."""
    first = arguments[0] if arguments else None
    if first is None or not first.text or not first.text.isalpha():
        return arguments
    rest = list(arguments[1:])
    found: list[Argument] = []
    for letter in first.text:
        found.append(Argument(Value(f"-{letter}"), first.start, first.end))
        option = program.table.named.get(f"-{letter}")
        if option is not None and option.takes == ":" and rest:
            found.append(rest.pop(0))
    return (*found, *rest)
