"""Shells and interpreters: code on the command line, a script, a module, or standard input."""

from __future__ import annotations

from pathlib import Path

from sayso.reading.shell.commands.kinds import judge_kind
from sayso.reading.shell.commands.scripts import judge_script, only_computes
from sayso.reading.shell.commands.usage import (
    judge_additions,
    judge_option_values,
    report_problem,
)
from sayso.reading.shell.files.guard import judge_own_program
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, find_program, named_set
from sayso.reading.shell.programs.options import Argument, ParsedOptions, parse_options
from sayso.reading.shell.value import Value

_FLAGS = frozenset("bBdEiIOPqsSuvx")


def judge_shell(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """A shell: `-c` is a command line, an operand is a script, and else it reads its standard input."""
    arguments = _set_cluster(program, invocation.arguments)
    parsed = parse_options(program.table, arguments)
    report_problem(judge, parsed, program, invocation)
    chosen = {option.name for option, _ in parsed.options}
    judge_additions(judge, program, frozenset(chosen), invocation)
    judge_option_values(judge, parsed, program, invocation)
    if "-c" in chosen:
        _judge_command_text(judge, program, invocation, parsed)
        return
    if parsed.operands and "-s" not in chosen:
        if "-n" in chosen and "-i" not in chosen and parsed.problem is None:
            judge_path(judge, "files.read", parsed.operands[0], invocation.state)
            return
        judge_kind(judge, "script", parsed.operands[0], program, invocation)
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


def judge_interpreter(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Python, Node and their kind: code on the command line, a script, a module, or standard input."""
    arguments, module = _split_module(program, invocation.arguments)
    parsed = parse_options(program.table, arguments)
    report_problem(judge, parsed, program, invocation)
    chosen = frozenset(option.name for option, _ in parsed.options)
    judge_additions(judge, program, chosen, invocation)
    kinds = {option.kind for option, _ in parsed.options}
    for option, value in parsed.options:
        if option.kind != "text" and value is not None:
            judge_kind(judge, option.kind, value, program, invocation)
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
        judge_kind(judge, "script", parsed.operands[0], program, invocation)
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

    A module of that name in the folder comes first, so it is never low; but one of the standard library is
    what it is where the folder holds nothing by the name of any such module.
    """
    name = (words[0].text or "") if words else ""
    if name in named_set("python_modules") and find_program(name, judge.added) is not None:
        folders = invocation.state.folders
        here = folders[0] if len(folders) == 1 else None
        if name == "json.tool" and here is not None and only_computes(judge, "python", "1", here):
            judge.run(words, invocation.state, invocation.start, invocation.end, invocation.body)
        else:
            judge.run(
                words,
                invocation.state,
                invocation.start,
                invocation.end,
                invocation.body,
                of_project=True,
            )
        return
    if name.partition(".")[0] == "sayso":
        own = Argument(Value("sayso"), words[0].start, words[0].end)
        judge_own_program(judge, own, words[1:])
    file = _module_file(name, invocation)
    if file is not None:
        script = Argument(Value(file), words[0].start, words[0].end)
        judge_script(judge, script, invocation.state, invocation.start, invocation.end, words[1:], "python")
        return
    judge.doubt(f"the module {name[:60]} is not known", invocation.start, invocation.end)


def _module_file(name: str, invocation: Invocation) -> str | None:
    """The file of a module that lies in the folder itself."""
    folders = invocation.state.folders
    if len(folders) != 1 or folders[0] is None or not all(one.isidentifier() for one in name.split(".")):
        return None
    path = name.replace(".", "/")
    return next(
        (one for one in (f"{path}.py", f"{path}/__main__.py") if Path(folders[0], one).is_file()), None
    )
