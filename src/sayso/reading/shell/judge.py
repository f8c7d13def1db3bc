"""The strict reading: every simple command of a line is judged, in the folder and state it runs in.

What is not fully understood is `shell.run` at high risk. Each command gives at least one finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from sayso.core.model import Risk
from sayso.core.policy import Policy
from sayso.reading.path_operations import CallFolders
from sayso.reading.shell.commands.invocation import Invocation
from sayso.reading.shell.commands.pipes import judge_pipeline
from sayso.reading.shell.commands.redirect import judge_redirection
from sayso.reading.shell.commands.run import judge_path_as_program, judge_unknown_program, raise_by_policy
from sayso.reading.shell.commands.usage import judge_program
from sayso.reading.shell.commands.variables import (
    judge_assignments,
    judge_secret_names,
    set_loop_variable,
)
from sayso.reading.shell.files.guard import OWN, judge_given_files, judge_guard_mentions, judge_packages
from sayso.reading.shell.files.mentions import note_dashes, note_source, vet
from sayso.reading.shell.files.project_files import PROJECT_WORK, pin_project_files
from sayso.reading.shell.files.quick import QuickLook
from sayso.reading.shell.files.split_names import (
    may_become_several,
    may_split,
    names_may_split,
    names_test,
    splits_pattern,
)
from sayso.reading.shell.findings import MAX_FINDINGS, Finding, TooMuch
from sayso.reading.shell.grammar.braces import spread_braces
from sayso.reading.shell.grammar.parse import parse_line
from sayso.reading.shell.grammar.syntax import (
    CannotTell,
    Command,
    Compound,
    Function,
    Group,
    Pipeline,
    Redirection,
    Sequence,
    Simple,
    Word,
)
from sayso.reading.shell.programs.known import (
    ProgramEffect,
    default_effect,
    find_addition,
    find_program,
    find_shipped,
)
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.specials.guarding import judge_own_program
from sayso.reading.shell.specials.table import SPECIALS
from sayso.reading.shell.state import ChangedFiles, ShellState
from sayso.reading.shell.words import Value, substitutions_in, value_of_word

MAX_DEPTH = 12
"""Wrappers, scripts and functions inside each other."""
_UNKNOWN = "shell.run"
_HIGH = Risk.HIGH
"""Looked up once: to ask an enumeration for a member takes longer than to make a finding."""
_CHANGES_ANYTHING = frozenset(
    {"git.checkout", "git.stash", "git.merge", "git.rebase", "git.pull", "git.reset_hard", "git.rewrite",
     "git.clone", "files.write", "files.edit", "files.create", "network.fetch"}
)  # fmt: skip
"""What a program does to files that its words do not name."""


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
    window: tuple[int, int, str] | None = None
    """While a script inside the line is judged: where it stands, and its text."""
    running: list[str] = []
    changes: ChangedFiles = msgspec.field(default_factory=ChangedFiles)
    looked: QuickLook | None = None
    specials: ClassVar = SPECIALS

    def start_again(self, added: Mapping[str, Any]) -> Judge:
        """Another judge of the same line, with no findings yet, who sees the same files."""
        made = Judge(self.line, self.where, self.policy, added)
        made.looked = self.quick
        return made

    @property
    def quick(self) -> QuickLook:
        """What this line has seen of the file system."""
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
        """Return what the line says here."""
        return (self.line if self.window is None else self.window[2])[start:end]

    def effect(self, effect: ProgramEffect, start: int, end: int) -> None:
        if effect.operation in _CHANGES_ANYTHING:
            self.changes.add(None)
        self.record(effect.operation, effect.risk, effect.why or effect.operation, start, end)

    def doubt(self, why: str, start: int, end: int) -> None:
        """Something here is not understood."""
        self.record(_UNKNOWN, _HIGH, why, start, end)

    # Syntax

    def sequence(self, body: Sequence, state: ShellState) -> None:
        before: tuple[str | None, ...] = state.folders
        for joiner, command in body.items:
            if joiner != "&&" and before != state.folders:
                state.add_folders(before)
            if joiner != "&&":
                before = state.folders
            self.command(command, state.copy() if joiner == "&" else state)

    def command(self, command: Command, state: ShellState) -> None:
        if isinstance(command, Simple):
            self.simple(command, state)
        elif isinstance(command, Pipeline):
            judge_pipeline(self, command, state)
        elif isinstance(command, Sequence):
            self.sequence(command, state)
        elif isinstance(command, Group):
            inside = state.copy() if command.own_shell else state
            before, given = state.input, self.redirections(command.redirections, state)
            inside.input = given or before
            self.sequence(command.body, inside)
            state.input = before
        elif isinstance(command, Compound):
            self.compound(command, state)
        else:
            self.define(command, state)

    def compound(self, command: Compound, state: ShellState) -> None:
        before = state.input
        state.input = self.redirections(command.redirections, state) or before
        words = command.words
        if command.kind == "for":
            words = tuple(each for word in words for each in spread_braces(word))
        values = [self.value(word, state, shown=command.kind == "for") for word in words]
        if any(value.odd for value in values):
            self.doubt("a word in it is not understood", command.start, command.end)
        if command.variable is not None:
            set_loop_variable(self, command, values, state)
        for body in command.bodies:
            branch = state.copy()
            self.sequence(body, branch)
            state.merge(branch)
        state.input = before
        if command.kind == "[":
            self.check_test(words, state)
        if command.kind in ("test", "[", "case"):
            self.effect(default_effect("shell.inspect"), command.start, command.end)

    def define(self, command: Function, state: ShellState) -> None:
        """A function may take a program's name; what it does counts where it is called."""
        state.functions[command.name] = command
        self.effect(default_effect("shell.inspect"), command.start, command.end)

    # Words

    def value(self, word: Word, state: ShellState, *, shown: bool = True) -> Value:
        """The value of a word; the commands in it are judged on the way."""
        if word.value is not None:
            return Value(word.value)
        before = len(self.findings)
        if shown and "$" in word.text:
            judge_secret_names(self, word, state)
        for body in substitutions_in(word):
            self.deeper(word.start, word.end)
            self.sequence(body, state.copy())
            self.depth -= 1
        found = value_of_word(word, state)
        if found.wild or found.choices:
            if splits_pattern(word, state) and names_may_split(state):
                return Value(None)
            return note_dashes(found, state)
        if found.text is not None:
            return found
        if found.vetted:
            found = vet(self, word, found, state, before)
        return note_source(found, word, state)

    def deeper(self, start: int, end: int) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise CannotTell("it is nested too deeply", start, end)

    def redirections(self, several: tuple[Redirection, ...], state: ShellState) -> Value | None:
        """Judge redirections, and return the text that one of them puts on the standard input."""
        if not several:
            return None
        body: Value | None = None
        for one in several:
            body = judge_redirection(self, one, state) or body
        return body

    # Commands

    def simple(self, command: Simple, state: ShellState, piped: Value | None = None) -> None:
        body = piped or state.input
        if command.redirections:
            body = self.redirections(command.redirections, state) or body
        if command.assignments:
            state = judge_assignments(self, command, state)
        words = command.words
        if not words:
            if not command.assignments and not command.redirections:
                self.doubt("it is empty", command.start, command.end)
            return
        arguments = self.arguments(words, state)
        before, state.input = state.input, body
        self.run(arguments, state, command.start, command.end, body)
        state.input = before

    def arguments(self, words: tuple[Word, ...], state: ShellState) -> tuple[Argument, ...]:
        """The words that the shell hands over."""
        found: list[Argument] = []
        odd: Argument | None = None
        shown = words[0].value != "test"
        for word in words:
            if word.value is not None:
                found.append(Argument(Value(word.value), word.start, word.end))
                continue
            for each in spread_braces(word) if "{" in word.text else (word,):
                value = self.value(each, state, shown=shown)
                named = value.vetted and value.prefix == "./"
                if value.text is None and not named and may_become_several(each, state):
                    value = msgspec.structs.replace(value, splits=True)
                made = Argument(value, each.start, each.end)
                found.append(made)
                if odd is None and made.value.odd is not None:
                    odd = made
        if odd is not None:
            self.doubt(odd.value.odd or "", odd.start, odd.end)
        if names_test(words):
            self.check_test(words, state)
        return tuple(found)

    def check_test(self, words: tuple[Word, ...], state: ShellState) -> None:
        """Doubt words of `[` and `test` that the shell splits: `-v a[$(…)]` among them runs commands."""
        for word in words:
            if word.value is None and may_split(word, state):
                self.doubt("what it becomes may be a test that runs commands", word.start, word.end)

    def run(
        self,
        arguments: tuple[Argument, ...],
        state: ShellState,
        start: int,
        end: int,
        body: Value | None = None,
    ) -> None:
        """Judge one command by its words, the first of which is its program."""
        self.commands.append(arguments)
        first = arguments[0] if arguments else Argument(Value(None), start, end)
        name = first.value.text
        if not name or first.value.wild or first.value.home:
            self.doubt("which program it runs is not known until it runs", first.start, first.end)
            judge_own_program(self, first, arguments[1:])
            return
        if state.changed is not None:
            self.doubt(state.changed, start, end)
        if state.functions and name in state.functions:
            self.call_function(state.functions[name], state, start, end)
            return
        invocation = Invocation(name, arguments[1:], state, start, end, body)
        if "/" in name:
            shorter = judge_path_as_program(self, first, invocation)
            if shorter is None:
                return
            name = invocation.name = shorter
        program = find_shipped(name) if not self.added else find_program(name, self.added)
        if program is None:
            judge_unknown_program(self, first, invocation)
            return
        self.deeper(start, end)
        before = len(self.findings)
        judge_program(self, program, invocation)
        self.look_at_arguments(invocation, before)
        addition = find_addition(name, self.added) if self.added else None
        if addition is not None:
            raise_by_policy(self, addition, invocation)
        self.depth -= 1

    def look_at_arguments(self, invocation: Invocation, before: int) -> None:
        """Look at the files that are named to a program which may do with them what nobody can tell."""
        works = high = installs = False
        for one in self.findings[before:]:
            operation = one.operation
            if operation in PROJECT_WORK:
                works = True
            if one.risk is _HIGH:
                high = True
            if operation == "packages.install":
                installs = True
        if works:
            for folder in filter(None, invocation.state.folders):
                pin_project_files(self, folder, invocation.start, invocation.end)
            judge_given_files(self, invocation.arguments, invocation.state)
        elif high:
            judge_guard_mentions(self, invocation.arguments, invocation.state, OWN)
            if installs:
                judge_packages(self, invocation.arguments)

    def call_function(self, function: Function, state: ShellState, start: int, end: int) -> None:
        if function.name in self.running:
            raise CannotTell("a function calls itself", start, end)
        self.running.append(function.name)
        self.deeper(start, end)
        inside = state.copy()
        for name in "@*0123456789":
            inside.forget(name)
        self.sequence(function.body, inside)
        state.merge(inside)
        self.depth -= 1
        self.running.pop()

    # Scripts inside

    def script(self, text: str, state: ShellState, start: int, end: int) -> None:
        """Judge a command line that stands in a word of this one."""
        self.deeper(start, end)
        outer = self.window
        try:
            body = parse_line(text)
            if outer is None:
                self.window = (start, end, text)
            self.sequence(body, state)
        except CannotTell as found:
            self.window = outer
            self.doubt(found.why, start, end)
        finally:
            self.window = outer
            self.depth -= 1
