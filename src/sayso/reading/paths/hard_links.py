"""Hard links: one file under several names, none of which leads to the others.

- Which file it is belongs to the reading of a call, so a file swapped for such a link ends an approval.
- A file that is also found among the secrets of the home folder or the workspace is a secret under any name.
- Where the other names are cannot be found out. So a write to such a file counts as leading out of the
  workspace. Reading is not touched: installers of packages link whole libraries that way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import msgspec

from sayso.reading.paths.budget import current_budget, may_look

MOST_FILES = 2_000
"""How many files are compared with one. Beyond that, nobody can say that it is not a secret."""
DEEPEST = 3


class HardLink(msgspec.Struct, frozen=True):
    """A file that has other names: which file it is, and whether one of the names is a secret's."""

    file: str
    secret: bool


def read_hard_link(
    real: str, found: os.stat_result, roots: tuple[str, ...], is_secret: Callable[[str], bool]
) -> HardLink:
    """What is known of a file with several names. Secrets are looked for in these folders."""
    name = f"{real} is file {found.st_dev}:{found.st_ino}"
    return HardLink(name, secret=(found.st_dev, found.st_ino) in _SecretFiles.of(roots, is_secret))


class _SecretFiles:
    """The secrets below some folders, by what the file system takes them for; looked up once for a call."""

    def __init__(self, roots: tuple[str, ...], is_secret: Callable[[str], bool]) -> None:
        self._files: set[tuple[int, int]] = set()
        self._all = True
        for number, entry in enumerate(_entries(roots, is_secret)):
            if number >= MOST_FILES or not may_look(1):
                self._all = False
                return
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            self._files.add((found.st_dev, found.st_ino))

    @classmethod
    def of(cls, roots: tuple[str, ...], is_secret: Callable[[str], bool]) -> _SecretFiles:
        seen = current_budget().seen
        if ("secrets", roots) not in seen:
            seen["secrets", roots] = cls(roots, is_secret)
        known: _SecretFiles = seen["secrets", roots]
        return known

    def __contains__(self, identity: object) -> bool:
        return identity in self._files or not self._all


def _entries(roots: tuple[str, ...], is_secret: Callable[[str], bool]) -> Iterator[os.DirEntry[str]]:
    """Files that are secrets by their name, and all that their folders of secrets hold."""
    for root in filter(None, dict.fromkeys(roots)):
        for entry in _scan(root):
            if not is_secret(entry.path):
                continue
            yield from _below(entry, DEEPEST)


def _below(entry: os.DirEntry[str], depth: int) -> Iterator[os.DirEntry[str]]:
    if not entry.is_dir(follow_symlinks=False):
        yield entry
        return
    for inner in _scan(entry.path) if depth else ():
        yield from _below(inner, depth - 1)


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
