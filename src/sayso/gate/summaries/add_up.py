"""Keeping the summaries up with the trail: what is new is added in steps, each a short transaction.

- It is done when the trail is signed, and in a program with a store of its own after every thousand entries;
  never while a call is decided.
- A step is worked out while others write. It is stored if the summaries are still as they were read.
- A store that is being moved is left alone.
- Whoever reads adds what is newer than the summaries for itself, and stores nothing (`load_*`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from itertools import islice, takewhile

from sayso.core.audit import events
from sayso.core.audit.entry import MAIN
from sayso.gate.gate import Gate
from sayso.gate.summaries.decisions import add_entries, read_tail
from sayso.gate.summaries.questions import add_question, is_final, read_questions
from sayso.gate.summaries.shapes import QUESTIONS, THROUGH, Through
from sayso.gate.summaries.source import SourceSummaries
from sayso.store.contract import Reader, Writer

ADDED_AT_ONCE = 1_000
"""How many entries are added in one transaction."""
FEW = 500
"""So many may wait until there are more: whoever reads adds them up in a few milliseconds."""
FEW_QUESTIONS = 50
"""The same for questions."""
MOST_AT_ONCE = 20_000
"""How many are added with one signature, so that it does not take long in a store that is behind."""

AddProgress = Callable[[int], object]
"""Told how many entries were added."""


def add_up(
    gate: Gate,
    *,
    most: int | None = MOST_AT_ONCE,
    least: int = FEW,
    progress: AddProgress = lambda done: None,
) -> int:
    """Add what is new to the summaries of every stream and of the questions; how much was added.

    It goes on until so many were added, or less than `least` are left of every source.
    """
    with gate.store.read() as tx:
        sources = [*tx.streams(), QUESTIONS]
    done = 0
    for source in sources:
        while most is None or done < most:
            added = _add_step(gate, source, least)
            if not added:
                break
            done += added
            progress(done)
    return done


def recount(gate: Gate, progress: AddProgress = lambda done: None) -> int:
    """Drop all summaries and add them up again from the beginning; how many entries and questions."""
    with gate.store.write() as tx:
        tx.head(MAIN)
        for source in (*tx.streams(), QUESTIONS):
            if _may_store(tx, source):
                tx.drop_summaries(source)
    return add_up(gate, most=None, least=1, progress=progress)


def load_decisions(tx: Reader, stream: str) -> SourceSummaries:
    """The summaries of a stream, with all that is newer than those stored."""
    sums = SourceSummaries(stream, tx)
    after = find_through(sums).entry
    while added := add_entries(sums, tx, read_tail(tx, stream, after, most=ADDED_AT_ONCE)):
        after += added
    return sums


def load_questions(tx: Reader) -> SourceSummaries:
    """The summaries of all questions, with those that are newer or still open."""
    sums = SourceSummaries(QUESTIONS, tx)
    for row in read_questions(tx, find_through(sums).question):
        add_question(sums, row, tx.now)
    return sums


def find_through(sums: SourceSummaries) -> Through:
    """How far the stored summaries go."""
    found = sums.find(THROUGH)
    return Through() if found is None else Through(found.entry, found.question, found.step)


def _add_step(gate: Gate, source: str, least: int) -> int:
    """Add the next entries or questions, unless there are few; how many."""
    with gate.store.read() as tx:
        sums = SourceSummaries(source, tx)
        before = find_through(sums)
        if source == QUESTIONS:
            added = _add_final_questions(sums, tx, before.question, least)
        else:
            added = _add_new_entries(sums, tx, before.entry, least)
        if not added:
            return 0
        sums.change(THROUGH).step = secrets.token_hex(8)
        rows = sums.rows()
    with gate.store.write(durable=False) as tx:
        if not _may_store(tx, source):
            return 0
        if find_through(SourceSummaries(source, tx)) == before:
            tx.put_summaries(rows)
    return added


def _may_store(tx: Writer, source: str) -> bool:
    """Return whether the store is not being moved. Until this transaction ends, nobody else adds or seals."""
    head = tx.head(MAIN if source == QUESTIONS else source)
    return head is not None and head.event != events.Sealed.event


def _add_new_entries(sums: SourceSummaries, tx: Reader, after: int, least: int) -> int:
    newest = tx.head(sums.source)
    if newest is None or newest.seq - after < least:
        return 0
    return add_entries(sums, tx, read_tail(tx, sums.source, after, most=ADDED_AT_ONCE))


def _add_final_questions(sums: SourceSummaries, tx: Reader, after: str, least: int) -> int:
    """Few rows are read unless there is enough to add, because this is asked with every signature."""
    for wanted in (1, min(least, FEW_QUESTIONS)):
        first = tx.questions(state=None, after=after, limit=wanted)
        if len(first) < wanted or not all(is_final(row, tx.now) for row in first):
            return 0
    final = takewhile(lambda row: is_final(row, tx.now), read_questions(tx, after))
    rows = list(islice(final, ADDED_AT_ONCE))
    for row in rows:
        add_question(sums, row, tx.now)
    return len(rows)
