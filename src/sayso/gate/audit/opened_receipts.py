"""Opened receipts from the store: what an outside auditor needs to see what was approved.

They disclose what is otherwise only committed to: the call with its arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sayso.core.audit.entry import MAIN, AuditBody, read_body, split_leaf
from sayso.core.audit.opened_receipt import OpenedPart, OpenedReceipt, OpenedValue, format_opened, is_about
from sayso.core.audit.receipt import parse_receipt
from sayso.core.errors import SaysoError
from sayso.gate.audit.checkpoints import prove_entry
from sayso.gate.audit.read import load_entry_row, require_body
from sayso.gate.gate import Gate
from sayso.store.contract import EntryRow, Reader

PAGE = 1_000
MOST_LOOKED_AT = 1_000_000


def prove_entry_opened(gate: Gate, seq: int) -> bytes:
    """A receipt for this entry of `main`, opened; with the entry that commits to its call, if it does not.

    Values that were erased are not in it.
    """
    with gate.store.read() as tx:
        said = read_body(require_body(load_entry_row(tx, MAIN, seq)))
        places = [seq] if said.commitments else [seq, *_find_committing_entry(tx, seq, said)]
        values = {place: _values(tx, place) for place in places}
    return format_opened([OpenedPart(prove_entry(gate, place).decode(), values[place]) for place in places])


def discloses(proof: bytes) -> bool:
    """Return whether an opened receipt that was made here holds any value."""
    return any(part.values for part in msgspec.json.decode(proof, type=OpenedReceipt).parts)


def commits(proof: bytes) -> bool:
    """Return whether an entry of an opened receipt commits to a value, be it disclosed or erased."""
    receipts = [part.receipt.encode() for part in msgspec.json.decode(proof, type=OpenedReceipt).parts]
    bodies = [read_body(split_leaf(parse_receipt(receipt).content)[1]) for receipt in receipts]
    return any(body.commitments for body in bodies)


def _values(tx: Reader, seq: int) -> dict[str, OpenedValue]:
    return {row.name: OpenedValue(row.value, row.salt) for row in tx.secrets(MAIN, seq)}


def _find_committing_entry(tx: Reader, seq: int, said: AuditBody) -> list[int]:
    """The newest entry before this one that commits to what this one is about."""
    for row in _read_backwards(tx, seq):
        body = _try_read_body(row)
        if body is not None and body.commitments and is_about(said, body):
            return [row.seq]
    return []


def _read_backwards(tx: Reader, seq: int) -> Iterator[EntryRow]:
    last = max(seq - MOST_LOOKED_AT, 0)
    while seq - 1 > last:
        after = max(seq - 1 - PAGE, last)
        page = tx.entries(MAIN, after=after, limit=seq - 1 - after)
        yield from reversed(page)
        seq = after + 1


def _try_read_body(row: EntryRow) -> AuditBody | None:
    try:
        return None if row.body is None else read_body(row.body)
    except SaysoError:
        return None
