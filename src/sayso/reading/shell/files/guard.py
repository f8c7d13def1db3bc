"""The guard guards itself: its files, its program by any spelling, its processes, and code that names it."""

from __future__ import annotations

import fnmatch
import os
from itertools import pairwise
from pathlib import Path
from re import Pattern

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import follow_links
from sayso.reading.paths.protected_names import MENTION
from sayso.reading.paths.spellings import WILD
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, named_set
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
_SPLIT = lazy_pattern(r"[\s;&|(){}`<>'\"\\,=]+")
_SAYSO = lazy_pattern(r"(?i)(?<![\w.-])sayso(?![\w-])")
_NAMED = lazy_pattern(r"(?i)say?so|s[*?\[.]|\.\*|^[*.?]+$")


def finds_program(value: Value) -> bool:
    """Return whether an unknown word is made by commands that look for the program of Sayso or its files."""
    return bool(value.source) and _FINDS_PROGRAM.search(value.source) is not None


def bar_change_of_program(judge: Judge, argument: Argument) -> None:
    """Record that a command changes the program of Sayso, which nothing allows."""
    bar(judge, "change_guard", "it changes the program of Sayso", argument.start, argument.end)


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
                found = judge.quick.operation_at("files.write", piece, folder or judge.where.folder)
                if found.barred is not None:
                    judge.record(found.name, Risk.HIGH, found.barred, one.start, one.end, found.barred)


def judge_packages(judge: Judge, arguments: tuple[Argument, ...]) -> None:
    """Sayso's own package: to install another version of it, or to remove it, is barred."""
    for one in arguments:
        if one.value.text is not None and _PACKAGE.fullmatch(one.value.text):
            bar(judge, "change_guard", "it installs or removes Sayso itself", one.start, one.end)


def judge_given_files(judge: Judge, arguments: tuple[Argument, ...], state: ShellState) -> None:
    """Arguments of tests, builds and scripts: what these do with a file, only their own code says.

    One that names the guard's files is barred. One that names another file no agent may change, or a place
    outside the workspace, is not understood.
    """
    judge_guard_mentions(judge, arguments, state)
    for one in arguments:
        text = one.value.text or ""
        for piece in dict.fromkeys((text, *_SEPARATORS.split(text))):
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


def bar(judge: Judge, action: str, why: str, start: int, end: int) -> None:
    """Record what nothing allows."""
    judge.record(f"self_modification.{action}", Risk.HIGH, why, start, end, why)


def judge_own_program(judge: Judge, first: Argument, rest: tuple[Argument, ...]) -> None:
    """Bar a program that may be `sayso` by another spelling, with a command that is for people alone."""
    name = (first.text or "").rpartition("/")[2].casefold()
    named = fnmatch.fnmatchcase("sayso", name) if first.value.wild else name == "sayso"
    order = rest[0].text if rest else None
    if (named or finds_program(first.value)) and order in named_set("guard_commands"):
        why = f"sayso {order} is for people, not for agents"
        bar(judge, "run_guard_command", why, first.start, rest[0].end)


def judge_mentioned_guard(judge: Judge, text: str, start: int, end: int) -> None:
    """Bar code or an unparsed line that names the guard: its files, or its program in a program's place."""
    pieces = [one for one in _SPLIT.split(text[:10_000]) if one][:400]
    arguments = tuple(Argument(Value(one), start, end) for one in pieces)
    judge_guard_mentions(judge, arguments, ShellState((judge.where.folder,), judge.where.home))
    for first, second in pairwise(pieces) if WILD.search(text) is not None else ():
        if WILD.search(first) is not None:
            own = Argument(Value(first, wild=True), start, end)
            judge_own_program(judge, own, (Argument(Value(second), start, end),))
    match = _SAYSO.search(text)
    if match is not None:
        rest = tuple(Argument(Value(one), start, end) for one in text[match.end() :].split()[:1])
        judge_own_program(judge, Argument(Value("sayso"), start, end), rest)


def judge_process(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    """Judge the process that a signal is sent to, by name, pattern or number."""
    text = value.text
    if text is None:
        judge.doubt("which process it ends is not known", value.start, value.end)
        return
    number = text.lstrip("-")
    if _NAMED.search(text):
        bar(judge, "stop_guard", "it may end a process of Sayso", value.start, value.end)
    elif number.isdigit() and _is_own_process(number):
        bar(judge, "stop_guard", "it ends a process of Sayso", value.start, value.end)


def _is_own_process(number: str) -> bool:
    """Return whether the process of this number is one of Sayso's; -1 and 0 are everybody's."""
    if int(number) in (0, 1):
        return True
    try:
        return b"sayso" in Path(f"/proc/{int(number)}/cmdline").read_bytes()[:4096]
    except OSError:
        return False
