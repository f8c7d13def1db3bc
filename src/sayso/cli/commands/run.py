"""`sayso run`: decide a command, and run it if it is allowed."""

from __future__ import annotations

import shlex
import subprocess
from typing import Annotated

import typer

from sayso.cli.policy_choice import ApprovalOption, PolicyOption, PresetOption, choose_policy, print_note
from sayso.cli.short_ids import StoreOption

ASKED, DENIED = 3, 4
TOOL = "Bash"

CommandArg = Annotated[
    list[str],
    typer.Argument(metavar="COMMAND", help="The command; one argument with blanks is a command line."),
]


def run_line(
    command: CommandArg,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
) -> None:
    """Run a command if it is allowed, and end with its exit code.

    If you must be asked first, nothing runs and the exit code is 3: approve the question, and run the same
    command again. If it is denied, the exit code is 4.

    Example: sayso run -- git push origin main
    """
    from sayso.doors.python.calls.door import workspace_here
    from sayso.doors.sayso import Sayso

    line = command[0] if len(command) == 1 else shlex.join(command)
    opened = Sayso.open(choose_policy(policy, preset, approval), store, surfaces=())
    try:
        session = opened.session(key=f"run {workspace_here()}", agent="sayso run", workspace=workspace_here())
        called = session.call(TOOL, {"command": line})
        if called.announce:
            print_note(called.announce)
        if called.asked:
            print_note(f"not run: {called.reason}; answer it with `sayso inbox`, and run the same again")
            raise typer.Exit(ASKED)
        runs = called.runs
        if runs is None:
            print_note(f"not run: {called.reason} (rule {called.rule})")
            raise typer.Exit(DENIED)
        ended = subprocess.run(  # noqa: S602 - the approved command line is what was asked for
            runs.command or line, shell=True, executable="/bin/bash", cwd=runs.folder or None, check=False
        ).returncode
        called.succeeded() if ended == 0 else called.failed()
    finally:
        opened.close()
    raise typer.Exit(ended if ended >= 0 else 128 - ended)
