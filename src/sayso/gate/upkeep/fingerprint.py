"""All rows of a store counted and summed up, so that two stores can be compared whatever order they keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256

import msgspec

from sayso.gate.rows.moves import OWN
from sayso.store.contract import KINDS, AnyRow, EntryRow, MetaRow, Reader

STEP = 1_000
RowTally = dict[str, tuple[int, int]]
"""For each kind of row how many there are, and the sum of their hashes."""


def tally_rows(rows: Iterable[AnyRow], told: Callable[[int], None]) -> RowTally:
    found: RowTally = {}
    for row in report_progress(rows, told):
        count, total = found.get(row_kind(row), (0, 0))
        digest = sha256(msgspec.msgpack.encode(row)).digest()
        found[row_kind(row)] = count + 1, (total + int.from_bytes(digest, "big")) % 2**256
    return found


def all_rows(tx: Reader) -> Iterator[AnyRow]:
    """Every row but the facts about this one place."""
    rows: Iterator[AnyRow] = (row for kind in KINDS for row in tx.every(kind))
    return (row for row in rows if not (isinstance(row, MetaRow) and row.name in OWN))


def load_heads(tx: Reader) -> dict[str, EntryRow]:
    """The newest entry of each stream."""
    found = {stream: tx.head(stream) for stream in tx.streams()}
    return {stream: head for stream, head in found.items() if head is not None}


def report_progress(rows: Iterable[AnyRow], told: Callable[[int], None]) -> Iterator[AnyRow]:
    """The rows as they come, with word of how many there were now and then, and in the end."""
    number = 0
    for number, row in enumerate(rows, 1):
        yield row
        if number % STEP == 0:
            told(number)
    told(number)


def row_kind(row: AnyRow) -> str:
    return type(row).__name__.removesuffix("Row").lower()
