"""The changes a policy file would make: a summary that fits a screen, or every change with its conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sayso.core.text.counts import count_of

if TYPE_CHECKING:
    from sayso.policy.compare.diff import DecisionChange, Difference
    from sayso.policy.compare.other_change import OtherChange

READ_AT_ONCE = 12
"""So many changes are shown in full at once; of more, a summary."""
MOST_NAMES = 12
UNLISTED = "unlisted"
LONGER = "Every change, with its conditions: sayso policy status --all"


def describe_difference(difference: Difference, *, everything: bool) -> list[str]:
    """Return the difference as lines: whole if that is wanted or short, else summed up, the danger first."""
    from sayso.policy.compare.diff import difference_lines

    count = len(difference.loosened) + len(difference.tightened) + len(difference.beyond)
    if everything or count <= READ_AT_ONCE:
        return list(difference_lines(difference))
    return [*summarize_difference(difference), LONGER]


def summarize_difference(difference: Difference) -> list[str]:
    """Return what is loosened, by how and where, and how much is tightened where."""
    freed = [one for one in difference.loosened if one.before == "deny"]
    eased = [one for one in difference.loosened if one.before != "deny"]
    lines = ["It loosens:"] if difference.loosens else []
    lines += _name_operations("blocked before, no longer", freed)
    lines += _count_domains("asked before, allowed in more situations", eased)
    lines += _count_parts("other parts", [one for one in difference.beyond if one.loosens])
    tighter = [one for one in difference.beyond if not one.loosens]
    lines += ["It tightens:"] if difference.tightened or tighter else []
    lines += _count_domains("decisions", difference.tightened)
    return [*lines, *_count_parts("other parts", tighter)]


def _name_operations(heading: str, changes: Sequence[DecisionChange]) -> list[str]:
    """Name the operations: each of them is worth reading."""
    names = list(dict.fromkeys(one.operation for one in changes))
    if not names:
        return []
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    shown = ", ".join(names[:MOST_NAMES])
    return [f"  {heading}: {count_of(len(names), 'operation')} ({shown}{more})"]


def _count_domains(heading: str, changes: Sequence[DecisionChange]) -> list[str]:
    names = dict.fromkeys(one.operation for one in changes)
    where = _join_counts(UNLISTED if name == "*" else name.partition(".")[0] for name in names)
    return [f"  {heading}: {count_of(len(names), 'operation')} ({where})"] if names else []


def _count_parts(heading: str, changes: Sequence[OtherChange]) -> list[str]:
    """Count what is not a decision, by its kind: a tool, a setting, a program, the people."""
    where = _join_counts(one.what.partition(" ")[0].partition(".")[0] for one in changes)
    return [f"  {heading}: {len(changes)} ({where})"] if changes else []


def _join_counts(names: Iterable[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in Counter(names).most_common())
