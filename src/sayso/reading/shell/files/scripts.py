"""Files that a line runs. Their content is pinned: an approval holds for the file as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sayso.core.model import Risk
from sayso.reading.paths.guard import operation_on_guard
from sayso.reading.paths.named_files import digest_content
from sayso.reading.paths.places import locate
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import ShellState

if TYPE_CHECKING:
    from sayso.reading.shell.judge import Judge

_OPERATION = "scripts.run"


def judge_script(judge: Judge, file: Argument, state: ShellState, start: int, end: int) -> None:
    """Judge the running of a file: one of the workspace is a script of it, any other is not known."""
    path = file.value.text
    folder = state.folders[0] if len(state.folders) == 1 else None
    if path is None or file.value.wild or folder is None:
        judge.doubt("which file it runs cannot be told", start, end)
        return
    name = path.rpartition("/")[2]
    if judge.quick.is_elsewhere(path, folder):
        judge.doubt(f"{name[:60]} is a program outside the workspace that is not known", start, end)
        return
    real = judge.quick.find_inside(path, folder) or _find_inside(judge, path, folder, start, end)
    if real is None:
        return
    if state.changes.may_include(real):
        judge.doubt(f"{name[:60]} is changed by this line before it runs", start, end)
        return
    digest = digest_content(real)
    if digest is None:
        judge.doubt(f"{name[:60]} cannot be read, so nobody can tell what it runs", start, end)
        return
    judge.pins.add(f"{real}#sha256:{digest}")
    judge.record(_OPERATION, Risk.MODERATE, f"runs {name[:60]}, a file of the workspace", start, end)


def _find_inside(judge: Judge, path: str, folder: str, start: int, end: int) -> str | None:
    """Where a path in the workspace leads; None if it leads elsewhere, which is judged by now."""
    place = locate(path, folder=folder, workspace=judge.where.workspace, home=judge.where.home)
    guarded = operation_on_guard("files.write", place)
    if guarded is not None and place.guarded.at is not None and guarded.barred is not None:
        why = guarded.barred
        judge.record("self_modification.run_guard_command", Risk.HIGH, why, start, end, why)
        return None
    if place.secret:
        judge.record("files.read", Risk.HIGH, "it names a file that holds secrets", start, end)
        return None
    if place.real is None or not place.inside:
        name = path.rpartition("/")[2]
        judge.doubt(f"{name[:60]} is a program outside the workspace that is not known", start, end)
        return None
    return place.real
