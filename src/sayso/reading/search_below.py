"""Tools that show what lies in files of a whole folder: a secret below it is shown, too.

- A tool that searches goes through its folder as `grep -r` does, hidden files too (seen with Gemini CLI).
- It passes over what git plainly ignores and does not record, unless it is told which files to take, or to
  take ignored ones in.
- It passes over other files only by an argument that this very tool takes, and whose pattern plainly ends in
  a suffix that no secret has: tools leave out arguments that they do not know, take the name of a folder for
  all that lies in it, and split a text into several patterns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sayso.core.model import Operation, Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.arguments import named_values
from sayso.reading.path_operations import CallFolders
from sayso.reading.paths.git_files import follow_git_file, is_git_ignored, list_tracked_secrets
from sayso.reading.paths.spellings import WILD, expand_home
from sayso.reading.secrets_below import find_secret, fits_secret, type_as_pattern
from sayso.reading.verbs import CONTENT_VERBS, LIST_VERBS, verb_of

SEARCH_VERBS = frozenset(CONTENT_VERBS) & frozenset(LIST_VERBS)
_NAMES = lazy_pattern(r"(?i)^(?:glob|include|file_?type|type|file_?pattern)(?:s|_?patterns?)?$")
"""Names of arguments that say in which files to search."""
_SWITCHED = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
_LIMITS: dict[tuple[str, str], frozenset[str]] = {
    ("Grep", "pattern"): frozenset({"glob", "type"}),
    ("grep_search", "pattern"): frozenset({"include", "include_pattern"}),
    ("grep_search", "query"): frozenset({"includePattern"}),
    ("search_file_content", "pattern"): frozenset({"include"}),
    ("search_files", "regex"): frozenset({"file_pattern"}),
}
"""Those that limit a search: by tool, and by the argument that the tool finds what to search for in."""
_SOUGHT = frozenset(sought for _, sought in _LIMITS)
_PLAIN = lazy_pattern(r"(?:[\w.*~-]*/)*[\w.*-]*(\*[\w-]*(?:\.[\w-]+)+)")
"""A pattern of files with a suffix behind its last wildcard, and nothing that tools read in several ways."""
_LONGEST = 200
_READ_FOLDERS = frozenset({"read_many_files"})
"""Tools that read every file in a folder they are given, and take patterns of more kinds than others."""
_WILDER = lazy_pattern(r"[*?\[\]{}()!@+|]")
_TAKES_IGNORED = lazy_pattern(r"(?i)ignore|hidden|^-*u+$|unrestricted")
"""Names of switches for ignored files. One that says `respect` leaves them out, the others take them in."""


def operations_below(
    tool: str,
    operation: str,
    given: Iterable[tuple[str, object]],
    args: Mapping[str, Any],
    where: CallFolders,
) -> Iterable[Operation]:
    """Return the operation again, as high risk, if a secret lies below a folder that it searches.

    `given` are its paths, with the names of their arguments. Names of files to search in are not folders:
    a tool that does not know them goes through the working folder.
    """
    searches = verb_of(operation) in SEARCH_VERBS
    paths = [path for name, path in given if not (searches and _NAMES.match(name))] or ["."]
    starts = [start for path in paths if (start := _start_of(tool, operation, path, where)) is not None]
    limits = _find_limits(tool, args)
    if not starts or (limits and not any(map(_may_fit_secret, limits))):
        return ()
    included = any(_NAMES.match(name) and _texts(value) for name, value in args.items())
    all_files = included or any(_takes_ignored(name, value) for name, value in named_values(args))
    passes = None if all_files else _find_passed_over(where.workspace)
    looks = (find_secret(_locate(one, where), included=limits, passed_over=passes) for one in starts)
    found = next(filter(None, looks), None)
    why = f"it reads everything below, and {found} lies there"
    return () if found is None else (Operation(operation, reading=Risk.HIGH, found=why),)


def _find_limits(tool: str, args: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the patterns of files that this tool plainly limits its search to; none if it may see others."""
    sought = [name for name in args if name in _SOUGHT]
    limits = _LIMITS.get((tool, sought[0]), ()) if len(sought) == 1 else ()
    chosen = [
        type_as_pattern(one) if name == "type" else one for name in limits for one in _texts(args.get(name))
    ]
    plain = [_PLAIN.fullmatch(one) for one in chosen if len(one) <= _LONGEST]
    found = tuple(one[1] for one in plain if one)
    return found if len(found) == len(chosen) else ()


def _start_of(tool: str, operation: str, path: object, where: CallFolders) -> str | None:
    """Return the folder that is gone through from here: of a pattern, what comes before its wildcards."""
    if not isinstance(path, str) or "\0" in path:
        return None
    if WILD.search(path) is None:
        if verb_of(operation) in SEARCH_VERBS:
            return path
        if tool not in _READ_FOLDERS or os.path.isfile(_locate(path, where)):  # noqa: PTH113  links stay
            return None
    if verb_of(operation) not in CONTENT_VERBS or not _may_fit_secret(path):
        return None
    if _WILDER.search(path) is None:
        return path
    return _WILDER.split(path, maxsplit=1)[0].rpartition("/")[0] or ("/" if path.startswith("/") else ".")


def _locate(start: str, where: CallFolders) -> str:
    folder = where.folder or where.workspace or "/"
    return os.path.realpath(os.path.join(folder, expand_home(start, where.home)))  # noqa: PTH118


def _find_passed_over(workspace: str) -> Callable[[str], bool] | None:
    """Return whether a search passes over a path: git ignores it, and does not record it all the same."""
    root = os.path.realpath(workspace)
    try:
        recorded = list_tracked_secrets(follow_git_file(f"{root}/.git")) if workspace else None
    except (OSError, ValueError):
        recorded = None
    if recorded is None:
        return None
    names = {name for _, name in recorded}
    return lambda path: os.path.relpath(path, root) not in names and is_git_ignored(path, root)


def _may_fit_secret(pattern: str) -> bool:
    """Return whether a pattern may fit a secret; a wildcard may stand for folders, too."""
    plain = _PLAIN.fullmatch(pattern) if len(pattern) <= _LONGEST else None
    return plain is None or fits_secret(pattern) or fits_secret(plain[1])


def _takes_ignored(name: str, value: object) -> bool:
    respects = "respect" in name.casefold()
    switch = _SWITCHED.get(str(value).strip().casefold())
    return switch is not None and _TAKES_IGNORED.search(name) is not None and switch is not respects


def _texts(value: object) -> list[str]:
    members = value if isinstance(value, (list, tuple)) else [value]
    return [one for one in members if isinstance(one, str) and one]
