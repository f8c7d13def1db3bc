"""Words that may become names of files later: the output of commands, the values of loops, patterns.

Where a shell or xargs splits a name at its blanks or quotes, a part of it may be an option or a secret:
`for f in *; do find $f; done` deletes where a file is called `x -delete`.
"""

from __future__ import annotations

import os
import re
from collections import deque

import msgspec

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import current_budget, list_folder
from sayso.reading.paths.places import is_secret
from sayso.reading.paths.spellings import WILD
from sayso.reading.secrets_below import MAX_ENTRIES
from sayso.reading.shell.files.guard import GUARD, OWN
from sayso.reading.shell.files.names import prints_names, prints_words
from sayso.reading.shell.files.paths import HIDDEN_PATTERN, judge_path
from sayso.reading.shell.grammar.braces import spread_braces
from sayso.reading.shell.grammar.clauses import prints_number
from sayso.reading.shell.grammar.syntax import Literal, Odd, Part, Substitution, Variable, Word
from sayso.reading.shell.judge import Judge
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import ShellState
from sayso.reading.shell.value import Value
from sayso.reading.shell.words import (
    BACKGROUND,
    prints_one_word,
    substitutions_in,
    value_of_word,
    words_below,
)

_PASSED_OVER = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__"})
_IN_QUOTES = lazy_pattern(r'"[^"]*"')
_ONE_WORD = frozenset({"./", "rev", "0", BACKGROUND, "x"})
"""How unknown values begin that are one word: names, revisions, numbers."""
_PASSED_ON = frozenset({"command", "builtin", "--", "-p"})
"""Words before the name of a builtin."""


def vet(judge: Judge, word: Word, found: Value, state: ShellState, before: int) -> Value:
    """A substitution whose commands only read: what their words name is looked at here as well."""
    if any(one.risk is not Risk.LOW for one in judge.findings[before:]):
        return msgspec.structs.replace(found, vetted=False)
    bodies = list(substitutions_in(word))
    judge_mentions(judge, [each for body in bodies for each in words_below(body)], state)
    if bodies and all(prints_words(body, state) for body in bodies):
        return Value(None, vetted=True, prefix="./")
    if not bodies or found.prefix == "/dev/fd/":
        return found
    names = all(prints_names(body, state) for body in bodies)
    return named_value(state) if names else msgspec.structs.replace(found, vetted=False)


def note_source(value: Value, word: Word, state: ShellState) -> Value:
    """The value, with how the commands are written that make it, if they speak of Sayso."""
    known = [state.variables.get(part.name) for part in word.parts if isinstance(part, Variable)]
    source = " ".join([word.text, *(one.source for one in known if one is not None)])
    return value if OWN.search(source) is None else msgspec.structs.replace(value, source=source)


def named_value(state: ShellState) -> Value:
    """The name of a file: it begins with no dash where no name in the folder does, nor a part of one."""
    if names_may_split(state):
        return Value(None)
    return Value(None, vetted=True, prefix="" if _may_begin_with_dash(state) else "./")


def note_dashes(value: Value, state: ShellState) -> Value:
    """A pattern at the beginning of a name: no option, where no name in the folder begins with a dash."""
    if value.choices:
        return msgspec.structs.replace(value, choices=tuple(note_dashes(one, state) for one in value.choices))
    if not value.may_be_option or value.text is None or _may_begin_with_dash(state):
        return value
    return msgspec.structs.replace(value, dashless=True)


def _may_begin_with_dash(state: ShellState) -> bool:
    """Return whether a name in the folder begins with a dash; in doubt, yes."""
    try:
        for folder in state.folders:
            if folder is None or state.changes.may_include(folder):
                return True
            entries = list_folder(folder, MAX_ENTRIES)
            names = [one.name for one in entries] if len(entries) <= MAX_ENTRIES else os.listdir(folder)  # noqa: PTH208
            if any(name[:1] == "-" for name in names):
                return True
    except OSError:
        return True
    return False


def judge_mentions(judge: Judge, several: list[Word], state: ShellState) -> None:
    """Words that may become paths later: one that names a secret or the guard counts now."""
    for word in [each for one in several for each in spread_braces(one)]:
        value = value_of_word(word, state)
        for piece in (value.text or "").split():
            if is_secret(piece) or (HIDDEN_PATTERN.search(piece) and value.wild):
                why = "it names a file that holds secrets"
                judge.record("files.read", Risk.HIGH, why, word.start, word.end)
            elif GUARD.search(piece) or piece.startswith(("/", "~")):
                named = Value(piece, wild=value.wild, home=piece[:1] == "~")
                judge_path(judge, "files.list", Argument(named, word.start, word.end), state)


def names_may_split(state: ShellState) -> bool:
    """Return whether a name below the folder becomes something else when it is split; in doubt, yes."""
    return any(
        folder is None or state.changes.may_include(folder) or _holds_risky_name(folder)
        for folder in state.folders
    )


def splits_pattern(word: Word, state: ShellState) -> bool:
    """Return whether a variable in this word, unquoted, stands for names that a pattern fits."""
    names = [part.name for part in word.parts if isinstance(part, Variable) and not part.quoted]
    known = [state.variables[name] for name in names if name in state.variables]
    return any(one.wild for value in known for one in (value, *value.choices))


def names_test(words: tuple[Word, ...]) -> bool:
    """Return whether these words are a `test` of the shell."""
    return next((one.value for one in words if one.value not in _PASSED_ON), None) in ("test", "[")


def may_become_several(word: Word, state: ShellState) -> bool:
    """Return whether the shell may make several words of this one, which nobody knows."""
    for part in word.parts:
        if isinstance(part, Substitution) and not (part.quoted or part.is_file):
            if not prints_one_word(part, state):
                return True
        elif isinstance(part, Variable) and not part.quoted and part.name not in "?#$!":
            value = state.variables.get(part.name)
            if value is None or (value.text is None and not value.choices and value.prefix not in _ONE_WORD):
                return True
        elif isinstance(part, Odd) and "$((" not in word.text and not _IN_QUOTES.fullmatch(word.text):
            return True
    return False


def may_split(word: Word, state: ShellState) -> bool:
    """Return whether the shell may make several words of this one; a variable of its environment is one."""
    return any(_splits(part, state) for part in word.parts)


def _splits(part: Part, state: ShellState) -> bool:
    if isinstance(part, Literal):
        return not part.quoted and WILD.search(part.text) is not None
    if isinstance(part, Substitution):
        return not (part.quoted or part.is_file or prints_number(part.body))
    if not isinstance(part, Variable) or part.quoted or part.name not in state.variables:
        return False
    value = state.variables[part.name]
    for one in value.choices or (value,):
        if one.text is None and not (one.vetted and one.prefix):
            return True
        if one.text is not None and not one.wild and re.search(r"[\s*?\[]", one.text):
            return True
        any_start = (one.text or one.prefix)[:1] in ("*", "?", "[", "")
        if (one.wild or one.text is None) and (
            names_may_split(state) or (any_start and _may_begin_with_dash(state))
        ):
            return True
    return False


def _holds_risky_name(folder: str) -> bool:
    """Return whether such a name lies below this folder, looked for once for a call."""
    seen = current_budget().seen
    if ("risky", folder) not in seen:
        seen["risky", folder] = _find_risky_name(folder)
    return bool(seen["risky", folder])


def _find_risky_name(folder: str) -> bool:
    waiting, seen = deque([folder]), 0
    try:
        while waiting:
            for entry in list_folder(waiting.popleft(), MAX_ENTRIES):
                seen += 1
                if seen > MAX_ENTRIES or is_risky_name(entry.name):
                    return True
                if entry.is_dir(follow_symlinks=False) and entry.name not in _PASSED_OVER:
                    waiting.append(entry.path)
    except OSError as error:
        return not isinstance(error, FileNotFoundError)
    return False


def is_risky_name(name: str) -> bool:
    """Return whether a part of this name, split at blanks or freed of quotes, is an option or a secret."""
    if "'" in name or '"' in name or "\\" in name or "\n" in name:
        return "-" in name or "\n" in name
    pieces = name.split()
    return len(pieces) > 1 and any(
        (place and len(one) > 1 and one[0] == "-") or is_secret(one) for place, one in enumerate(pieces)
    )
