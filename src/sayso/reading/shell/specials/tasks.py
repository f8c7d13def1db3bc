"""Tasks of a project: `make TARGET`, `npm run NAME`. The command lines that its file gives are read."""

from __future__ import annotations

import shlex
from itertools import chain, islice
from pathlib import Path

import msgspec

from sayso.reading.shell.commands.kinds import judge_kind
from sayso.reading.shell.commands.scripts import judge_script, pin_file
from sayso.reading.shell.commands.usage import judge_by_data
from sayso.reading.shell.files.tasks import TASK_FILES, TaskLine, find_tasks
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect
from sayso.reading.shell.programs.options import Argument, Option, ParsedOptions, parse_options
from sayso.reading.shell.specials.local_tools import judge_npx, judge_project_code
from sayso.reading.shell.state import ChangedFiles, join_path
from sayso.reading.shell.value import Value

_RUN = {"deno": {"task"}, "": {"run", "run-script", "rum", "urn"}}
_OF_NODE = frozenset({"npm", "cnpm", "yarn", "pnpm"})
_DIRECT = {one: one for one in ("test", "start", "stop", "restart")} | {"t": "test", "tst": "test"}
_IN_FOLDER = frozenset({"-C", "--directory", "--prefix", "--dir", "--cwd"})
_FROM_FILE = frozenset({"-f", "--file", "--makefile", "--justfile", "--taskfile"})
_OF_WORKSPACES = frozenset(
    {"-w", "--workspace", "--workspaces", "--ws", "-r", "--recursive", "-F", "--filter"}
)
_HANDS_ON = frozenset({"yarn", "pnpm", "bun", "deno"})
"""Runners that hand all words behind a script's name to it; others do so behind `--`."""
_MAY_RUN_CODE = frozenset({"yarn", "pnpm"})
"""Runners that load code which their own settings name, whatever they are asked for."""
_ALL = frozenset({"-r", "--recursive", "--workspaces", "--ws"})
_MOST_PACKAGES = 200
_Options = tuple[tuple[Option, Argument | None], ...]


def judge_tasks(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge a task runner by its data, and by the command lines of the tasks that it is asked for."""
    judge_words = judge_project_code if program.name in _MAY_RUN_CODE else judge_by_data
    kept, behind = _split_given(program, invocation.arguments)
    invocation = msgspec.structs.replace(invocation, arguments=kept)
    parsed = judge_words(judge, program, invocation)
    if not program.subcommands:
        _read_tasks(judge, program, parsed.operands, (), parsed.options, invocation)
        return
    found = _find_name(program, parsed)
    if found is not None:
        words, options = found
        given = (*words[1:], *behind)
        _read_tasks(judge, program, words[:1], given, options, invocation)


def _split_given(
    program: KnownProgram, arguments: tuple[Argument, ...]
) -> tuple[tuple[Argument, ...], tuple[Argument, ...]]:
    """Return the words for the runner, and those that it hands to the script as they are."""
    texts = [one.text for one in arguments]
    end = texts.index("--") if "--" in texts else len(texts)
    if program.name in _HANDS_ON:
        words = [place for place, text in enumerate(texts) if text is None or text[:1] != "-"]
        parsed = parse_options(program.table, arguments)
        first = len(arguments) - len(parsed.operands)
        words = [place for place in words if place >= first]
        runs = bool(words) and texts[words[0]] in _RUN.get(program.name, _RUN[""])
        end = min(end, words[runs] + 1 if len(words) > runs else len(texts))
    named = _find_name(program, parse_options(program.table, arguments))
    if not program.subcommands or (arguments and named is None):
        return arguments, ()
    return arguments[:end], tuple(one for one in arguments[end:] if one.text != "--")


def judge_project_script(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge `yarn NAME` and `pnpm NAME`: a script of package.json, or the project's own tool of that name."""
    first = invocation.arguments[0]
    folders = (*invocation.state.folders, *_packages(judge.where.workspace, with_root=True))
    if any(one is None or find_tasks("yarn", one, (first.text or "",), {}) != () for one in folders):
        judge_kind(judge, "target", first, program, invocation)
        judge.effect(default_effect("build.run"), invocation.start, invocation.end)
    else:
        judge_npx(judge, program, invocation)


def _find_name(program: KnownProgram, parsed: ParsedOptions) -> tuple[tuple[Argument, ...], _Options] | None:
    """Return the name of the script that is asked for, with what it is given; None if none is run."""
    words, options = parsed.operands, parsed.options
    order = words[0].text if words else None
    below = program.subcommand(order) if order else None
    if order in _RUN.get(program.name, _RUN[""]) and below is not None:
        inner = parse_options(below.table, words[1:])
        return inner.operands, (*options, *inner.options)
    if order in _DIRECT and program.name in _OF_NODE:
        return (Argument(Value(_DIRECT[order]), words[0].start, words[0].end), *words[1:]), options
    return (words, options) if words and below is None else None


def _read_tasks(
    judge: Judge,
    program: KnownProgram,
    words: tuple[Argument, ...],
    given: tuple[Argument, ...],
    options: _Options,
    invocation: Invocation,
) -> None:
    """Have the command lines judged that a runner runs for these words."""
    runner = program.name
    chosen = {option.name: value for option, value in options}
    folder = next((value for name, value in chosen.items() if name in _IN_FOLDER and value), None)
    file = next((value for name, value in chosen.items() if name in _FROM_FILE and value), None)
    if any(one is not None and one.text is None for one in (folder, file, *words)):
        return  # the data's own kinds say so
    if sum(option.name in _FROM_FILE for option, _ in options) > 1:
        judge.doubt(f"{runner} goes by several files", invocation.start, invocation.end)
    texts = [one.text or "" for one in words]
    names = tuple(one for one in texts if "=" not in one)
    settings = dict(one.split("=", 1) for one in texts if "=" in one)
    for here in filter(None, invocation.state.folders):
        place = here if folder is None else join_path(here, folder.text or "")
        several = not _OF_WORKSPACES.isdisjoint(chosen)
        with_root = _ALL.isdisjoint(chosen)  # a run in all packages leaves the root out
        for one in _packages(judge.where.workspace, with_root=with_root) if several else (place,):
            found = find_tasks(
                runner, one, names, settings, None if file is None else file.text, invocation.state.assigned
            )
            changed = ChangedFiles([each for each in invocation.state.changes.places if each])
            if any(changed.may_include(f"{one}/{name}") for name in TASK_FILES):
                judge.doubt(
                    "its tasks are changed by this line before they run", invocation.start, invocation.end
                )
            if found is None:
                why = f"{runner} {' '.join(names)} runs commands that cannot be read"
                judge.doubt(why[:120], invocation.start, invocation.end)
            elif not found and runner == "bun" and words:
                judge_script(judge, words[0], invocation.state, invocation.start, invocation.end, given)
            elif not found:
                for word in given:
                    judge_kind(judge, "project", word, program, invocation)
            else:
                _ask_for(judge, found, f"{runner} {' '.join(names)}".strip()[:60], given, invocation)


def _ask_for(
    judge: Judge, found: tuple[TaskLine, ...], named: str, given: tuple[Argument, ...], invocation: Invocation
) -> None:
    state, start, end = invocation.state, invocation.start, invocation.end
    known = all(one.text is not None for one in given)
    behind = shlex.join(one.text or "" for one in given) if known else '"$__unknown"'
    for one in found:
        pin_file(judge, one.file, start, end)
        inside = state.begin_script((), one.folder)
        inside.bins = one.file.endswith("/package.json")
        judge.script(f"{one.text} {behind}".strip(), inside, start, end, named=named)


def _packages(workspace: str, *, with_root: bool) -> tuple[str, ...]:
    """Return the folders of the packages of a workspace: any of them may be meant."""
    patterns = ("package.json", "*/package.json", "*/*/package.json")[not with_root :]
    found = islice(chain(*(Path(workspace).glob(one) for one in patterns)), _MOST_PACKAGES)
    return tuple(str(one.parent) for one in found if "node_modules" not in one.parts)
