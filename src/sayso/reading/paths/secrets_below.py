"""Whether files that hold secrets lie in a folder or below it: a bounded look."""

from __future__ import annotations

import os
from collections import deque

from sayso.reading.paths.places import is_secret

MAX_ENTRIES = 20_000
_PASSED_OVER = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache"})


def holds_secrets(folder: str, only: str | None = None) -> bool:
    """True if a secret lies here or below, or there is more than is looked at."""
    waiting = deque([folder])
    seen = 0
    try:
        while waiting:
            with os.scandir(waiting.popleft()) as entries:
                for entry in entries:
                    seen += 1
                    if seen > MAX_ENTRIES or is_secret(entry.name):
                        return True
                    if entry.name not in _PASSED_OVER and entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    except NotADirectoryError:
        return is_secret(folder)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
