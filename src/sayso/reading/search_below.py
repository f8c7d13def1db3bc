"""Tools that show what lies in files of a whole folder: a secret below it is shown, too.

- A tool that searches goes through its folder as `grep -r` does, hidden files too (seen with Gemini CLI).
- It passes over what git plainly ignores, unless it is told which files to take, or to take ignored ones in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from sayso.core.model import Operation, Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.path_operations import CallFolders
from sayso.reading.verbs import CONTENT_VERBS, LIST_VERBS, verb_of

SEARCH_VERBS = frozenset(CONTENT_VERBS) & frozenset(LIST_VERBS)
_NAMES = lazy_pattern(r"(?i)^(?:glob|include|file_?type|type|file_?pattern)(?:s|_?patterns?)?$")
"""Names of arguments that say in which files to search."""
_TAKES_IGNORED = lazy_pattern(r"(?i)ignore|hidden")
"""Names of switches for ignored files. One that says `respect` leaves them out, the others take them in."""


def operations_below(
    operation: str, paths: Iterable[object], args: Mapping[str, Any], where: CallFolders
) -> Iterable[Operation]:
    """Return the operation again, as high risk, if a secret lies below a folder that it searches."""
    starts = [start for path in paths if (start := _start_of(operation, path)) is not None]
    included = [one for name, value in args.items() if _NAMES.match(name) for one in _texts(value)]
    chosen = [one for one in included if not one.startswith("!")]
    if not starts or (chosen and not any(_may_fit_secret(one) for one in chosen)):
        return ()
    all_files = bool(included) or any(_takes_ignored(name, value) for name, value in args.items())
    found = next(filter(None, (_secret_below(one, where, all_files=all_files) for one in starts)), None)
    if found is None:
        return ()
    return (
        Operation(operation, reading=Risk.HIGH, found=f"it reads everything below, and {found} lies there"),
    )


def _start_of(operation: str, path: object) -> str | None:
    """Return the folder that is gone through from here: of a pattern, what comes before its wildcards."""
    from sayso.reading.paths.spellings import WILD

    if not isinstance(path, str) or "\0" in path:
        return None
    if WILD.search(path) is None:
        return path if verb_of(operation) in SEARCH_VERBS else None
    if verb_of(operation) not in CONTENT_VERBS or not _may_fit_secret(path):
        return None
    return WILD.split(path, maxsplit=1)[0].rpartition("/")[0] or ("/" if path.startswith("/") else ".")


def _secret_below(start: str, where: CallFolders, *, all_files: bool) -> str | None:
    from sayso.reading.paths.git_ignored import is_git_ignored
    from sayso.reading.secrets_below import find_secret

    expanded = where.home + start[1:] if start == "~" or start.startswith("~/") else start
    folder = os.path.realpath(os.path.join(where.folder or where.workspace or "/", expanded))  # noqa: PTH118
    root = os.path.realpath(where.workspace) if where.workspace else ""
    passes = None if all_files or not root else lambda path: is_git_ignored(path, root)
    return find_secret(folder, passed_over=passes)


def _may_fit_secret(pattern: str) -> bool:
    from sayso.reading.secrets_below import fits_secret

    return any(letter in pattern for letter in "{,") or fits_secret(pattern)


def _takes_ignored(name: str, value: object) -> bool:
    respects = "respect" in name.casefold()
    return isinstance(value, bool) and _TAKES_IGNORED.search(name) is not None and value is not respects


def _texts(value: object) -> list[str]:
    members = value if isinstance(value, (list, tuple)) else [value]
    return [one for one in members if isinstance(one, str) and one]
