"""Arguments that name files of the guard."""

from __future__ import annotations

import os
from re import Pattern

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.path_operations import CallFolders, operation_at_path
from sayso.reading.paths.budget import follow_links
from sayso.reading.paths.protected_names import MENTION
from sayso.reading.shell.judge import Judge
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import ShellState, join_path
from sayso.reading.shell.value import Value

GUARD = lazy_pattern(f"(?i){MENTION}")


_PACKAGE = lazy_pattern(r"(?i)sayso(?:[\[=<>!~@ ;].*)?")
_SEPARATORS = lazy_pattern(r"[=:,;\[\]\s]+")
OWN = lazy_pattern(r"(?i)sayso")
"""What the paths of Sayso's own files say."""
_FINDS_PROGRAM = lazy_pattern(
    r"(?i)\b(?:which|whereis|whence|command|type|hash|realpath|readlink|locate|plocate|mdfind"
    r"|(?:find|fd|fdfind)(?=[^;|&)`]*\s[\"']?(?:[/~$]|\.\.)))(?![\w-])[^;|&)`]*sayso"
)
"""Finds the program: `rm $(which sayso)`; or files called like it, somewhere else than here."""


def finds_program(value: Value) -> bool:
    """Return whether an unknown word is made by commands that look for the program of Sayso or its files."""
    return bool(value.source) and _FINDS_PROGRAM.search(value.source) is not None


def bar_change_of_program(judge: Judge, argument: Argument) -> None:
    """Record that a command changes the program of Sayso, which nothing allows."""
    why = "it changes the program of Sayso"
    judge.record("self_modification.change_guard", Risk.HIGH, why, argument.start, argument.end, why)


def judge_guard_mentions(
    judge: Judge, arguments: tuple[Argument, ...], state: ShellState, names: Pattern[str] = GUARD
) -> None:
    """Arguments of a program that is not understood: those that name the guard's files are barred."""
    for one in arguments:
        text = one.value.text
        if text is None and finds_program(one.value):
            bar_change_of_program(judge, one)
        if text is None or names.search(text) is None:
            continue
        for piece in dict.fromkeys((text, text.partition("=")[2], *_SEPARATORS.split(text))):
            if not piece or "://" in piece or (piece is not text and names.search(piece) is None):
                continue
            for folder in state.folders:
                where = CallFolders(folder or judge.where.folder, judge.where.workspace, judge.where.home)
                found = operation_at_path("files.write", piece, judge.policy, where, ())
                if found.barred is not None:
                    judge.record(found.name, Risk.HIGH, found.barred, one.start, one.end, found.barred)


def judge_packages(judge: Judge, arguments: tuple[Argument, ...]) -> None:
    """Sayso's own package: to install another version of it, or to remove it, is barred."""
    for one in arguments:
        if one.value.text is not None and _PACKAGE.fullmatch(one.value.text):
            why = "it installs or removes Sayso itself"
            judge.record("self_modification.change_guard", Risk.HIGH, why, one.start, one.end, why)


def judge_given_files(judge: Judge, arguments: tuple[Argument, ...], state: ShellState) -> None:
    """Arguments of tests, builds and scripts: what these do with a file, only their own code says.

    One that names the guard's files is barred. One that names another file no agent may change, or a place
    outside the workspace, is not understood.
    """
    judge_guard_mentions(judge, arguments, state)
    for one in arguments:
        text = one.value.text or ""
        for piece in (text, *_SEPARATORS.split(text)) if _SEPARATORS.search(text) else (text,):
            for folder in filter(None, state.folders):
                why = _why_not_given(judge, piece, folder, inner=piece != text)
                if why is not None:
                    judge.doubt(why, one.start, one.end)


def _why_not_given(judge: Judge, piece: str, folder: str, *, inner: bool) -> str | None:
    """Return why nobody can tell what comes of giving this to a project's code; None if all is well."""
    if not piece or piece[0] == "-":
        return None
    path = join_path(folder, judge.where.home + piece[1:] if piece[:2] == "~/" else piece)
    if inner and piece[0] in "/~." and _is_elsewhere(judge, path):
        return "it may write outside the workspace"
    if not looks_like_file(path, piece):
        return None
    found = judge.quick.operation_at("files.write", piece, folder)
    if found.barred is None or os.path.isdir(path):  # noqa: PTH112 - asked for every argument
        return None
    return f"it may change the file that is named: {found.barred}"


def looks_like_file(path: str, word: str) -> bool:
    """Return whether this word may be a file: no guarded one is called by a word without dot and slash."""
    return "." in word or "/" in word or os.path.lexists(path)


def _is_elsewhere(judge: Judge, path: str) -> bool:
    """Return whether this is a place outside the workspace where something can be written."""
    real, workspace = follow_links(path), follow_links(judge.where.workspace or "/")
    above = os.path.dirname(real)  # noqa: PTH120
    there = os.path.lexists(real) or (above != "/" and os.path.isdir(above))  # noqa: PTH112
    return there and real != workspace and not f"{real}/".startswith(f"{workspace.rstrip('/')}/")
