"""Branches and tags of a repository whose names begin with a dash: what prints one would pass for an option.

`git tag` makes none, but a clone brings those that somebody else made.
"""

from __future__ import annotations

import os
from pathlib import Path

from sayso.reading.paths.budget import follow_links
from sayso.reading.paths.file_content import read_whole

MAX_REFS = 4_000_000


_KINDS = ("tags", "heads")


def may_name_ref_with_dash(folder: str) -> bool:
    """Return whether such a branch or tag is in the repository of this folder; in doubt, yes."""
    here = folder
    while not os.path.isdir(f"{here}/.git/refs"):  # noqa: PTH112 - asked for every folder above
        if here in ("", "/"):
            return False
        if os.path.isfile(f"{here}/.git"):  # noqa: PTH113 - a tree whose repository lies elsewhere
            return True
        here = here.rpartition("/")[0]
    refs = f"{here}/.git/refs"
    return any(_is_listed(f"{refs}/{kind}") for kind in _KINDS) or _is_packed(f"{here}/.git/packed-refs")


def _is_listed(folder: str) -> bool:
    try:
        return any(name[0] == "-" for name in os.listdir(folder))  # noqa: PTH208 - names are all that is wanted
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _is_packed(path: str) -> bool:
    try:
        packed = read_whole(path, MAX_REFS)
        return any(f"refs/{kind}/-".encode() in packed for kind in _KINDS)
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True


def find_only_tree(folder: str) -> str | None:
    """The working tree that this folder lies in; None if there is none, or one may lie in another."""
    above = [folder, *(str(one) for one in Path(folder).parents)]
    marked = [one for one in above if os.path.lexists(f"{one}/.git")]
    tree = marked[0] if len(marked) == 1 else ""
    return tree if os.path.isfile(f"{tree}/.git/HEAD") and follow_links(tree) == tree else None  # noqa: PTH113
