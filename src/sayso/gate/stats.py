"""How much Sayso asks, and whether that is worth it: figures from the audit entries and the questions.

Decisions are counted from the audit. A call that is asked again while its question is open joins that one, so
prompts are the questions opened, not the entries ASKED. Entries whose bodies were pruned are not counted, and
the figures say how many those are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from statistics import median

import msgspec

from sayso.core.audit import Entry, read
from sayso.core.decision import Question
from sayso.core.model import Risk
from sayso.gate.gate import Gate
from sayso.gate.state import as_written
from sayso.store.base import EntryRow, QuestionRow, Reader

HOUR = 3_600.0
FASTER_THAN_READING = 1.0
"""An answer within this many seconds cannot follow from reading the question."""
PAGE = 1_000
DECISIONS = ("DECIDED", "ASKED", "BLOCKED")
CONSENTS = frozenset(
    (
        "allowlist",
        "confident",
        "nested",
        "operation_grant",
        "plan",
        "remembered",
        "slash_command",
        "task_grant",
        "user_initiated",
        "workflow_grant",
    )
)
"""The rules by which an earlier word of a person, or the agent's confidence, spared a question."""


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
    """Entries left out because their bodies were pruned."""


def figures(gate: Gate, *, session: str | None = None, since: float = 0.0) -> Figures:
    """The figures since this time, of one session or of all."""
    with gate.store.read() as tx:
        rows = [row for row in _questions(tx, session) if row.opened_at >= since]
        count = _Count(rows)
        for stream in tx.streams():
            for row in _entries(tx, stream):
                if row.at >= since and session in (None, row.session) and row.event in DECISIONS:
                    count.add(row)
        return _figures(count, rows, tx.now)


class _Count:
    """What is added up while the entries go by."""

    def __init__(self, questions: list[QuestionRow]) -> None:
        self._unseen = Counter((row.session, row.digest, row.opened_at) for row in questions)
        self.commands = {row.digest for row in questions if as_written(row).request.call.command}
        self.events: Counter[str] = Counter()
        self.avoided = 0
        self.high: Counter[str] = Counter()
        self.repeated: Counter[str] = Counter()
        self.hours: set[int] = set()
        self.pruned = 0
        self._seen: set[tuple[str, str]] = set()

    def add(self, row: EntryRow) -> None:
        if row.body is None:
            self.pruned += 1
            return
        entry = read(row.body)
        rule, digest = str(entry.details["rule"]), str(entry.details["digest"])
        prompted = row.event == "ASKED" and self._opens(row.session, digest, row.at)
        self.events[row.event] += 1
        self.hours.add(int(row.at // HOUR))
        self.avoided += row.event == "DECIDED" and rule in CONSENTS
        self._add_high(entry, rule, prompted)
        self._add_repeated(entry.session, digest, rule, prompted)

    def _opens(self, session: str, digest: str, at: float) -> bool:
        """Whether this entry is the one that opened a question: they were written in the same moment."""
        if not self._unseen[session, digest, at]:
            return False
        self._unseen[session, digest, at] -= 1
        return True

    def _add_high(self, entry: Entry, rule: str, prompted: bool) -> None:
        """A call that runs on its approval was counted when it was asked."""
        if entry.details["risk"] != Risk.HIGH.word or rule == "approved_call":
            return
        if prompted:
            self.high["asked"] += 1
        elif entry.event == "DECIDED":
            self.high[rule] += 1

    def _add_repeated(self, session: str, digest: str, rule: str, prompted: bool) -> None:
        """Of commands seen before in their session: those the allowlist covered, and those asked again."""
        again = (session, digest) in self._seen
        self._seen.add((session, digest))
        if again and rule == "allowlist":
            self.repeated["covered"] += 1
        elif again and prompted and digest in self.commands:
            self.repeated["asked"] += 1


def _figures(count: _Count, rows: list[QuestionRow], now: float) -> Figures:
    times = [row.closed_at - row.opened_at for row in rows if row.state == "answered" and row.closed_at]
    asked_in = _by_category_and_task(as_written(row) for row in rows)
    expired = sum(row.state == "expired" or (row.state == "open" and now >= row.expires_at) for row in rows)
    return Figures(
        decisions=count.events.total(),
        allowed=count.events["DECIDED"],
        asked=count.events["ASKED"],
        denied=count.events["BLOCKED"],
        prompts=len(rows),
        avoided=count.avoided,
        prompts_per_category_per_task=_ratio(asked_in.total(), len(asked_in)),
        most_prompts_in_a_category_of_a_task=max(asked_in.values(), default=0),
        high_risk_asked=_ratio(count.high["asked"], count.high.total()),
        high_risk_unasked={rule: times for rule, times in count.high.items() if rule != "asked"},
        repeated_commands_on_allowlist=_ratio(count.repeated["covered"], count.repeated.total()),
        prompts_per_hour=_ratio(len(rows), len(count.hours)),
        median_time_to_answer=median(times) if times else None,
        answers=len(times),
        answers_too_fast=sum(time < FASTER_THAN_READING for time in times),
        expired=expired,
        pruned=count.pruned,
    )


def _by_category_and_task(questions: Iterator[Question]) -> Counter[tuple[str, str]]:
    """How often each category was asked for in each task; high risk aside, which asks every time."""
    asked: Counter[tuple[str, str]] = Counter()
    for question in questions:
        below_high = {item.category for item in question.items if item.risk < Risk.HIGH}
        asked.update((question.task, category) for category in below_high if question.task is not None)
    return asked


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _questions(tx: Reader, session: str | None) -> Iterator[QuestionRow]:
    after = ""
    while page := tx.questions(session, state=None, after=after, limit=PAGE):
        yield from page
        after = page[-1].id


def _entries(tx: Reader, stream: str) -> Iterator[EntryRow]:
    after = 0
    while page := tx.entries(stream, after=after, limit=PAGE):
        yield from page
        after = page[-1].seq
