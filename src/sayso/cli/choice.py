"""Which policy a command works with, and in which mode."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sayso.core.policy import Policy

PolicyFile = Annotated[
    Path | None, typer.Option("--policy", metavar="FILE", help="Policy file, YAML or JSON.")
]
Preset = Annotated[str | None, typer.Option("--preset", metavar="NAME", help="A preset instead of a file.")]
Approval = Annotated[
    str | None,
    typer.Option("--approval", metavar="MODE", help="paranoid, balanced or trusting."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def chosen(policy: Path | None, preset: str | None, approval: str | None) -> Policy:
    """The policy asked for, in the mode asked for: a file, a preset, your own file, else preset balanced."""
    from sayso.core.errors import MalformedRequest
    from sayso.gate.settings import in_chosen_mode

    if policy is not None and preset is not None:
        raise MalformedRequest("give a policy file or a preset, not both")
    return in_chosen_mode(_loaded(policy, preset), approval)


def remark(text: str) -> None:
    """Something worth knowing that is not the answer: to stderr, so that programs can read the answer."""
    typer.echo(f"note: {text}", err=True)


def _loaded(policy: Path | None, preset: str | None) -> Policy:
    from sayso.core.errors import MalformedRequest
    from sayso.gate.settings import own_policy
    from sayso.policy import load_preset, preset_names, read_file

    if preset is not None:
        if preset not in preset_names():
            raise MalformedRequest(f"no preset {preset!r}", hint=f"use one of: {', '.join(preset_names())}")
        return load_preset(preset)
    loaded = own_policy() if policy is None else read_file(policy)
    if loaded is None:
        remark("no policy of your own yet, using preset balanced (sayso init writes one)")
        return load_preset("balanced")
    for warning in loaded.warnings:
        remark(str(warning))
    return loaded.policy
