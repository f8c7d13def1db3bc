"""Files that a line runs. Their content is pinned: an approval holds for the file as it was."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.path_operations import CallFolders
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import ShellState, join_path

if TYPE_CHECKING:
    from sayso.reading.shell.judge import Judge

MAX_SCRIPT = 4_000_000
_OPERATION = "scripts.run"
_ENVIRONMENT = lazy_pattern(r"(?:.*/)?(?:\.?venv/bin|node_modules/\.bin)/([\w.-]+)")


def judge_script(judge: Judge, file: Argument, state: ShellState, start: int, end: int) -> None:
    """Judge the running of a file: one of the workspace is a script of it, any other is not known."""
    from sayso.reading.paths.guard import operation_on_guard
    from sayso.reading.paths.places import locate

    path = file.value.text
    folder = state.folders[0] if len(state.folders) == 1 else None
    if path is None or file.value.wild or folder is None:
        judge.doubt("which file it runs cannot be told", start, end)
        return
    where = CallFolders(folder, judge.where.workspace, judge.where.home)
    place = locate(path, folder=folder, workspace=where.workspace, home=where.home)
    guarded = operation_on_guard("files.write", place)
    name = path.rpartition("/")[2]
    if guarded is not None and (place.guarded.at is not None) and guarded.barred is not None:
        judge.record(
            "self_modification.run_guard_command", Risk.HIGH, guarded.barred, start, end, guarded.barred
        )
        return
    if place.real is None or not place.inside:
        judge.doubt(f"{name[:60]} is a program outside the workspace that is not known", start, end)
        return
    digest = _digest(place.real)
    if digest is None:
        judge.doubt(f"{name[:60]} cannot be read, so nobody can tell what it runs", start, end)
        return
    judge.pins.add(f"{place.real}#sha256:{digest}")
    judge.record(_OPERATION, Risk.MODERATE, f"runs {name[:60]}, a file of the workspace", start, end)


def name_in_environment(judge: Judge, path: str, state: ShellState) -> str | None:
    """The name of a program in `.venv/bin` or `node_modules/.bin` of the workspace, if it is a known one."""
    from sayso.reading.shell.programs.known import find_program

    folder = state.folders[0] if len(state.folders) == 1 else None
    match = _ENVIRONMENT.fullmatch(path)
    if match is None or folder is None or find_program(match[1], judge.added) is None:
        return None
    held = os.path.realpath(join_path(folder, path.rpartition("/")[0]))
    inside = f"{held}/".startswith(f"{judge.where.workspace}/") and bool(judge.where.workspace)
    return match[1] if inside and os.path.exists(f"{held}/{match[1]}") else None  # noqa: PTH110


def find_local_tool(judge: Judge, name: str, state: ShellState) -> bool:
    """Return whether `node_modules/.bin` of this folder, or of one above it, has this tool."""
    here, workspace = state.folders[0] if len(state.folders) == 1 else None, judge.where.workspace
    while here and workspace and f"{here}/".startswith(f"{workspace}/"):
        if os.path.exists(f"{here}/node_modules/.bin/{name}"):  # noqa: PTH110
            return True
        here = here.rpartition("/")[0]
    return False


def _digest(path: str) -> str | None:
    """The digest of a file's content; None if it is no plain file, or too large."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - its descriptor is asked what it is
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_SCRIPT:
                return None
            return hashlib.sha256(file.read(MAX_SCRIPT + 1)).hexdigest()
    except OSError:
        return None
