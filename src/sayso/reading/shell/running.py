"""Which program a command runs: known or not, by its path, or one that the workspace holds."""

from __future__ import annotations

from sayso.core.model import Risk
from sayso.reading.shell.commands.projects import PROJECT_WORK, pin_project_files
from sayso.reading.shell.commands.scripts import judge_script
from sayso.reading.shell.files.guard import (
    OWN,
    judge_given_files,
    judge_guard_mentions,
    judge_own_program,
    judge_packages,
)
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import default_effect
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.specials.local_tools import (
    find_environment_program,
    find_project_tool,
    is_system_python,
    run_local,
)
from sayso.reading.verbs import verb_of

_FOLDER_WORK = frozenset({"git", "packages", "lint", "build", "tests", "scripts"})
"""Domains of operations whose work is the folder that a command runs in."""
_FINDERS = frozenset({"find", "fd", "fdfind"})
_CHANGES = frozenset({"write", "edit", "create", "delete"})
_SYSTEM_PROGRAMS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/")


def find_name(judge: Judge, first: Argument, invocation: Invocation) -> str | None:
    """The name that a program goes by; None if it is judged by now, as a file of the workspace is."""
    path, state, given = invocation.name, invocation.state, invocation.arguments
    folder, _, name = path.rpartition("/")
    if "/" in path:
        if f"{folder}/" in _SYSTEM_PROGRAMS:
            return name
        judge_own_program(judge, first, given)
        found = find_environment_program(path, state, judge.where.workspace)
        if found is None:
            judge_script(judge, first, state, invocation.start, invocation.end, given)
            return None
        if is_system_python(found):
            return "python"
    else:
        found = find_project_tool(judge, name, state) if state.bins else None
        if found is None:
            return name
    run_local(judge, found, (first, *given), invocation)
    return None


def judge_unknown_program(judge: Judge, first: Argument, invocation: Invocation) -> None:
    """A program that nothing is known of: what its arguments name of the guard counts all the same."""
    judge.doubt(f"{invocation.name[:60]} is not a known program", first.start, first.end)
    judge_guard_mentions(judge, invocation.arguments, invocation.state)


def look_at_result(judge: Judge, invocation: Invocation, before: int, *, of_project: bool) -> None:
    """Judge what follows from all that a command does: the code it runs, its folder, the files it names."""
    start, end, folders = invocation.start, invocation.end, invocation.state.folders
    found = judge.findings[before:]
    if of_project and all(one.risk is Risk.LOW for one in found):
        lints = any(one.operation == "lint.check" for one in found)
        name, why = "lint.run" if lints else "scripts.run", "runs code of the workspace"
        judge.record(name, Risk.MODERATE, why, start, end)
        found = judge.findings[before:]
    if not any(one.risk is not Risk.LOW for one in found):
        return
    works = any(one.operation in PROJECT_WORK for one in found)
    if works:
        for folder in filter(None, folders):
            pin_project_files(judge, folder, start, end)
        judge_given_files(judge, invocation.arguments, invocation.state)
    elif any(one.risk is Risk.HIGH for one in found):
        judge_guard_mentions(judge, invocation.arguments, invocation.state, OWN)
        if any(one.operation == "packages.install" for one in found):
            judge_packages(judge, invocation.arguments)
    if invocation.name in _FINDERS and any(verb_of(one.operation) in _CHANGES for one in found):
        judge_guard_mentions(judge, invocation.arguments, invocation.state)
    if works or any(one.operation.partition(".")[0] in _FOLDER_WORK for one in found):
        _judge_folder(judge, invocation)


def _judge_folder(judge: Judge, invocation: Invocation) -> None:
    """The working folder counts like an operand: outside the workspace, code and changes are not its own."""
    workspace = judge.where.workspace
    for folder in invocation.state.folders if workspace else ():
        if folder is None:
            judge.doubt("the folder it runs in cannot be told", invocation.start, invocation.end)
        elif not f"{judge.quick.find_real(folder)}/".startswith(f"{judge.quick.find_real(workspace)}/"):
            effect = default_effect("files.write_outside_workspace")
            judge.effect(effect, invocation.start, invocation.end)
