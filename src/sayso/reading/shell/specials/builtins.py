"""Builtins of the shell that change what later commands mean, or where they run."""

from __future__ import annotations

import os
import re

from sayso.core.model import Risk
from sayso.reading.paths.budget import follow_links
from sayso.reading.shell.commands.assignments import is_project_setting, is_risky
from sayso.reading.shell.commands.scripts import find_script, judge_script, pin_file
from sayso.reading.shell.commands.usage import report_problem
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect
from sayso.reading.shell.programs.options import Argument, parse_options
from sayso.reading.shell.specials.local_tools import is_activation
from sayso.reading.shell.state import MAX_FOLDERS, ShellState, join_path
from sayso.reading.shell.value import Value

_HARMLESS_SETTINGS = frozenset(
    [
        "-e",
        "-u",
        "-o",
        "-x",
        "-v",
        "-f",
        "-n",
        "-eu",
        "-ex",
        "-eux",
        "-euo",
        "-euxo",
        "-eo",
        "-uo",
        "-xe",
        "-xeuo",
        "+e",
        "+u",
        "+x",
        "+o",
        "+f",
        "pipefail",
        "errexit",
        "nounset",
        "xtrace",
        "noglob",
    ]
)


def judge_cd(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`cd` and `pushd`: the folder that later commands run in."""
    parsed = parse_options(program.table, invocation.arguments)
    report_problem(judge, parsed, program, invocation)
    state = invocation.state
    before = state.folders
    if parsed.problem is not None or len(parsed.operands) > 1:
        state.folders = (None,)
        judge.doubt("where it goes cannot be told", invocation.start, invocation.end)
        return
    target = parsed.operands[0] if parsed.operands else Argument(Value("~", home=True), 0, 0)
    if (
        target.text == "-"
        and state.previous is not None
        and len(before) == 1
        and "OLDPWD" not in state.variables
    ):
        state.folders, state.previous = state.previous, before
        judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)
        return
    targets = target.value.choices or (target.value,)
    every = dict.fromkeys(
        after for one in targets for folder in before for after in _folders_after(one, folder, judge, state)
    )
    state.folders = tuple(every) if len(every) <= MAX_FOLDERS else (None,)
    state.previous = before if program.name == "cd" and len(before) == 1 and None not in before else None
    if state.folders == (None,):
        judge.record(
            "shell.change_folder",
            Risk.MODERATE,
            "where it goes cannot be told",
            invocation.start,
            invocation.end,
        )
        return
    if "CDPATH" in state.variables:
        state.folders = (None,)
    judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)


def _folders_after(
    value: Value, folder: str | None, judge: Judge, state: ShellState
) -> tuple[str | None, ...]:
    """The folders that it may lead to: shells take `link/..` back to where the link stands, unless told."""
    text = value.text
    if (
        text is None
        or value.wild
        or text == "-"
        or (value.home and not text.startswith(("~/", "~")[: 1 + (text == "~")]))
    ):
        return (None,)
    if value.home:
        text = judge.where.home + text[1:]
    if not text.startswith("/") and (folder is None or (state.linked and ".." in text)):
        return (None,)
    try:
        joined = join_path(folder or "/", text)
        shortened, real = os.path.normpath(joined), follow_links(joined)
        state.linked = state.linked or shortened != real
        return (real, follow_links(shortened)) if ".." in text else (real,)
    except (OSError, ValueError):
        return (None,)


def judge_export(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`export NAME=VALUE`, `declare`, `local` …: variables of the commands that follow."""
    for one in invocation.arguments:
        text = one.text if one.text is not None else one.value.prefix
        if text[:1] == "-":
            if text not in ("-x", "-g", "-p", "-r", "-i", "-a", "-A"):
                judge.doubt(f"{program.name} {text} is not understood", one.start, one.end)
                invocation.state.changed = "an earlier command changed what names mean"
            if text == "-i":
                judge.doubt("a variable that computes can run commands", one.start, one.end)
            continue
        name, equals, value = text.partition("=")
        if one.text is not None and equals and is_project_setting(judge, name, value, invocation.state):
            continue
        if not name.isidentifier() or is_risky(name, invocation.state):
            judge.doubt(f"it sets {name[:40]}, which programs go by", one.start, one.end)
            invocation.state.changed = f"an earlier command sets {name[:40]}, which programs go by"
        elif equals:
            known = one.text is not None and not one.value.wild
            invocation.state.assign(name, Value(value) if known else Value(None, vetted=one.value.vetted))
    judge.effect(default_effect("shell.variables"), invocation.start, invocation.end)


_JOINED_VALUES = "adinNptuOscC"
"""Letters of `read`, `mapfile` and their kind after which the rest of a word, or the next one, is a value."""


def judge_unset(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`unset`, `read`, `mapfile`: variables whose value is not known after it."""
    names: list[tuple[str, Argument]] = []
    waits = ""
    for one in invocation.arguments:
        text = one.text
        if text is None:
            judge.doubt("which variable it changes is not known", invocation.start, invocation.end)
            invocation.state.changed = "an earlier command changed a variable that is not known"
            continue
        if "[" in text:
            judge.doubt("a name in it is computed", one.start, one.end)
        if waits:
            names += [(text, one)] if waits == "a" else []
            waits = ""
        elif text[:1] == "-" and program.name != "unset":
            waits = _read_letters(judge, text, one, names)
        elif text[:1] != "-":
            names.append((text, one))
    for text, one in names:
        _forget_name(judge, text, one, invocation)
    judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)


def _read_letters(judge: Judge, text: str, one: Argument, names: list[tuple[str, Argument]]) -> str:
    """The letter of this option word whose value is the next word, if any."""
    for place, letter in enumerate(text[1:], 1):
        if letter == "C":
            judge.doubt("it runs a command for each line", one.start, one.end)
        if letter in _JOINED_VALUES:
            if letter == "a" and text[place + 1 :]:
                names.append((text[place + 1 :], one))
            return "" if text[place + 1 :] else letter
    return ""


def _forget_name(judge: Judge, text: str, one: Argument, invocation: Invocation) -> None:
    state = invocation.state
    if not text.isidentifier():
        judge.doubt("a name in it is computed", one.start, one.end)
        return
    if is_risky(text, state):
        judge.doubt(f"it changes {text}, which programs go by", one.start, one.end)
        state.changed = f"an earlier command changed {text}"
    state.functions.pop(text, None)
    state.forget(text)
    if state.input is not None and (state.input.vetted or state.input.source):
        state.assign(text, state.input)


def judge_changing(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`alias`, `trap`, `hash`, `enable` …: what comes later may not be what it says."""
    arguments = invocation.arguments
    if not arguments or all(one.text in ("-p", "-l") for one in arguments):
        judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)
        return
    judge.doubt(f"{program.name} changes what later commands mean", invocation.start, invocation.end)
    invocation.state.changed = f"an earlier {program.name} changed what commands mean"
    for one in arguments:
        body = (one.text or "").partition("=")[2] if program.name == "alias" else one.text
        if body and (program.name == "alias" or one is arguments[0]):
            judge.script(body, invocation.state.copy(), one.start, one.end)


def judge_set(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`set -euo pipefail` is harmless; what sets arguments or other options is not understood."""
    for one in invocation.arguments:
        if one.text not in _HARMLESS_SETTINGS:
            judge.doubt("it changes how the shell works", one.start, one.end)
            invocation.state.changed = "an earlier command changed how the shell works"
            return
    if not invocation.arguments:
        judge.effect(default_effect("shell.environment"), invocation.start, invocation.end)
        return
    judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)


def judge_eval(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`eval`: never low; what can be read of it is judged as well."""
    judge.doubt("eval runs what it is given once more", invocation.start, invocation.end)
    texts = [one.text for one in invocation.arguments]
    if texts and all(text is not None for text in texts):
        joined = " ".join(text or "" for text in texts)
        judge.script(joined, invocation.state, invocation.start, invocation.end)
    invocation.state.changed = "an earlier eval may have changed what commands mean"


def judge_source(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`source FILE` runs it in this shell."""
    state, start, end = invocation.state, invocation.start, invocation.end
    if not invocation.arguments:
        judge.doubt("it runs a file that it does not name", start, end)
    elif is_activation(invocation.arguments[0].text, state, judge.where.workspace):
        real = find_script(judge, invocation.arguments[0], state, start, end)
        if real is not None and pin_file(judge, real, start, end) is not None:
            why = "takes the project's environment into use"
            judge.record("build.run", Risk.MODERATE, why, start, end)
        return
    else:
        file = invocation.arguments[0]
        judge_path(judge, "files.read", file, state)
        judge_script(judge, file, state.copy(), start, end, invocation.arguments[1:], "sh")
    state.changed = "an earlier command ran a file that may have changed what commands mean"


def judge_exec(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`exec COMMAND` is that command; without one it changes where the shell reads and writes."""
    parsed = parse_options(program.table, invocation.arguments)
    report_problem(judge, parsed, program, invocation)
    if not parsed.operands:
        judge.doubt("it changes where the shell reads and writes", invocation.start, invocation.end)
        invocation.state.changed = "an earlier exec changed where the shell reads and writes"
        return
    judge.run(parsed.operands, invocation.state, parsed.operands[0].start, invocation.end, invocation.body)


def judge_command(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`command NAME …` and `builtin NAME …`; `command -v NAME` only looks."""
    parsed = parse_options(program.table, invocation.arguments)
    report_problem(judge, parsed, program, invocation)
    chosen = {option.name for option, _ in parsed.options}
    if not parsed.operands or chosen & {"-v", "-V"}:
        judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)
        return
    judge.run(
        parsed.operands,
        invocation.state,
        parsed.operands[0].start,
        invocation.end,
        invocation.body,
        without_functions=True,
    )


def judge_shift(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`shift`: the positional parameters are others after it."""
    invocation.state.bind(None)
    judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)


def judge_printf(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`printf`: prints; with -v it sets a variable."""
    arguments = invocation.arguments
    if arguments and (arguments[0].value.may_be_option or (arguments[0].text or "")[:2] == "-v"):
        judge.doubt("printf sets a variable", arguments[0].start, arguments[0].end)
        invocation.state.changed = "an earlier printf set a variable"
        return
    form = (
        arguments[1]
        if len(arguments) > 1 and arguments[0].text == "--"
        else arguments[0]
        if arguments
        else None
    )
    if form is not None and (form.text is None or _sets_variable(form.text)):
        judge.doubt("printf may set a variable", form.start, form.end)
        invocation.state.changed = "an earlier printf may have set a variable"
        return
    judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)


def _sets_variable(form: str) -> bool:
    """Return whether a format holds `%n`, which sets the variable that an argument names."""
    return re.search(r"%[-+ #0-9.*hljztL]*n", form.replace("%%", "")) is not None


def judge_let(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`let`: arithmetic, which can run commands."""
    judge.doubt("an arithmetic expression can run commands", invocation.start, invocation.end)
