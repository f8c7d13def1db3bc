"""Reviewing the policy in a terminal: each domain in a few lines, and whether to keep it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from sayso.gate.gate import Gate
    from sayso.gate.upkeep.review import DomainReview

SOON = 3
"""Days before a domain decays from which on it is said."""


def choose_domains(found: list[DomainReview]) -> list[str]:
    """Ask for each domain whether to keep it. Without a terminal nobody is asked, and nothing is kept."""
    if not sys.stdin.isatty():
        return []
    chosen = []
    for one in found:
        typer.echo("\n".join(review_lines(one)))
        if typer.confirm(f"Keep what {one.domain} may do unasked?", default=False):
            chosen.append(one.domain)
        typer.echo()
    return chosen


def review_lines(one: DomainReview) -> list[str]:
    """A domain with its permissions, and how long they still hold."""
    return [
        f"{one.domain}: {_holds(one)}",
        *(f"  {_use(use.operation, use.used, use.asked, use.refused)}" for use in one.permissions),
    ]


def _holds(one: DomainReview) -> str:
    if one.decay.decayed:
        return "has decayed, and asks until it is reviewed"
    if one.days_left is None:
        return "does not decay"
    soon = ": keep it now, or it asks from then on" if one.days_left <= SOON else ""
    return f"decays in {one.days_left:.0f} days{soon}"


def _use(operation: str, used: int, asked: int, refused: int) -> str:
    if not used and not asked and not refused:
        return f"{operation}: not used since the last review"
    return f"{operation}: used {used} times, asked {asked}, refused {refused}"


def find_decay_notes(gate: Gate) -> list[str]:
    """Return what to say of domains that decay soon; nothing if your own policy is not the one in force."""
    import msgspec

    from sayso.core.errors import SaysoError
    from sayso.gate.open import policy_in_force
    from sayso.gate.settings import load_own_policy
    from sayso.gate.upkeep.decay_notices import find_near_decays
    from sayso.policy import load_preset

    try:
        loaded = load_own_policy()
        policy = load_preset("balanced") if loaded is None else loaded.policy
        if policy_in_force(gate) != policy.digest:
            return []
        return [one.notice for one in find_near_decays(msgspec.structs.replace(gate, policy=policy))]
    except SaysoError:  # whoever wants to see questions is not stopped by a policy that cannot be read
        return []
