"""Adding up questions.

A question is added once nothing can happen to it any more, and after those before it: what is younger than an
hour, or still open, is read from its own row. So is all that follows it.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sayso.core.durations import DAY, HOUR
from sayso.core.model import Risk
from sayso.gate.rows.row_seals import MAC_BYTES
from sayso.gate.summaries.shapes import ASKED, SPANS, TASKS, THROUGH, AnswerCounts, QuestionTotals
from sayso.gate.summaries.source import SourceSummaries
from sayso.store.contract import QuestionRow, Reader

PAGE = 1_000
FASTER_THAN_READING = 1.0
"""An answer within this many seconds cannot follow from reading the question."""
SETTLED = HOUR
"""No transaction that opens a question takes so long: all that were opened before it are known."""


class _Item(msgspec.Struct, frozen=True, gc=False):
    category: str
    risk: Risk


class _Call(msgspec.Struct, frozen=True, gc=False):
    command: str | None = None


class _Request(msgspec.Struct, frozen=True, gc=False):
    call: _Call
    agent: str = "agent"


class QuestionFacts(msgspec.Struct, frozen=True, gc=False):
    """The parts of a question that are added up."""

    request: _Request
    items: tuple[_Item, ...]
    task: str | None = None

    @property
    def is_command(self) -> bool:
        return bool(self.request.call.command)

    @property
    def categories(self) -> frozenset[str]:
        return frozenset(item.category for item in self.items)

    @property
    def below_high(self) -> frozenset[str]:
        """Those of its categories that something below high risk was asked for in."""
        return frozenset(item.category for item in self.items if item.risk < Risk.HIGH)


_decode = msgspec.json.Decoder(QuestionFacts).decode


def read_asked(row: QuestionRow) -> QuestionFacts | None:
    """Read what the question asked; None if it cannot be read."""
    try:
        return _decode(row.body[MAC_BYTES:])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def read_questions(tx: Reader, after: str = "", *, session: str | None = None) -> Iterator[QuestionRow]:
    """The questions after this one, of one session or of all, oldest first."""
    while page := tx.questions(session, state=None, after=after, limit=PAGE):
        yield from page
        after = page[-1].id


def is_final(row: QuestionRow, now: float) -> bool:
    """Return whether nothing more can happen to the question, nor to any that was opened before it."""
    over = row.state != "open" or now >= row.expires_at + DAY
    return over and now >= row.opened_at + SETTLED


def add_question(sums: SourceSummaries, row: QuestionRow, now: float) -> None:
    """Add a question as it is at this time."""
    sums.change(THROUGH).question = row.id
    asked = read_asked(row)
    if asked is None:
        return
    hour = int(row.opened_at // HOUR)
    counts = _count(row, now)
    for span in SPANS:
        totals = _totals(sums, hour, span)
        totals.agents.setdefault(asked.request.agent, AnswerCounts()).add(counts)
        for category in asked.categories:
            totals.categories.setdefault(category, AnswerCounts()).add(counts)
    for category in asked.below_high if asked.task is not None else ():
        _add_to_task(sums, f"{asked.task}\n{category}", hour)


def _count(row: QuestionRow, now: float) -> AnswerCounts:
    if row.state != "answered" or row.closed_at is None:
        ended = now if row.state == "open" or row.closed_at is None else row.closed_at
        return AnswerCounts(1, expired=row.state == "expired" or ended >= row.expires_at)
    took = row.closed_at - row.opened_at
    return AnswerCounts(1, too_fast=took < FASTER_THAN_READING, times={f"{took:.3g}": 1})


def _add_to_task(sums: SourceSummaries, name: str, hour: int) -> None:
    prompts = sums.change(TASKS, name)
    if prompts.times == 0:
        prompts.hour = hour
    before, now = str(prompts.times), str(prompts.times + 1)
    for span in SPANS:
        tasks = _totals(sums, prompts.hour, span).tasks
        tasks[now] = tasks.get(now, 0) + 1
        tasks[before] = tasks.get(before, 0) - 1
        if tasks[before] <= 0:
            del tasks[before]
    prompts.times += 1


def _totals(sums: SourceSummaries, hour: int, span: int) -> QuestionTotals:
    return sums.change(ASKED[span], place=hour * SPANS[0] // span)
