"""`uv run`, `poetry run` and their kind: a command in the project's environment.

uv and hatch bring the environment up to date first, which installs packages. uv has nothing to do where the
environment is newer than the lock file, and that newer than the project's own file; of hatch nobody can tell.
"""

from __future__ import annotations

import os

from sayso.core.model import Risk
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram
from sayso.reading.shell.programs.options import ParsedOptions
from sayso.reading.shell.specials.wrappers import parse_and_judge, run_inner
from sayso.reading.shell.state import ShellState

_ONLY_RUN = frozenset({"poetry", "pdm", "pipenv", "rye"})


def judge_environment_run(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge the command, and what is done to the environment before it."""
    parsed = parse_and_judge(judge, program, invocation)
    tool = program.name.partition(" ")[0]
    if tool in _ONLY_RUN or (tool == "uv" and _installs_nothing(judge, parsed, invocation.state)):
        why = "runs a command in the project's environment"
        judge.record("build.run", Risk.MODERATE, why, invocation.start, invocation.end)
    else:
        why = "runs a command in the project's environment, and may install what that lacks"
        judge.record("packages.install", Risk.MODERATE, why, invocation.start, invocation.end)
    run_inner(judge, program, invocation, parsed.operands, parsed)


def _installs_nothing(judge: Judge, parsed: ParsedOptions, state: ShellState) -> bool:
    if any(option.name == "--no-sync" for option, _ in parsed.options):
        return True
    here = state.folders[0] if len(state.folders) == 1 else None
    workspace = judge.where.workspace
    while here and workspace and f"{here}/".startswith(f"{workspace}/"):
        if _written(f"{here}/uv.lock") is not None:
            return not state.changes.may_include(here) and _is_up_to_date(here)
        here = here.rpartition("/")[0]
    return False


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
