"""Options that several commands share: which policy, in which mode, and for whom to print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def complete_presets(incomplete: str) -> list[str]:
    from sayso.policy import preset_names

    return [name for name in preset_names() if name.startswith(incomplete)]


def complete_modes(incomplete: str) -> list[str]:
    return [mode for mode in ("paranoid", "balanced", "trusting") if mode.startswith(incomplete)]


PolicyOption = Annotated[
    Path | None, typer.Option("--policy", metavar="FILE", help="Policy file, YAML or JSON.")
]
PresetOption = Annotated[
    str | None,
    typer.Option(
        "--preset", metavar="NAME", help="A preset instead of a file.", autocompletion=complete_presets
    ),
]
ApprovalOption = Annotated[
    str | None,
    typer.Option(
        "--approval",
        metavar="MODE",
        help="How often to ask: paranoid, balanced or trusting.",
        autocompletion=complete_modes,
    ),
]
PolicyArg = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE]", help="A policy file, or the name of a preset.", autocompletion=complete_presets
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
