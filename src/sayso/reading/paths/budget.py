"""The budget of file system lookups for one call: enough for any honest one, and never more.

What a call is given to read costs looks at the file system. All the readings of one call share one number of
them. Once they are spent, nobody can tell what the rest is: it counts by its spelling alone, and the call is
of high risk.
"""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Callable
from contextvars import ContextVar, Token
from itertools import islice
from typing import Any, TypeVar, cast

import msgspec

from sayso.core.text.patterns import lazy_pattern

MAX_LOOKS = 20_000
"""Looks for one call. A plain path takes 30 to 60, by how deep its folder is."""
_UNEVEN = lazy_pattern(r"/\.?(?:/|$)")
"""An empty name, `.` or a slash at the end."""
_Reader = TypeVar("_Reader", bound=Callable[..., Any])
SeenFiles = dict[str, os.stat_result | None]
"""What is there by itself, no link followed; None: nothing."""


class LookBudget(msgspec.Struct, gc=False):
    """The looks that one call has cost so far, and what was seen: the same path is looked at once."""

    made: int = 0
    too_deep: bool = False
    seen: dict[Any, Any] = {}
    files: SeenFiles = {}

    @property
    def spent(self) -> bool:
        return self.made >= MAX_LOOKS

    @property
    def unread(self) -> bool:
        """Whether there is more in the call than was followed."""
        return self.spent or self.too_deep


_open: ContextVar[LookBudget | None] = ContextVar("looks", default=None)


class share_budget:  # noqa: N801  it is read as `with share_budget():`, and made for every call
    """Around all that is read of one call. What is opened inside another is part of it."""

    _token: Token[LookBudget | None] | None = None

    def __enter__(self) -> LookBudget:
        outer = _open.get()
        if outer is not None:
            return outer
        mine = LookBudget()
        self._token = _open.set(mine)
        return mine

    def __exit__(self, *error: object) -> None:
        if self._token is not None:
            _open.reset(self._token)


def current_budget() -> LookBudget:
    """The looks of the call that is being read; outside of one, each question has its own."""
    return _open.get() or LookBudget()


def may_look(cost: int) -> bool:
    """Return whether there are looks left for this; if so, they are taken."""
    looks = current_budget()
    if looks.spent:
        return False
    looks.made += cost
    return True


def once_per_call(read: _Reader) -> _Reader:
    """Keep what this function returns for the same arguments, in all that is read of one call."""

    @functools.wraps(read)
    def ask(*given: Any) -> Any:
        seen = current_budget().seen
        if (read, given) not in seen:
            seen[read, given] = read(*given)
        return seen[read, given]

    return cast("_Reader", ask)


def look_at(path: str) -> os.stat_result | None:
    """Return what is at this path itself, looked up once per call; None if nothing is."""
    files = current_budget().files
    if path not in files:
        try:
            files[path] = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            files[path] = None
    return files[path]


def glance_at(path: str) -> os.stat_result | None:
    """The same; None, too, if nobody can say."""
    try:
        return look_at(path)
    except (OSError, ValueError):
        return None


@once_per_call
def list_folder(folder: str, most: int) -> list[os.DirEntry[str]]:
    """Return what is in this folder, looked up once per call; of more than so many, one more."""
    with os.scandir(folder) as entries:
        return list(islice(entries, most + 1))


def is_folder(path: str) -> bool:
    """Answer like `os.path.isdir`, from what was seen of the path itself where that is not a link."""
    found = glance_at(path)
    if found is not None and stat.S_ISLNK(found.st_mode):
        return os.path.isdir(path)  # noqa: PTH112 - a Path costs more
    return found is not None and stat.S_ISDIR(found.st_mode)


def follow_links(path: str) -> str:
    """Resolve like `os.path.realpath`, looking up each name on the way once per call."""
    if path[:1] != "/" or "/.." in path or "\0" in path:
        return os.path.realpath(path)
    if _UNEVEN.search(path) is not None:
        path = "/" + "/".join([name for name in path.split("/") if name not in ("", ".")])
    return path if leads_to_itself(path) else os.path.realpath(path)


def leads_to_itself(path: str) -> bool:
    """Return whether no name on the way from the root is a link; False if nobody can say."""
    return leads_straight(path, current_budget().files, _is_link)


def leads_straight(
    path: str, files: SeenFiles, leads_away: Callable[[os.stat_result], bool], start: int = 0
) -> bool:
    """Return whether nothing on the way from `start` on leads away. Below what is not there, nothing is."""
    end = start
    while end >= 0:
        end = path.find("/", end + 1)
        here = path if end < 0 else path[:end]
        if here in files:
            found = files[here]
        else:
            try:
                found = os.lstat(here)
            except (FileNotFoundError, NotADirectoryError):
                found = None
            except (OSError, ValueError):
                return False
            files[here] = found
        if found is None:
            return True
        if leads_away(found):
            return False
    return True


def _is_link(found: os.stat_result) -> bool:
    return stat.S_ISLNK(found.st_mode)
