"""`sayso init`: a first policy of your own, and the coding agents on this machine gated by it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TEXT = """\
# Your Sayso policy. It overrides the preset it extends, key by key.
# Every key and its values: sayso policy schema
# Check it with: sayso policy lint      See it whole with: sayso policy show
sayso: 1
extends: [{preset}]

# paranoid asks before every call; balanced runs what is low risk or listed as
# autonomous and asks the rest; trusting asks as balanced does and offers to
# remember your answer for the session.
mode: {mode}

# List every action of a domain in exactly one of three lists. For example:
# domains:
#   email:
#     trust_level: high
#     autonomous: [read, search]
#     requires_approval: [send, delete]
#     blocked: [send_to_unknown]
"""


def write_first_policy(
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset", metavar="NAME", help="The preset to start from: balanced, or coding with agents."
        ),
    ] = None,
    to: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Where to write it.")] = None,
    agents: Annotated[
        bool | None,
        typer.Option(
            "--agents/--no-agents", help="Gate the coding agents found here; asked for at a terminal."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Gate every agent found, without asking.")] = False,
) -> None:
    """Write a first policy where Sayso looks for it, and gate the coding agents on this machine.

    Never overwrites a policy. At a terminal, or with --agents, it looks for coding agents, shows for each
    what would change, and ends with `sayso doctor`.
    """
    import sys

    from sayso.cli.agents.init_agents import find_agents_here, gate_agents

    wanted = to is None and (agents if agents is not None else yes or sys.stdin.isatty())
    here = find_agents_here() if wanted else []
    _write_policy(preset or ("coding" if here else "balanced"), to, keep=bool(here))
    if wanted:
        gate_agents(here, yes=yes)


def _write_policy(preset: str, to: Path | None, *, keep: bool) -> None:
    """Write the policy. With `keep`, one that is there already is left as it is."""
    from sayso.cli.views.wrapping import echo_line
    from sayso.core.errors import SaysoError
    from sayso.gate.settings import POLICY_NAMES, gate_config_folder
    from sayso.policy import load_preset

    mode = load_preset(preset).mode.value
    path = to or gate_config_folder() / POLICY_NAMES[0]
    other = next(
        (gate_config_folder() / name for name in POLICY_NAMES if (gate_config_folder() / name).exists()), None
    )
    if other is not None and to is None and keep:
        typer.echo(f"Your policy is {other}; it stays as it is.")
        return
    if to is None and other is not None:
        raise SaysoError(f"{other} is there already", hint="edit it, or name another file with --to")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(TEXT.format(preset=preset, mode=mode))
    except FileExistsError:
        raise SaysoError(f"{path} is there already", hint="edit it, or name another file with --to") from None
    except OSError as error:
        raise SaysoError(
            f"cannot write {path}: {error.strerror}", hint="name another file with --to"
        ) from error
    echo_line(f"Wrote {path}, extending preset {preset}.")
    echo_line("Try it: sayso check git push" + (f" --policy {path}" if to else ""))
    if to is None and _waits_for_apply(path):
        echo_line(
            "Sayso was in use before, under a stricter policy. What the file loosens waits: "
            "`sayso policy status` shows it, `sayso policy apply` puts it in force."
        )


def _waits_for_apply(path: Path) -> bool:
    from sayso.cli.opening import open_gate_to_look
    from sayso.core.errors import SaysoError
    from sayso.gate.policy_acts.apply import load_policy_status

    try:
        with open_gate_to_look(None, sealed=True) as gate:
            return load_policy_status(gate, path).state == "waits"
    except SaysoError:  # without a store nothing is in force
        return False
