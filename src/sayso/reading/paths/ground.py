"""The ground a call stands on: its working folder and its workspace, as they are at this moment.

They are part of every reading, like the paths in its arguments. A folder that was replaced by a link counts
as the one the link leads to, so earlier approvals do not cover it. A workspace that was replaced by a link
does not become another workspace: the call says where it leads, and no consent for the workspace covers it.
"""

from __future__ import annotations

import os

import msgspec

from sayso.core.model import Call
from sayso.reading.paths.budget import once_per_call


def read_ground(call: Call) -> Call:
    """The call in its real folder, with what became of its workspace."""
    if not call.folder and not call.workspace:
        return call
    folder, leads_to, missing = _look(call.folder, call.workspace)
    if folder == call.folder and leads_to == call.leads_to and missing == call.missing:
        return call
    return msgspec.structs.replace(call, folder=folder, leads_to=leads_to, missing=missing)


def _look(named: str, workspace: str) -> tuple[str, str, tuple[str, ...]]:
    here = folder_when_read()
    folder = _real(named, here)
    inside = folder == workspace or folder.startswith(f"{workspace.rstrip('/')}/")
    if folder == here and inside:
        return folder, "", ()
    root = workspace if inside else _real(workspace, here)  # what holds a real folder is real
    missing = [folder] if _is_missing(folder, here) else []
    if workspace != folder and (missing or not inside) and _is_missing(workspace, here):
        missing.append(workspace)
    return folder, "" if root == workspace else root, tuple(missing)


def folder_here() -> str:
    """Return the real working folder of this process, as the system gives it; empty if it is gone."""
    try:
        return os.getcwd()  # noqa: PTH109  for every call of a program, to which a Path would be slow
    except OSError:
        return ""


folder_when_read = once_per_call(folder_here)
"""The same, asked once for all that is read of one call."""


def real_folder(folder: str) -> str:
    """Return the real folder of this name, or of this process; `.`, which holds nothing, if that is gone."""
    try:
        return os.path.realpath(folder or ".")
    except OSError:
        return "."


def _real(path: str, here: str) -> str:
    if path == here or not os.path.isabs(path):  # noqa: PTH117  a Path would be slow here, too
        return path
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # no path of this system: it leads nowhere
        return path


def _is_missing(path: str, here: str) -> bool:
    return path != here and os.path.isabs(path) and not os.path.isdir(path)  # noqa: PTH112, PTH117
