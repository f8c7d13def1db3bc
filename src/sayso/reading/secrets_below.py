"""Whether files that hold secrets lie in a folder or below it: a bounded look."""

from __future__ import annotations

import fnmatch
import functools
import os
from collections import deque
from collections.abc import Callable, Iterator

from sayso.reading.paths.budget import list_folder
from sayso.reading.paths.places import SECRET_SAMPLES, is_secret

MAX_ENTRIES = 20_000
_PASSED_OVER = frozenset(
    {".git", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
)
_SAMPLES = (*SECRET_SAMPLES, ".env", "prod.env", "secrets.yaml", "key.pem", "id_rsa", ".npmrc", "x.tfstate")


@functools.lru_cache(maxsize=1024)
def fits_secret(pattern: str) -> bool:
    """Return whether a pattern of names, or of paths, may fit a file that holds secrets."""
    lower = pattern.casefold()
    name = lower.rpartition("/")[2]
    return is_secret(lower) or any(fnmatch.fnmatchcase(one, name) for one in _SAMPLES)


def holds_secrets(folder: str) -> bool:
    """True if a secret lies here or below, or there is more than is looked at."""
    return find_secret(folder) is not None


def find_secret(
    folder: str,
    excluded: tuple[str, ...] = (),
    *,
    opens: bool = True,
    follows: bool = False,
    passed_over: Callable[[str], bool] | None = None,
) -> str | None:
    """The name of the first secret here or below; what is in the way, if nobody can tell.

    To who `opens` each file that is found, a link to a secret is one. Who `follows` links reads what lies
    behind a link to a folder, too. A secret at a path that is `passed_over` does not count.
    """
    try:
        for entry in _walk(folder, excluded):
            if entry is None:
                return "more than can be looked at"
            linked = (opens or follows) and entry.is_symlink()
            if not is_secret(entry.name) and not (linked and _leads_to_secret(entry, folder, follows)):
                continue
            if passed_over is None or not passed_over(entry.path):
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
            for entry in _walk(folder, ())
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


def _walk(folder: str, excluded: tuple[str, ...]) -> Iterator[os.DirEntry[str] | None]:
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
            name = entry.name
            if name in _PASSED_OVER or (excluded and any(fnmatch.fnmatchcase(name, one) for one in excluded)):
                continue
            yield entry
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
