"""Whether files that hold secrets lie in a folder or below it: a bounded look."""

from __future__ import annotations

import fnmatch
import os
from collections import deque

from sayso.reading.paths.places import SECRET_SAMPLES, is_secret

MAX_ENTRIES = 20_000
MAX_SOON = 5_000
_PASSED_OVER = frozenset(
    {".git", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
)
_SAMPLES = (*SECRET_SAMPLES, ".env", "prod.env", "secrets.yaml", "key.pem", "id_rsa", ".npmrc", "x.tfstate")


def fits_secret(pattern: str) -> bool:
    """Return whether a pattern of names may fit a file that holds secrets."""
    lower = pattern.casefold()
    return is_secret(lower) or any(fnmatch.fnmatchcase(one, lower) for one in _SAMPLES)


def holds_secrets(folder: str) -> bool:
    """True if a secret lies here or below, or there is more than is looked at."""
    return find_secret(folder) is not None


def find_plain_secret(folder: str, excluded: tuple[str, ...] = ()) -> str | None:
    """The first secret here or below that is not hidden, among as many names as are soon looked at."""
    return find_secret(folder, (".*", *excluded), MAX_SOON, None)


def find_secret(
    folder: str,
    excluded: tuple[str, ...] = (),
    most: int = MAX_ENTRIES,
    beyond: str | None = "more than can be looked at",
) -> str | None:
    """The name of the first secret here or below; what is in the way, if nobody can tell."""
    waiting = deque([folder])
    seen = 0
    try:
        while waiting:
            with os.scandir(waiting.popleft()) as entries:
                for entry in entries:
                    seen += 1
                    if seen > most:
                        return beyond
                    name = entry.name
                    if name in _PASSED_OVER or any(fnmatch.fnmatchcase(name, one) for one in excluded):
                        continue
                    if is_secret(name):
                        return name
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    except NotADirectoryError:
        return None
    except FileNotFoundError:
        return None
    except OSError:
        return "a folder that cannot be read"
    return None
