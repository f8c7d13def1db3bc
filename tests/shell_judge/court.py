"""The judge: lines that are called low are run, and whatever they should not have done is found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from sayso.core.model import Risk
from sayso.policy.load import load_text
from sayso.reading.path_operations import CallFolders
from sayso.reading.paths.budget import share_budget
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.read import read_line
from tests.shell_judge.fence import KINDS, SHELLS, Event, Shell, build_tools
from tests.shell_judge.scratch import Scratch, make_template
from tests.shell_judge.shrink import shrink
from tests.shell_judge.words import find_fault, is_null_command

POLICY = "extends: [coding]\nprograms:\n  args: {is: files.read, operands: text*}\n"
BATCH = 250
MOST = 12
"""Failures of one run that are made small; the others are only listed."""

_QUOTES = re.compile(r"['\"\\]")
OTHER_SHELL = re.compile(r"\bsh\b|dash")
ONLY_BASH = re.compile(r"\$['\"\\]|\{.*(,|\.\.)", re.DOTALL)
"""Words that dash makes in another way than bash, by which lines are read. Where both are on a line, what it
starts, changes and connects to is compared, and its words are not."""

Commands = tuple[tuple[Argument, ...], ...]
Reader = Callable[[str], Commands | None]
"""Reads a line, and returns its commands if it calls it low."""


class Case(msgspec.Struct, frozen=True):
    """A line that was called low, and the commands that the reading sees in it."""

    line: str
    commands: Commands
    seed: int = -1


class Failure(msgspec.Struct, frozen=True):
    """A line that was called low and is not."""

    seed: int
    kind: str
    harm: str
    line: str
    small: str = ""

    def __str__(self) -> str:
        small = f"\n    small: {self.small!r}" if self.small else ""
        return f"seed {self.seed}, {self.kind}: {self.harm}\n    line:  {self.line!r}{small}"


class Report(msgspec.Struct):
    """Lines that were made, and how many of them were called low, ran and failed."""

    lines: int = 0
    low: int = 0
    ran: dict[str, int] = {}
    hung: list[tuple[str, str]] = []
    """Lines that were ended in a shell, because they went on and on."""
    failures: list[Failure] = []

    def __str__(self) -> str:
        ran = ", ".join(f"{kind} {count:,}" for kind, count in self.ran.items())
        told = [
            f"{self.lines:,} lines, {self.low:,} called low ({self.low / max(1, self.lines):.1%}); run: {ran}"
        ]
        told += [f"{len(self.hung)} hung, {len(self.failures)} failed"]
        told += [f"hung in {kind}: {line!r}" for kind, line in self.hung[:10]]
        return "\n".join([*told, *map(str, self.failures)])

    def add(self, other: Report) -> None:
        self.lines += other.lines
        self.low += other.low
        self.hung += other.hung
        self.failures += other.failures
        for kind, count in other.ran.items():
            self.ran[kind] = self.ran.get(kind, 0) + count


class Court:
    """Shells inside fences around one scratch folder. `reader` is the reading, or what a test plants."""

    def __init__(
        self, shared: Path, folder: Path, reader: Reader | None = None, kinds: Sequence[str] = KINDS
    ) -> None:
        self.scratch = Scratch(make_template(shared), folder / "home")
        home = str(self.scratch.home)
        tools = build_tools(shared)
        self._shells = {kind: Shell(tools, folder / "runs", self.scratch.home, kind) for kind in kinds}
        self._where = CallFolders(f"{home}/work", f"{home}/work", home)
        self._policy = load_text(POLICY)
        self._reader = reader or self.read

    def close(self) -> None:
        for shell in self._shells.values():
            shell.stop()

    def read(self, line: str) -> Commands | None:
        """Read a line as Sayso does. Its commands; None if it is not low."""
        with share_budget():
            reading = read_line(line, self._where, self._policy, self._policy.programs)
        return reading.commands if reading.risk is Risk.LOW else None

    def judge(self, lines: Sequence[tuple[int, str]]) -> Report:
        """Read every line, and run those that are low in every shell that they are for."""
        report = Report(len(lines))
        cases = [
            Case(line, commands, seed) for seed, line in lines if (commands := self._reader(line)) is not None
        ]
        report.low = len(cases)
        for kind, shell in self._shells.items():
            chosen = cases if kind in SHELLS else [one for one in cases if _uses_language(one.line)]
            report.ran[kind] = len(chosen)
            for first in range(0, len(chosen), BATCH):
                self._judge_batch(kind, chosen[first : first + BATCH], report)
            report.hung += [(kind, one) for one in shell.hung]
            shell.hung.clear()
        return report

    def find_harms_of(self, kind: str, line: str, commands: Commands) -> list[str]:
        """Run one line, and return the harm that it does."""
        return [harm for _, harm in self.find_harms(kind, [Case(line, commands)])]

    def run_unjudged(self, kind: str, line: str) -> None:
        """Run one line, whatever it does."""
        self._shells[kind].run([line])

    def _judge_batch(self, kind: str, cases: Sequence[Case], report: Report) -> None:
        known = {one.seed for one in report.failures}
        for case, harm in self.find_harms(kind, cases):
            if case.seed in known:
                continue
            known.add(case.seed)
            few = sum(bool(one.small) for one in report.failures) < MOST
            small = shrink(case.line, partial(self._still, kind, harm)) if few else ""
            report.failures.append(Failure(case.seed, kind, harm, case.line, small))

    def _still(self, kind: str, harm: str, line: str) -> bool:
        """Return whether a line is low and does harm of the same sort."""
        commands = self._reader(line)
        if commands is None:
            return False
        sort = harm.partition(" ")[0]
        return any(one.startswith(sort) for one in self.find_harms_of(kind, line, commands))

    def find_harms(self, kind: str, cases: Sequence[Case]) -> list[tuple[Case, str]]:
        """Run the cases in one shell, and return those that do harm, each seen again by itself."""
        events = self._shells[kind].run([one.line for one in cases])
        changes = self.scratch.changes()
        faults = [
            (case, fault)
            for case, seen in zip(cases, events, strict=True)
            for fault in sorted(self._find_faults(kind, case, seen, case.commands))[:1]
        ]
        if len(cases) == 1:
            return faults + [(cases[0], change) for change in changes]
        found = [harm for case, _ in faults for harm in self.find_harms(kind, [case])]
        if changes:
            guilty = {case.seed for case, _ in faults}
            found += self._trace(kind, [one for one in cases if one.seed not in guilty])
        return found or self._find_unexplained(kind, cases, events, changes)

    def _find_faults(self, kind: str, case: Case, events: list[Event], commands: Commands) -> list[str]:
        home = str(self.scratch.home)
        judged = [one for one in events if kind != "zsh" or not is_null_command(one)]
        faults = [fault for one in judged if (fault := find_fault(one, commands, home))]
        if (kind == "dash" or OTHER_SHELL.search(_QUOTES.sub("", case.line))) and ONLY_BASH.search(case.line):
            return [fault for fault in faults if not fault.startswith("words")]
        return faults

    def _trace(self, kind: str, cases: Sequence[Case]) -> list[tuple[Case, str]]:
        """Find the lines that change files among several."""
        half = len(cases) // 2
        parts = [part for part in (cases[:half], cases[half:]) if part]
        return [one for part in parts for one in self.find_harms(kind, part)]

    def _find_unexplained(
        self, kind: str, cases: Sequence[Case], events: list[list[Event]], changes: list[str]
    ) -> list[tuple[Case, str]]:
        """Harm that no line does by itself. What a line left behind may start during the next ones."""
        every = tuple(command for one in cases for command in one.commands)
        late = [
            (case, f"once: {fault}")
            for case, seen in zip(cases, events, strict=True)
            for fault in self._find_faults(kind, case, seen, every)
        ]
        return late + [(cases[0], f"once, from this line on: {change}") for change in changes]


def _uses_language(line: str) -> bool:
    return "awk" in line or "sed" in line
