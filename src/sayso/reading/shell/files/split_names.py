"""Names of files with blanks or quotes in them: where a shell or xargs splits them, a part may be an option.

`for f in *; do find $f; done` deletes where a file is called `x -delete`.
"""

from __future__ import annotations

import re
from collections import deque

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import current_budget, list_folder
from sayso.reading.paths.places import is_secret
from sayso.reading.paths.spellings import WILD
from sayso.reading.secrets_below import MAX_ENTRIES
from sayso.reading.shell.grammar.clauses import prints_number
from sayso.reading.shell.grammar.syntax import Literal, Odd, Part, Substitution, Variable, Word
from sayso.reading.shell.state import ShellState
from sayso.reading.shell.value import Value
from sayso.reading.shell.words import prints_one_word

_PASSED_OVER = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__"})


_IN_QUOTES = lazy_pattern(r'"[^"]*"')
_ONE_WORD = frozenset({"./", "rev", "0", "x"})
"""How unknown values begin that are one word: names, revisions, numbers."""
_PASSED_ON = frozenset({"command", "builtin", "--", "-p"})
"""Words before the name of a builtin."""


def names_may_split(state: ShellState) -> bool:
    """Return whether a name below the folder becomes something else when it is split; in doubt, yes."""
    return any(
        folder is None or state.changes.may_include(folder) or _holds_risky_name(folder)
        for folder in state.folders
    )


def splits_pattern(word: Word, state: ShellState) -> bool:
    """Return whether a variable in this word, unquoted, stands for names that a pattern fits."""
    for part in word.parts:
        if isinstance(part, Variable) and not part.quoted:
            value = state.variables.get(part.name)
            if value is not None and any(one.wild for one in (value, *value.choices)):
                return True
    return False


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
        if (one.wild or one.text is None) and (names_may_split(state) or _begins_with_dash(one, state)):
            return True
    return False


def _begins_with_dash(pattern: Value, state: ShellState) -> bool:
    """Return whether a name that this fits may begin with a dash; in doubt, yes."""
    if (pattern.text or pattern.prefix)[:1] not in ("*", "?", "[", ""):
        return False
    try:
        entries = [None if folder is None else list_folder(folder, MAX_ENTRIES) for folder in state.folders]
        return any(
            here is None or len(here) > MAX_ENTRIES or any(one.name[:1] == "-" for one in here)
            for here in entries
        )
    except OSError:
        return True


def _holds_risky_name(folder: str) -> bool:
    """Return whether such a name lies below this folder, looked for once for a call."""
    seen = current_budget().seen
    found: bool | None = seen.get(("risky", folder))
    if found is None:
        found = seen["risky", folder] = _find_risky_name(folder)
    return found


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
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def is_risky_name(name: str) -> bool:
    """Return whether a part of this name, split at blanks or freed of quotes, is an option or a secret."""
    if "'" in name or '"' in name or "\\" in name or "\n" in name:
        return "-" in name or "\n" in name
    pieces = name.split()
    return len(pieces) > 1 and any(
        (place and len(one) > 1 and one[0] == "-") or is_secret(one) for place, one in enumerate(pieces)
    )
