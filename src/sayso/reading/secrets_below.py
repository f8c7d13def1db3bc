"""Whether files that hold secrets lie in a folder or below it: a bounded look."""

from __future__ import annotations

import fnmatch
import functools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import list_folder
from sayso.reading.paths.places import SECRET_FILES, SECRET_PAIRS, SECRET_SAMPLES, is_secret

MAX_ENTRIES = 20_000
_PASSED_OVER = frozenset(
    {".git", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
)
PLAIN_TYPES = frozenset(
    {"c", "cpp", "cs", "css", "dart", "elixir", "go", "h", "haskell", "html", "js", "kotlin", "less", "lua",
     "markdown", "md", "perl", "py", "r", "rst", "ruby", "rust", "sass", "scala", "sql", "svg", "swift",
     "tex", "ts", "vue", "zig"}
)  # fmt: skip
"""Types of files, as ripgrep names them, none of which holds secrets."""
_SAMPLES = frozenset(
    (
        *SECRET_SAMPLES,
        *(pattern.replace("*", some) for pattern in SECRET_FILES for some in ("", "x")),
        *(file for _, file in SECRET_PAIRS),
    )
)
_BRACES = lazy_pattern(r"\{([^{}]*)\}")
_EVERYDAY = lazy_pattern(r"[\w.*?/~@+=#% \[\]!-]*")
"""Patterns that every program reads alike, once braces are gone."""
_MOST_ALTERNATIVES = 64
_LONGEST_PATTERN = 1_000


@functools.lru_cache(maxsize=1024)
def fits_secret(pattern: str) -> bool:
    """Return whether a pattern of names, or of paths, may fit a file that holds secrets."""
    return any(
        one is None
        or is_secret(one)
        or any(fnmatch.fnmatchcase(each, one.rpartition("/")[2]) for each in _SAMPLES)
        for one in _read_pattern(pattern)
    )


def type_as_pattern(name: str) -> str:
    """Return a pattern for the files of a type; of one that may hold secrets, for all files."""
    return f"*.{name}" if name in PLAIN_TYPES else "*"


def fits_name(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a file of this name may be among those of one of the patterns."""
    alternatives = [one for pattern in patterns for one in _read_pattern(pattern)]
    return any(
        one is None or fnmatch.fnmatchcase(name.casefold(), one.rpartition("/")[2]) for one in alternatives
    )


@functools.lru_cache(maxsize=1024)
def _read_pattern(pattern: str) -> tuple[str | None, ...]:
    """Return the pattern without braces, in small letters; None for what programs read in several ways."""
    found = [pattern.casefold().replace("[^", "[!")] if len(pattern) <= _LONGEST_PATTERN else []
    while found and (braces := _BRACES.search(found[0])):
        before, after = found[0][: braces.start()], found[0][braces.end() :]
        found = [*found[1:], *(f"{before}{one}{after}" for one in braces[1].split(","))]
        if len(found) > _MOST_ALTERNATIVES:
            return (None,)
    return tuple(one if _EVERYDAY.fullmatch(one) else None for one in found) or (None,)


def holds_secrets(folder: str) -> bool:
    """True if a secret lies here or below, or there is more than is looked at."""
    return find_secret(folder) is not None


def find_secret(
    folder: str,
    excluded: tuple[str, ...] = (),
    *,
    opens: bool = True,
    follows: bool = False,
    included: tuple[str, ...] = (),
    passed_over: Callable[[str], bool] | None = None,
) -> str | None:
    """The name of the first secret here or below; what is in the way, if nobody can tell.

    A program that `opens` the files it finds reads a secret through a link; one that `follows` links also
    reads what lies behind a link to a folder. A secret does not count at a path that is `passed_over`, nor
    if there are `included` patterns and none of them fits it.
    """
    try:
        for entry in walk_below(folder, excluded):
            if entry is None:
                return "more than can be looked at"
            linked = (opens or follows) and entry.is_symlink()
            if (
                (is_secret(entry.path) or (linked and _leads_to_secret(entry, folder, follows)))
                and (not included or entry.is_dir() or fits_name(entry.name, included))
                and (passed_over is None or not passed_over(entry.path))
            ):
                return entry.name
    except OSError:
        return "a folder that cannot be read"
    return None


def holds_link_to_secret(folder: str, pattern: str) -> bool:
    """Return whether a link here or below that this pattern fits leads to a secret; in doubt, yes."""
    try:
        return any(
            entry is None
            or (
                entry.is_symlink()
                and fnmatch.fnmatchcase(entry.name.casefold(), pattern.casefold())
                and leads_to_secret(entry.path)
            )
            for entry in walk_below(folder, ())
        )
    except OSError:
        return True


def leads_to_secret(path: str) -> bool:
    """Return whether the file that this link leads to holds secrets."""
    return is_secret(os.path.realpath(path))


def _leads_to_secret(entry: os.DirEntry[str], top: str, follows: bool) -> bool:
    if not follows or not entry.is_dir():
        return leads_to_secret(entry.path)
    return not f"{os.path.realpath(entry.path)}/".startswith(f"{os.path.realpath(top)}/")


def walk_below(folder: str, excluded: tuple[str, ...]) -> Iterator[os.DirEntry[str] | None]:
    """Every entry here and below, but those passed over; None, and no more, when that is too much."""
    waiting, seen = deque([folder]), 0
    while waiting:
        try:
            entries = list_folder(waiting.popleft(), MAX_ENTRIES)
        except (FileNotFoundError, NotADirectoryError):
            continue
        for entry in entries:
            seen += 1
            if seen > MAX_ENTRIES:
                yield None
                return
            if entry.name in _PASSED_OVER or any(fnmatch.fnmatchcase(entry.name, one) for one in excluded):
                continue
            yield entry
            waiting += [entry.path] if entry.is_dir(follow_symlinks=False) else []
