"""The judge of one line: it records findings, and takes what programs run for the walk to carry out.

What is not fully understood is `shell.run` at high risk. Each command gives at least one finding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sayso.core.model import Risk
from sayso.core.policy import Policy
from sayso.reading.path_operations import CallFolders
from sayso.reading.shell.grammar.syntax import CannotTell
from sayso.reading.shell.programs.known import ProgramEffect
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.quick import QuickLook
from sayso.reading.shell.state import ChangedFiles, ShellState
from sayso.reading.shell.value import Value

MAX_FINDINGS = 400
"""Findings in one line. More make the line one that cannot be told."""
MAX_DEPTH = 12
"""Wrappers, scripts and functions inside each other."""
MAX_STEPS = 4_000
"""Words that are handed to programs, and commands read again in loops, for one line."""
_HIGH = Risk.HIGH
"""Looked up once: to ask an enumeration for a member takes longer than to make a finding."""
_CHANGES_ANYTHING = frozenset(
    {"git.checkout", "git.stash", "git.merge", "git.rebase", "git.pull", "git.reset_hard", "git.rewrite",
     "git.clone", "files.write", "files.edit", "files.create", "network.fetch"}
)  # fmt: skip
"""Changes of files that no word of the program names."""


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One thing that a line does."""

    operation: str
    risk: Risk
    why: str
    start: int
    end: int
    barred: str | None = None
    own_row: bool = False
    """Only the operation's own row makes it risky, and it is all that the line does."""


class TooMuch(Exception):
    """The line does more than is followed."""


class InnerCommand(msgspec.Struct, frozen=True, gc=False):
    """A command or a script that a program runs."""

    run: tuple[Argument, ...] | str
    state: ShellState
    start: int
    end: int
    body: Value | None = None
    without_functions: bool = False
    of_project: bool = False
    """Its code may be the workspace's, whatever it is called."""
    named: str = ""
    """The name of the file that a script stands in."""


class Invocation(msgspec.Struct, gc=False):
    """A program's name, its arguments, the state of the shell that runs it, and where it stands in the line.

    `body` is what stands on its standard input, where the line says so. `added` is what options before a
    subcommand do besides.
    """

    name: str
    arguments: tuple[Argument, ...]
    state: ShellState
    start: int
    end: int
    body: Value | None = None
    added: tuple[ProgramEffect, ...] = ()


class Judge(msgspec.Struct, gc=False):
    """Judges one line. `line` is what spans count in, also while a script inside it is judged."""

    line: str
    where: CallFolders
    policy: Policy
    added: Mapping[str, Any]
    findings: list[Finding] = []
    pins: set[str] = set()
    commands: list[tuple[Argument, ...]] = []
    """The words of every simple command, its program first."""
    depth: int = 0
    steps: int = 0
    window: tuple[int, int, str] | None = None
    """While a script inside the line is judged: where it stands, and its text."""
    running: list[str] = []
    changes: ChangedFiles = msgspec.field(default_factory=ChangedFiles)
    looked: QuickLook | None = None
    requests: list[InnerCommand] = []
    specials: Mapping[str, Callable[..., object]] = msgspec.field(default_factory=dict)
    """The programs that need more than data, by the name that the data gives as `special`."""

    def start_again(self, added: Mapping[str, Any]) -> Judge:
        """Return another judge of the same line, without findings, that sees the same files."""
        return Judge(
            self.line,
            self.where,
            self.policy,
            added,
            depth=self.depth,
            steps=self.steps,
            window=self.window,
            looked=self.quick,
            specials=self.specials,
        )

    @property
    def quick(self) -> QuickLook:
        """The file system as this line has seen it."""
        if self.looked is None:
            self.looked = QuickLook(self.where, self.policy)
        return self.looked

    # Recording

    def record(
        self, operation: str, risk: Risk, why: str, start: int, end: int, barred: str | None = None
    ) -> None:
        if len(self.findings) >= MAX_FINDINGS:
            raise TooMuch
        if self.window is not None:
            first, last, text = self.window
            at = self.line.find(text[start:end], first, last) if start < end else -1
            start, end = (at, at + end - start) if at >= 0 else (first, last)
        self.findings.append(Finding(operation, risk, why, start, end, barred))

    def spelling(self, start: int, end: int) -> str:
        """Return the text that stands here."""
        return (self.line if self.window is None else self.window[2])[start:end]

    def effect(self, effect: ProgramEffect, start: int, end: int) -> None:
        if effect.operation in _CHANGES_ANYTHING:
            self.changes.add(None)
        self.record(effect.operation, effect.risk, effect.why or effect.operation, start, end)

    def doubt(self, why: str, start: int, end: int) -> None:
        """Record something that is not understood."""
        self.record("shell.run", _HIGH, why, start, end)

    # Limits

    def spend(self, steps: int) -> None:
        """Take steps from the line's budget. TooMuch if it has none left."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise TooMuch

    def deeper(self, start: int, end: int) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise CannotTell("it is nested too deeply", start, end)

    # What a program runs in turn

    def run(
        self,
        arguments: tuple[Argument, ...],
        state: ShellState,
        start: int,
        end: int,
        body: Value | None = None,
        *,
        without_functions: bool = False,
        of_project: bool = False,
    ) -> None:
        """Have a command judged by its words, the first of which is its program."""
        self.requests.append(InnerCommand(arguments, state, start, end, body, without_functions, of_project))

    def script(self, text: str, state: ShellState, start: int, end: int, named: str = "") -> None:
        """Have command lines judged that stand in a word of this line, or in a file."""
        self.requests.append(InnerCommand(text, state, start, end, named=named))
