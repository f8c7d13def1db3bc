"""xargs: a command with words that come from its input."""

from __future__ import annotations

from sayso.reading.paths.file_content import read_whole
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram
from sayso.reading.shell.programs.options import Argument, ParsedOptions
from sayso.reading.shell.specials.wrappers import parse_and_judge
from sayso.reading.shell.state import join_path
from sayso.reading.shell.value import MAX_CHOICES, Value


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
