"""Builtins of the shell that change what later commands mean, or where they run."""

from __future__ import annotations

import os

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import follow_links
from sayso.reading.shell.commands.assignments import is_project_setting, is_risky
from sayso.reading.shell.commands.scripts import find_script, judge_script, pin_file
from sayso.reading.shell.commands.usage import names_chosen
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.specials.local_tools import is_activation
from sayso.reading.shell.specials.wrappers import parse_and_judge, run_inner, run_joined
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
    parsed = parse_and_judge(judge, program, invocation)
    state, start, end = invocation.state, invocation.start, invocation.end
    before, untold = state.folders, "where it goes cannot be told"
    if parsed.problem is not None or len(parsed.operands) > 1:
        state.folders = (None,)
        judge.doubt(untold, start, end)
        return
    value = parsed.operands[0].value if parsed.operands else Value(judge.where.home or None)
    known = len(before) == 1
    if value.text == "-" and state.previous is not None and known and "OLDPWD" not in state.variables:
        state.folders, state.previous = state.previous, before
    else:
        pairs = [(one, folder) for one in value.choices or (value,) for folder in before]
        every = dict.fromkeys(after for pair in pairs for after in _folders_after(*pair, state))
        state.folders = tuple(every) if len(every) <= MAX_FOLDERS else (None,)
        state.previous = before if program.name == "cd" and known and None not in before else None
        if state.folders == (None,):
            judge.record("shell.change_folder", Risk.MODERATE, untold, start, end)
            return
        if "CDPATH" in state.variables:
            state.folders = (None,)
    judge.effect(default_effect("shell.inspect"), start, end)


def _folders_after(value: Value, folder: str | None, state: ShellState) -> tuple[str | None, ...]:
    """The folders that it may lead to: shells take `link/..` back to where the link stands, unless told."""
    text = value.text
    if text is None or value.wild or value.home or text == "-":
        return (None,)
    if not text.startswith("/") and (folder is None or (state.linked and ".." in text)):
        return (None,)
    try:
        joined = join_path(folder or "/", text)
        shortened, real = os.path.normpath(joined), follow_links(joined)
        state.linked = state.linked or shortened != real
        return (real, follow_links(shortened)) if ".." in text else (real,)
    except (OSError, ValueError):
        return (None,)


def _mistrust(judge: Judge, state: ShellState, why: str, at: Argument | Invocation, later: str) -> None:
    """Record a doubt here, and one for each command that comes later."""
    judge.doubt(why, at.start, at.end)
    state.changed = f"an earlier {later}"


def judge_export(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`export NAME=VALUE`, `declare`, `local` …: variables of the commands that follow."""
    state = invocation.state
    for one in invocation.arguments:
        text = one.text if one.text is not None else one.value.prefix
        name, equals, value = text.partition("=")
        if text == "-i":
            judge.doubt("a variable that computes can run commands", one.start, one.end)
        elif text[:1] == "-":
            if text not in ("-x", "-g", "-p", "-r", "-a", "-A"):
                _mistrust(
                    judge,
                    state,
                    f"{program.name} {text} is not understood",
                    one,
                    "command changed what names mean",
                )
        elif one.text is not None and equals and is_project_setting(judge, name, value, state):
            continue
        elif not name.isidentifier() or is_risky(name, state):
            sets = f"sets {name[:40]}, which programs go by"
            _mistrust(judge, state, f"it {sets}", one, f"command {sets}")
        elif equals:
            known = one.text is not None and not one.value.wild and "~" not in value
            state.assign(name, Value(value) if known else Value(None, vetted=one.value.vetted))
    judge.effect(default_effect("shell.variables"), invocation.start, invocation.end)


_SETS_VARIABLE = lazy_pattern(r"%[-+ #0-9.*hljztL]*n")
"""`%n` sets the variable that an argument names."""
_VALUED = {"read": "dikNnptu", "mapfile": "CcOdnsu", "readarray": "CcOdnsu", "getopts": ""}
"""Letters of options behind which a word may be a value. In another shell it may be a name all the same."""
_UNASKED = ("REPLY", "MAPFILE", "reply", "OPTARG", "OPTIND")
"""Variables that these set where they are given no name."""


def judge_unset(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`unset`, `read`, `mapfile`: variables whose value is not known after it."""
    valued, state, waits = _VALUED.get(program.name, ""), invocation.state, False
    for name in _UNASKED if program.name in _VALUED else ():
        state.forget(name)
    for one in invocation.arguments:
        text, is_value, waits = one.text, waits, False
        if text is None:
            later = "command changed a variable that is not known"
            _mistrust(judge, state, "which variable it changes is not known", invocation, later)
            continue
        if "[" in text:
            judge.doubt("a name in it is computed", one.start, one.end)
        if text[:1] == "-":
            waits = text[-1] in valued
            if "C" in valued and "C" in text:
                judge.doubt("it runs a command for each line", one.start, one.end)
            joined = text.partition("a")[2] if program.name == "read" else ""
            if joined.isidentifier():
                _forget_name(judge, joined, one, invocation, sure=False)
        elif not is_value or text.isidentifier():
            _forget_name(judge, text, one, invocation, sure=not is_value)
    judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)


def _forget_name(judge: Judge, text: str, one: Argument, invocation: Invocation, *, sure: bool) -> None:
    """Take the variable of this name for one of which nothing is known but, if it is `sure`, the input."""
    state = invocation.state
    if not text.isidentifier():
        judge.doubt("a name in it is computed", one.start, one.end)
        return
    if is_risky(text, state):
        _mistrust(judge, state, f"it changes {text}, which programs go by", one, f"command changed {text}")
    state.functions.pop(text, None)
    state.forget(text)
    if sure and state.input is not None and (state.input.vetted or state.input.source):
        state.assign(text, state.input)


def judge_changing(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`alias`, `trap`, `hash`, `enable` …: what comes later may not be what it says."""
    arguments = invocation.arguments
    if all(one.text in ("-p", "-l") for one in arguments):
        judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)
        return
    name, state = program.name, invocation.state
    later = f"{name} changed what commands mean"
    _mistrust(judge, state, f"{name} changes what later commands mean", invocation, later)
    is_alias = name == "alias"
    for one in arguments if is_alias else arguments[:1]:
        body = (one.text or "").partition("=")[2] if is_alias else one.text
        if body:
            judge.script(body, state.copy(), one.start, one.end)


def judge_set(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`set -euo pipefail` is harmless; what sets arguments or other options is not understood."""
    words = invocation.arguments
    harmful = next((one for one in words if one.text not in _HARMLESS_SETTINGS), None)
    if harmful is None:
        shown = "shell.inspect" if words else "shell.environment"
        judge.effect(default_effect(shown), invocation.start, invocation.end)
    else:
        what = "how the shell works"
        _mistrust(judge, invocation.state, f"it changes {what}", harmful, f"command changed {what}")


def judge_eval(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`eval`: never low; what can be read of it is judged as well."""
    judge.doubt("eval runs what it is given once more", invocation.start, invocation.end)
    run_joined(judge, invocation.arguments, invocation.state)
    invocation.state.changed = "an earlier eval may have changed what commands mean"


def judge_source(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`source FILE` runs it in this shell."""
    state, start, end = invocation.state, invocation.start, invocation.end
    file = next(iter(invocation.arguments), None)
    if file is None:
        judge.doubt("it runs a file that it does not name", start, end)
    elif is_activation(file.text, state, judge.where.workspace):
        real = find_script(judge, file, state, start, end)
        if real is not None and pin_file(judge, real, start, end) is not None:
            judge.record("build.run", Risk.MODERATE, "takes the project's environment into use", start, end)
        return
    else:
        judge_path(judge, "files.read", file, state)
        judge_script(judge, file, state.copy(), start, end, invocation.arguments[1:], "sh")
    state.changed = "an earlier command ran a file that may have changed what commands mean"


def judge_exec(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`exec COMMAND` is that command; without one it changes where the shell reads and writes."""
    parsed = parse_and_judge(judge, program, invocation)
    if parsed.operands:
        run_inner(judge, program, invocation, parsed.operands)
        return
    where = "where the shell reads and writes"
    _mistrust(judge, invocation.state, f"it changes {where}", invocation, f"exec changed {where}")


def judge_command(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`command NAME …` and `builtin NAME …`; `command -v NAME` only looks."""
    parsed = parse_and_judge(judge, program, invocation)
    inner, state, end = parsed.operands, invocation.state, invocation.end
    if not inner or names_chosen(parsed) & {"-v", "-V"}:
        judge.effect(default_effect("shell.inspect"), invocation.start, end)
    else:
        judge.run(inner, state, inner[0].start, end, invocation.body, without_functions=True)


_NUMBER = lazy_pattern(r"[-+]?(?:0[xX][\da-fA-F]+|\d*\.?\d*(?:[eE][-+]?\d+)?)|[\"'].?|--")
_CONVERSION = lazy_pattern(r"(?s)%[-+ #0'\d.]*[hljztL]*(.)")


def _is_number(one: Argument) -> bool:
    """Return whether zsh has nothing to compute here: a name, and its value, may run commands."""
    return all(
        each.prefix in ("0", "1") if each.text is None else _NUMBER.fullmatch(each.text)
        for each in one.value.choices or (one.value,)
    )


def judge_counted(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`exit N`, `break N`, `shift N`: a number; after `shift` the positional parameters are others."""
    if not all(map(_is_number, invocation.arguments)):
        judge.doubt("its number is computed, which can run commands", invocation.start, invocation.end)
    if program.name == "shift":
        invocation.state.bind(None)
    judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)


def judge_printf(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`printf`: prints; with -v it sets a variable."""
    words, state = invocation.arguments, invocation.state
    place, form = next(((at, one) for at, one in enumerate(words[:2]) if one.text != "--"), (0, None))
    if words and (words[0].value.may_be_option or (words[0].text or "")[:2] == "-v"):
        _mistrust(judge, state, "printf sets a variable", words[0], "printf set a variable")
    elif form is not None and (form.text is None or _SETS_VARIABLE.search(form.text.replace("%%", ""))):
        _mistrust(judge, state, "printf may set a variable", form, "printf may have set a variable")
    elif form is not None and not all(map(_is_number, _computed(form.text or "", words[place + 1 :]))):
        judge.doubt("a number in it is computed, which can run commands", form.start, form.end)
    else:
        judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)


def _computed(form: str, words: tuple[Argument, ...]) -> list[Argument]:
    """Return the words that this form prints as numbers; in doubt, all of them."""
    letters = "".join(_CONVERSION.findall(form.replace("%%", "")))
    if letters and not letters.isalpha():
        return list(words)
    return [one for at, one in enumerate(words) if letters and letters[at % len(letters)] not in "sbqc"]


def judge_let(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`let`: arithmetic, which can run commands."""
    judge.doubt("an arithmetic expression can run commands", invocation.start, invocation.end)
