"""Hard links: one file under several names, none of which leads to the others.

- Which file it is belongs to the reading of a call, so a file swapped for such a link ends an approval.
- A file that is also found among the secrets of the home folder or the workspace is a secret under any name.
- Where the other names are cannot be found out. So a write to such a file counts as leading out of the
  workspace, and reading one is of high risk: except in the folders of libraries, which installers of packages
  link file by file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import msgspec

from sayso.reading.paths.budget import current_budget

MOST_NAMES = 20_000
"""How many names are looked at for secrets. Beyond that, nobody can say that a file is not one."""
LIBRARIES = {"node_modules", ".venv", "venv", "site-packages", ".tox", ".nox", "vendor", ".pnpm-store"}


class HardLink(msgspec.Struct, frozen=True):
    """A file that has other names: which file it is, and whether one of the names is a secret's."""

    file: str
    secret: bool
    library: bool


def read_hard_link(
    real: str, found: os.stat_result, roots: tuple[str, str], is_secret: Callable[[str], bool]
) -> HardLink:
    """Look up a file with several names. Secrets are searched in home and workspace."""
    name = f"{real} is file {found.st_dev}:{found.st_ino}"
    secret = (found.st_dev, found.st_ino) in _SecretFiles.of(roots, is_secret)
    return HardLink(name, secret, library=not LIBRARIES.isdisjoint(real.split("/")))


class _SecretFiles:
    """The secrets below some folders, by what the file system takes them for; looked up once for a call."""

    def __init__(self, roots: tuple[str, str], is_secret: Callable[[str], bool]) -> None:
        self._files: set[tuple[int, int]] = set()
        self._all = True
        for number, entry in enumerate(_entries(*roots, is_secret)):
            if number >= MOST_NAMES:
                self._all = False
                return
            if entry is None:
                continue
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            self._files.add((found.st_dev, found.st_ino))

    @classmethod
    def of(cls, roots: tuple[str, str], is_secret: Callable[[str], bool]) -> _SecretFiles:
        seen = current_budget().seen
        if ("secrets", roots) not in seen:
            seen["secrets", roots] = cls(roots, is_secret)
        known: _SecretFiles = seen["secrets", roots]
        return known

    def __contains__(self, identity: object) -> bool:
        return identity in self._files or not self._all


def _entries(
    home: str, workspace: str, is_secret: Callable[[str], bool]
) -> Iterator[os.DirEntry[str] | None]:
    """The secrets right in the home folder and in its folders of secrets, and all of the workspace.

    None for each name passed on the way.
    """
    for entry in _scan(home):
        if is_secret(entry.path):
            yield from _below(entry, lambda name: True)
    for entry in _scan(workspace):
        yield from _below(entry, is_secret)


def _below(entry: os.DirEntry[str], wanted: Callable[[str], bool]) -> Iterator[os.DirEntry[str] | None]:
    """The files wanted in this folder and below it, or this file; libraries hold none of one's own."""
    if not entry.is_dir(follow_symlinks=False):
        yield entry if wanted(entry.path) else None
        return
    yield None
    if entry.name not in LIBRARIES:
        for inner in _scan(entry.path):
            yield from _below(inner, wanted)


def _scan(folder: str) -> list[os.DirEntry[str]]:
    if not folder:
        return []
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
