"""Pipelines: each command in a shell of its own, with what the one before it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from sayso.reading.shell.files.guard import OWN
from sayso.reading.shell.files.mentions import judge_mentions, named_value
from sayso.reading.shell.files.names import prints_names
from sayso.reading.shell.grammar.syntax import Command, Pipeline, Simple
from sayso.reading.shell.state import ShellState
from sayso.reading.shell.value import Value
from sayso.reading.shell.words import value_of_word, words_below

if TYPE_CHECKING:
    from sayso.reading.shell.judge import Judge

_TAKERS = frozenset({"xargs", "parallel", "read", "mapfile", "readarray"})
"""What makes words of its input: whoever stands before them, only these ask which names are printed."""
_PRINTERS = frozenset({"echo"})


def judge_pipeline(judge: Judge, command: Pipeline, state: ShellState) -> None:
    """Judge each command of a pipeline; where names go on to xargs, they are looked at as paths."""
    printed: Value | None = None
    for index, one in enumerate(command.commands):
        own = state.copy()
        if isinstance(one, Simple):
            if index and any(word.value == "xargs" or word.value == "parallel" for word in one.words):
                before = [word for each in command.commands[:index] for word in words_below(each)]
                judge_mentions(judge, before, own)
            judge.simple(one, own, printed if index else None)
            printed = _printed_by(one, own)
        else:
            own.input = printed if index else state.input
            judge.command(one, own)
            printed = Value(None)
        if index == len(command.commands) - 1:
            _keep_last(own, state)
        if printed.text is None and _takes_names(command.commands[index + 1 :]):
            so_far = Pipeline(command.commands[: index + 1], command.start, command.end)
            printed = _names_printed(so_far, state)


def _names_printed(command: Pipeline, state: ShellState) -> Value:
    """Return what a pipeline prints, as words for another command."""
    found = named_value(state) if prints_names(command, state) else Value(None)
    source = " | ".join(" ".join(word.text for word in words_below(one)) for one in command.commands)
    return found if OWN.search(source) is None else msgspec.structs.replace(found, source=source)


def _keep_last(own: ShellState, state: ShellState) -> None:
    """zsh runs the last command of a pipe in the shell itself, and bash may: what it did may count or not."""
    if own.functions != state.functions:
        state.changed = state.changed or "a function that a pipe defines may be there later, or not"
    state.changed = state.changed or own.changed
    if own.folders != state.folders:
        state.add_folders(own.folders)
    for name, value in own.variables.items():
        if state.variables.get(name) != value:
            state.forget(name)


def _takes_names(later: tuple[Command, ...]) -> bool:
    """Return whether the next command may take names from its input. What is not asked for is not known."""
    if not later:
        return False
    first = later[0]
    return not isinstance(first, Simple) or not _TAKERS.isdisjoint(word.value for word in first.words)


def _printed_by(command: Simple, state: ShellState) -> Value:
    """The text that a command prints, where its words say it."""
    if command.words and command.words[0].value in _PRINTERS and not command.redirections:
        values = [value_of_word(word, state).text for word in command.words[1:]]
        if all(value is not None for value in values):
            return Value(" ".join(value or "" for value in values))
    return Value(None)
