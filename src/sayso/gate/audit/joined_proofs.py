"""Proving that an entry is in the signed trail, whichever stream it is in."""

from __future__ import annotations

from sayso.core.audit import events
from sayso.core.audit.anchors import anchors_from_joins
from sayso.core.audit.entry import MAIN, AuditError, leaf_content
from sayso.core.audit.joined_receipt import check_proof, format_joined_receipt
from sayso.core.audit.merkle import prove_inclusion
from sayso.core.audit.receipt import Receipt
from sayso.gate.audit.checkpoints import prove_entry, sign_audit
from sayso.gate.audit.read import load_entry_row, require_body
from sayso.gate.audit.tree import LOOK_AT_IT, hashes_of, own_verifiers, require_key
from sayso.gate.gate import Gate
from sayso.store.contract import Reader

JOINS_WITHIN = 1_000
"""Among how many of the newest entries of main one is looked for that joins the stream."""


def prove_entry_of(gate: Gate, stream: str, seq: int) -> bytes:
    """A receipt that shows offline that this entry is in the signed trail."""
    if stream == MAIN:
        return prove_entry(gate, seq)
    with gate.store.read() as tx:
        row = load_entry_row(tx, stream, seq)
    content = leaf_content(row.prev, require_body(row))
    joining, size = _find_joining_entry(gate, stream, seq)
    with gate.store.read() as tx:
        path = prove_inclusion(seq - 1, size, hashes_of(tx, stream))
    proof = format_joined_receipt(Receipt(content, seq - 1, path, b""), prove_entry(gate, joining))
    check_proof(proof, own_verifiers(require_key(gate)))  # what would not convince others is not handed out
    return proof


def _find_joining_entry(gate: Gate, stream: str, seq: int) -> tuple[int, int]:
    """The entry of main that joins this one, and the size of the stream that it gives; made if need be."""
    for rejoin in (False, True):
        with gate.store.read() as tx:
            found = _look_for_join(tx, stream, seq)
        if found is not None:
            return found
        sign_audit(gate, rejoin=rejoin)
    with gate.store.read() as tx:
        found = _look_for_join(tx, stream, seq)
    if found is None:
        raise AuditError(f"entry {seq} of {stream} is not joined in main", hint=LOOK_AT_IT)
    return found


def _look_for_join(tx: Reader, stream: str, seq: int) -> tuple[int, int] | None:
    newest = tx.head(MAIN)
    after = 0 if newest is None else max(newest.seq - JOINS_WITHIN, 0)
    for row in reversed(tx.entries(MAIN, after=after, limit=JOINS_WITHIN)):
        if row.event == events.Joined.event:
            joined = dict(anchors_from_joins([(row.seq, row.body, row.prev, row.hash)])).get(stream)
            if joined is not None and joined.size >= seq:
                return row.seq, joined.size
    return None
