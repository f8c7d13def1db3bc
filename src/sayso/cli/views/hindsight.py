"""Replay and suggestions in a terminal. Agents' text is shown as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sayso.cli.views.operator import format_moment
from sayso.core.text.counts import count_of
from sayso.core.words import visible

if TYPE_CHECKING:
    from sayso.gate.hindsight.replay import ReplayedChange, ReplayReport
    from sayso.gate.hindsight.suggest import Suggestion

MOST_CHANGES = 20
FOLD = 100
HEADS = {
    "always_approved": "Always approved: could run unasked",
    "often_refused": "Often refused: could be blocked",
    "never_used": "Never used: could ask again",
}


def replay_lines(report: ReplayReport) -> list[str]:
    """The report: loosened first, then tightened, then what could not be decided again."""
    before, after = report.before, report.after
    lines = [
        f"{report.decisions:,} decisions decided again",
        *(
            f"  {verdict:<6}{before[verdict]:>10,} → {after[verdict]:,}"
            for verdict in ("allow", "ask", "deny")
        ),
    ]
    if not report.loosened and not report.tightened:
        lines.append("Nothing would have been decided otherwise.")
    lines += _change_lines("LOOSENED", report.loosened)
    lines += _change_lines("tightened", report.tightened)
    if report.by_limits:
        were, stay = ("was", "it stays") if report.by_limits == 1 else ("were", "they stay")
        counted = count_of(report.by_limits, "decision")
        lines.append(f"{counted} {were} made by a limit, not by the policy; {stay}.")
    missed = sum(report.not_replayed.values())
    if missed:
        lines.append(f"{count_of(missed, 'decision')} cannot be decided again:")
        lines += [f"  {count:,}: {why}" for why, count in report.not_replayed.items()]
    return lines


def _change_lines(word: str, changes: tuple[ReplayedChange, ...]) -> Iterator[str]:
    for one in changes[:MOST_CHANGES]:
        names = ", ".join(visible(name, FOLD) for name in one.operations)
        times = "once" if one.times == 1 else f"{one.times:,} times"
        rules = f"({one.rule_before} → {one.rule_after})"
        yield f"{word} {times}: {names}: {one.before} → {one.after} {rules}"
        for each in one.examples:
            yield f"    entry {each.entry}, {format_moment(each.at)}, {visible(each.agent, FOLD)}"
            yield f"      {visible(each.title, FOLD)}"
    if len(changes) > MOST_CHANGES:
        yield f"{word}: {len(changes) - MOST_CHANGES} more kinds of calls (--json lists all)"


def suggestion_lines(found: Iterable[Suggestion]) -> list[str]:
    """Each suggestion with its number, its evidence, and what it would have changed."""
    lines: list[str] = []
    for number, one in enumerate(found, 1):
        lines += [f"{number}. {HEADS[one.kind]}", f"   {one.words}"]
        if one.evidence.agents:
            lines.append(f"   asked for by {', '.join(one.evidence.agents)}")
        if one.effect is not None:
            effect = one.effect
            left_out = f", {effect.not_replayed:,} could not be replayed" if effect.not_replayed else ""
            lines.append(
                f"   of {effect.decisions:,} recorded decisions: {effect.loosened:,} loosened, "
                f"{effect.tightened:,} tightened{left_out}"
            )
        if one.diff is None:
            lines.append(f"   no proposal: {one.why_not}")
        else:
            lines.append(f"   propose it: sayso policy suggest --propose {number}")
    return lines or ["Nothing to suggest."]
