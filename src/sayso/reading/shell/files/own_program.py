"""The guard guards itself: its program by any spelling, its processes, and code that names it."""

from __future__ import annotations

import fnmatch
import re
from itertools import pairwise
from pathlib import Path

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.spellings import WILD
from sayso.reading.shell.files.guard import finds_program, judge_guard_mentions
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, named_set
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import ShellState
from sayso.reading.shell.value import Value

_SPLIT = re.compile(r"[\s;&|(){}`<>'\"\\,=]+")
_SAYSO = lazy_pattern(r"(?i)(?<![\w.-])sayso(?![\w-])")
_NAMED = lazy_pattern(r"(?i)say?so|s[*?\[.]|\.\*|^[*.?]+$")


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
