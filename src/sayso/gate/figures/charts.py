"""Decisions and answers added up for pictures: hour by hour, by agent, by category."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import msgspec

from sayso.core.durations import HOUR
from sayso.core.errors import MalformedRequest
from sayso.core.model import Verdict
from sayso.core.policy import Policy
from sayso.gate.figures.decision_log import LoggedDecision, LoggedQuestion, read_decisions, read_questions
from sayso.gate.figures.figures import Count, Figures, pace_of, spared_a_question
from sayso.gate.gate import Gate

MOST_ROWS = 1_000
COLUMNS = (Verdict.ALLOW, Verdict.ASK, Verdict.DENY)


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
    """Everything decided and asked since this time, read once, as of one moment."""
    with gate.store.read() as tx:
        asked = read_questions(tx, since=since)
        count, drawn = Count(asked), _ChartCount(gate.policy, asked)
        for one in read_decisions(tx, since=since):
            count.add(one)
            drawn.add(one)
        return count.figures(tx.now), drawn.charts()


class _Group:
    """One way to tell decisions and questions apart: by hour, by agent or by category."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.asked: dict[str, list[LoggedQuestion]] = defaultdict(list)

    def add(self, name: str, verdict: Verdict, avoided: bool) -> None:
        count = self.counts[name]
        count[verdict.value] += 1
        count["avoided"] += avoided

    def tally(self, name: str) -> Tally:
        count, asked = self.counts[name], self.asked.get(name, [])
        pace = pace_of(asked)
        allowed, stopped, denied = (count[verdict.value] for verdict in COLUMNS)
        decided = (allowed, stopped, denied, count["avoided"])
        return Tally(name, *decided, len(asked), pace.answers, pace.median, pace.too_fast)

    def most(self) -> tuple[Tally, ...]:
        """Those with the most decisions first."""
        names = sorted(self.counts, key=lambda name: (-self.counts[name].total(), name))
        return tuple(self.tally(name) for name in names[:MOST_ROWS])


class _ChartCount:
    """Running totals for the charts."""

    def __init__(self, policy: Policy, asked: Iterable[LoggedQuestion]) -> None:
        self._policy = policy
        self._categories: dict[str, str] = {}
        self._hour, self._agent, self._category = _Group(), _Group(), _Group()
        for one in asked:
            self._hour.asked[_hour_name(one.row.opened_at)].append(one)
            self._agent.asked[one.agent].append(one)
            for category in one.categories:
                self._category.asked[category].append(one)

    def add(self, one: LoggedDecision) -> None:
        if one.said is None:
            return
        avoided = spared_a_question(one)
        self._hour.add(_hour_name(one.at), one.verdict, avoided)
        self._agent.add(one.said.agent, one.verdict, avoided)
        for category in {self._category_of(name) for name in one.said.operations}:
            self._category.add(category, one.verdict, avoided)

    def charts(self) -> Charts:
        newest = sorted(self._hour.counts, key=int)[-MOST_ROWS:]
        hours = tuple(self._hour.tally(name) for name in newest)
        return Charts(hours, self._agent.most(), self._category.most())

    def _category_of(self, name: str) -> str:
        """The category of an operation, looked up once for each."""
        if name not in self._categories:
            try:
                self._categories[name] = self._policy.entry(name).category
            except MalformedRequest:  # known under another spelling by now
                self._categories[name] = name
        return self._categories[name]


def _hour_name(at: float) -> str:
    return str(int(at // HOUR * HOUR))
