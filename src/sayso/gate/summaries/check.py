"""Holding the stored summaries against what they were added up from.

The rows are read in pages, each in a short transaction, while others go on writing. A difference may be what
others changed meanwhile, so it is looked at again in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from sayso.gate import words
from sayso.gate.summaries.add_up import ADDED_AT_ONCE, find_through
from sayso.gate.summaries.decisions import add_entries, read_tail
from sayso.gate.summaries.questions import add_question
from sayso.gate.summaries.shapes import QUESTIONS, THROUGH, Through
from sayso.gate.summaries.source import SourceSummaries, UnreadableSummary
from sayso.store.contract import QuestionRow, Reader, ReadOnlyStore, SummaryRow

Rows = dict[tuple[str, str, int], bytes]
Reads = Callable[[], AbstractContextManager[Reader]]


def check_summaries(store: ReadOnlyStore) -> Iterator[str]:
    """Yield a finding for each source whose summaries are not what its rows add up to."""
    for source in _find_differing(store.read):
        with store.read() as tx:
            if source in _find_differing(lambda: _same(tx)):
                yield words.wrong_summaries(None if source == QUESTIONS else source)


@contextmanager
def _same(tx: Reader) -> Iterator[Reader]:
    yield tx


def _find_differing(reads: Reads) -> list[str]:
    stored: dict[str, Rows] = {}
    through: dict[str, Through | None] = {}
    with reads() as tx:
        for row in tx.every(SummaryRow):
            stored.setdefault(row.source, {})[row.kind, row.name, row.place] = row.body
        for source in stored:
            through[source] = _try_find_through(tx, source)
    return [source for source, rows in stored.items() if rows != _add_again(reads, source, through[source])]


def _try_find_through(tx: Reader, source: str) -> Through | None:
    try:
        return find_through(SourceSummaries(source, tx))
    except UnreadableSummary:
        return None


def _add_again(reads: Reads, source: str, through: Through | None) -> Rows | None:
    """The summaries of a source from its beginning to where the stored ones go; None if that is nowhere."""
    if through is None:
        return None
    again = SourceSummaries(source)
    again.change(THROUGH).step = through.step
    if source == QUESTIONS:
        found = _add_questions_again(reads, again, through.question)
    else:
        found = _add_entries_again(reads, again, through.entry)
    return {(row.kind, row.name, row.place): row.body for row in again.rows()} if found else None


def _add_entries_again(reads: Reads, again: SourceSummaries, last: int) -> bool:
    after = 0
    while after < last:
        with reads() as tx:
            rows = read_tail(tx, again.source, after, most=min(ADDED_AT_ONCE, last - after))
            added = add_entries(again, tx, rows)
        if not added:
            return False
        after += added
    return True


def _add_questions_again(reads: Reads, again: SourceSummaries, last: str) -> bool:
    after = ""
    while True:
        with reads() as tx:
            page: Sequence[QuestionRow] = tx.questions(state=None, after=after, limit=ADDED_AT_ONCE)
            for row in page:
                add_question(again, row, tx.now)
                if row.id == last:
                    return True
        if not page:
            return False
        after = page[-1].id
