"""Programs that run another one: what they run is judged in their place.

Most are data alone (`special: wrap`): their options, and how many operands stand before the command.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from sayso.reading.shell.effects import judge_path
from sayso.reading.shell.programs.known import KnownProgram, default_effect, named_set
from sayso.reading.shell.programs.options import Argument, ParsedOptions, parse_options
from sayso.reading.shell.state import join_path
from sayso.reading.shell.variables import is_risky
from sayso.reading.shell.words import MAX_CHOICES, Value

if TYPE_CHECKING:
    from sayso.reading.shell.judge import Invocation, Judge


def judge_wrapper(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """A program whose operands, after the first few, are a command."""
    parsed = _parse(judge, program, invocation)
    if program.effect is not None:
        judge.effect(program.effect, invocation.start, invocation.end)
    run_inner(judge, program, invocation, parsed.operands[max(program.skip, 0) :], parsed)


def _parse(judge: Judge, program: KnownProgram, invocation: Invocation) -> ParsedOptions:
    parsed = parse_options(program.table, invocation.arguments)
    judge.report_problem(parsed, program, invocation)
    chosen = frozenset(option.name for option, _ in parsed.options)
    judge.additions(program, chosen, invocation)
    judge.option_values(parsed, program, invocation)
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
    judge.report_problem(parsed, program, invocation)
    state = invocation.state
    for option, value in parsed.options:
        if option.name == "-C" and value is not None:
            state = state.copy()
            state.folders = tuple(_join(folder, value.text) for folder in state.folders)
        elif option.kind != "text" and value is not None:
            judge.touch(option.kind, value, program, invocation)
    rest = list(parsed.operands)
    unknown: Argument | None = None
    if rest and rest[0].text == "-":
        rest.pop(0)
    while rest and "=" in (rest[0].text or rest[0].value.prefix):
        name = (rest[0].text or rest[0].value.prefix).partition("=")[0]
        if is_risky(name) and not (name == "PATH" and rest[0].text in ("PATH=/bin", "PATH=/usr/bin:/bin")):
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
    if path is None or folder is None:
        return None
    return os.path.normpath(join_path(folder, path))


def judge_xargs(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`xargs`: the command with words that come from its input, which nobody knows."""
    parsed = _parse(judge, program, invocation)
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
        inner = tuple(_replace(judge, one, mark, taken) for one in inner)
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
    try:
        with open(join_path(folder, file.text), "rb") as found:  # noqa: PTH123 - read to a limit
            return Value(found.read(10_000).decode())
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
        return Value(None, vetted=body.vetted, prefix=body.prefix)
    words = body.text.split()
    if any(mark in body.text for mark in "\\\"'") or not words or len(words) > MAX_CHOICES:
        return Value(None)
    return Value(None, vetted=True, choices=tuple(Value(word) for word in words))


def _replace(judge: Judge, one: Argument, mark: str, taken: Value) -> Argument:
    """A word that the input goes into. In a script that is code, unless the whole script is one word."""
    if one.text is None or mark not in one.text:
        return one
    before = one.text.partition(mark)[0]
    if " " in one.text.strip():
        return one if _is_harmless_script(one.text, mark) else Argument(Value(None), one.start, one.end)
    if one.text == mark:
        return Argument(taken, one.start, one.end)
    return Argument(Value(None, prefix=before), one.start, one.end)


def _is_harmless_script(text: str, mark: str) -> bool:
    """`echo {}` as a script: a name with `$(…)` in it would run. It is never taken for known."""
    return False


def judge_busybox(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`busybox NAME …`: the same as NAME."""
    if not invocation.arguments:
        judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)
        return
    judge.run(invocation.arguments, invocation.state, invocation.start, invocation.end, invocation.body)


def judge_recorder(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`script [FILE [COMMAND]]`: a command whose output is written to a file; `-p` plays one."""
    parsed = _parse(judge, program, invocation)
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


def judge_shell(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """A shell: `-c` is a command line, an operand is a script, and else it reads its standard input."""
    arguments = _set_cluster(program, invocation.arguments)
    parsed = parse_options(program.table, arguments)
    judge.report_problem(parsed, program, invocation)
    chosen = {option.name for option, _ in parsed.options}
    judge.additions(program, frozenset(chosen), invocation)
    judge.option_values(parsed, program, invocation)
    if "-c" in chosen:
        _judge_command_text(judge, program, invocation, parsed)
        return
    if parsed.operands and "-s" not in chosen:
        judge.touch("script", parsed.operands[0], program, invocation)
        return
    body = invocation.body
    if body is not None and body.text is not None:
        judge.script(body.text, invocation.state.copy(), invocation.start, invocation.end)
        judge.doubt("it runs what it is given on its standard input", invocation.start, invocation.end)
        return
    if parsed.problem is None:
        judge.doubt(
            f"{program.name} runs what it is given on its standard input", invocation.start, invocation.end
        )


def _set_cluster(program: KnownProgram, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """`-cl` and `-lc` mean the same: the letters apart, `c` last."""
    found: list[Argument] = []
    for index, one in enumerate(arguments):
        text = one.text
        if text is None or text[:1] != "-" or text[:2] == "--" or len(text) < 2:
            if text is not None and text[:1] == "-" and text != "--":
                found.append(one)
                continue
            return (*found, *arguments[index:])
        letters = [letter for letter in text[1:] if letter != "c"]
        found += [Argument(Value(f"-{letter}"), one.start, one.end) for letter in letters]
        if "c" in text[1:]:
            found.append(Argument(Value("-c"), one.start, one.end))
        if letters[-1:] in (["o"], ["O"]):
            found += arguments[index + 1 : index + 2]
            return (*found, *_set_cluster(program, arguments[index + 2 :]))
    return tuple(found)


def _judge_command_text(
    judge: Judge, program: KnownProgram, invocation: Invocation, parsed: ParsedOptions
) -> None:
    if not parsed.operands:
        judge.doubt(f"{program.name} -c is given no command", invocation.start, invocation.end)
        return
    text = parsed.operands[0]
    if text.text is None:
        judge.doubt("which commands it runs is not known until it runs", text.start, text.end)
        return
    if not text.text.strip():
        judge.doubt("it is given an empty command", text.start, text.end)
        return
    state = invocation.state.copy()
    state.functions.clear()
    state.variables.clear()
    for place, one in enumerate(parsed.operands[1:]):
        state.variables[str(place)] = one.value
    judge.script(text.text, state, text.start, text.end)


_FLAGS = frozenset("bBdEiIOPqsSuvx")


def judge_interpreter(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Python, Node and their kind: code on the command line, a script, a module, or standard input."""
    arguments, module = _split_module(program, invocation.arguments)
    parsed = parse_options(program.table, arguments)
    judge.report_problem(parsed, program, invocation)
    chosen = frozenset(option.name for option, _ in parsed.options)
    judge.additions(program, chosen, invocation)
    kinds = {option.kind for option, _ in parsed.options}
    for option, value in parsed.options:
        if option.kind != "text" and value is not None:
            judge.touch(option.kind, value, program, invocation)
    if module is not None:
        _judge_module(judge, invocation, module)
        return
    if "code" in kinds or parsed.problem is not None:
        return
    for mode in program.modes:
        fits = not mode.any_of.isdisjoint(chosen) and mode.count in (None, len(parsed.operands))
        if fits and mode.effect is not None:
            judge.effect(mode.effect, invocation.start, invocation.end)
            for one in parsed.operands:
                judge_path(judge, "files.read", one, invocation.state)
            return
    if parsed.operands and parsed.operands[0].text != "-":
        judge.touch("script", parsed.operands[0], program, invocation)
        return
    judge.doubt(
        f"{program.name} runs what it is given on its standard input", invocation.start, invocation.end
    )


def _split_module(
    program: KnownProgram, arguments: tuple[Argument, ...]
) -> tuple[tuple[Argument, ...], tuple[Argument, ...] | None]:
    """The options before `-m`, and the module with all that is its own; no module if there is no `-m`."""
    if "-m" not in program.table.named or program.table.named["-m"].kind != "module":
        return arguments, None
    skip = False
    for index, one in enumerate(arguments):
        text = one.text or ""
        if skip:
            skip = False
        elif text in ("-W", "-X"):
            skip = True
        elif text[:1] != "-" or text[:2] == "--" or text == "-":
            break
        else:
            letters, mark, joined = text[1:].partition("m")
            if not mark or not _FLAGS.issuperset(letters):
                continue
            before = (Argument(Value(f"-{letters}"), one.start, one.end),) if letters else ()
            named = (Argument(Value(joined), one.start, one.end),) if joined else ()
            return (*arguments[:index], *before), (*named, *arguments[index + 1 :])
    return arguments, None


def _judge_module(judge: Judge, invocation: Invocation, words: tuple[Argument, ...]) -> None:
    """`python -m NAME …`: the module, as a program of that name if one is known.

    A module of that name in the folder comes first, so it is never low.
    """
    from sayso.reading.shell.programs.known import find_program, named_set
    from sayso.reading.shell.scripts import judge_script

    name = (words[0].text or "") if words else ""
    if name in named_set("python_modules") and find_program(name, judge.added) is not None:
        judge.run_at_least(words, invocation.state, invocation.start, invocation.end, invocation.body)
        return
    file = _module_file(name, invocation)
    if file is not None:
        script = Argument(Value(file), words[0].start, words[0].end)
        judge_script(judge, script, invocation.state, invocation.start, invocation.end)
        return
    judge.doubt(f"the module {name[:60]} is not known", invocation.start, invocation.end)


def judge_watch(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`watch`: its words are joined and given to a shell."""
    parsed = _parse(judge, program, invocation)
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
    from sayso.reading.shell.variables import is_secret_name

    names = [one for one in invocation.arguments if one.text not in ("-0", "--null")]
    if not names:
        judge.effect(default_effect("shell.environment"), invocation.start, invocation.end)
    for one in names:
        if one.text is None or is_secret_name(one.text):
            judge.effect(default_effect("secrets.read"), one.start, one.end)
        else:
            judge.effect(default_effect("shell.inspect"), one.start, one.end)


def _module_file(name: str, invocation: Invocation) -> str | None:
    """The file of a module that lies in the folder itself."""
    folders = invocation.state.folders
    if len(folders) != 1 or folders[0] is None or not all(one.isidentifier() for one in name.split(".")):
        return None
    path = name.replace(".", "/")
    return next(
        (one for one in (f"{path}.py", f"{path}/__main__.py") if Path(folders[0], one).is_file()), None
    )


def judge_plain(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`echo` and `test`: whatever their words are, they only print or compare them."""
    if program.name in ("test", "["):
        _judge_test(judge, invocation)
    judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)


def _judge_test(judge: Judge, invocation: Invocation) -> None:
    """`test -v NAME`: a name with a subscript is computed, which can run commands."""
    arguments = invocation.arguments
    if any(one.value.odd for one in arguments):
        judge.doubt("a word in it is not understood", invocation.start, invocation.end)
    elif any(one.text in ("-v", "-R") for one in arguments) and any(
        one.text is None or "[" in one.text[:-1] or one.value.wild for one in arguments
    ):
        why = "an element's place is computed, which can run commands"
        judge.doubt(why, invocation.start, invocation.end)
