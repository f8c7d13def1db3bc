"""Paths that commands read, write and delete, each in every folder the command may run in."""

from __future__ import annotations

import fnmatch
import os
from typing import TYPE_CHECKING

import msgspec

from sayso.core.model import Operation, Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.path_operations import CallFolders, operation_at_path
from sayso.reading.shell.grammar.braces import spread_braces
from sayso.reading.shell.grammar.syntax import Word
from sayso.reading.shell.programs.known import default_effect
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import ShellState, join_path
from sayso.reading.shell.words import Value, substitutions_in, words_below
from sayso.reading.verbs import READ_VERBS, verb_of

if TYPE_CHECKING:
    from sayso.reading.shell.judge import Judge

_STREAMS = frozenset({"-", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/null", "/dev/tty", "/dev/fd/0"})
_HIDDEN_PATTERN = lazy_pattern(r"(?:^|/)\.[*?\[{]")
_MAX_ENTRIES = 2_000
GUARD = lazy_pattern(
    r"(?i)sayso|\.claude|\.codex|\.gemini|\.cursor|opencode|clinerules|copilot|openclaw|goose"
)


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


def _judge_unknown(judge: Judge, operation: str, argument: Argument, state: ShellState) -> None:
    """A path that is not known: reading one that was vetted is what reading is."""
    prefix = argument.value.prefix
    if "/" in prefix and GUARD.search(prefix):
        known = Argument(Value(prefix.rpartition("/")[0]), argument.start, argument.end)
        judge_guard_mentions(judge, (known,), state)
    if argument.value.vetted and verb_of(operation) in READ_VERBS:
        judge.effect(default_effect(operation), argument.start, argument.end)
        return
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
        found = _operation_at_pattern(judge, operation, quoted, where)
    else:
        found = _operation_at(judge, operation, quoted, folder)
    default = default_effect(found.name)
    risk = default.risk if found.reading is None else max(found.reading, default.risk)
    if found.barred is not None:
        risk = Risk.HIGH
    why = found.barred or found.found or _why(found, default.why or found.name)
    judge.record(found.name, risk, why, argument.start, argument.end, found.barred)


def _judge_secret_anywhere(judge: Judge, operation: str, argument: Argument) -> None:
    """A name of a file that holds secrets, wherever it lies."""
    from sayso.reading.paths.places import is_secret

    text = argument.text or ""
    if is_secret(text):
        where = CallFolders("/", judge.where.workspace, judge.where.home)
        found = operation_at_path(operation, text, judge.policy, where, ())
        why = "it names a file that holds secrets"
        judge.record(found.name, Risk.HIGH, why, argument.start, argument.end, found.barred)


def _why(found: Operation, said: str) -> str:
    if found.reading is Risk.HIGH:
        return f"{said}, in a place that holds secrets, belongs to the system or cannot be told"
    return said


def _operation_at(judge: Judge, operation: str, path: str, folder: str) -> Operation:
    found = judge.quick.operation_at(operation, path, folder)
    if found is not None:
        return found
    where = CallFolders(folder, judge.where.workspace, judge.where.home)
    return operation_at_path(operation, path, judge.policy, where, ())


def _operation_at_pattern(judge: Judge, operation: str, pattern: str, where: CallFolders) -> Operation:
    """A pattern: the folder before its wildcards, and every secret that it may name."""
    fixed, name = _split_pattern(pattern)
    found = _operation_at(judge, operation, fixed or ".", where.folder)
    if found.barred is not None or found.reading is Risk.HIGH:
        return found
    top = os.path.realpath(join_path(where.folder, _at_home(fixed, where.home)))
    if where.home and f"{top}/".startswith(f"{where.home}/.") and not where.workspace.startswith(top):
        return msgspec.structs.replace(found, reading=Risk.HIGH, found="it reads what programs keep for you")
    if _HIDDEN_PATTERN.search(pattern) or _may_name_secret(pattern, fixed, name, where):
        return msgspec.structs.replace(found, reading=Risk.HIGH, found="its pattern may name a secret")
    if verb_of(operation) not in READ_VERBS:
        whole = operation_at_path(operation, pattern, judge.policy, where, ())
        if whole.barred is not None or whole.name != found.name:
            return whole
    return found


def _split_pattern(pattern: str) -> tuple[str, str]:
    """The folder before the first wildcard, and the rest."""
    first = min((pattern.find(mark) for mark in "*?[{" if mark in pattern), default=len(pattern))
    folder, slash, _ = pattern[:first].rpartition("/")
    return folder + slash, pattern[len(folder + slash) :]


def _may_name_secret(pattern: str, fixed: str, name: str, where: CallFolders) -> bool:
    from sayso.reading.paths.places import is_secret

    if is_secret(pattern) or ".." in name:
        return True
    if "/" in name:
        return False
    try:
        with os.scandir(join_path(where.folder, _at_home(fixed, where.home))) as entries:
            for count, entry in enumerate(entries):
                if count > _MAX_ENTRIES:
                    return True
                if is_secret(entry.name) and fnmatch.fnmatchcase(entry.name, name):
                    return entry.name[0] != "."
    except OSError:
        return False
    return False


def _at_home(path: str, home: str) -> str:
    return f"{home}{path[1:]}" if path == "~" or path.startswith("~/") else path


def vet(judge: Judge, word: Word, found: Value, state: ShellState, before: int) -> Value:
    """A substitution whose commands only read: what their words name is looked at here as well."""
    if any(one.risk is not Risk.LOW for one in judge.findings[before:]):
        return msgspec.structs.replace(found, vetted=False)
    bodies = list(substitutions_in(word))
    judge_mentions(judge, [each for body in bodies for each in words_below(body)], state)
    if bodies and found.prefix != "/dev/fd/":
        from sayso.reading.shell.names import prints_names

        if not all(prints_names(body, state) for body in bodies):
            return msgspec.structs.replace(found, vetted=False)
        return named_value(state)
    return found


def named_value(state: ShellState) -> Value:
    """The name of a file: it begins with no dash where no name in the folder does."""
    pattern = note_dashes(Value("*", wild=True), state)
    return Value(None, vetted=True, prefix="./" if pattern.dashless else "")


def note_dashes(value: Value, state: ShellState) -> Value:
    """A pattern at the beginning of a name: no option, where no name in the folder begins with a dash."""
    if value.choices:
        return msgspec.structs.replace(value, choices=tuple(note_dashes(one, state) for one in value.choices))
    if not value.may_be_option or value.text is None:
        return value
    try:
        for folder in state.folders:
            if folder is None or any(name[:1] == "-" for name in os.listdir(folder)):  # noqa: PTH208
                return value
    except OSError:
        return value
    return msgspec.structs.replace(value, dashless=True)


def judge_mentions(judge: Judge, several: list[Word], state: ShellState) -> None:
    """Words that may become paths later: one that names a secret or the guard counts now."""
    from sayso.reading.paths.places import is_secret
    from sayso.reading.shell.words import value_of_word

    for word in [each for one in several for each in spread_braces(one)]:
        value = value_of_word(word, state)
        if value.text is None:
            continue
        for piece in value.text.split():
            if is_secret(piece) or (_HIDDEN_PATTERN.search(piece) and value.wild):
                why = "it names a file that holds secrets"
                judge.record("files.read", Risk.HIGH, why, word.start, word.end)
            elif GUARD.search(piece) or piece.startswith(("/", "~")):
                argument = Argument(
                    Value(piece, wild=value.wild, home=piece[:1] == "~"), word.start, word.end
                )
                judge_path(judge, "files.list", argument, state)


def judge_guard_mentions(judge: Judge, arguments: tuple[Argument, ...], state: ShellState) -> None:
    """Arguments of a program that is not understood: those that name the guard's files are barred."""
    for one in arguments:
        text = one.value.text
        if text is None or GUARD.search(text) is None:
            continue
        for piece in (text, text.partition("=")[2]):
            if not piece:
                continue
            for folder in state.folders:
                where = CallFolders(folder or judge.where.folder, judge.where.workspace, judge.where.home)
                found = operation_at_path("files.write", piece, judge.policy, where, ())
                if found.barred is not None:
                    judge.record(found.name, Risk.HIGH, found.barred, one.start, one.end, found.barred)
