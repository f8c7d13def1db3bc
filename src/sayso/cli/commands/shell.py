"""`sayso shell`: what a command line does, part by part, as the shell reading sees it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from sayso.cli.options import ApprovalOption, JsonOption, PolicyOption, PresetOption
from sayso.cli.policy_choice import choose_policy

LineArg = Annotated[str, typer.Argument(metavar="COMMAND", help="The command line, as one argument.")]
WorkspaceOption = Annotated[
    str | None,
    typer.Option(
        "--workspace", metavar="FOLDER", help="The workspace it would run in; by default the one you are in."
    ),
]


def explain_line(
    line: LineArg,
    workspace: WorkspaceOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a command line does: each part with its risk, its operation, and why.

    Nothing is run. The whole line has the risk of its strictest part.

    Example: sayso shell "cd src && git status && rm -rf build"
    """
    from sayso.cli.views.shell_line import shell_lines
    from sayso.cli.views.wrapping import echo_wrapped

    if not line.strip():
        raise typer.BadParameter("is empty: give it one command line", param_hint="COMMAND")
    told = read_line_here(line, workspace, choose_policy(policy, preset, approval))
    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False))
    else:
        echo_wrapped(shell_lines(told))


def read_line_here(line: str, workspace: str | None, policy: Any) -> dict[str, Any]:
    """The reading of a line in this folder, as JSON."""
    from pathlib import Path

    from sayso.reading.path_operations import CallFolders
    from sayso.reading.paths.budget import share_budget
    from sayso.reading.paths.own_places import home_folder
    from sayso.reading.paths.places import find_workspace
    from sayso.reading.shell.read import read_line

    folder = str(Path(workspace or ".").resolve())
    where = CallFolders(folder, find_workspace(folder, folder if workspace else None), home_folder())
    with share_budget():
        reading = read_line(line, where, policy, policy.programs)
    parts = [
        {
            "risk": one.risk.word,
            "operation": one.operation,
            "why": one.why,
            "text": line[one.start : one.end],
            "start": one.start,
            "end": one.end,
            "blocked": one.barred is not None,
        }
        for one in dict.fromkeys(reading.findings)
    ]
    return {"line": line, "risk": reading.risk.word, "parts": parts, "files": list(reading.pins)}
