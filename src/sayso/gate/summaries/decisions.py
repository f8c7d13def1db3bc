"""Adding up the decisions of a stream."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any

import msgspec

from sayso.core.audit.events import DECISIONS, GlassBroken, Rated
from sayso.core.durations import HOUR
from sayso.core.model import Risk, Verdict
from sayso.core.rulebook import ALLOWLIST, APPROVED_CALL, SPARING
from sayso.gate.summaries.questions import read_asked
from sayso.gate.summaries.shapes import (
    BLOCK,
    DECIDED,
    FOUND,
    PARTS,
    SEEN,
    SPANS,
    THROUGH,
    USES,
    DecisionTotals,
    UseTimes,
    VerdictCounts,
)
from sayso.gate.summaries.source import SourceSummaries
from sayso.store.contract import EntryTuple, Reader

PAGE = 1_000
BROKEN_GLASS = "glass:"
"""The name under which the entries are found that say that somebody broke the glass."""
FIELDS = {Verdict.ALLOW: "allowed_at", Verdict.ASK: "asked_at", Verdict.DENY: "refused_at"}
_HIGH = Risk.HIGH.word
_CONSENT = SPARING | {ALLOWLIST.name, APPROVED_CALL.name}


class DecisionDetails(msgspec.Struct, frozen=True, gc=False):
    digest: str
    risk: str
    rule: str
    question: str = ""


class _Decision(msgspec.Struct, frozen=True, gc=False):
    """The parts of a decision's entry that are added up."""

    agent: str
    details: DecisionDetails
    operations: tuple[str, ...]


class _RatingDetails(msgspec.Struct, frozen=True):
    clear: bool


class _Rating(msgspec.Struct, frozen=True):
    details: _RatingDetails


_Read = tuple[EntryTuple, _Decision | None]
_Known = tuple[EntryTuple, _Decision]
_decode = msgspec.json.Decoder(_Decision).decode
_decode_rating = msgspec.json.Decoder(_Rating).decode


def read_tail(tx: Reader, stream: str, after: int, *, most: int | None = None) -> Iterator[EntryTuple]:
    """The entries of a stream after this one, so many at most."""
    left = most
    while left is None or left > 0:
        page = tx.entry_tuples(stream, after=after, limit=PAGE if left is None else min(PAGE, left))
        if not page:
            return
        yield from page
        after = page[-1][0]
        left = None if left is None else left - len(page)


def add_entries(sums: SourceSummaries, tx: Reader, rows: Iterable[EntryTuple]) -> int:
    """Add these entries, which follow those that were added before; how many."""
    page = list(rows)
    if not page:
        return 0
    read = [(row, _try_decode(row[1])) for row in page if row[5] in DECISIONS]
    for (hour, block), run in groupby(read, _hour_and_block):
        _Run(hour, block, run).store(sums)
    _add_ratings(sums, [row for row in page if row[5] == Rated.event])
    for row in page:
        if row[5] == GlassBroken.event:
            _note_found(sums, BROKEN_GLASS, row[0])
    known = [(row, said) for row, said in read if said is not None]
    _add_consented(sums, tx, [one for one in known if _wants_consent(*one)])
    sums.change(THROUGH).entry = page[-1][0]
    return len(page)


def _add_ratings(sums: SourceSummaries, rows: Sequence[EntryTuple]) -> None:
    """Count what people said of questions. A rating whose body was pruned is not counted any more."""
    for row in rows:
        try:
            clear = None if row[1] is None else _decode_rating(row[1]).details.clear
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            clear = None
        if clear is None:
            continue
        for span in SPANS:
            totals = _totals(sums, int(row[4] // HOUR), span)
            totals.rated += 1
            totals.rated_clear += clear
        _note_found(sums, found_name("rated", row[6]), row[0])


def _note_found(sums: SourceSummaries, name: str, seq: int) -> None:
    one = sums.change(FOUND, name, seq // BLOCK)
    one.offsets = sorted({*one.offsets, seq % BLOCK})


def entries_found(tx: Reader, stored: SourceSummaries, name: str) -> Iterable[EntryTuple]:
    """The entries of this name that are in the summaries of a stream, oldest first."""
    blocks = list(stored.newest_first(FOUND, name))
    for block, found in reversed(blocks):
        for offset in found.offsets:
            yield from tx.entry_tuples(stored.source, after=block * BLOCK + offset - 1, limit=1)


def found_name(what: str, value: str) -> str:
    """The name under which the entries with this value are found."""
    return f"{what}:{value}"


def _try_decode(body: bytes | None) -> _Decision | None:
    try:
        return None if body is None else _decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _hour_and_block(one: _Read) -> tuple[int, int]:
    return int(one[0][4] // HOUR), one[0][0] // BLOCK


class _Run:
    """Decisions of one hour and one block: counted together before any summary is looked up."""

    def __init__(self, hour: int, block: int, read: Iterable[_Read]) -> None:
        self._hour, self._block = hour, block
        self._agents: Counter[tuple[str, str, str]] = Counter()
        self._operations: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
        self._risks: Counter[tuple[str, str, str]] = Counter()
        self._latest: dict[tuple[str, tuple[str, ...]], float] = {}
        self._offsets: dict[str, dict[Any, list[int]]] = {name: defaultdict(list) for name in _FOUND_BY}
        self._unread = 0
        for row, said in read:
            self._add(row, said)

    def _add(self, row: EntryTuple, said: _Decision | None) -> None:
        """Of an entry without a body only the session is known."""
        offset, at, event, by = row[0] - self._block * BLOCK, row[4], row[5], self._offsets
        by["session"][row[6]].append(offset)
        if said is None:
            self._unread += 1
            return
        agent, operations, rule, risk = said.agent, said.operations, said.details.rule, said.details.risk
        by["agent"][agent].append(offset)
        by["rule"][rule].append(offset)
        by["risk"][risk].append(offset)
        by["verdict"][event].append(offset)
        by["domain"][operations].append(offset)
        self._agents[event, rule, agent] += 1
        self._operations[event, rule, operations] += 1
        self._risks[event, rule, risk] += 1
        if at > self._latest.get((event, operations), 0.0):
            self._latest[event, operations] = at

    def store(self, sums: SourceSummaries) -> None:
        """Add all of it to the summaries."""
        for span in SPANS:
            self._add_to(_totals(sums, self._hour, span))
        for (event, operations), at in self._latest.items():
            for name in operations:
                _note_use(sums, name, FIELDS[DECISIONS[event]], at)
        found = self._find_names()
        sums.load(FOUND, ((name, self._block) for name in found))
        for name, offsets in found.items():
            one = sums.change(FOUND, name, self._block)
            one.offsets = sorted({*one.offsets, *offsets})

    def _add_to(self, totals: DecisionTotals) -> None:
        totals.pruned += self._unread
        if self._agents:
            totals.hours.add(self._hour)
        for (event, rule, agent), count in self._agents.items():
            _add_decisions(totals.agents, agent, event, rule, count)
        for (event, rule, operations), count in self._operations.items():
            _add_decisions(totals.operations, "\n".join(sorted(set(operations))), event, rule, count)
        for (event, rule, risk), count in self._risks.items():
            if DECISIONS[event] is Verdict.ALLOW and _counts_as_high(risk, rule):
                totals.high_unasked[rule] = totals.high_unasked.get(rule, 0) + count

    def _find_names(self) -> dict[str, list[int]]:
        """The entries by the names under which they are found."""
        found: dict[str, list[int]] = defaultdict(list)
        for what, values in self._offsets.items():
            for value, offsets in values.items():
                for name in _FOUND_BY[what](value):
                    found[found_name(what, name)] += offsets
        return found


_FOUND_BY: dict[str, Callable[[Any], Iterable[str]]] = {
    "session": lambda session: (session,),
    "agent": lambda agent: (agent,),
    "rule": lambda rule: (rule,),
    "risk": lambda risk: (risk,),
    "verdict": lambda event: (DECISIONS[event].value,),
    "domain": lambda operations: {name.partition(".")[0] for name in operations},
}
"""What entries are found by, and the names of what was noted of them."""


def _add_decisions(by: dict[str, VerdictCounts], name: str, event: str, rule: str, count: int) -> None:
    counts, verdict = by.setdefault(name, VerdictCounts()), DECISIONS[event]
    if verdict is Verdict.ALLOW:
        counts.allow += count
        counts.avoided += count if rule in SPARING else 0
    elif verdict is Verdict.ASK:
        counts.ask += count
    else:
        counts.deny += count


def _note_use(sums: SourceSummaries, name: str, field: str, at: float) -> None:
    place = int.from_bytes(sha256(name.encode()).digest()[:2], "big") % PARTS
    use = sums.change(USES, place=place).operations.setdefault(name, UseTimes())
    before = getattr(use, field)
    setattr(use, field, at if before is None else max(at, before))


def _wants_consent(row: EntryTuple, said: _Decision) -> bool:
    """Return whether the call was stopped, or ran by somebody's word."""
    return DECISIONS[row[5]] is not Verdict.ALLOW or said.details.rule in _CONSENT


def _add_consented(sums: SourceSummaries, tx: Reader, read: Sequence[_Known]) -> None:
    """Prompts for high risk, and calls seen before in their session: covered, or asked again."""
    keys = [(row[6], _seen_place(said.details.digest)) for row, said in read]
    sums.load(SEEN, keys)
    for (row, said), key in zip(read, keys, strict=True):
        seen = sums.change(SEEN, *key)
        again = seen.times > 0
        seen.times += 1
        details, hour = said.details, int(row[4] // HOUR)
        if again and details.rule == ALLOWLIST.name:
            for span in SPANS:
                _totals(sums, hour, span).covered += 1
        if DECISIONS[row[5]] is not Verdict.ASK or not details.question or seen.question == details.question:
            continue
        question = tx.question(details.question)
        if question is None or question.digest != details.digest or question.session != row[6]:
            continue
        seen.question = question.id
        asked = read_asked(question)
        for span in SPANS:
            totals = _totals(sums, hour, span)
            totals.high_asked += _counts_as_high(details.risk, details.rule)
            totals.asked_again += again and asked is not None and asked.is_command


def _totals(sums: SourceSummaries, hour: int, span: int) -> DecisionTotals:
    """The totals of the span of this length that this hour lies in."""
    return sums.change(DECIDED[span], place=hour * SPANS[0] // span)


def _counts_as_high(risk: str, rule: str) -> bool:
    """A call that runs on its approval was counted when it was asked."""
    return risk == _HIGH and rule != APPROVED_CALL.name


def _seen_place(digest: str) -> int:
    return int.from_bytes(sha256(digest.encode()).digest()[:7], "big")
