"""Decisions added up for pictures: hour by hour, by agent, by category."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import msgspec

from sayso.core.audit import read
from sayso.core.errors import MalformedRequest
from sayso.core.policy import Policy
from sayso.gate.gate import Gate
from sayso.gate.stats import CONSENTS, DECISIONS, HOUR, PAGE
from sayso.store.base import EntryRow, Reader

MOST_ROWS = 1_000


class Tally(msgspec.Struct, frozen=True):
    """What was decided under one name; `avoided` are allows that spared a question."""

    name: str
    allowed: int
    asked: int
    denied: int
    avoided: int


class Charts(msgspec.Struct, frozen=True):
    """Hours are named by the second they begin with, and those without a decision are left out."""

    hours: tuple[Tally, ...]
    agents: tuple[Tally, ...]
    categories: tuple[Tally, ...]


def charts(gate: Gate, *, since: float = 0.0) -> Charts:
    """Everything decided since this time."""
    hours: dict[str, Counter[str]] = defaultdict(Counter)
    agents: dict[str, Counter[str]] = defaultdict(Counter)
    categories: dict[str, Counter[str]] = defaultdict(Counter)
    with gate.store.read() as tx:
        for stream in tx.streams():
            for row in _since(tx, stream, since):
                if row.event not in DECISIONS or row.body is None:
                    continue
                entry = read(row.body)
                counted = [row.event, *(["avoided"] if _avoided(row, entry.details.get("rule")) else [])]
                hours[str(int(row.at // HOUR * HOUR))].update(counted)
                agents[entry.agent].update(counted)
                for category in {_category(gate.policy, name) for name in entry.operations}:
                    categories[category].update(counted)
    newest = sorted(hours.items(), key=lambda one: int(one[0]))[-MOST_ROWS:]
    return Charts(tuple(_tally(*one) for one in newest), _most(agents), _most(categories))


def _avoided(row: EntryRow, rule: object) -> bool:
    return row.event == "DECIDED" and rule in CONSENTS


def _category(policy: Policy, name: str) -> str:
    try:
        return policy.entry(name).category
    except MalformedRequest:  # known under another spelling by now
        return name


def _most(counts: dict[str, Counter[str]]) -> tuple[Tally, ...]:
    ordered = sorted(counts.items(), key=lambda one: (-one[1].total(), one[0]))
    return tuple(_tally(*one) for one in ordered[:MOST_ROWS])


def _tally(name: str, count: Counter[str]) -> Tally:
    return Tally(name, count["DECIDED"], count["ASKED"], count["BLOCKED"], count["avoided"])


def _since(tx: Reader, stream: str, since: float) -> Iterator[EntryRow]:
    after = _place(tx, stream, since)
    while page := tx.entries(stream, after=after, limit=PAGE):
        yield from (row for row in page if row.at >= since)
        after = page[-1].seq


def _place(tx: Reader, stream: str, since: float) -> int:
    """The last entry before this time. Times only grow along a stream, so it is found by halving."""
    head = tx.head(stream)
    low, high = 0, 0 if head is None else head.seq
    while low < high:
        middle = (low + high) // 2
        found = tx.entries(stream, after=middle, limit=1)
        if found and found[0].at < since:
            low = middle + 1
        else:
            high = middle
    return low
