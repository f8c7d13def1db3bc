"""Files that a line runs: their content is read like the line, and pinned as it was read.

A script in a language that is not read is high: nobody can tell what it does.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.file_content import read_whole
from sayso.reading.paths.guard import operation_on_guard
from sayso.reading.paths.places import locate
from sayso.reading.shell.judge import Judge
from sayso.reading.shell.languages.pure_code import (
    node_only_computes,
    python_modules_of,
    python_only_computes,
)
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import ShellState

MAX_SCRIPT = 1_000_000
_OPERATION = "scripts.run"
_SHEBANG = lazy_pattern(
    r"#![ \t]*(?:/usr/bin/env[ \t]+(?:-S[ \t]+)?)?(?:/(?:usr/)?(?:local/)?bin/)?(?P<name>[\w.-]+)"
    r"(?P<plain>(?:[ \t]+-[eux]+)?[ \t]*$)?",
    re.MULTILINE,
)
"""The first line of a script: its interpreter, and whether it has no options that matter."""
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})


def judge_script(
    judge: Judge,
    file: Argument,
    state: ShellState,
    start: int,
    end: int,
    given: tuple[Argument, ...] = (),
    language: str = "",
) -> None:
    """Judge the running of a file, in this language or the one that its first line names."""
    real = find_script(judge, file, state, start, end)
    text = None if real is None else pin_file(judge, real, start, end)
    if real is None or text is None:
        return
    name = real.rpartition("/")[2][:60]
    judge.record(_OPERATION, Risk.MODERATE, f"runs {name}, a file of the workspace", start, end)
    named = _SHEBANG.match(text)
    plain = bool(language) or text[:2] != "#!" or (named is not None and named["plain"] is not None)
    language = language or (named["name"] if named is not None else "sh")
    if language in _SHELLS and plain:
        inside = state.begin_script(tuple(one.value for one in given), path=real)
        judge.script(text, inside, start, end, named=name)
    elif not plain or not only_computes(judge, language, text, real.rpartition("/")[0]):
        why = f"{name} is code that is not read, so nobody can tell what it does"
        judge.record(_OPERATION, Risk.HIGH, why, start, end)


def only_computes(judge: Judge, language: str, text: str, folder: str) -> bool:
    """Return whether this code computes and prints and does no more. `folder` is where it finds modules."""
    if language == "node":
        return node_only_computes(text)
    pure = language.startswith("python") and python_only_computes(text)
    if not pure or judge.changes.may_include(folder):
        return False
    others = python_modules_of(text) - sys.stdlib_module_names
    try:
        here = [(one, one.name.partition(".")[0]) for one in Path(folder).iterdir()]
        return not any(
            name in others
            or (name in sys.stdlib_module_names and ("." in one.name or any(one.glob("__init__.*"))))
            for one, name in here
        )
    except OSError:
        return False


def find_script(judge: Judge, file: Argument, state: ShellState, start: int, end: int) -> str | None:
    """Return the real path of a script of the workspace; None if it is none, which is judged by now."""
    path = file.value.text
    folder = state.folders[0] if len(state.folders) == 1 else None
    if path is None or file.value.wild or folder is None:
        judge.doubt("which file it runs cannot be told", start, end)
        return None
    name = path.rpartition("/")[2][:60]
    if judge.quick.is_elsewhere(path, folder):
        judge.doubt(f"{name} is a program outside the workspace that is not known", start, end)
        return None
    real = judge.quick.find_inside(path, folder) or _find_inside(judge, path, folder, start, end)
    if real is not None and state.changes.may_include(real):
        judge.doubt(f"{name} is changed by this line before it runs", start, end)
        return None
    return real


def pin_file(judge: Judge, real: str, start: int, end: int, *, read: bool = True) -> str | None:
    """Pin a file as it is and return its text; None if it cannot be read, which is recorded."""
    try:
        content = read_whole(real, MAX_SCRIPT)
        text = content.decode() if read else ""
    except (OSError, ValueError):
        name = real.rpartition("/")[2][:60]
        judge.doubt(f"{name} cannot be read, so nobody can tell what it runs", start, end)
        return None
    judge.pins.add(f"{real}#sha256:{hashlib.sha256(content).hexdigest()}")
    return text


def _find_inside(judge: Judge, path: str, folder: str, start: int, end: int) -> str | None:
    """Return the file in the workspace that a path leads to; None if it leads elsewhere."""
    place = locate(path, folder=folder, workspace=judge.where.workspace, home=judge.where.home)
    guarded = operation_on_guard("files.write", place)
    if guarded is not None and place.guarded.at is not None and guarded.barred is not None:
        why = guarded.barred
        judge.record("self_modification.run_guard_command", Risk.HIGH, why, start, end, why)
    elif place.secret:
        judge.record("files.read", Risk.HIGH, "it names a file that holds secrets", start, end)
    elif place.real is None or not place.inside:
        name = path.rpartition("/")[2][:60]
        judge.doubt(f"{name} is a program outside the workspace that is not known", start, end)
    else:
        return place.real
    return None
