"""Names of files with blanks or quotes in them: where a shell or xargs splits them, a part may be an option.

`for f in *; do find $f; done` deletes where a file is called `x -delete`.
"""

from __future__ import annotations

import os
from collections import deque

from sayso.reading.paths.budget import current_budget
from sayso.reading.paths.places import is_secret
from sayso.reading.secrets_below import MAX_ENTRIES
from sayso.reading.shell.grammar.syntax import Variable, Word
from sayso.reading.shell.state import ShellState

_PASSED_OVER = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__"})


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
            with os.scandir(waiting.popleft()) as entries:
                for entry in entries:
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
    if any(mark in name for mark in "'\"\\\n"):
        return "-" in name or "\n" in name
    pieces = name.split()
    return len(pieces) > 1 and any(
        (place and len(one) > 1 and one[0] == "-") or is_secret(one) for place, one in enumerate(pieces)
    )
