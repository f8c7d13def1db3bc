"""Programs that a project brings with it: `npx tsc`, `yarn jest`, `.venv/bin/pytest`.

Whatever its name, such a program is code of the workspace: never low. By its name it is a test, a build or
a linter; any other one is a script of the workspace, pinned as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import follow_links
from sayso.reading.paths.file_content import read_whole
from sayso.reading.paths.git_files import is_git_ignored
from sayso.reading.shell.commands.projects import PROJECT_WORK
from sayso.reading.shell.commands.scripts import find_script, judge_script, pin_file
from sayso.reading.shell.commands.usage import (
    judge_additions,
    judge_by_data,
    judge_option_values,
    names_chosen,
    report_problem,
)
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect, find_program
from sayso.reading.shell.programs.options import Argument, ParsedOptions, parse_options
from sayso.reading.shell.specials.wrappers import parse_and_judge, run_inner
from sayso.reading.shell.state import ShellState, join_path
from sayso.reading.shell.value import Value

_PROJECT_WORK = frozenset({"tests.run", "build.run", "lint.run", "lint.check"})
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_PYTHON = re.compile(r"python[0-9.]*")
_OUTPUT = frozenset(
    """dist build out target node_modules __pycache__ .pytest_cache .mypy_cache .ruff_cache coverage htmlcov
    .next .nuxt .turbo .parcel-cache .gradle .dart_tool .tox .nox obj DerivedData""".split()  # noqa: SIM905 - a page else
)
"""Names of folders that builds and tests make."""
_OWN_SERVER = re.compile(
    r"(?:http://)?(?:localhost|127\.0\.0\.1|\[::1\]):"
    r"(?!3306|3389|5432|5672|5984|6379|7333|8200|8500|9200|9300)[3-9]\d{3}(?:[/?][^\s{}\[\]]*)?"
)
"""An address of this machine, but for the ports of databases and of Sayso."""
_WRAPPED = {"gradlew": "gradle", "mvnw": "mvn"}


def judge_npx(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`npx TOOL`, `npm exec TOOL`: the project's own tool if it has one, else a package that is fetched."""
    parsed = parse_options(program.table, invocation.arguments)
    report_problem(judge, parsed, program, invocation)
    judge_additions(judge, program, names_chosen(parsed), invocation)
    named = parsed.operands[0].text if parsed.operands else None
    found = None if named is None else find_project_tool(judge, named, invocation.state)
    if found is None and program.name == "pnpm exec" and parsed.operands:  # it fetches nothing
        words, start, end = parsed.operands, invocation.start, invocation.end
        judge.run(words, invocation.state, start, end, invocation.body, of_project=True)
        return
    if found is None:
        judge.effect(default_effect("packages.install"), invocation.start, invocation.end)
    else:
        run_local(judge, found, parsed.operands, invocation)


def find_project_tool(judge: Judge, name: str, state: ShellState) -> str | None:
    """Return the project's own tool of this name: in this folder or one above, up to the workspace."""
    folders = state.folders
    if not _NAME.fullmatch(name) or len(folders) != 1 or folders[0] is None:
        return None
    above = folders_up(os.path.realpath(folders[0]), os.path.realpath(judge.where.workspace))
    tools = (f"{here}/node_modules/.bin/{name}" for here in above)
    return next((one for one in tools if Path(one).is_file()), None)


def folders_up(folder: str | None, workspace: str) -> Iterator[str]:
    """Yield a folder of the workspace, and those above it."""
    while workspace and folder and f"{folder}/".startswith(f"{workspace}/"):
        yield folder
        folder = folder.rpartition("/")[0]


def run_local(judge: Judge, path: str, words: tuple[Argument, ...], invocation: Invocation) -> None:
    """Judge a program of the workspace: by its name where that is known, and as the file it is."""
    state, start, end = invocation.state.copy(), invocation.start, invocation.end
    state.bins = False
    name = path.rpartition("/")[2]
    name = _WRAPPED.get(name, name)
    known = find_program(name, judge.added)
    if known is None:
        judge_script(judge, Argument(Value(path), start, end), state, start, end, words[1:])
        return
    first = Argument(Value(name), words[0].start, words[0].end)
    judge.run((first, *words[1:]), state, start, end, invocation.body)
    effect = "scripts.run" if known.effect is None else known.effect.operation
    operation = effect.replace("lint.check", "lint.run") if effect in _PROJECT_WORK else "scripts.run"
    judge.record(operation, Risk.MODERATE, f"runs {name[:60]} of the project", start, end)
    real = find_script(judge, Argument(Value(path), start, end), state, start, end)
    if real is not None:
        pin_file(judge, real, start, end, read=False)


def find_environment_program(path: str, state: ShellState, workspace: str) -> str | None:
    """The path of a program in an environment or node_modules of the workspace, or of a build's wrapper."""
    folder = state.folders[0] if len(state.folders) == 1 else None
    if folder is None:
        return None
    written = os.path.normpath(join_path(folder, path))
    where, _, name = written.rpartition("/")
    if name not in _WRAPPED and not where.endswith(("/bin", "/.bin")):
        return None
    written = os.path.normpath(join_path(follow_links(folder), path))
    where, _, name = written.rpartition("/")
    if not written.startswith(f"{follow_links(workspace)}/") or follow_links(where) != where:
        return None
    of_python = where.endswith("/bin") and Path(where, "../pyvenv.cfg").is_file()
    return written if of_python or name in _WRAPPED or where.endswith("/node_modules/.bin") else None


def is_system_python(path: str) -> bool:
    """Return whether this is a link to the Python that the environment was made with."""
    name = path.rpartition("/")[2]
    real = os.path.realpath(path)
    return bool(_PYTHON.fullmatch(name) and _PYTHON.fullmatch(real.rpartition("/")[2])) and real != path


def is_activation(path: str | None, state: ShellState, workspace: str) -> bool:
    """Return whether this is the file that activates a Python environment of the workspace."""
    return (
        path is not None
        and path.rpartition("/")[2] == "activate"
        and find_environment_program(path, state, workspace) is not None
    )


_ONLY_RUN = frozenset({"poetry", "pdm", "pipenv", "rye"})


def judge_environment_run(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge the command, and what is done to the environment before it."""
    parsed = parse_and_judge(judge, program, invocation)
    tool = program.name.partition(" ")[0]
    if tool in _ONLY_RUN or (tool == "uv" and _installs_nothing(judge, parsed, invocation.state)):
        operation, more = "build.run", ""
    else:
        operation, more = "packages.install", ", and may install what that lacks"
    why = f"runs a command in the project's environment{more}"
    judge.record(operation, Risk.MODERATE, why, invocation.start, invocation.end)
    run_inner(judge, program, invocation, parsed.operands, parsed)


def _installs_nothing(judge: Judge, parsed: ParsedOptions, state: ShellState) -> bool:
    here = state.folders[0] if len(state.folders) == 1 else None
    above = folders_up(here, judge.where.workspace)
    project = next((one for one in above if _written(f"{one}/uv.lock") is not None), None)
    return "--no-sync" in names_chosen(parsed) or (
        project is not None and not state.changes.may_include(project) and _is_up_to_date(project)
    )


def _is_up_to_date(project: str) -> bool:
    """Return whether packages were put in place after the lock file was made, and that after its source."""
    try:
        versions = os.listdir(f"{project}/.venv/lib")  # noqa: PTH208 - names are all that is wanted
    except OSError:
        return False
    libraries = [_written(f"{project}/.venv/lib/{one}/site-packages") or 0 for one in versions]
    locked, source = _written(f"{project}/uv.lock") or 0, _written(f"{project}/pyproject.toml")
    return source is not None and source <= locked <= max(libraries, default=0)


def _written(path: str) -> int | None:
    """When this was last written to; None if it is not there."""
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - no more than its time
    except OSError:
        return None


def judge_fetcher(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge `curl`: a server on this machine, of the kind that a project starts, or another place."""
    parsed = parse_options(program.table, invocation.arguments)
    values = [value.text for _, value in parsed.options if value is not None]
    own = bool(parsed.operands) and all(_OWN_SERVER.fullmatch(one.text or "") for one in parsed.operands)
    if parsed.problem is not None or not own or not all(map(_names_no_file, values)):
        judge_by_data(judge, program, invocation)
        return
    judge_option_values(judge, parsed, program, invocation)
    judge.effect(default_effect("network.local"), invocation.start, invocation.end)


def _names_no_file(text: str | None) -> bool:
    """Return whether this names no file for curl, as `@` does to read it and `%output` to write it."""
    return text is not None and text[:1] != "@" and "%output" not in text and "=@" not in text


def judge_project_code(judge: Judge, program: KnownProgram, invocation: Invocation) -> ParsedOptions:
    """Judge a program that runs code which files of the project name, whatever it is asked for."""
    before = len(judge.findings)
    parsed = judge_by_data(judge, program, invocation)
    told = any(one.operation in PROJECT_WORK or one.risk is Risk.HIGH for one in judge.findings[before:])
    if not told and names_code(judge, invocation.state):
        judge.record(
            "scripts.run", Risk.MODERATE, "runs code of the project", invocation.start, invocation.end
        )
    return parsed


_NAMING_FILES = {
    file: file.partition("/")[0].lower()
    for file in (
        "mypy.ini", ".mypy.ini", "setup.cfg", "pyproject.toml", "tox.ini", ".pylintrc", "pylintrc", ".flake8",
        ".ansible-lint", ".config/ansible-lint.yml", "package.json",
    )
}  # fmt: skip
_RUNNING_FILES = {
    file: file.partition("/")[0].lower()
    for file in (
        ".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".cargo/config", ".cargo/config.toml", "rust-toolchain",
        "rust-toolchain.toml", ".pylint.d",
    )
}  # fmt: skip
"""Files, each with the first name of its path in lower case."""
_NAMES_CODE = lazy_pattern(r"(?i)plugin|hook|rulesdir|packageManager|yarnPath")


def names_code(judge: Judge, state: ShellState) -> bool:
    """Return whether a file of this folder, or of one above it, names code that such a program runs."""
    for folder in state.folders:
        above = list(folders_up(folder, judge.where.workspace))
        if not above or any(map(_holds_names, above)):
            return True
    return False


def _holds_names(folder: str) -> bool:
    there = _list_first_names(folder)
    return any(os.path.lexists(f"{folder}/{name}") for name in _choose(_RUNNING_FILES, there)) or any(
        mentions(f"{folder}/{name}", _NAMES_CODE, 200_000) for name in _choose(_NAMING_FILES, there)
    )


def _list_first_names(folder: str) -> frozenset[str] | None:
    """The names in a folder, folded; None if they do not tell which files can be opened there."""
    try:
        names = "/".join(os.listdir(folder))  # noqa: PTH208 - names are all that is wanted
    except OSError:
        return None
    return frozenset(names.lower().split("/")) if names.isascii() else None


def _choose(files: dict[str, str], there: frozenset[str] | None) -> Iterable[str]:
    """The files of which the first name is there."""
    return files if there is None else [file for file, first in files.items() if first in there]


def mentions(path: str, pattern: re.Pattern[str], most: int) -> bool:
    """Return whether a file says this; one that is there and cannot be read may do so."""
    try:
        return pattern.search(read_whole(path, most).decode("utf-8", "replace")) is not None
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True


def judge_deleting(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge `rm` by its data. Build output that git ignores can be made again: to delete it is moderate."""
    before = len(judge.findings)
    parsed = judge_by_data(judge, program, invocation)
    state = invocation.state
    if parsed.operands and all(_is_build_output(judge, one, state) for one in parsed.operands):
        why = "deletes build output that git ignores"
        for place, one in enumerate(judge.findings[before:], before):
            if one.operation == "files.delete":
                judge.findings[place] = msgspec.structs.replace(one, risk=Risk.MODERATE, why=why)


def _is_build_output(judge: Judge, one: Argument, state: ShellState) -> bool:
    text, workspace = one.text, judge.where.workspace
    if text is None or one.value.wild or one.value.home or None in state.folders:
        return False
    places = [judge.quick.find_inside(text, folder or "") for folder in state.folders]
    return all(
        place is not None and place.rpartition("/")[2] in _OUTPUT and is_git_ignored(f"{place}/a", workspace)
        for place in places
    )
