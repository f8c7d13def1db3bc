"""`sayso init`: a first policy of your own."""

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
        str, typer.Option("--preset", metavar="NAME", help="The preset to start from.")
    ] = "balanced",
    to: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Where to write it.")] = None,
) -> None:
    """Write a first policy file where Sayso looks for it. Never overwrites a file."""
    from sayso.cli.views.wrapping import echo_line
    from sayso.core.errors import SaysoError
    from sayso.gate.settings import POLICY_NAMES, gate_config_folder
    from sayso.policy import load_preset

    mode = load_preset(preset).mode.value
    path = to or gate_config_folder() / POLICY_NAMES[0]
    other = next(
        (gate_config_folder() / name for name in POLICY_NAMES if (gate_config_folder() / name).exists()), None
    )
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
