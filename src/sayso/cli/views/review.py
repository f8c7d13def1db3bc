"""Reviewing the policy in a terminal: each domain in a few lines, and whether to keep it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from sayso.gate.upkeep.review import DomainReview


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
    return f"decays in {one.days_left:.0f} days"


def _use(operation: str, used: int, asked: int, refused: int) -> str:
    if not used and not asked and not refused:
        return f"{operation}: not used since the last review"
    return f"{operation}: used {used} times, asked {asked}, refused {refused}"
