"""Words that may become names of files later: the output of commands, the values of loops, patterns."""

from __future__ import annotations

import os

import msgspec

from sayso.core.model import Risk
from sayso.reading.paths.budget import list_folder
from sayso.reading.paths.places import is_secret
from sayso.reading.secrets_below import MAX_ENTRIES
from sayso.reading.shell.files.guard import GUARD, OWN
from sayso.reading.shell.files.names import prints_names, prints_words
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.files.patterns import HIDDEN_PATTERN
from sayso.reading.shell.files.split_names import names_may_split
from sayso.reading.shell.grammar.braces import spread_braces
from sayso.reading.shell.grammar.syntax import Variable, Word
from sayso.reading.shell.judge import Judge
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import ShellState
from sayso.reading.shell.value import Value
from sayso.reading.shell.words import substitutions_in, value_of_word, words_below


def vet(judge: Judge, word: Word, found: Value, state: ShellState, before: int) -> Value:
    """A substitution whose commands only read: what their words name is looked at here as well."""
    if any(one.risk is not Risk.LOW for one in judge.findings[before:]):
        return msgspec.structs.replace(found, vetted=False)
    bodies = list(substitutions_in(word))
    judge_mentions(judge, [each for body in bodies for each in words_below(body)], state)
    if bodies and all(prints_words(body, state) for body in bodies):
        return Value(None, vetted=True, prefix="./")
    if bodies and found.prefix != "/dev/fd/":
        if not all(prints_names(body, state) for body in bodies):
            return msgspec.structs.replace(found, vetted=False)
        return named_value(state)
    return found


def note_source(value: Value, word: Word, state: ShellState) -> Value:
    """The value, with how the commands are written that make it, if they speak of Sayso."""
    known = [state.variables.get(part.name) for part in word.parts if isinstance(part, Variable)]
    source = " ".join([word.text, *(one.source for one in known if one is not None)])
    return value if OWN.search(source) is None else msgspec.structs.replace(value, source=source)


def named_value(state: ShellState) -> Value:
    """The name of a file: it begins with no dash where no name in the folder does, nor a part of one."""
    if names_may_split(state):
        return Value(None)
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
            if folder is None or state.changes.may_include(folder):
                return value
            entries = list_folder(folder, MAX_ENTRIES)
            names = [one.name for one in entries] if len(entries) <= MAX_ENTRIES else os.listdir(folder)  # noqa: PTH208
            if any(name[:1] == "-" for name in names):
                return value
    except OSError:
        return value
    return msgspec.structs.replace(value, dashless=True)


def judge_mentions(judge: Judge, several: list[Word], state: ShellState) -> None:
    """Words that may become paths later: one that names a secret or the guard counts now."""
    for word in [each for one in several for each in spread_braces(one)]:
        value = value_of_word(word, state)
        if value.text is None:
            continue
        for piece in value.text.split():
            if is_secret(piece) or (HIDDEN_PATTERN.search(piece) and value.wild):
                why = "it names a file that holds secrets"
                judge.record("files.read", Risk.HIGH, why, word.start, word.end)
            elif GUARD.search(piece) or piece.startswith(("/", "~")):
                argument = Argument(
                    Value(piece, wild=value.wild, home=piece[:1] == "~"), word.start, word.end
                )
                judge_path(judge, "files.list", argument, state)
