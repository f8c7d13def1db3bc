"""Tasks of a project: `make TARGET`, `npm run NAME`. The command lines that its file gives are read."""

from __future__ import annotations

import shlex
from itertools import chain, islice
from pathlib import Path

from sayso.reading.shell.commands.kinds import judge_kind
from sayso.reading.shell.commands.scripts import judge_script, pin_file
from sayso.reading.shell.commands.usage import judge_by_data
from sayso.reading.shell.files.tasks import TaskLine, find_tasks
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect
from sayso.reading.shell.programs.options import Argument, Option, ParsedOptions, parse_options
from sayso.reading.shell.specials.local_tools import judge_npx
from sayso.reading.shell.specials.tools import judge_project_code
from sayso.reading.shell.state import join_path
from sayso.reading.shell.value import Value

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
        alone = _OF_WORKSPACES.isdisjoint(chosen)
        for one in (place,) if alone else _packages(judge.where.workspace):
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
