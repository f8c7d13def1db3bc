"""Words of suggestions. Agents' text in them is data: escapes visible, long text folded."""

from __future__ import annotations

from collections.abc import Sequence

from sayso.core.durations import ALL_TIME, DAY
from sayso.core.text.counts import count_of
from sayso.core.words import visible

FOLD = 200
NO_OWN_FILE = "no policy file of your own is in force (`sayso policy status` says more)"


def suggest_approved(
    approved: int, asked: int, days: float, operations: Sequence[str], title: str, folder: str
) -> str:
    """The evidence for a call that people always approve."""
    what = f"{_names(operations)} ({visible(title, FOLD)})"
    return f"approved {approved} of {asked} times in {_days(days)}: {what} in {visible(folder, FOLD) or '-'}"


def suggest_refused(denied: int, asked: int, days: float, operation: str) -> str:
    """The evidence for an operation that people refuse."""
    return f"denied {denied} of {asked} times in {_days(days)}: {_names([operation])}"


def suggest_unused(days: float, operations: Sequence[str]) -> str:
    """The evidence for permissions that nothing uses."""
    return f"not used in {_days(days)}: {_names(operations)}"


def _names(operations: Sequence[str]) -> str:
    return ", ".join(visible(name, FOLD) for name in operations)


def _days(days: float) -> str:
    return "all that is recorded" if days >= ALL_TIME / DAY else count_of(days, "day")
