"""Paths that commands read, write and delete, each in every folder the command may run in."""

from __future__ import annotations

import msgspec

from sayso.core.model import Risk
from sayso.reading.path_operations import CallFolders, operation_at_path
from sayso.reading.paths.budget import is_folder
from sayso.reading.paths.places import is_secret
from sayso.reading.shell.files.guard import GUARD, bar_change_of_program, finds_program, judge_guard_mentions
from sayso.reading.shell.files.patterns import operation_at_pattern, split_pattern
from sayso.reading.shell.judge import Judge
from sayso.reading.shell.programs.known import default_effect
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.quick import effect_of_operation
from sayso.reading.shell.state import ShellState, join_path
from sayso.reading.shell.value import Value
from sayso.reading.verbs import READ_VERBS, verb_of

_STREAMS = frozenset({"-", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/null", "/dev/tty", "/dev/fd/0"})


def judge_path(judge: Judge, operation: str, argument: Argument, state: ShellState) -> None:
    """Judge this operation at this path."""
    value = argument.value
    if value.choices:
        for one in value.choices:
            judge_path(judge, operation, Argument(one, argument.start, argument.end), state)
        return
    if value.text is None:
        _judge_unknown(judge, operation, argument, state)
        return
    if value.text in _STREAMS:
        judge.effect(default_effect("shell.inspect"), argument.start, argument.end)
        return
    if value.home and not (value.text == "~" or value.text.startswith("~/")):
        judge.record(operation, Risk.HIGH, "whose folder it is cannot be told", argument.start, argument.end)
        return
    for folder in state.folders:
        _judge_in(judge, operation, argument, folder)
    if verb_of(operation) not in READ_VERBS:
        _note_changes(judge, value, state)


def judge_path_into(judge: Judge, operation: str, argument: Argument, state: ShellState) -> None:
    """Judge a change of a file or, where this is a folder, of files in it that other words name."""
    value = argument.value
    if value.text is not None and not value.wild and not value.choices:
        at_home = judge.where.home + value.text[1:] if value.home else value.text
        places = [join_path(folder or "/", at_home) for folder in state.folders]
        if any(map(is_folder, places)):
            inner = msgspec.structs.replace(value, text=f"{value.text.rstrip('/')}/a-name")
            argument = Argument(inner, argument.start, argument.end)
    judge_path(judge, operation, argument, state)


def _note_changes(judge: Judge, value: Value, state: ShellState) -> None:
    text = value.text or ""
    if value.wild:
        text = split_pattern(text)[0]
    if value.home:
        text = judge.where.home + text[1:]
    for folder in state.folders:
        known = text.startswith("/") or folder is not None
        state.changes.add(join_path(folder or "/", text) if known else None)


def _judge_unknown(judge: Judge, operation: str, argument: Argument, state: ShellState) -> None:
    """A path that is not known: reading one that was vetted is what reading is."""
    prefix = argument.value.prefix
    if "/" in prefix and GUARD.search(prefix):
        known = Argument(Value(prefix.rpartition("/")[0]), argument.start, argument.end)
        judge_guard_mentions(judge, (known,), state)
    if argument.value.vetted and verb_of(operation) in READ_VERBS:
        judge.effect(default_effect(operation), argument.start, argument.end)
        return
    if verb_of(operation) not in READ_VERBS:
        state.changes.add(None)
        if finds_program(argument.value):
            bar_change_of_program(judge, argument)
    why = "which file it is cannot be told before it runs"
    judge.record(operation, Risk.HIGH, why, argument.start, argument.end)


def _judge_in(judge: Judge, operation: str, argument: Argument, folder: str | None) -> None:
    text = argument.value.text or ""
    if folder is None and not text.startswith(("/", "~")):
        _judge_secret_anywhere(judge, operation, argument)
        why = "the folder it runs in cannot be told"
        judge.record(operation, Risk.HIGH, why, argument.start, argument.end)
        return
    folder = folder or judge.where.folder
    quoted = text if text[:1] != "~" or argument.value.home else f"./{text}"
    if argument.value.wild:
        where = CallFolders(folder, judge.where.workspace, judge.where.home)
        found = operation_at_pattern(judge, operation, quoted, where)
        effect = effect_of_operation(found)
    else:
        found, effect = judge.quick.effect_at(operation, quoted, folder)
    why = effect.why or found.name
    judge.record(found.name, effect.risk, why, argument.start, argument.end, found.barred)


def _judge_secret_anywhere(judge: Judge, operation: str, argument: Argument) -> None:
    """A name of a file that holds secrets, wherever it lies."""
    text = argument.text or ""
    if is_secret(text):
        where = CallFolders("/", judge.where.workspace, judge.where.home)
        found = operation_at_path(operation, text, judge.policy, where, ())
        why = "it names a file that holds secrets"
        judge.record(found.name, Risk.HIGH, why, argument.start, argument.end, found.barred)
