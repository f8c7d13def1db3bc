"""Which program a command runs: known or not, by its path, or one that the workspace holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sayso.core.model import Risk
from sayso.reading.shell.commands.invocation import Invocation
from sayso.reading.shell.commands.usage import judge_program
from sayso.reading.shell.files.guard import judge_guard_mentions
from sayso.reading.shell.files.scripts import judge_script
from sayso.reading.shell.programs.known import NO_PROGRAMS, KnownProgram
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.specials.guarding import judge_own_program
from sayso.reading.shell.specials.local_tools import find_environment_program, is_system_python, run_local

if TYPE_CHECKING:
    from sayso.reading.shell.judge import Judge

_SYSTEM_PROGRAMS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/")


def judge_path_as_program(judge: Judge, first: Argument, invocation: Invocation) -> str | None:
    """The name that a program with a path goes by; None if it is judged by now."""
    path = invocation.name
    for folder in _SYSTEM_PROGRAMS:
        if path.startswith(folder) and "/" not in path[len(folder) :]:
            return path[len(folder) :]
    judge_own_program(judge, first, invocation.arguments)
    found = find_environment_program(path, invocation.state, judge.where.workspace)
    if found is None:
        judge_script(judge, first, invocation.state, invocation.start, invocation.end)
        return None
    if is_system_python(found):
        return "python"
    judge.deeper(invocation.start, invocation.end)
    run_local(judge, found, (first, *invocation.arguments), invocation.state, invocation)
    judge.depth -= 1
    return None


def judge_unknown_program(judge: Judge, first: Argument, invocation: Invocation) -> None:
    """A program that nothing is known of: what its arguments name of the guard counts all the same."""
    judge.doubt(f"{invocation.name[:60]} is not a known program", first.start, first.end)
    judge_guard_mentions(judge, invocation.arguments, invocation.state)


def run_at_least(judge: Judge, arguments: tuple[Argument, ...], invocation: Invocation) -> None:
    """Judge a program whose code may be the workspace's: never low, whatever its name does."""
    before = len(judge.findings)
    judge.run(arguments, invocation.state, invocation.start, invocation.end, invocation.body)
    found = judge.findings[before:]
    if all(one.risk is Risk.LOW for one in found):
        lints = any(one.operation == "lint.check" for one in found)
        name, why = "lint.run" if lints else "scripts.run", "runs code of the workspace"
        judge.record(name, Risk.MODERATE, why, invocation.start, invocation.end)


def raise_by_policy(judge: Judge, addition: KnownProgram, invocation: Invocation) -> None:
    """What the operator says of a known program counts where it is stricter, and only there."""
    other = judge.start_again(NO_PROGRAMS)
    other.depth, other.window = judge.depth, judge.window
    judge_program(other, addition, invocation)
    for one in other.findings:
        if one.risk is not Risk.LOW and one.operation != "shell.run":
            judge.findings.append(one)
