"""Tags of a repository whose names begin with a dash: what prints one would pass for an option."""

from __future__ import annotations

import os

MAX_REFS = 4_000_000


def may_tag_with_dash(folder: str) -> bool:
    """Return whether such a tag is in the repository of this folder; in doubt, yes."""
    here = folder
    while not os.path.isdir(f"{here}/.git/refs"):  # noqa: PTH112 - asked for every folder above
        if here in ("", "/"):
            return False
        if os.path.isfile(f"{here}/.git"):  # noqa: PTH113 - a tree whose repository lies elsewhere
            return True
        here = here.rpartition("/")[0]
    try:
        tags = os.listdir(f"{here}/.git/refs/tags")  # noqa: PTH208 - names are all that is wanted
    except FileNotFoundError:
        tags = []
    except OSError:
        return True
    return any(name[0] == "-" for name in tags) or _is_packed(f"{here}/.git/packed-refs")


def _is_packed(path: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - read to a limit
            packed = file.read(MAX_REFS + 1)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return len(packed) > MAX_REFS or b"refs/tags/-" in packed
