"""Files by which tests, builds and linters of a project know what to run.

An approval of `make` is for the Makefile as it was. What a test or a build reads besides is not known.
"""

from __future__ import annotations

import os

from sayso.reading.paths.budget import follow_links, is_folder
from sayso.reading.paths.named_files import digest_content
from sayso.reading.shell.judge import Judge
from sayso.reading.shell.programs.known import named_set

PROJECT_WORK = frozenset({"tests.run", "build.run", "scripts.run", "lint.run"})


def pin_project_files(judge: Judge, path: str, start: int, end: int) -> None:
    """Pin this file; of a folder, the files that say what to run, in it and above, up to the workspace."""
    here, workspace = follow_links(path), follow_links(judge.where.workspace)
    if not is_folder(here):
        _pin(judge, here, start, end)
        here = here.rpartition("/")[0]
    while f"{here}/".startswith(f"{workspace}/"):
        for name in _list_names(here):
            _pin(judge, f"{here}/{name}", start, end)
        here = here.rpartition("/")[0]


def _list_names(folder: str) -> list[str]:
    try:
        return sorted(named_set("project_files").intersection(os.listdir(folder)))  # noqa: PTH208 - names only
    except OSError:
        return []


def _pin(judge: Judge, path: str, start: int, end: int) -> None:
    digest = digest_content(path)
    if digest is not None:
        judge.pins.add(f"{follow_links(path)}#sha256:{digest}")
    elif os.path.lexists(path):
        name = path.rpartition("/")[2]
        judge.doubt(f"{name[:60]} cannot be read, so nobody can tell what it runs", start, end)
