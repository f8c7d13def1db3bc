"""Programs that run another one: what they run is judged in their place.

Most are data alone (`special: wrap`): their options, and how many operands stand before the command.
"""

from __future__ import annotations

import shlex
from itertools import takewhile

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import follow_links
from sayso.reading.paths.file_content import read_whole
from sayso.reading.shell.commands.assignments import is_risky, is_secret_name
from sayso.reading.shell.commands.kinds import judge_kind
from sayso.reading.shell.commands.usage import (
    judge_additions,
    judge_option_values,
    names_chosen,
    report_problem,
)
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect, named_set
from sayso.reading.shell.programs.options import Argument, ParsedOptions, parse_options
from sayso.reading.shell.state import ChangedFiles, ShellState, join_path
from sayso.reading.shell.value import MAX_CHOICES, Value

_SPLITS = lazy_pattern(r"(?s)--split-string|-(?!-).*S|(?:-S|--split-string=)(.*)")


def judge_wrapper(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """A program whose operands, after the first few, are a command."""
    parsed = parse_and_judge(judge, program, invocation)
    if program.effect is not None:
        judge.effect(program.effect, invocation.start, invocation.end)
    for kind, one in zip(program.operands, parsed.operands[: max(program.skip, 0)], strict=False):
        if kind != "text*":
            judge_kind(judge, kind, one, program, invocation)
    run_inner(judge, program, invocation, parsed.operands[max(program.skip, 0) :], parsed)


def parse_and_judge(
    judge: Judge,
    program: KnownProgram,
    invocation: Invocation,
    arguments: tuple[Argument, ...] | None = None,
) -> ParsedOptions:
    """Read the options of a program, and judge what they do by themselves."""
    parsed = parse_options(program.table, invocation.arguments if arguments is None else arguments)
    report_problem(judge, parsed, program, invocation)
    judge_additions(judge, program, names_chosen(parsed), invocation)
    judge_option_values(judge, parsed, program, invocation)
    return parsed


def run_inner(
    judge: Judge,
    program: KnownProgram,
    invocation: Invocation,
    inner: tuple[Argument, ...],
    parsed: ParsedOptions | None = None,
) -> None:
    """Judge the command that a wrapper runs."""
    start, end = invocation.start, invocation.end
    if inner:
        judge.run(inner, invocation.state, inner[0].start, max(inner[-1].end, end), invocation.body)
    elif parsed is None or parsed.problem is None:
        if program.alone:
            judge.effect(default_effect("shell.inspect"), start, end)
        else:
            judge.doubt(f"{program.name} is given no command", start, end)


def run_joined(judge: Judge, words: tuple[Argument, ...], state: ShellState) -> bool:
    """Judge words that a shell joins and runs as one line. Return whether they are known."""
    known = [one.text for one in words if one.text is not None]
    if not known or len(known) < len(words):
        return False
    judge.script(" ".join(known), state, words[0].start, words[-1].end)
    return True


def judge_env(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`env`: options, assignments, then a command; alone it shows the environment, secrets and all."""
    parsed = parse_and_judge(judge, program, invocation, _split_string(judge, invocation.arguments))
    state = invocation.state
    for option, value in parsed.options:
        if option.name == "-C" and value is not None:
            state = state.copy()
            state.folders = go_to(invocation.state.folders, value)
    rest = parsed.operands[1:] if parsed.operands[:1] and parsed.operands[0].text == "-" else parsed.operands
    assigned = tuple(takewhile(lambda one: "=" in known_part(one), rest))
    unknown: Argument | None = None
    for one in assigned:
        name = known_part(one).partition("=")[0]
        plain = one.text in ("PATH=/bin", "PATH=/usr/bin:/bin")
        if (is_risky(name) or not name.isidentifier()) and not plain:
            judge.doubt(f"it sets {name}, which programs go by", one.start, one.end)
        elif name not in named_set("harmless_variables"):
            unknown = one
    rest = rest[len(assigned) :]
    if rest and rest[0].text == "--":
        rest = rest[1:]
    if unknown is not None and rest and rest[0].text not in named_set("plain_programs"):
        judge.effect(default_effect("shell.variables"), unknown.start, unknown.end)
    if rest:
        judge.run(rest, state, rest[0].start, max(rest[-1].end, invocation.end), invocation.body)
    elif parsed.problem is None:
        judge.effect(default_effect("shell.environment"), invocation.start, invocation.end)


def known_part(one: Argument) -> str:
    """Return the text of a word, or how it begins."""
    return one.text or one.value.prefix


def _split_string(judge: Judge, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """`env -S 'A=1 ls -l'`: the words of that text, in its place."""
    found: list[Argument] = []
    rest = list(arguments)
    while rest:
        one = rest.pop(0)
        match = _SPLITS.fullmatch(one.text or "")
        if match is None:
            found.append(one)
            if one.text is not None and one.text[:1] != "-" and "=" not in one.text:
                break
        elif match[1] is not None or rest:
            joined = match[1] if match[1] is not None else rest.pop(0).text
            if joined is None or any(mark in joined for mark in "\\$#\"'`"):
                judge.doubt("what env splits is not understood", one.start, one.end)
            else:
                found += [Argument(Value(word), one.start, one.end) for word in shlex.split(joined)]
    return (*found, *rest)


def go_to(folders: tuple[str | None, ...], value: Argument) -> tuple[str | None, ...]:
    """The folders that the system goes to from these: `link/..` is above where the link leads."""
    path = None if value.value.wild or value.value.home or "\0" in (value.text or "") else value.text
    return tuple(
        None if folder is None or path is None else follow_links(join_path(folder, path))
        for folder in folders
    )


def judge_busybox(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`busybox NAME …`: the same as NAME."""
    run_inner(judge, program, invocation, invocation.arguments)


def judge_recorder(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`script [FILE [COMMAND]]`: a command whose output is written to a file; `-p` plays one."""
    parsed = parse_and_judge(judge, program, invocation)
    chosen, words = names_chosen(parsed), parsed.operands
    plays = "-p" in chosen
    for one in words if plays else words[:1]:
        if plays or one.text != "/dev/null":
            judge_path(judge, "files.read" if plays else "files.write", one, invocation.state)
    if len(words) > 1 and not plays:
        run_inner(judge, program, invocation, words[1:], parsed)
    elif not chosen & {"-p", "-c"}:
        judge.doubt("script starts a shell", invocation.start, invocation.end)


def judge_watch(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`watch`: its words are joined and given to a shell."""
    parsed = parse_and_judge(judge, program, invocation)
    if program.effect is not None:
        judge.effect(program.effect, invocation.start, invocation.end)
    if not run_joined(judge, parsed.operands, invocation.state.copy()):
        judge.doubt("which command it runs is not known", invocation.start, invocation.end)


def judge_printenv(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`printenv NAME` shows a variable; without a name all of them."""
    names = [one for one in invocation.arguments if one.text not in ("-0", "--null")]
    if not names:
        judge.effect(default_effect("shell.environment"), invocation.start, invocation.end)
    for one in names:
        secret = one.text is None or is_secret_name(one.text)
        judge.effect(default_effect("secrets.read" if secret else "shell.inspect"), one.start, one.end)


def judge_plain(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`echo` and `test`: whatever their words are, they only print or compare them."""
    if program.name in ("test", "["):
        _judge_test(judge, invocation)
    judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)


_COMPUTES = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_NO_NAME = lazy_pattern(r"-?\d+|-[a-zA-Z]{1,2}|[=!<>&|()\]]+")


def _computes_nothing(one: Argument) -> bool:
    """Return whether this is an operator or a number: zsh computes a name's value in turn."""
    text = one.text
    return one.value.prefix in ("0", "1") if text is None else _NO_NAME.fullmatch(text) is not None


def _judge_test(judge: Judge, invocation: Invocation) -> None:
    """`test -v NAME`: a name with a subscript is computed, which can run commands."""
    arguments = invocation.arguments
    if any(one.value.odd for one in arguments):
        judge.doubt("a word in it is not understood", invocation.start, invocation.end)
    elif any(one.text in _COMPUTES for one in arguments) and not all(map(_computes_nothing, arguments)):
        judge.doubt("a comparison of numbers can run commands", invocation.start, invocation.end)
    elif any(one.text in ("-v", "-R") for one in arguments) and any(
        one.text is None or "[" in one.text[:-1] or one.value.wild for one in arguments
    ):
        why = "an element's place is computed, which can run commands"
        judge.doubt(why, invocation.start, invocation.end)


def judge_xargs(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`xargs`: the command with words that come from its input, which nobody knows."""
    parsed = parse_and_judge(judge, program, invocation)
    inner = parsed.operands
    if not inner:
        if parsed.problem is None:
            judge.doubt("xargs is given no command", invocation.start, invocation.end)
        return
    marks = [
        "{}" if value is None else value.text or "{}"
        for option, value in parsed.options
        if option.name in ("-I", "-i", "-J")
    ]
    for given in _inputs_of_xargs(parsed, invocation):
        taken = _taken(given)
        empty = taken.prefix == "./" and invocation.body is None
        if marks:
            whole = tuple(put_in(one, marks[-1], taken, nothing=empty) for one in inner)
        else:
            whole = (*inner, Argument(taken, invocation.start, invocation.end))
        judge.run(whole, invocation.state.copy(), inner[0].start, invocation.end)


def _inputs_of_xargs(parsed: ParsedOptions, invocation: Invocation) -> tuple[Value | None, ...]:
    """Return what xargs may read: its standard input, or whatever is in a file, and what is in it now."""
    chosen = {option.name: value for option, value in parsed.options}
    file, splits = chosen.get("-a"), chosen.get("-d")
    if invocation.body is not None and splits is not None and splits.text not in ("\\n", "\\0", "\n"):
        return (Value(None),)
    if file is None or file.text == "/dev/stdin":
        return (invocation.body,)
    try:
        now = read_named(file, invocation.state, invocation.state.changes, 10_000)
    except FileNotFoundError:
        now = None
    return (Value(None),) if now is None else (Value(now), Value(None))


def read_named(file: Argument, state: ShellState, changes: ChangedFiles, most: int) -> str | None:
    """Read a file that a word names; None if what is in it cannot be told. FileNotFoundError if none is."""
    folder = state.folders[0] if len(state.folders) == 1 else None
    if file.text is None or folder is None or file.value.home:
        return None
    path = join_path(folder, file.text)
    try:
        return None if changes.may_include(path) else read_whole(path, most).decode()
    except FileNotFoundError:
        raise
    except (OSError, ValueError):
        return None


def _taken(body: Value | None) -> Value:
    """A word from the input of xargs: one of those that were printed, or a name of a file, or anything."""
    if body is None:
        return Value(None, vetted=True, prefix="./")
    if body.text is None:
        return Value(None, vetted=body.vetted, prefix=body.prefix, source=body.source)
    words = body.text.split()
    if any(mark in body.text for mark in "\\\"'") or not words or len(words) > MAX_CHOICES:
        return Value(None)
    return Value(None, vetted=True, choices=tuple(Value(word) for word in words))


def put_in(
    one: Argument, mark: str, value: Value, *, nothing: bool = False, begins: bool = False
) -> Argument:
    """A word that something goes into. In a script that is code, unless the whole script is one word.

    `nothing`: there is nothing to put in. `begins`: a word which only begins with the mark is a name, too.
    """
    text = one.text
    if text is None or mark not in text:
        return one
    if text == mark or (begins and text.startswith(mark)):
        made = value
    elif nothing:
        made = Value(text.replace(mark, "a-name"))
    else:
        known = "" if " " in text.strip() else text.partition(mark)[0]
        made = Value(None, prefix=known, source=value.source)
    return Argument(made, one.start, one.end)
