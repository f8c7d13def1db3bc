"""Which policy a command works with, and in which mode."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sayso.core.policy import Policy
    from sayso.gate.policy.acting_policy import PolicySource
    from sayso.policy import LoadedPolicy


_before_command: ContextVar[str | None] = ContextVar("approval", default=None)


def choose_policy(policy: Path | None, preset: str | None, approval: str | None) -> Policy:
    """The policy asked for, in the mode asked for: a file, a preset, your own file, else preset balanced."""
    from sayso.core.errors import MalformedRequest
    from sayso.gate.settings import in_chosen_mode

    if policy is not None and preset is not None:
        raise MalformedRequest("give a policy file or a preset, not both")
    return in_chosen_mode(_load_policy(policy, preset), approval or global_approval())


def find_policy_source(policy: Path | None, preset: str | None, approval: str | None) -> PolicySource | None:
    """The file that `choose_policy` loads, or your own that is to come, to be watched; None for a preset."""
    if preset is not None:
        return None
    from sayso.gate.policy.acting_policy import PolicySource, own_policy_source
    from sayso.gate.settings import chosen_mode

    mode = chosen_mode(approval or global_approval())
    return own_policy_source(mode) if policy is None else PolicySource(policy, mode)


def find_own_source(policy: Path | None, preset: str | None, approval: str | None) -> PolicySource | None:
    """Your own policy file, if no other policy was named."""
    return find_policy_source(None, preset, approval) if policy is None else None


def refuse_wrong_mode(approval: str | None) -> None:
    """Refuse a wrong mode before a policy is looked for: what was typed wrong is said first, and alone."""
    from sayso.gate.settings import chosen_mode

    chosen_mode(approval or global_approval())


def in_flagged_mode(policy: Policy) -> Policy:
    """A policy that comes with a command, in the mode that `sayso --approval MODE` names, if it names one."""
    from sayso.core.policy import with_mode
    from sayso.gate.settings import read_mode

    flag = global_approval()
    return policy if flag is None else with_mode(policy, read_mode(flag, "approval"))


def global_approval() -> str | None:
    """The mode that comes before the command: `sayso --approval MODE command`."""
    return _before_command.get()


def set_global_approval(approval: str | None) -> None:
    """Take the mode that comes before the command; a wrong one is refused, whatever the command is."""
    if approval is not None:
        from sayso.gate.settings import read_mode

        read_mode(approval, "approval")
    _before_command.set(approval)


def load_named_policy(name: str) -> LoadedPolicy:
    """A preset by its name, or a policy file. A file that is called like a preset is named by its path."""
    from sayso.core.errors import MalformedRequest
    from sayso.policy import load_preset, preset_names, read_file
    from sayso.policy.load import LoadedPolicy

    if name in preset_names():
        if Path(name).exists():
            print_note(f"{name} is the preset here; write ./{name} for the file")
        return LoadedPolicy(load_preset(name), (), "")
    if not Path(name).exists():
        raise MalformedRequest(
            f"{name!r} is neither a policy file nor a preset",
            hint=f"name a file, or one of: {', '.join(preset_names())}",
        )
    return read_file(name)


def print_note(text: str) -> None:
    """Something worth knowing that is not the answer: to stderr, so that programs can read the answer."""
    import sys

    from sayso.cli.views.wrapping import print_line, width_of, wrap_line

    for piece in wrap_line(f"note: {text}", width_of(sys.stderr)):
        print_line(piece, err=True)


def _load_policy(policy: Path | None, preset: str | None) -> Policy:
    from sayso.core.errors import MalformedRequest
    from sayso.gate.settings import load_own_policy
    from sayso.policy import load_preset, preset_names, read_file

    if preset is not None:
        if preset not in preset_names():
            raise MalformedRequest(f"no preset {preset!r}", hint=f"use one of: {', '.join(preset_names())}")
        return load_preset(preset)
    loaded = load_own_policy() if policy is None else read_file(policy)
    if loaded is None:
        print_note("no policy of your own yet, using preset balanced (sayso init writes one)")
        return load_preset("balanced")
    for warning in loaded.warnings:
        print_note(str(warning))
    return loaded.policy
