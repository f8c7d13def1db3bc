"""Consent fatigue in figures: how much Sayso asks, from the audit entries and the questions.

- Decisions are counted from the audit.
- A call that is asked again while its question is open joins that question: prompts are the questions opened,
  not the entries ASKED.
- Entries whose bodies were pruned are not counted; the figures say how many those are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import median

import msgspec

from sayso.core.durations import HOUR
from sayso.core.model import Risk, Verdict
from sayso.core.rulebook import ALLOWLIST, APPROVED_CALL, SPARING
from sayso.gate.figures.decision_log import (
    DecisionEntry,
    LoggedDecision,
    LoggedQuestion,
    read_decisions,
    read_questions,
)
from sayso.gate.gate import Gate

FASTER_THAN_READING = 1.0
"""An answer within this many seconds cannot follow from reading the question."""


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


def compute_figures(gate: Gate, *, session: str | None = None, since: float = 0.0) -> Figures:
    """The figures since this time, of one session or of all."""
    with gate.store.read() as tx:
        asked = read_questions(tx, session=session, since=since)
        count = Count(asked)
        for one in read_decisions(tx, session=session, since=since):
            count.add(one)
        return count.figures(tx.now)


class Count:
    """Running totals for the figures."""

    def __init__(self, asked: list[LoggedQuestion]) -> None:
        self._asked = asked
        self._unseen = Counter((one.row.session, one.row.digest, one.row.opened_at) for one in asked)
        self._commands = {one.row.digest for one in asked if one.is_command}
        self._verdicts: Counter[Verdict] = Counter()
        self._avoided = 0
        self._high_asked = 0
        self._high_unasked: Counter[str] = Counter()
        self._repeated: Counter[str] = Counter()
        self._hours: set[int] = set()
        self._pruned = 0
        self._seen: set[tuple[str, str]] = set()

    def add(self, one: LoggedDecision) -> None:
        said = one.said
        if said is None:
            self._pruned += 1
            return
        rule, digest = said.details.rule, said.details.digest
        prompted = one.verdict is Verdict.ASK and self._opens(one.session, digest, one.at)
        self._verdicts[one.verdict] += 1
        self._hours.add(int(one.at // HOUR))
        self._avoided += spared_a_question(one)
        self._add_high(one.verdict, said, prompted)
        self._add_repeated(one.session, digest, rule, prompted)

    def _opens(self, session: str, digest: str, at: float) -> bool:
        """Return whether this entry opened the question: both were written in the same moment."""
        if not self._unseen[session, digest, at]:
            return False
        self._unseen[session, digest, at] -= 1
        return True

    def _add_high(self, verdict: Verdict, said: DecisionEntry, prompted: bool) -> None:
        """A call that runs on its approval was counted when it was asked."""
        rule = said.details.rule
        if said.details.risk != Risk.HIGH.word or rule == APPROVED_CALL.name:
            return
        if prompted:
            self._high_asked += 1
        elif verdict is Verdict.ALLOW:
            self._high_unasked[rule] += 1

    def _add_repeated(self, session: str, digest: str, rule: str, prompted: bool) -> None:
        """Of commands seen before in their session: those the allowlist covered, and those asked again."""
        again = (session, digest) in self._seen
        self._seen.add((session, digest))
        if again and rule == ALLOWLIST.name:
            self._repeated["covered"] += 1
        elif again and prompted and digest in self._commands:
            self._repeated["asked"] += 1

    def figures(self, now: float) -> Figures:
        """Return the figures of all that was added."""
        asked, verdicts = self._asked, self._verdicts
        pace = pace_of(asked)
        asked_in = _by_category_and_task(asked)
        return Figures(
            decisions=verdicts.total(),
            allowed=verdicts[Verdict.ALLOW],
            asked=verdicts[Verdict.ASK],
            denied=verdicts[Verdict.DENY],
            prompts=len(asked),
            avoided=self._avoided,
            prompts_per_category_per_task=_ratio(asked_in.total(), len(asked_in)),
            most_prompts_in_a_category_of_a_task=max(asked_in.values(), default=0),
            high_risk_asked=_ratio(self._high_asked, self._high_asked + self._high_unasked.total()),
            high_risk_unasked=dict(self._high_unasked),
            repeated_commands_on_allowlist=_ratio(self._repeated["covered"], self._repeated.total()),
            prompts_per_hour=_ratio(len(asked), len(self._hours)),
            median_time_to_answer=pace.median,
            answers=pace.answers,
            answers_too_fast=pace.too_fast,
            expired=sum(_expired(one, now) for one in asked),
            pruned=self._pruned,
        )


class Pace(msgspec.Struct, frozen=True):
    """The speed of answers: their number, the median in seconds, and how many came too fast."""

    answers: int
    median: float | None
    too_fast: int


def pace_of(asked: Iterable[LoggedQuestion]) -> Pace:
    """Return how fast these questions were answered."""
    times = [one.seconds_to_answer for one in asked if one.seconds_to_answer is not None]
    fast = sum(time < FASTER_THAN_READING for time in times)
    return Pace(len(times), median(times) if times else None, fast)


def spared_a_question(one: LoggedDecision) -> bool:
    """Return whether an earlier word of a person, or the agent's confidence, spared a question here."""
    return one.verdict is Verdict.ALLOW and one.said is not None and one.said.details.rule in SPARING


def _expired(one: LoggedQuestion, now: float) -> bool:
    return one.row.state == "expired" or (one.row.state == "open" and now >= one.row.expires_at)


def _by_category_and_task(asked: Iterable[LoggedQuestion]) -> Counter[tuple[str, str]]:
    """Count how often each category was asked for in each task, without high risk, which asks every time."""
    found: Counter[tuple[str, str]] = Counter()
    for one in asked:
        found.update((one.task, category) for category in one.below_high if one.task is not None)
    return found


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
