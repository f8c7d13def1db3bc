"""A command line to its operations: the strict and the lenient reading together, the stricter of both.

`read_line` never raises: what goes wrong makes the line one that cannot be told, at high risk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sayso.core.command_arguments import may_be_accepted
from sayso.core.model import Operation, Piece, Risk
from sayso.core.policy import Policy
from sayso.reading.evidence import MAX_PIECE_LENGTH, MAX_PIECES
from sayso.reading.path_operations import CallFolders
from sayso.reading.shell.files.guard import judge_mentioned_guard
from sayso.reading.shell.grammar.parse import MAX_LENGTH, parse_line
from sayso.reading.shell.grammar.plain import parse_plain, split_bare
from sayso.reading.shell.grammar.syntax import CannotTell
from sayso.reading.shell.judge import Finding, InnerCommand, Judge, TooMuch
from sayso.reading.shell.lenient import (
    find_danger,
    find_marked,
    find_marked_commands,
)
from sayso.reading.shell.programs.known import NO_PROGRAMS
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.specials.table import SPECIALS
from sayso.reading.shell.state import ShellState
from sayso.reading.shell.text import ShellText, join_lines
from sayso.reading.shell.value import Value
from sayso.reading.shell.walk import walk_sequence, walk_words

MAX_OPERATIONS = 24
_CANNOT_TELL = ("shell.run", "scripts.run")


class ShellReading(msgspec.Struct, frozen=True, gc=False):
    """What a line does. `pins` are the files it runs, each with the digest of its content.

    `commands` are the words of each simple command, its program first.
    """

    findings: tuple[Finding, ...]
    pins: tuple[str, ...] = ()
    commands: tuple[tuple[Argument, ...], ...] = ()

    @property
    def risk(self) -> Risk:
        """The risk of its strictest part."""
        return max((one.risk for one in self.findings), default=Risk.HIGH)

    @property
    def is_doubtful(self) -> bool:
        """Return whether it runs something that nobody can tell."""
        return any(one.risk is Risk.HIGH and one.operation in _CANNOT_TELL for one in self.findings)


def read_line(
    line: str, where: CallFolders, policy: Policy, added: Mapping[str, Any] = NO_PROGRAMS
) -> ShellReading:
    """Read a command line as a shell would run it in this folder."""
    text = ShellText(line)
    judge = open_judge(line, where, policy, added)
    try:
        text = _read_whole(judge, line, where)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong here, the line is not low
        why = f"it cannot be read ({type(error).__name__})"
        judge.findings.append(Finding("shell.run", Risk.HIGH, why, 0, len(line)))
    found = judge.findings
    if text.removed:
        place = text.place_in_line
        found = [msgspec.structs.replace(one, start=place(one.start), end=place(one.end)) for one in found]
    if len(found) > 1:
        found.sort(key=_strictest_first)
    return ShellReading(tuple(found), tuple(sorted(judge.pins)), tuple(judge.commands))


def open_judge(line: str, where: CallFolders, policy: Policy, added: Mapping[str, Any]) -> Judge:
    """Return a judge of this line that has found nothing yet."""
    return Judge(line, where, policy, added, specials=SPECIALS)


def _strictest_first(one: Finding) -> tuple[bool, int, int]:
    return one.barred is None, -one.risk, one.start


def _read_whole(judge: Judge, line: str, where: CallFolders) -> ShellText:
    """Read a line in both ways. Where the strict one gives up, the lenient one looks at every word."""
    state = ShellState((where.folder or None,), where.home, judge.changes)
    text = ShellText(line)
    try:
        short = len(line) <= MAX_LENGTH
        bare = split_bare(line) if short else None
        if bare is not None:
            walk_words(judge, InnerCommand(_arguments(bare), state, 0, len(line)))
            _mark_own_row(judge)
            return text
        text = join_lines(line) if short else text
        judge.line = text.text
        _read_syntax(judge, text.text, state)
    except CannotTell as found:
        judge.window = None
        judge.doubt(found.why, found.start, found.end)
        _look_for_danger(judge, judge.line, parsed=False)
    except (TooMuch, RecursionError):
        judge.window, judge.findings = None, [*judge.findings[:50], *find_marked(judge, judge.findings[50:])]
        judge.doubt("it does more than can be followed", 0, len(judge.line))
        _look_for_danger(judge, judge.line, parsed=False)
    return text


def _mark_own_row(judge: Judge) -> None:
    """Mark what a command of bare words comes to, if only the operation's own row makes it risky."""
    if len(judge.findings) == len(judge.commands) == 1 and may_be_accepted(judge.findings[0].operation):
        from sayso.reading.shell.own_row import is_own_row

        own_row = is_own_row(judge.findings[0], judge.commands[0], judge.where)
        judge.findings = [msgspec.structs.replace(judge.findings[0], own_row=own_row)]


def _read_syntax(judge: Judge, line: str, state: ShellState) -> None:
    plain = parse_plain(line) if len(line) <= MAX_LENGTH else None
    walk_sequence(judge, parse_line(line) if plain is None else plain, state)
    if not judge.findings:
        judge.doubt("it is empty", 0, len(line))
    if plain is None and all(one.risk is not Risk.HIGH for one in judge.findings):
        _look_for_danger(judge, line, parsed=True)


def _arguments(texts: list[str]) -> tuple[Argument, ...]:
    """Bare words as a shell hands them over: each is what it says."""
    found, here = [], 0
    for text in texts:
        end = here + len(text)
        found.append(Argument(Value(text), here, end))
        here = end + 1
    return tuple(found)


def _look_for_danger(judge: Judge, line: str, *, parsed: bool) -> None:
    judge.window, judge.depth, judge.steps = None, 0, 0
    if not parsed:
        line = line.replace("\\\n", "")
    judge.findings += find_danger(judge, line, parsed=parsed)
    if not parsed:
        judge.findings += find_marked_commands(judge, line)
        judge_mentioned_guard(judge, line, 0, len(line))


def operations_of_reading(reading: ShellReading, line: str, policy: Policy) -> tuple[Operation, ...]:
    """The operations of a reading, strictest first, each once, with the parts of the line that made it.

    Where they are too many, what the policy marks is among those that are told.
    """
    kept = [one for one in reading.findings if one.operation != "shell.inspect"]
    merged: dict[str, list[Finding]] = {}
    for one in kept or reading.findings:
        merged.setdefault(one.operation, []).append(one)
    found = tuple(_operation(name, same, line) for name, same in merged.items())
    if len(found) <= MAX_OPERATIONS:
        return found
    rest = Operation("shell.run", reading=Risk.HIGH, declared=True, found="it does more than can be listed")
    told = sorted(found, key=lambda one: -policy.mark_of(one.name))
    return (*told[: MAX_OPERATIONS - 1], rest)


def _operation(name: str, same: Iterable[Finding], line: str) -> Operation:
    several = list(same)
    first = several[0]
    strict = [one for one in several if one.risk is first.risk]
    pieces = dict.fromkeys(
        Piece(None, line[one.start : one.end][:MAX_PIECE_LENGTH]) for one in strict if one.start < one.end
    )
    barred = next((one.barred for one in several if one.barred is not None), None)
    return Operation(
        name,
        reading=first.risk,
        because=tuple(pieces)[:MAX_PIECES] if first.risk is not Risk.LOW else (),
        declared=True,
        found=first.why,
        barred=barred,
        own_row=all(one.own_row for one in several),
    )
