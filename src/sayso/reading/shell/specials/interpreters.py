"""Shells and interpreters: code on the command line, a script, a module, or standard input.

And tasks of a project, as `make TARGET` and `npm run NAME`: the command lines that its file gives are read.
"""

from __future__ import annotations

from pathlib import Path

from sayso.reading.shell.commands.kinds import judge_kind
from sayso.reading.shell.commands.scripts import judge_script, only_computes
from sayso.reading.shell.commands.usage import names_chosen
from sayso.reading.shell.files.guard import judge_own_program
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, find_program, named_set
from sayso.reading.shell.programs.options import Argument, ParsedOptions
from sayso.reading.shell.specials.wrappers import parse_and_judge
from sayso.reading.shell.value import Value

_FLAGS = frozenset("bBdEiIOPqsSuvx")
_READS_INPUT = "runs what it is given on its standard input"


def judge_shell(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """A shell: `-c` is a command line, an operand is a script, and else it reads its standard input."""
    parsed = parse_and_judge(judge, program, invocation, _set_cluster(invocation.arguments))
    chosen, state, body = names_chosen(parsed), invocation.state, invocation.body
    start, end = invocation.start, invocation.end
    if "-c" in chosen:
        _judge_command_text(judge, program, invocation, parsed)
    elif parsed.operands and "-s" not in chosen:
        if "-n" in chosen and "-i" not in chosen and parsed.problem is None:
            judge_path(judge, "files.read", parsed.operands[0], state)
        else:
            judge_kind(judge, "script", parsed.operands[0], program, invocation)
    elif body is not None and body.text is not None:
        judge.script(body.text, state.copy(), start, end)
        judge.doubt(f"it {_READS_INPUT}", start, end)
    elif parsed.problem is None:
        judge.doubt(f"{program.name} {_READS_INPUT}", start, end)


def _set_cluster(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """`-cl` and `-lc` mean the same: the letters apart, `c` last."""
    found: list[Argument] = []
    for index, one in enumerate(arguments):
        text = one.text or ""
        if text[:1] != "-" or text == "--":
            return (*found, *arguments[index:])
        whole = text == "-" or text[:2] == "--"
        letters = "" if whole else text[1:].replace("c", "") + "c" * ("c" in text)
        found += [Argument(Value(f"-{letter}"), one.start, one.end) for letter in letters] or [one]
        if letters.rstrip("c")[-1:] in ("o", "O"):
            found += arguments[index + 1 : index + 2]
            return (*found, *_set_cluster(arguments[index + 2 :]))
    return tuple(found)


def _judge_command_text(
    judge: Judge, program: KnownProgram, invocation: Invocation, parsed: ParsedOptions
) -> None:
    text = parsed.operands[0] if parsed.operands else None
    if text is None:
        judge.doubt(f"{program.name} -c is given no command", invocation.start, invocation.end)
    elif text.text is None:
        judge.doubt("which commands it runs is not known until it runs", text.start, text.end)
    elif not text.text.strip():
        judge.doubt("it is given an empty command", text.start, text.end)
    else:
        state = invocation.state.copy()
        state.functions = {}
        state.variables = {str(place): one.value for place, one in enumerate(parsed.operands[1:])}
        judge.script(text.text, state, text.start, text.end)


def judge_interpreter(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Python, Node and their kind: code on the command line, a script, a module, or standard input."""
    arguments, module = _split_module(program, invocation.arguments)
    parsed = parse_and_judge(judge, program, invocation, arguments)
    chosen, operands, count = names_chosen(parsed), parsed.operands, len(parsed.operands)
    modes = (one for one in program.modes if one.any_of & chosen and one.count in (None, count))
    effect = next((one.effect for one in modes if one.effect is not None), None)
    if module is not None:
        _judge_module(judge, invocation, module)
    elif parsed.problem is not None or any(option.kind == "code" for option, _ in parsed.options):
        return
    elif effect is not None:
        judge.effect(effect, invocation.start, invocation.end)
        for one in operands:
            judge_path(judge, "files.read", one, invocation.state)
    elif operands and operands[0].text != "-":
        judge_kind(judge, "script", operands[0], program, invocation)
    else:
        judge.doubt(f"{program.name} {_READS_INPUT}", invocation.start, invocation.end)


def _split_module(
    program: KnownProgram, arguments: tuple[Argument, ...]
) -> tuple[tuple[Argument, ...], tuple[Argument, ...] | None]:
    """The options before `-m`, and the module with all that is its own; no module if there is no `-m`."""
    if "-m" not in program.table.named or program.table.named["-m"].kind != "module":
        return arguments, None
    skip = False
    for index, one in enumerate(arguments):
        text = one.text or ""
        letters, mark, joined = text[1:].partition("m")
        if skip or text in ("-W", "-X"):
            skip = not skip
        elif text[:1] != "-" or text[:2] == "--" or text == "-":
            break
        elif mark and _FLAGS.issuperset(letters):
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
    state, start, end = invocation.state, invocation.start, invocation.end
    here = state.folders[0] if len(state.folders) == 1 else None
    if name in named_set("python_modules") and find_program(name, judge.added) is not None:
        pure = name == "json.tool" and here is not None and only_computes(judge, "python", "1", here)
        judge.run(words, state, start, end, invocation.body, of_project=not pure)
        return
    if name.partition(".")[0] == "sayso":
        judge_own_program(judge, Argument(Value("sayso"), words[0].start, words[0].end), words[1:])
    file = _module_file(name, here)
    if file is not None:
        script = Argument(Value(file), words[0].start, words[0].end)
        judge_script(judge, script, state, start, end, words[1:], "python")
    else:
        judge.doubt(f"the module {name[:60]} is not known", start, end)


def _module_file(name: str, folder: str | None) -> str | None:
    """The file of a module that lies in the folder itself."""
    if folder is None or not all(one.isidentifier() for one in name.split(".")):
        return None
    path = name.replace(".", "/")
    files = (f"{path}.py", f"{path}/__main__.py")
    return next((one for one in files if Path(folder, one).is_file()), None)
