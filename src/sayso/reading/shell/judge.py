"""The strict reading: every simple command of a line is judged, in the folder and state it runs in.

What is not fully understood is `shell.run` at high risk. Each command gives at least one finding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sayso.core.model import Risk
from sayso.core.policy import Policy
from sayso.reading.path_operations import CallFolders
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
    NO_PROGRAMS,
    KnownProgram,
    ProgramEffect,
    default_effect,
    find_addition,
    find_program,
    named_set,
)
from sayso.reading.shell.programs.options import Argument, Option, ParsedOptions, parse_options
from sayso.reading.shell.quick import QuickLook
from sayso.reading.shell.state import ShellState
from sayso.reading.shell.words import MAX_CHOICES, Value, substitutions_in, value_of_word

MAX_DEPTH = 12
"""Wrappers, scripts and functions inside each other."""
_UNKNOWN = "shell.run"
_FOLDERS = frozenset({"search", "read", "list"})
_SYSTEM_PROGRAMS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/")

Special = Callable[["Judge", KnownProgram, "Invocation"], None]


class Invocation:
    """One program with its arguments, as it is about to run."""

    __slots__ = ("arguments", "body", "end", "input_vetted", "name", "start", "state")

    def __init__(
        self, name: str, arguments: tuple[Argument, ...], state: ShellState, start: int, end: int
    ) -> None:
        self.name = name
        self.arguments = arguments
        self.state = state
        self.start = start
        self.end = end
        self.body: Value | None = None
        """What stands on its standard input, where the line says so."""

    def inner(self, arguments: tuple[Argument, ...]) -> Invocation | None:
        """The command that these arguments are."""
        if not arguments:
            return None
        made = Invocation("", arguments, self.state, self.start, self.end)
        made.body = self.body
        return made


class Judge:
    """Judges one line. `line` is what spans count in, also while a script inside it is judged."""

    def __init__(self, line: str, where: CallFolders, policy: Policy, added: Mapping[str, Any]) -> None:
        self.line = line
        self.where = where
        self.policy = policy
        self.added = added
        self.findings: list[Finding] = []
        self.pins: set[str] = set()
        self.depth = 0
        self.window: tuple[int, int, str] | None = None
        self.running: list[str] = []
        self.quick = QuickLook(where, policy)

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

    def effect(self, effect: ProgramEffect, start: int, end: int) -> None:
        self.record(effect.operation, effect.risk, effect.why or effect.operation, start, end)

    def doubt(self, why: str, start: int, end: int) -> None:
        """Something here is not understood."""
        self.record(_UNKNOWN, Risk.HIGH, why, start, end)

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
            self.pipeline(command, state)
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

    def pipeline(self, command: Pipeline, state: ShellState) -> None:
        from sayso.reading.shell.pipes import judge_pipeline

        judge_pipeline(self, command, state)

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
            self.loop_variable(command, values, state)
        for body in command.bodies:
            branch = state.copy()
            self.sequence(body, branch)
            state.merge(branch)
        state.input = before
        if command.kind in ("test", "case"):
            self.effect(default_effect("shell.inspect"), command.start, command.end)

    def loop_variable(self, command: Compound, values: list[Value], state: ShellState) -> None:
        """The variable of a `for` is any of its words: each of them is looked at as a path would be."""
        from sayso.reading.shell.effects import judge_mentions

        name = command.variable or ""
        if name in named_set("variables") or self.is_risky_variable(name):
            self.doubt(f"it sets {name}, which other programs go by", command.start, command.end)
        if len(values) == 1 and values[0].text is not None and not values[0].wild:
            state.variables[name] = values[0]
            return
        judge_mentions(self, list(command.words), state)
        known = [each for value in values for each in value.choices or (value,)]
        if values and len(known) <= MAX_CHOICES and all(one.text is not None for one in known):
            state.variables[name] = Value(None, vetted=True, choices=tuple(known))
            return
        vetted = all(value.text is not None or value.vetted for value in values)
        starts = {(value.text or value.prefix)[:1] for value in values}
        dash = not values or not starts.isdisjoint({"-", "", "*", "?", "["})
        state.variables[name] = Value(None, vetted=vetted, prefix="" if dash else "x")

    def define(self, command: Function, state: ShellState) -> None:
        """A function may take a program's name; what it does counts where it is called."""
        state.functions[command.name] = command
        self.effect(default_effect("shell.inspect"), command.start, command.end)

    def is_risky_variable(self, name: str) -> bool:
        from sayso.reading.shell.variables import is_risky

        return is_risky(name)

    # Words

    def value(self, word: Word, state: ShellState, *, shown: bool = True) -> Value:
        """The value of a word; the commands in it are judged on the way."""
        if word.value is not None:
            return Value(word.value)
        before = len(self.findings)
        if shown and "$" in word.text:
            from sayso.reading.shell.variables import judge_secret_names

            judge_secret_names(self, word, state)
        for body in substitutions_in(word):
            self.deeper(word.start, word.end)
            self.sequence(body, state.copy())
            self.depth -= 1
        found = value_of_word(word, state)
        if found.wild or found.choices:
            from sayso.reading.shell.effects import note_dashes

            return note_dashes(found, state)
        if found.text is None and found.vetted:
            from sayso.reading.shell.effects import vet

            return vet(self, word, found, state, before)
        return found

    def deeper(self, start: int, end: int) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise CannotTell("it is nested too deeply", start, end)

    def redirections(self, several: tuple[Redirection, ...], state: ShellState) -> Value | None:
        """Judge redirections, and return the text that one of them puts on the standard input."""
        if not several:
            return None
        from sayso.reading.shell.redirect import judge_redirection

        body: Value | None = None
        for one in several:
            body = judge_redirection(self, one, state) or body
        return body

    # Commands

    def simple(self, command: Simple, state: ShellState, piped: Value | None = None) -> None:
        body = self.redirections(command.redirections, state) or piped or state.input
        if command.assignments:
            from sayso.reading.shell.variables import judge_assignments

            state = judge_assignments(self, command, state)
        if not command.words:
            if not command.assignments and not command.redirections:
                self.doubt("it is empty", command.start, command.end)
            return
        words = command.words
        if any("{" in word.text for word in words):
            words = tuple(each for word in words for each in spread_braces(word))
        shown = words[0].value != "test"
        arguments = tuple(
            Argument(self.value(word, state, shown=shown), word.start, word.end) for word in words
        )
        odd = next((one for one in arguments if one.value.odd is not None), None)
        if odd is not None:
            self.doubt(odd.value.odd or "", odd.start, odd.end)
        before, state.input = state.input, body
        self.run(arguments, state, command.start, command.end, body)
        state.input = before

    def run(
        self,
        arguments: tuple[Argument, ...],
        state: ShellState,
        start: int,
        end: int,
        body: Value | None = None,
    ) -> None:
        """Judge one command by its words, the first of which is its program."""
        first = arguments[0]
        name = first.text
        if name is None or first.value.wild or not name or first.value.home:
            self.doubt("which program it runs is not known until it runs", first.start, first.end)
            return
        if state.changed is not None:
            self.doubt(state.changed, start, end)
        function = state.functions.get(name)
        if function is not None:
            self.call_function(function, state, start, end)
            return
        if "/" in name:
            shorter = _system_name(name)
            if shorter is None:
                shorter = self.environment_program(name, arguments, state, (start, end), body)
                if shorter == "":
                    return
            if shorter is None:
                from sayso.reading.shell.scripts import judge_script

                judge_script(self, first, state, start, end)
                return
            name = shorter
        invocation = Invocation(name, arguments[1:], state, start, end)
        invocation.body = body
        program = find_program(name, self.added)
        if program is None:
            self.unknown_program(name, invocation, first)
            return
        self.deeper(start, end)
        self.program(program, invocation)
        addition = find_addition(name, self.added) if self.added else None
        if addition is not None:
            self.raise_by(addition, invocation)
        self.depth -= 1

    def environment_program(
        self,
        path: str,
        arguments: tuple[Argument, ...],
        state: ShellState,
        span: tuple[int, int],
        body: Value | None,
    ) -> str | None:
        """A program of the project's environment: the name it goes by, or "" if it is judged by now."""
        from sayso.reading.shell.specials import local_tools

        found = local_tools.find_environment_program(path, state, self.where.workspace)
        if found is None:
            return None
        if local_tools.is_system_python(found):
            return "python"
        made = Invocation("", arguments, state, *span)
        made.body = body
        self.deeper(*span)
        local_tools.run_local(self, found, arguments, state, made)
        self.depth -= 1
        return ""

    def run_at_least(
        self,
        arguments: tuple[Argument, ...],
        state: ShellState,
        start: int,
        end: int,
        body: Value | None = None,
    ) -> None:
        """Judge a program whose code is the workspace's: it is a script of it, whatever its name does."""
        before = len(self.findings)
        self.run(arguments, state, start, end, body)
        if all(one.risk is Risk.LOW for one in self.findings[before:]):
            self.record("scripts.run", Risk.MODERATE, "runs code of the workspace", start, end)

    def raise_by(self, addition: KnownProgram, invocation: Invocation) -> None:
        """What the operator says of a known program counts where it is stricter, and only there."""
        other = Judge(self.line, self.where, self.policy, NO_PROGRAMS)
        other.depth, other.window = self.depth, self.window
        other.program(addition, invocation)
        for one in other.findings:
            if one.risk is not Risk.LOW and one.operation != _UNKNOWN:
                self.findings.append(one)

    def unknown_program(self, name: str, invocation: Invocation, first: Argument) -> None:
        from sayso.reading.shell.effects import judge_guard_mentions

        self.doubt(f"{name[:60]} is not a program that is known", first.start, first.end)
        judge_guard_mentions(self, invocation.arguments, invocation.state)

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

    def program(self, program: KnownProgram, invocation: Invocation) -> None:
        """Judge a known program with its arguments."""
        if program.helps and _only_helps(invocation.arguments):
            self.effect(default_effect("shell.inspect"), invocation.start, invocation.end)
            return
        if program.special is not None:
            from sayso.reading.shell.specials.table import SPECIALS

            SPECIALS[program.special](self, program, invocation)
            return
        self.by_data(program, invocation)

    def by_data(self, program: KnownProgram, invocation: Invocation) -> ParsedOptions | None:
        """Judge a program as its data says, subcommands and all."""
        arguments = invocation.arguments
        if program.drops and arguments and arguments[0].text in program.drops:
            arguments = arguments[1:]
        parsed = parse_options(program.table, arguments)
        self.report_problem(parsed, program, invocation)
        if program.subcommands:
            return self.subcommand(program, parsed, invocation)
        chosen = frozenset(option.name for option, _ in parsed.options)
        effect, operands = _choose_mode(program, chosen, len(parsed.operands))
        self.additions(program, chosen, invocation)
        touched = self.option_values(parsed, program, invocation)
        touched += self.operands(operands, parsed.operands, program, effect, invocation)
        if not program.deep.isdisjoint(chosen):
            from sayso.reading.shell.deep import judge_deep_reading

            paths = [one for kind, one in _match_kinds(operands, parsed.operands) if kind in _FOLDERS]
            judge_deep_reading(self, program, parsed, paths, invocation)
        if effect is None:
            self.doubt(f"what {program.name} does here is not known", invocation.start, invocation.end)
        elif not touched or not effect.operation.startswith("files.") or _is_stricter(effect):
            self.effect(effect, invocation.start, invocation.end)
        return parsed

    def report_problem(self, parsed: ParsedOptions, program: KnownProgram, invocation: Invocation) -> None:
        if parsed.problem is not None:
            why, at = parsed.problem
            self.doubt(f"{program.name}: {why}", at.start, at.end)
            from sayso.reading.shell.effects import judge_guard_mentions

            judge_guard_mentions(self, invocation.arguments, invocation.state)

    def subcommand(
        self, program: KnownProgram, parsed: ParsedOptions, invocation: Invocation
    ) -> ParsedOptions | None:
        """Go on with the subcommand that the first operand names."""
        chosen = frozenset(option.name for option, _ in parsed.options)
        self.additions(program, chosen, invocation)
        self.option_values(parsed, program, invocation)
        rest = parsed.operands
        if not rest:
            mode = next((one for one in program.modes if _fits(one, chosen, 0)), None)
            if mode is not None and mode.effect is not None:
                self.effect(mode.effect, invocation.start, invocation.end)
            elif program.alone and program.effect is not None:
                self.effect(program.effect, invocation.start, invocation.end)
            elif parsed.problem is None:
                self.doubt(f"{program.name} is given nothing to do", invocation.start, invocation.end)
            return parsed
        name = rest[0].text
        found = None if name is None or rest[0].value.wild else program.subcommand(name)
        if found is None:
            fallback = program.subcommands.get("*")
            found = program.subcommand("*") if fallback is not None and name is not None else None
            if found is None:
                why = f"{program.name} {name or rest[0].value.prefix} is not known"
                self.doubt(why[:120], rest[0].start, rest[0].end)
                return parsed
            inner = rest if found.skip < 0 else rest[1:]
        else:
            inner = rest[1:]
        made = Invocation(found.name, inner, invocation.state, invocation.start, invocation.end)
        made.body = invocation.body
        self.program(found, made)
        return parsed

    def additions(self, program: KnownProgram, chosen: frozenset[str], invocation: Invocation) -> None:
        for one in program.additions:
            if not one.any_of.isdisjoint(chosen):
                self.effect(one.effect, invocation.start, invocation.end)

    def option_values(self, parsed: ParsedOptions, program: KnownProgram, invocation: Invocation) -> int:
        touched = 0
        for option, value in parsed.options:
            if option.kind != "text" and value is not None:
                touched += self.touch(option.kind, value, program, invocation, option)
        return touched

    def operands(
        self,
        kinds: tuple[str, ...],
        operands: tuple[Argument, ...],
        program: KnownProgram,
        effect: ProgramEffect | None,
        invocation: Invocation,
    ) -> int:
        """Each operand as the kind that its place has; the number that were looked at as paths."""
        if kinds == ("text*",):
            return 0
        touched = 0
        for kind, one in _match_kinds(kinds, operands):
            if kind == "extra":
                self.doubt(f"{program.name} is given more than is understood", one.start, one.end)
            elif kind != "text":
                touched += self.touch(kind, one, program, invocation, None, effect)
        return touched

    def touch(
        self,
        kind: str,
        value: Argument,
        program: KnownProgram,
        invocation: Invocation,
        option: Option | None = None,
        effect: ProgramEffect | None = None,
    ) -> int:
        """One operand or option value of a kind that does something."""
        from sayso.reading.shell.kinds import judge_kind

        return judge_kind(self, kind, value, program, invocation, effect)

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


def _is_stricter(effect: ProgramEffect) -> bool:
    """True if a program does more than its operation does by itself, whatever paths it is given."""
    return effect.risk > default_effect(effect.operation).risk


def _system_name(path: str) -> str | None:
    """The program's name, if it lies in a folder of the system; None if it lies anywhere else."""
    for folder in _SYSTEM_PROGRAMS:
        if path.startswith(folder) and "/" not in path[len(folder) :]:
            return path[len(folder) :]
    return None


def _only_helps(arguments: tuple[Argument, ...]) -> bool:
    return len(arguments) == 1 and arguments[0].text in ("--help", "--version")


def _fits(mode: Any, chosen: frozenset[str], count: int) -> bool:
    return (
        (not mode.any_of or not mode.any_of.isdisjoint(chosen))
        and mode.all_of <= chosen
        and mode.none_of.isdisjoint(chosen)
        and (mode.count is None or mode.count == count)
    )


def _choose_mode(
    program: KnownProgram, chosen: frozenset[str], count: int
) -> tuple[ProgramEffect | None, tuple[str, ...]]:
    for mode in program.modes:
        if _fits(mode, chosen, count):
            return mode.effect, program.operands if mode.operands is None else mode.operands
    return program.effect, program.operands


def _match_kinds(kinds: tuple[str, ...], operands: tuple[Argument, ...]) -> list[tuple[str, Argument]]:
    """Pair operands with kinds: one with `*` takes all that those after it leave."""
    many = next((i for i, kind in enumerate(kinds) if kind.endswith("*")), None)
    if many is None:
        named = [*kinds, *["extra"] * max(0, len(operands) - len(kinds))]
        return list(zip(named, operands, strict=False))
    before, after = kinds[:many], kinds[many + 1 :]
    found = list(zip(before, operands[: len(before)], strict=False))
    rest = operands[len(before) :]
    last = len(after) if len(rest) > len(after) else max(len(rest) - 0, 0) if after else 0
    last = min(last, len(after), len(rest))
    middle = rest[: len(rest) - last]
    found += [(kinds[many][:-1], one) for one in middle]
    found += list(zip(after[len(after) - last :], rest[len(rest) - last :], strict=True))
    return found
