"""The summaries kept of the trail and of the questions: what each kind of row holds.

- A summary holds nothing that the rows it was made from do not say. It can be dropped and made again, and no
  decision looks at one.
- Figures are kept by the hour, the day and thirty days, so that any time since the beginning of an hour is a
  few rows.
- `FOUND` leads from a value that people filter the history by to the entries that have it.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from sayso.core.durations import DAY, HOUR

Body = TypeVar("Body")

QUESTIONS = "?"
"""The source of what is added up from questions. No stream has this name."""
BLOCK = 1_000
"""How many entries of a stream share the rows by which they are found."""
PARTS = 64
"""Among how many rows the last uses of operations are spread."""


class SummaryKind(Generic[Body]):
    """One kind of summary."""

    def __init__(self, kind: str, body: type[Body]) -> None:
        self.kind = kind
        self.new = body
        self.decode = msgspec.json.Decoder(body).decode


class Through(msgspec.Struct):
    """How far a source was added up: the number of the last entry, or the id of the last question.

    `step` is another word each time anything is stored, so that whoever has read the summaries can tell.
    """

    entry: int = 0
    question: str = ""
    step: str = ""


class VerdictCounts(msgspec.Struct):
    """Decisions by verdict; `avoided` are the allows that spared a question."""

    allow: int = 0
    ask: int = 0
    deny: int = 0
    avoided: int = 0

    @property
    def total(self) -> int:
        return self.allow + self.ask + self.deny

    def add(self, other: VerdictCounts) -> None:
        self.allow += other.allow
        self.ask += other.ask
        self.deny += other.deny
        self.avoided += other.avoided


class DecisionTotals(msgspec.Struct):
    """The decisions of a span of time."""

    agents: dict[str, VerdictCounts] = {}
    operations: dict[str, VerdictCounts] = {}
    """By the operations of a call, a line each."""
    hours: set[int] = set()
    """The hours in which anything was decided."""
    high_asked: int = 0
    high_unasked: dict[str, int] = {}
    """Calls of high risk that were allowed unasked, by rule."""
    covered: int = 0
    asked_again: int = 0
    pruned: int = 0
    rated: int = 0
    rated_clear: int = 0

    def add(self, other: DecisionTotals) -> None:
        for mine, theirs in ((self.agents, other.agents), (self.operations, other.operations)):
            for name, counts in theirs.items():
                mine.setdefault(name, VerdictCounts()).add(counts)
        self.hours |= other.hours
        self.high_asked += other.high_asked
        for rule, count in other.high_unasked.items():
            self.high_unasked[rule] = self.high_unasked.get(rule, 0) + count
        self.covered += other.covered
        self.asked_again += other.asked_again
        self.pruned += other.pruned
        self.rated += other.rated
        self.rated_clear += other.rated_clear

    def sum_agents(self) -> VerdictCounts:
        """All decisions: each has one agent."""
        counts = VerdictCounts()
        for one in self.agents.values():
            counts.add(one)
        return counts


class AnswerCounts(msgspec.Struct):
    """Questions and their answers. `times`: how many answers took so many seconds, to three digits."""

    prompts: int = 0
    too_fast: int = 0
    expired: int = 0
    times: dict[str, int] = {}

    def add(self, other: AnswerCounts) -> None:
        self.prompts += other.prompts
        self.too_fast += other.too_fast
        self.expired += other.expired
        for time, count in other.times.items():
            self.times[time] = self.times.get(time, 0) + count


class QuestionTotals(msgspec.Struct):
    """The questions opened in a span of time.

    `tasks`: in how many pairs of a task and a category people were asked so many times. A pair belongs to the
    time of its first question.
    """

    agents: dict[str, AnswerCounts] = {}
    categories: dict[str, AnswerCounts] = {}
    tasks: dict[str, int] = {}

    def add(self, other: QuestionTotals) -> None:
        for mine, theirs in ((self.agents, other.agents), (self.categories, other.categories)):
            for name, counts in theirs.items():
                mine.setdefault(name, AnswerCounts()).add(counts)
        for times, pairs in other.tasks.items():
            self.tasks[times] = self.tasks.get(times, 0) + pairs

    def sum_agents(self) -> AnswerCounts:
        """All questions: each has one agent."""
        counts = AnswerCounts()
        for one in self.agents.values():
            counts.add(one)
        return counts


class UseTimes(msgspec.Struct):
    """When an operation was last part of a call that was allowed, asked about or refused."""

    allowed_at: float | None = None
    asked_at: float | None = None
    refused_at: float | None = None


class LastUses(msgspec.Struct):
    operations: dict[str, UseTimes] = {}


class Seen(msgspec.Struct):
    """A call of a session that needed consent; the last question that was opened for it."""

    question: str = ""
    times: int = 0


class TaskPrompts(msgspec.Struct):
    """How often people were asked for a category in a task, and in which hour first."""

    times: int = 0
    hour: int = 0


class Found(msgspec.Struct):
    """The entries of a block that have a value, by how far they are from its beginning."""

    offsets: list[int] = []


SPANS = (int(HOUR), int(DAY), int(30 * DAY))
"""In seconds, each a whole number of those before it."""
DECIDED = {span: SummaryKind(f"decided/{span}", DecisionTotals) for span in SPANS}
ASKED = {span: SummaryKind(f"asked/{span}", QuestionTotals) for span in SPANS}
THROUGH = SummaryKind("through", Through)
USES = SummaryKind("uses", LastUses)
SEEN = SummaryKind("seen", Seen)
TASKS = SummaryKind("tasks", TaskPrompts)
FOUND = SummaryKind("found", Found)
