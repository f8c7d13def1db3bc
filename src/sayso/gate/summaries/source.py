"""The summaries of one source: those that are stored, and on top of them what was added since."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from sayso.core.errors import SaysoError
from sayso.gate import words
from sayso.gate.summaries.shapes import SummaryKind
from sayso.store.contract import Reader, SummaryRow

Body = TypeVar("Body")
Key = tuple[str, str, int]
"""Kind, name and place."""

_encode = msgspec.json.Encoder(order="deterministic").encode


class UnreadableSummary(SaysoError):
    """A summary is not what Sayso stores. Nothing was allowed by it."""

    code = "unreadable_summary"


def unreadable_summary() -> UnreadableSummary:
    """The error to raise. It says how to get rid of it."""
    return UnreadableSummary(words.WRONG_SUMMARY, hint="run `sayso audit recount`")


class SourceSummaries:
    """What is known of a source. Nothing is stored from here; without a store it begins empty."""

    def __init__(self, source: str, tx: Reader | None = None) -> None:
        self.source = source
        self._tx = tx
        self._known: dict[Key, Any] = {}
        self._absent: set[Key] = set()
        self._changed: set[Key] = set()

    def find(self, shape: SummaryKind[Body], name: str = "", place: int = 0) -> Body | None:
        """One summary to look at; None if there is none."""
        key = (shape.kind, name, place)
        if key not in self._known and key not in self._absent:
            self.load(shape, [(name, place)])
        return self._known.get(key)

    def change(self, shape: SummaryKind[Body], name: str = "", place: int = 0) -> Body:
        """One summary to add to; a new one if there is none."""
        found = self.find(shape, name, place)
        key = (shape.kind, name, place)
        if found is None:
            found = self._known[key] = shape.new()
        self._changed.add(key)
        return found

    def load(self, shape: SummaryKind[Body], keys: Iterable[tuple[str, int]]) -> None:
        """Read these at once, if they are not known."""
        wanted = {(name, place) for name, place in keys if (shape.kind, name, place) not in self._known}
        self._absent |= {(shape.kind, *key) for key in wanted}
        if self._tx is None:
            return
        for row in self._tx.summaries(self.source, shape.kind, wanted):
            self._known[shape.kind, row.name, row.place] = _decode(shape, row)

    def newest_first(
        self,
        shape: SummaryKind[Body],
        name: str = "",
        *,
        first: int = 0,
        before: int = sys.maxsize,
        limit: int = sys.maxsize,
    ) -> Iterator[tuple[int, Body]]:
        """The summaries of one name in this range of places, with what was added to them."""
        stored: dict[int, SummaryRow] = {}
        if self._tx is not None:
            window = {"first": first, "before": before, "limit": limit}
            rows = self._tx.newest_summaries(self.source, shape.kind, name, **window)
            stored = {row.place: row for row in rows}
        own = {
            place
            for kind, whose, place in self._changed
            if (kind, whose) == (shape.kind, name) and first <= place < before
        }
        for place in sorted(stored.keys() | own, reverse=True)[:limit]:
            known = self._known[shape.kind, name, place] if place in own else _decode(shape, stored[place])
            yield place, known

    def rows(self) -> list[SummaryRow]:
        """What was changed, as it is to be stored."""
        changed = sorted(self._changed)
        return [SummaryRow(self.source, *key, _encode(self._known[key])) for key in changed]


def _decode(shape: SummaryKind[Body], row: SummaryRow) -> Body:
    try:
        return shape.decode(row.body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise unreadable_summary() from error
