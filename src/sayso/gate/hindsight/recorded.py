"""Reading recorded decisions: every entry from a time on, in pages, each a short transaction."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sayso.core.audit.entry import chain_hash
from sayso.core.audit.events import DECISIONS
from sayso.core.errors import SaysoError
from sayso.core.model import Request
from sayso.gate.call_rows import find_record
from sayso.gate.gate import Gate
from sayso.gate.questions.read import read_question
from sayso.store.contract import EntryTuple, Reader

PAGE = 5_000
PRUNED, TAMPERED, UNREADABLE = (
    "its body was pruned",
    "its entry was tampered with",
    "its entry cannot be read",
)


class RecordedDetails(msgspec.Struct, frozen=True, gc=False):
    rule: str
    digest: str = ""
    tool: str = ""
    origin: str = ""
    facts: str = ""
    call: str = ""
    question: str = ""


class RecordedDecision(msgspec.Struct, frozen=True, gc=False):
    """The parts of a decision's entry that hindsight goes by."""

    agent: str
    details: RecordedDetails
    operations: tuple[str, ...]


_decode = msgspec.json.Decoder(RecordedDecision).decode


def first_entry_since(tx: Reader, stream: str, since: float) -> int:
    """Return the number of the last entry before this time; 0 if there is none."""
    newest = tx.head(stream)
    low, high = 0, 0 if newest is None else newest.seq
    while low < high:
        middle = (low + high) // 2
        found = tx.entry_tuples(stream, after=middle, limit=1)
        if found and found[0][4] < since:
            low = middle + 1
        else:
            high = middle
    return low


def count_entries_since(gate: Gate, since: float) -> int:
    """Return how many entries of all streams were written since."""
    with gate.store.read() as tx:
        heads = [(stream, tx.head(stream)) for stream in tx.streams()]
        return sum(
            head.seq - first_entry_since(tx, stream, since) for stream, head in heads if head is not None
        )


def read_pages(gate: Gate, since: float) -> Iterator[tuple[Reader, str, list[EntryTuple]]]:
    """Yield the entries of every stream since a time, a page in a transaction of its own."""
    with gate.store.read() as tx:
        streams = [(stream, first_entry_since(tx, stream, since)) for stream in tx.streams()]
    for stream, before in streams:
        after = before
        while True:
            with gate.store.read() as tx:
                page = list(tx.entry_tuples(stream, after=after, limit=PAGE))
                if not page:
                    break
                yield tx, stream, page
            after = page[-1][0]


def read_decision_row(row: EntryTuple) -> RecordedDecision | str | None:
    """Return what the entry records, why that cannot be read, or None if it records no decision."""
    if row[5] not in DECISIONS:
        return None
    if row[1] is None:
        return PRUNED
    if chain_hash(row[2], row[1]) != row[3]:
        return TAMPERED
    try:
        return _decode(row[1])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return UNREADABLE


def find_request(gate: Gate, tx: Reader, session: str, said: RecordedDetails) -> Request | None:
    """Return the request that was decided, if it is still stored: with its call, or with its question."""
    found: list[Request] = []
    try:
        row = tx.call(said.call) if said.call else None
        kept = None if row is None else find_record(gate, row, any_result=True)
        if kept is not None:
            found.append(kept.request)
        question = tx.question(said.question) if said.question else None
        asked = None if question is None else read_question(gate, tx, question)
        if asked is not None:
            found.append(asked.request)
    except (SaysoError, msgspec.MsgspecError):
        return None
    return next((one for one in found if (one.digest, one.session) == (said.digest, session)), None)
