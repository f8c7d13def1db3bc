"""Which policy a command works with, and in which mode."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sayso.core.model import Mode
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

VARIABLE = "SAYSO_APPROVAL_MODE"


def config_folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_config_dir("sayso", appauthor=False))


def chosen(policy: Path | None, preset: str | None, approval: str | None) -> Policy:
    """The policy asked for, in the mode asked for: a file, a preset, your own file, else preset balanced."""
    from sayso.core.errors import MalformedRequest
    from sayso.core.policy import with_mode

    if policy is not None and preset is not None:
        raise MalformedRequest("give a policy file or a preset, not both")
    return with_mode(_loaded(policy, preset), *_wishes(approval))


def remark(text: str) -> None:
    """Something worth knowing that is not the answer: to stderr, so that programs can read the answer."""
    typer.echo(f"note: {text}", err=True)


def _loaded(policy: Path | None, preset: str | None) -> Policy:
    from sayso.core.errors import MalformedRequest
    from sayso.policy import load_preset, preset_names, read_file

    if preset is not None:
        if preset not in preset_names():
            raise MalformedRequest(f"no preset {preset!r}", hint=f"use one of: {', '.join(preset_names())}")
        return load_preset(preset)
    own = config_folder() / "policy.yaml"
    if policy is None and not os.path.lexists(own):  # a link to nowhere is a broken policy, not a missing one
        remark("no policy of your own yet, using preset balanced (sayso init writes one)")
        return load_preset("balanced")
    loaded = read_file(policy or own)
    for warning in loaded.warnings:
        remark(str(warning))
    return loaded.policy


def _wishes(approval: str | None) -> tuple[Mode | None, ...]:
    """The flag, then the environment, then the settings file."""
    return (
        _mode(approval, "--approval"),
        _mode(os.environ.get(VARIABLE) or None, VARIABLE),
        _mode(_setting(config_folder() / "settings.json"), "approval_mode in settings.json"),
    )


def _mode(word: object, where: str) -> Mode | None:
    from sayso.core.errors import MalformedRequest
    from sayso.core.model import Mode

    if word is None:
        return None
    try:
        return Mode(word)
    except ValueError:
        raise MalformedRequest(
            f"{where}: {word!r} is no approval mode", hint="use paranoid, balanced or trusting"
        ) from None


def _setting(path: Path) -> object:
    from sayso.core.digest import parse
    from sayso.core.errors import SaysoError

    try:
        settings = parse(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, SaysoError) as error:
        raise SaysoError(f"cannot read {path}: {error}", hint="mend or remove the file") from error
    if not isinstance(settings, dict):
        raise SaysoError(f"{path} does not hold a JSON object", hint="mend or remove the file")
    return settings.get("approval_mode")
