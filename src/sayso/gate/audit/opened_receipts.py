"""Opened receipts from the store: what an outside auditor needs to see what was approved.

They disclose what is otherwise only committed to: the call with its arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

from sayso.core.audit.entry import MAIN, AuditBody, read_body
from sayso.core.audit.joined_receipt import read_receipt_body
from sayso.core.audit.opened_receipt import OpenedPart, OpenedReceipt, OpenedValue, format_opened, is_about
from sayso.core.errors import SaysoError
from sayso.gate.audit.joined_proofs import prove_entry_of
from sayso.gate.audit.read import load_entry_row, require_body
from sayso.gate.decoding import decode_json
from sayso.gate.gate import Gate
from sayso.store.contract import EntryRow, Reader

PAGE = 1_000
MOST_LOOKED_AT = 1_000_000


Place = tuple[str, int]
"""A stream, and the number of an entry in it."""


def prove_entry_opened(gate: Gate, seq: int, *, stream: str = MAIN) -> bytes:
    """A receipt for this entry, opened; with the entry that commits to its call, if it does not.

    Values that were erased are not in it.
    """
    own = (stream, seq)
    with gate.store.read() as tx:
        said = read_body(require_body(load_entry_row(tx, stream, seq)))
        places = [own] if said.commitments else [own, *_find_committing_entry(tx, own, said)]
        values = {place: _values(tx, place) for place in places}
    return format_opened(
        [OpenedPart(prove_entry_of(gate, *place).decode(), values[place]) for place in places]
    )


def discloses(proof: bytes) -> bool:
    """Return whether an opened receipt that was made here holds any value."""
    return any(part.values for part in decode_json(proof, OpenedReceipt).parts)


def commits(proof: bytes) -> bool:
    """Return whether an entry of an opened receipt commits to a value, be it disclosed or erased."""
    receipts = [part.receipt.encode() for part in decode_json(proof, OpenedReceipt).parts]
    return any(read_receipt_body(receipt).commitments for receipt in receipts)


def _values(tx: Reader, place: Place) -> dict[str, OpenedValue]:
    return {row.name: OpenedValue(row.value, row.salt) for row in tx.secrets(*place)}


def _find_committing_entry(tx: Reader, own: Place, said: AuditBody) -> list[Place]:
    """The newest entry before this one that commits to what this one is about: in its stream, else others."""
    for place in (own, *_ends_of_others(tx, own[0])):
        for row in _read_backwards(tx, *place):
            body = _try_read_body(row)
            if body is not None and body.commitments and is_about(said, body):
                return [(row.stream, row.seq)]
    return []


def _ends_of_others(tx: Reader, stream: str) -> list[Place]:
    heads = [tx.head(one) for one in tx.streams() if one != stream]
    return [(head.stream, head.seq + 1) for head in heads if head is not None]


def _read_backwards(tx: Reader, stream: str, seq: int) -> Iterator[EntryRow]:
    last = max(seq - MOST_LOOKED_AT, 0)
    while seq - 1 > last:
        after = max(seq - 1 - PAGE, last)
        page = tx.entries(stream, after=after, limit=seq - 1 - after)
        yield from reversed(page)
        seq = after + 1


def _try_read_body(row: EntryRow) -> AuditBody | None:
    try:
        return None if row.body is None else read_body(row.body)
    except SaysoError:
        return None
