"""Files that a line runs. Their content is pinned: an approval holds for the file as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sayso.core.model import Risk
from sayso.reading.path_operations import CallFolders
from sayso.reading.paths.named_files import digest_content
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import ShellState

if TYPE_CHECKING:
    from sayso.reading.shell.judge import Judge

_OPERATION = "scripts.run"


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
    digest = digest_content(place.real)
    if digest is None:
        judge.doubt(f"{name[:60]} cannot be read, so nobody can tell what it runs", start, end)
        return
    judge.pins.add(f"{place.real}#sha256:{digest}")
    judge.record(_OPERATION, Risk.MODERATE, f"runs {name[:60]}, a file of the workspace", start, end)
