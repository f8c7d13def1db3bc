"""Shells and interpreters: code on the command line, a script, a module, or standard input.

And tasks of a project, as `make TARGET` and `npm run NAME`: the command lines that its file gives are read.
"""

from __future__ import annotations

import shlex
from itertools import chain, islice
from pathlib import Path

from sayso.reading.shell.commands.kinds import judge_kind
from sayso.reading.shell.commands.scripts import judge_script, only_computes, pin_file
from sayso.reading.shell.commands.usage import judge_by_data, names_chosen
from sayso.reading.shell.files.own_program import judge_own_program
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.files.tasks import TaskLine, find_tasks
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect, find_program, named_set
from sayso.reading.shell.programs.options import Argument, Option, ParsedOptions, parse_options
from sayso.reading.shell.specials.local_tools import judge_npx, judge_project_code
from sayso.reading.shell.specials.wrappers import parse_and_judge
from sayso.reading.shell.state import join_path
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


_RUN = {"deno": {"task"}, "": {"run", "run-script", "rum", "urn"}}
_OF_NODE = frozenset({"npm", "cnpm", "yarn", "pnpm"})
_DIRECT = {one: one for one in ("test", "start", "stop", "restart")} | {"t": "test", "tst": "test"}
_IN_FOLDER = frozenset({"-C", "--directory", "--prefix", "--dir", "--cwd"})
_FROM_FILE = frozenset({"-f", "--file", "--makefile", "--justfile", "--taskfile"})
_OF_WORKSPACES = frozenset(
    {"-w", "--workspace", "--workspaces", "--ws", "-r", "--recursive", "-F", "--filter"}
)
_MAY_RUN_CODE = frozenset({"yarn", "pnpm"})
"""Runners that load code which their own settings name, whatever they are asked for."""
_MOST_PACKAGES = 200
_Words = tuple[Argument, ...]
_Options = tuple[tuple[Option, Argument | None], ...]


def judge_tasks(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge a task runner by its data, and by the command lines of the tasks that it is asked for."""
    judge_words = judge_project_code if program.name in _MAY_RUN_CODE else judge_by_data
    parsed = judge_words(judge, program, invocation)
    found = _find_name(program, parsed)
    if found is not None:
        words, given, options = found
        _read_tasks(judge, program.name, words, given, options, invocation)


def judge_project_script(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge `yarn NAME` and `pnpm NAME`: a script of package.json, or the project's own tool of that name."""
    first, folders = invocation.arguments[0], invocation.state.folders
    if any(one is None or find_tasks("yarn", one, (first.text or "",), {}) != () for one in folders):
        judge_kind(judge, "target", first, program, invocation)
        judge.effect(default_effect("scripts.run"), invocation.start, invocation.end)
    else:
        judge_npx(judge, program, invocation)


def _find_name(program: KnownProgram, parsed: ParsedOptions) -> tuple[_Words, _Words, _Options] | None:
    """Return the names that are asked for, what their scripts are given, and options; None if none is run."""
    words, options = parsed.operands, parsed.options
    if not program.subcommands:
        return words, (), options
    order = words[0].text if words else None
    below = program.subcommand(order) if order else None
    if order in _RUN.get(program.name, _RUN[""]) and below is not None:
        inner = parse_options(below.table, words[1:])
        words, options = inner.operands, (*options, *inner.options)
    elif order in _DIRECT and program.name in _OF_NODE:
        words = (Argument(Value(_DIRECT[order]), words[0].start, words[0].end), *words[1:])
    elif not words or below is not None:
        return None
    return words[:1], tuple(one for one in words[1:] if one.text != "--"), options


def _read_tasks(
    judge: Judge,
    runner: str,
    words: tuple[Argument, ...],
    given: tuple[Argument, ...],
    options: _Options,
    invocation: Invocation,
) -> None:
    """Have the command lines judged that a runner runs for these words."""
    chosen = {option.name: value for option, value in options}
    folder = next((value for name, value in chosen.items() if name in _IN_FOLDER and value), None)
    file = next((value for name, value in chosen.items() if name in _FROM_FILE and value), None)
    if any(one is not None and one.text is None for one in (folder, file, *words)):
        return  # the data's own kinds say so
    texts = [one.text or "" for one in words]
    names = tuple(one for one in texts if "=" not in one)
    settings = dict(one.split("=", 1) for one in texts if "=" in one)
    for here in filter(None, invocation.state.folders):
        place = here if folder is None else join_path(here, folder.text or "")
        for one in (place,) if _OF_WORKSPACES.isdisjoint(chosen) else _packages(judge.where.workspace):
            found = find_tasks(runner, one, names, settings, None if file is None else file.text)
            if found is None:
                why = f"{runner} {' '.join(names)} runs commands that cannot be read"
                judge.doubt(why[:120], invocation.start, invocation.end)
            elif not found and runner == "bun" and words:
                judge_script(judge, words[0], invocation.state, invocation.start, invocation.end, given)
            else:
                _ask_for(judge, found, f"{runner} {' '.join(names)}".strip()[:60], given, invocation)


def _ask_for(
    judge: Judge, found: tuple[TaskLine, ...], named: str, given: tuple[Argument, ...], invocation: Invocation
) -> None:
    state, start, end = invocation.state, invocation.start, invocation.end
    known = all(one.text is not None for one in given)
    behind = shlex.join(one.text or "" for one in given) if known else '"$__unknown"'
    for one in found:
        if state.changes.may_include(one.file):
            judge.doubt(f"{one.file.rpartition('/')[2]} is changed by this line before it runs", start, end)
        pin_file(judge, one.file, start, end)
        inside = state.begin_script((), one.folder)
        inside.bins = one.file.endswith("/package.json")
        judge.script(f"{one.text} {behind}".strip(), inside, start, end, named=named)


def _packages(workspace: str) -> tuple[str, ...]:
    """Return the folders of the packages of a workspace: any of them may be meant."""
    patterns = ("package.json", "*/package.json", "*/*/package.json")
    found = islice(chain(*(Path(workspace).glob(one) for one in patterns)), _MOST_PACKAGES)
    return tuple(str(one.parent) for one in found if "node_modules" not in one.parts)
