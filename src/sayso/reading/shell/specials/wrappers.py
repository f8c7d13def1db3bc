"""Programs that run another one: what they run is judged in their place.

Most are data alone (`special: wrap`): their options, and how many operands stand before the command.
"""

from __future__ import annotations

import shlex

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import follow_links
from sayso.reading.paths.file_content import read_whole
from sayso.reading.shell.commands.assignments import is_risky
from sayso.reading.shell.commands.kinds import judge_kind
from sayso.reading.shell.commands.usage import judge_additions, judge_option_values, report_problem
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect, named_set
from sayso.reading.shell.programs.options import Argument, ParsedOptions, parse_options
from sayso.reading.shell.state import join_path
from sayso.reading.shell.value import MAX_CHOICES, Value


def judge_wrapper(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """A program whose operands, after the first few, are a command."""
    parsed = parse_and_judge(judge, program, invocation)
    if program.effect is not None:
        judge.effect(program.effect, invocation.start, invocation.end)
    for kind, one in zip(program.operands, parsed.operands[: max(program.skip, 0)], strict=False):
        if kind != "text*":
            judge_kind(judge, kind, one, program, invocation)
    run_inner(judge, program, invocation, parsed.operands[max(program.skip, 0) :], parsed)


def parse_and_judge(judge: Judge, program: KnownProgram, invocation: Invocation) -> ParsedOptions:
    """Read the options of a wrapper, and judge what they do by themselves."""
    parsed = parse_options(program.table, invocation.arguments)
    report_problem(judge, parsed, program, invocation)
    chosen = frozenset(option.name for option, _ in parsed.options)
    judge_additions(judge, program, chosen, invocation)
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
    if not inner:
        if program.alone and (parsed is None or parsed.problem is None):
            judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)
        elif parsed is None or parsed.problem is None:
            judge.doubt(f"{program.name} is given no command", invocation.start, invocation.end)
        return
    judge.run(inner, invocation.state, inner[0].start, max(inner[-1].end, invocation.end), invocation.body)


def judge_env(  # noqa: C901 - one branch for each kind of word
    judge: Judge, program: KnownProgram, invocation: Invocation
) -> None:
    """`env`: options, assignments, then a command; alone it shows the environment, secrets and all."""
    arguments = _split_string(judge, invocation.arguments)
    parsed = parse_options(program.table, arguments)
    report_problem(judge, parsed, program, invocation)
    state = invocation.state
    for option, value in parsed.options:
        if option.name == "-C" and value is not None:
            state = state.copy()
            state.folders = tuple(_join(folder, value.text) for folder in invocation.state.folders)
        elif option.kind != "text" and value is not None:
            judge_kind(judge, option.kind, value, program, invocation)
    rest = list(parsed.operands)
    unknown: Argument | None = None
    if rest and rest[0].text == "-":
        rest.pop(0)
    while rest and "=" in (rest[0].text or rest[0].value.prefix):
        name = (rest[0].text or rest[0].value.prefix).partition("=")[0]
        plain = rest[0].text in ("PATH=/bin", "PATH=/usr/bin:/bin")
        if (is_risky(name) or not name.isidentifier()) and not plain:
            judge.doubt(f"it sets {name}, which programs go by", rest[0].start, rest[0].end)
        elif name not in named_set("harmless_variables"):
            unknown = rest[0]
        rest.pop(0)
    if rest and rest[0].text == "--":
        rest.pop(0)
    if unknown is not None and rest and rest[0].text not in named_set("plain_programs"):
        judge.effect(default_effect("shell.variables"), unknown.start, unknown.end)
    if not rest:
        if parsed.problem is None:
            judge.effect(default_effect("shell.environment"), invocation.start, invocation.end)
        return
    judge.run(tuple(rest), state, rest[0].start, max(rest[-1].end, invocation.end), invocation.body)


def _split_string(judge: Judge, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """`env -S 'A=1 ls -l'`: the words of that text, in its place."""
    found: list[Argument] = []
    waits = False
    for index, one in enumerate(arguments):
        text = one.text
        joined: str | None = None
        if waits:
            joined, waits = text, False
        elif text in ("-S", "--split-string") or (
            text and text[:1] == "-" and text[:2] != "--" and text[-1:] == "S"
        ):
            waits = True
            continue
        elif text is not None and text.startswith("-S"):
            joined = text[2:]
        elif text is not None and text.startswith("--split-string="):
            joined = text.partition("=")[2]
        else:
            found.append(one)
            if text is not None and text[:1] != "-" and "=" not in text:
                return (*found, *arguments[index + 1 :])
            continue
        if joined is None or any(mark in joined for mark in "\\$#\"'`"):
            judge.doubt("what env splits is not understood", one.start, one.end)
            continue
        found += [Argument(Value(word), one.start, one.end) for word in shlex.split(joined)]
    return tuple(found)


def _join(folder: str | None, path: str | None) -> str | None:
    """The folder that the system goes to from here: `link/..` is above where the link leads."""
    if path is None or folder is None or "\0" in path:
        return None
    return follow_links(join_path(folder, path))


def judge_busybox(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`busybox NAME …`: the same as NAME."""
    if not invocation.arguments:
        judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)
        return
    judge.run(invocation.arguments, invocation.state, invocation.start, invocation.end, invocation.body)


def judge_recorder(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`script [FILE [COMMAND]]`: a command whose output is written to a file; `-p` plays one."""
    parsed = parse_and_judge(judge, program, invocation)
    chosen = {option.name for option, _ in parsed.options}
    if "-p" in chosen:
        for one in parsed.operands:
            judge_path(judge, "files.read", one, invocation.state)
        return
    if parsed.operands:
        file = parsed.operands[0]
        if file.text != "/dev/null":
            judge_path(judge, "files.write", file, invocation.state)
    if len(parsed.operands) < 2:
        if "-c" not in chosen:
            judge.doubt("script starts a shell", invocation.start, invocation.end)
        return
    run_inner(judge, program, invocation, parsed.operands[1:], parsed)


def judge_watch(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`watch`: its words are joined and given to a shell."""
    parsed = parse_and_judge(judge, program, invocation)
    if program.effect is not None:
        judge.effect(program.effect, invocation.start, invocation.end)
    texts = [one.text for one in parsed.operands]
    if not texts or any(text is None for text in texts):
        judge.doubt("which command it runs is not known", invocation.start, invocation.end)
        return
    joined = " ".join(text or "" for text in texts)
    judge.script(joined, invocation.state.copy(), parsed.operands[0].start, parsed.operands[-1].end)


def judge_printenv(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`printenv NAME` shows a variable; without a name all of them."""
    from sayso.reading.shell.commands.assignments import is_secret_name

    names = [one for one in invocation.arguments if one.text not in ("-0", "--null")]
    if not names:
        judge.effect(default_effect("shell.environment"), invocation.start, invocation.end)
    for one in names:
        if one.text is None or is_secret_name(one.text):
            judge.effect(default_effect("secrets.read"), one.start, one.end)
        else:
            judge.effect(default_effect("shell.inspect"), one.start, one.end)


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
        (value.text or "") if value is not None else "{}"
        for option, value in parsed.options
        if option.name in ("-I", "-i", "-J")
    ]
    taken = _taken(_input_of_xargs(parsed, invocation))
    if taken.prefix == "./" and invocation.body is None:
        inner = tuple(_without_mark(one, marks[-1] or "{}") if marks else one for one in inner)
    if marks:
        mark = marks[-1] or "{}"
        inner = tuple(_replace(one, mark, taken) for one in inner)
    else:
        inner = (*inner, Argument(taken, invocation.start, invocation.end))
    judge.run(inner, invocation.state.copy(), inner[0].start, invocation.end)


def _input_of_xargs(parsed: ParsedOptions, invocation: Invocation) -> Value | None:
    """What xargs reads: the file that it is given, else its standard input; None if there is nothing."""
    file = next(
        (value for option, value in parsed.options if option.name == "-a" and value is not None), None
    )
    if file is None or file.text == "/dev/stdin":
        return invocation.body
    folder = invocation.state.folders[0] if len(invocation.state.folders) == 1 else None
    if file.text is None or folder is None or file.value.home:
        return Value(None)
    if invocation.state.changes.may_include(join_path(folder, file.text)):
        return Value(None)
    try:
        return Value(read_whole(join_path(folder, file.text), 10_000).decode())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return Value(None)


def _without_mark(one: Argument, mark: str) -> Argument:
    """A word where nothing is put in, because there is nothing."""
    if one.text is None or mark not in one.text or one.text == mark:
        return one
    return Argument(Value(one.text.replace(mark, "a-name")), one.start, one.end)


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


def _replace(one: Argument, mark: str, taken: Value) -> Argument:
    """A word that the input goes into. In a script that is code, unless the whole script is one word."""
    if one.text is None or mark not in one.text:
        return one
    before = one.text.partition(mark)[0]
    if " " in one.text.strip():
        return Argument(Value(None, source=taken.source), one.start, one.end)
    if one.text == mark:
        return Argument(taken, one.start, one.end)
    return Argument(Value(None, prefix=before, source=taken.source), one.start, one.end)
