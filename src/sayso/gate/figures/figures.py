"""Consent fatigue in figures: how much Sayso asks, from the audit entries and the questions.

- Decisions are counted from the audit.
- A call that is asked again while its question is open joins that question: prompts are the questions opened,
  not the entries ASKED.
- Entries whose bodies were pruned are not counted; the figures say how many those are.
- Figures begin with an hour: of the one that `since` lies in, everything counts.
- A task belongs to the time in which people were first asked in it. Times to answer have three digits.
- A command is repeated if it needed consent before in its session. Streams count for themselves.

They are read from the summaries, which grow with the hours, agents and operations, not with the calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from sayso.gate.figures.totals import Totals, load_session_totals, load_totals
from sayso.gate.gate import Gate
from sayso.gate.summaries.shapes import AnswerCounts
from sayso.gate.summaries.source import unreadable_summary


class Figures(msgspec.Struct, frozen=True):
    """Shares are from 0 to 1, times in seconds; None where there was nothing to measure."""

    decisions: int
    allowed: int
    asked: int
    denied: int
    prompts: int
    avoided: int
    prompts_per_category_per_task: float | None
    most_prompts_in_a_category_of_a_task: int
    high_risk_asked: float | None
    high_risk_unasked: Mapping[str, int]
    repeated_commands_on_allowlist: float | None
    prompts_per_hour: float | None
    median_time_to_answer: float | None
    answers: int
    answers_too_fast: int
    expired: int
    pruned: int
    """Entries left out because their bodies were pruned, or cannot be read."""
    rated: int = 0
    """How often people rated a question, and the share of those that were clear."""
    rated_clear: float | None = None


def compute_figures(gate: Gate, *, session: str | None = None, since: float = 0.0) -> Figures:
    """The figures since the beginning of this hour, of one session or of all."""
    with gate.store.read() as tx:
        if session is None:
            return figures_of(load_totals(tx, since))
        return figures_of(load_session_totals(tx, session, since))


def figures_of(totals: Totals) -> Figures:
    """Work out the figures from what was added up."""
    decided, asked = totals.decided, totals.asked
    counts, answers = decided.sum_agents(), asked.sum_agents()
    prompts_in_tasks = _read_task_counts(asked.tasks)
    pairs = sum(prompts_in_tasks.values())
    repeated = decided.covered + decided.asked_again
    return Figures(
        decisions=counts.total,
        allowed=counts.allow,
        asked=counts.ask,
        denied=counts.deny,
        prompts=answers.prompts,
        avoided=counts.avoided,
        prompts_per_category_per_task=_ratio(
            sum(times * many for times, many in prompts_in_tasks.items()), pairs
        ),
        most_prompts_in_a_category_of_a_task=max(prompts_in_tasks, default=0),
        high_risk_asked=_ratio(decided.high_asked, decided.high_asked + sum(decided.high_unasked.values())),
        high_risk_unasked=decided.high_unasked,
        repeated_commands_on_allowlist=_ratio(decided.covered, repeated),
        prompts_per_hour=_ratio(answers.prompts, len(decided.hours)),
        median_time_to_answer=pace_of(answers).median,
        answers=pace_of(answers).answers,
        answers_too_fast=answers.too_fast,
        expired=answers.expired,
        pruned=decided.pruned,
        rated=decided.rated,
        rated_clear=_ratio(decided.rated_clear, decided.rated),
    )


def _read_task_counts(tasks: Mapping[str, int]) -> dict[int, int]:
    try:
        return {int(times): pairs for times, pairs in tasks.items()}
    except ValueError as error:
        raise unreadable_summary() from error


class Pace(msgspec.Struct, frozen=True):
    """The speed of answers: their number, the median in seconds, and how many came too fast."""

    answers: int
    median: float | None
    too_fast: int


def pace_of(counts: AnswerCounts) -> Pace:
    """Return how fast these questions were answered."""
    try:
        times = sorted((float(time), count) for time, count in counts.times.items())
    except ValueError as error:
        raise unreadable_summary() from error
    total = sum(count for _, count in times)
    if not total:
        return Pace(0, None, counts.too_fast)
    middle = [_nth(times, (total - 1) // 2), _nth(times, total // 2)]
    return Pace(total, sum(middle) / 2, counts.too_fast)


def _nth(times: Iterable[tuple[float, int]], number: int) -> float:
    for time, count in times:
        number -= count
        if number < 0:
            return time
    raise IndexError(number)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
