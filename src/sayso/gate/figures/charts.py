"""Decisions and answers added up for pictures: hour by hour, by agent, by category."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sayso.core.errors import MalformedRequest
from sayso.core.policy import Policy
from sayso.gate.figures.figures import Figures, figures_of, pace_of
from sayso.gate.figures.totals import SHORTEST, Totals, leave_out_trials, load_totals, start_of_hour
from sayso.gate.gate import Gate
from sayso.gate.summaries.shapes import (
    ASKED,
    DECIDED,
    AnswerCounts,
    DecisionTotals,
    QuestionTotals,
    VerdictCounts,
)

MOST_ROWS = 1_000


class Tally(msgspec.Struct, frozen=True):
    """The decisions and answers under one name.

    `asked` counts every time a call had to wait for an answer, `prompts` the questions that people saw;
    `avoided` counts allows that spared a question. Times are seconds, None without an answer.
    """

    name: str
    allowed: int
    asked: int
    denied: int
    avoided: int
    prompts: int = 0
    answers: int = 0
    median_time_to_answer: float | None = None
    answers_too_fast: int = 0


class Charts(msgspec.Struct, frozen=True):
    """Hours are named by the second they begin with, and those without a decision are left out."""

    hours: tuple[Tally, ...]
    agents: tuple[Tally, ...]
    categories: tuple[Tally, ...]


def compute_figures_and_charts(gate: Gate, *, since: float = 0.0) -> tuple[Figures, Charts]:
    """Everything decided and asked since the beginning of this hour, as of one moment."""
    with gate.store.read() as tx:
        totals = load_totals(tx, since)
        charts = Charts(
            _chart_hours(totals),
            _most(totals.decided.agents, totals.asked.agents),
            _most(_by_category(gate.policy, totals), totals.asked.categories),
        )
        return figures_of(totals), charts


def _chart_hours(totals: Totals) -> tuple[Tally, ...]:
    """The newest hours in which anything was decided."""
    first = int(start_of_hour(totals.since) // SHORTEST)
    decided: dict[int, VerdictCounts] = {}
    for stream in totals.streams:
        for hour, one in stream.newest_first(DECIDED[SHORTEST], first=first, limit=MOST_ROWS):
            counted, _ = leave_out_trials(one, QuestionTotals())
            if counted.agents:
                decided.setdefault(hour, VerdictCounts()).add(counted.sum_agents())
    newest = sorted(decided)[-MOST_ROWS:]
    asked: Mapping[int, QuestionTotals] = (
        dict(totals.questions.newest_first(ASKED[SHORTEST], first=newest[0], before=newest[-1] + 1))
        if newest
        else {}
    )
    return tuple(
        _tally(str(hour * SHORTEST), decided[hour], _people_asked(asked.get(hour, QuestionTotals())))
        for hour in newest
    )


def _people_asked(asked: QuestionTotals) -> AnswerCounts:
    return leave_out_trials(DecisionTotals(), asked)[1].sum_agents()


def _by_category(policy: Policy, totals: Totals) -> dict[str, VerdictCounts]:
    """Decisions by the categories that the policy puts their operations in now."""
    found: dict[str, VerdictCounts] = {}
    for operations, counts in totals.decided.operations.items():
        names = operations.split("\n") if operations else ()
        for category in {_category_of(policy, name) for name in names}:
            found.setdefault(category, VerdictCounts()).add(counts)
    return found


def _category_of(policy: Policy, name: str) -> str:
    try:
        return policy.entry(name).category
    except MalformedRequest:  # known under another spelling by now
        return name


def _most(decided: Mapping[str, VerdictCounts], asked: Mapping[str, AnswerCounts]) -> tuple[Tally, ...]:
    """Those with the most decisions first.

    Questions were counted under the category that their operation had then; the policy may have renamed it.
    """
    none, nobody = VerdictCounts(), AnswerCounts()
    tallies = (_tally(name, decided.get(name, none), asked.get(name, nobody)) for name in {*decided, *asked})
    rows = sorted(tallies, key=lambda one: (-(one.allowed + one.asked + one.denied), -one.prompts, one.name))
    return tuple(rows[:MOST_ROWS])


def _tally(name: str, counts: VerdictCounts, asked: AnswerCounts) -> Tally:
    pace = pace_of(asked)
    decided = (counts.allow, counts.ask, counts.deny, counts.avoided)
    return Tally(name, *decided, asked.prompts, pace.answers, pace.median, pace.too_fast)
