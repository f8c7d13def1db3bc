"""Decisions and questions read for adding up: many of them, and of each only what figures are made from.

Nothing is verified here, that is what `audit verify` is for. What cannot be read is left out, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sayso.core.audit.events import DECISIONS
from sayso.core.model import Risk, Verdict
from sayso.gate.rows.row_seals import MAC_BYTES
from sayso.store.contract import QuestionRow, Reader

PAGE = 1_000


class Details(msgspec.Struct, frozen=True, gc=False):
    digest: str
    risk: str
    rule: str


class DecisionEntry(msgspec.Struct, frozen=True, gc=False):
    """The parts of a decision's entry that figures need."""

    agent: str
    details: Details
    operations: tuple[str, ...]


class LoggedDecision(msgspec.Struct, frozen=True, gc=False):
    """An entry of a decision; `said` is None if its body was pruned or cannot be read."""

    at: float
    verdict: Verdict
    session: str
    said: DecisionEntry | None


class _Item(msgspec.Struct, frozen=True, gc=False):
    category: str
    risk: Risk


class _Call(msgspec.Struct, frozen=True, gc=False):
    command: str | None = None


class _Request(msgspec.Struct, frozen=True, gc=False):
    call: _Call
    agent: str = "agent"


class _Question(msgspec.Struct, frozen=True, gc=False):
    request: _Request
    items: tuple[_Item, ...]
    task: str | None = None


class LoggedQuestion(msgspec.Struct, frozen=True):
    """A question, as far as figures need it. `waited` is how long it took to be answered, if it was."""

    row: QuestionRow
    agent: str
    task: str | None
    is_command: bool
    categories: frozenset[str]
    below_high: frozenset[str]
    """Those of its categories that something below high risk was asked for in."""

    @property
    def seconds_to_answer(self) -> float | None:
        row = self.row
        return None if row.state != "answered" or row.closed_at is None else row.closed_at - row.opened_at


_decode_decision = msgspec.json.Decoder(DecisionEntry).decode
_decode_question = msgspec.json.Decoder(_Question).decode


def read_decisions(tx: Reader, *, session: str | None = None, since: float = 0.0) -> Iterator[LoggedDecision]:
    """Every decision since this time, of one session or of all, stream by stream."""
    for stream in tx.streams():
        after = _find_start(tx, stream, since) if since > 0 else 0
        while page := tx.entry_tuples(stream, after=after, limit=PAGE):
            for _, body, _, _, at, event, whose in page:
                if event in DECISIONS and at >= since and session in (None, whose):
                    yield LoggedDecision(at, DECISIONS[event], whose, _try_read_decision(body))
            after = page[-1][0]


def read_questions(tx: Reader, *, session: str | None = None, since: float = 0.0) -> list[LoggedQuestion]:
    """Every question opened since this time that can be read."""
    found, after = [], ""
    while page := tx.questions(session, state=None, after=after, limit=PAGE):
        asked = (_try_read_question(row) for row in page if row.opened_at >= since)
        found += [one for one in asked if one is not None]
        after = page[-1].id
    return found


def _try_read_decision(body: bytes | None) -> DecisionEntry | None:
    try:
        return None if body is None else _decode_decision(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _try_read_question(row: QuestionRow) -> LoggedQuestion | None:
    try:
        one = _decode_question(row.body[MAC_BYTES:])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return LoggedQuestion(
        row,
        one.request.agent,
        one.task,
        bool(one.request.call.command),
        frozenset(item.category for item in one.items),
        frozenset(item.category for item in one.items if item.risk < Risk.HIGH),
    )


def _find_start(tx: Reader, stream: str, since: float) -> int:
    """The last entry before this time. Times only grow along a stream, so it is found by halving."""
    head = tx.head(stream)
    low, high = 0, 0 if head is None else head.seq
    while low < high:
        middle = (low + high) // 2
        found = tx.entry_tuples(stream, after=middle, limit=1)
        if found and found[0][4] < since:
            low = middle + 1
        else:
            high = middle
    return low
