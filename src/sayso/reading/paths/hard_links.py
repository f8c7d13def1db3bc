"""Hard links: one file under several names, none of which leads to the others.

- Which file it is belongs to the reading of a call, so a file swapped for such a link ends an approval.
- A file that is also found among the secrets of the home folder or the workspace is a secret under any name.
- Where the other names are cannot be found out. So a write to such a file counts as leading out of the
  workspace, and reading one is of high risk: except in the folders of libraries, which installers of packages
  link file by file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator

import msgspec

from sayso.reading.paths.budget import glance_at, once_per_call

MOST_NAMES = 20_000
"""How many names are looked at for secrets. Beyond that, nobody can say that a file is not one."""
LIBRARIES = {"node_modules", ".venv", "venv", "site-packages", ".tox", ".nox", "vendor", ".pnpm-store"}


class HardLink(msgspec.Struct, frozen=True):
    """A file that has other names: which file it is, and whether one of the names is a secret's."""

    file: str
    secret: bool
    library: bool


def has_other_names(found: os.stat_result) -> bool:
    """Return whether this is a file with several names."""
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1


def describe_file(real: str, found: os.stat_result) -> str:
    """Say which file this is, whatever its names."""
    return f"{real} is file {found.st_dev}:{found.st_ino}"


def find_hard_link(real: str, roots: tuple[str, str], is_secret: Callable[[str], bool]) -> HardLink | None:
    """Look up a file; None unless it has several names. Secrets are searched in home and workspace."""
    found = glance_at(real)
    if found is None or not has_other_names(found):
        return None
    secrets = _identify_secrets(roots, is_secret)
    secret = secrets is None or (found.st_dev, found.st_ino) in secrets
    return HardLink(describe_file(real, found), secret, library=not LIBRARIES.isdisjoint(real.split("/")))


@once_per_call
def _identify_secrets(
    roots: tuple[str, str], is_secret: Callable[[str], bool]
) -> set[tuple[int, int]] | None:
    """Return the secrets of these folders as the file system knows them; None if there is too much."""
    identities = set()
    for number, path in enumerate(_list_secrets(*roots, is_secret)):
        if number >= MOST_NAMES:
            return None
        found = None if path is None else glance_at(path)
        if found is not None:
            identities.add((found.st_dev, found.st_ino))
    return identities


def _list_secrets(home: str, workspace: str, is_secret: Callable[[str], bool]) -> Iterator[str | None]:
    """The secrets right in the home folder and in its folders of secrets, and all of the workspace.

    None for each name passed on the way. Libraries hold no secrets of one's own.
    """
    _, folders, files = next(os.walk(home), ("", [], []))
    yield from (path for name in files if is_secret(path := f"{home}/{name}"))
    tops = [path for name in folders if is_secret(path := f"{home}/{name}")]
    for top in (*(one for one in tops if not os.path.islink(one)), workspace):  # noqa: PTH114  never raises
        for folder, inner, names in os.walk(top):
            inner[:] = [name for name in inner if name not in LIBRARIES]
            yield from [None] * len(inner)
            paths = (f"{folder}/{name}" for name in names)
            yield from (path if top != workspace or is_secret(path) else None for path in paths)
