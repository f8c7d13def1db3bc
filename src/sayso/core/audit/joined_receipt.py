"""Receipts for entries of streams beside `main`: from the entry to a signed checkpoint in two steps.

The path leads from the entry to the root of its stream's tree. That root is in an entry `JOINED` of
`main`, whose own receipt follows after an empty line. Both are text, as those of `main` are.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sayso.core.audit.anchors import Anchor, anchors_from_joins
from sayso.core.audit.checkpoint import BadCheckpoint, Checkpoint, Verifier, open_checkpoint
from sayso.core.audit.entry import MAIN, AuditBody, AuditError, read_body, split_leaf
from sayso.core.audit.merkle import includes, leaf_hash
from sayso.core.audit.receipt import TITLE as PLAIN
from sayso.core.audit.receipt import Receipt, check_receipt, format_receipt, parse_receipt

TITLE = "sayso/joined-proof@v1"


class ProvenLeaf(msgspec.Struct, frozen=True):
    """An entry that is in a signed trail: in which stream, of how many entries, and who signed that."""

    receipt: Receipt
    signed: Checkpoint
    stream: str
    size: int
    body: AuditBody

    @property
    def text(self) -> bytes:
        """The bytes of the entry."""
        return split_leaf(self.receipt.content)[1]


def format_joined_receipt(receipt: Receipt, join: bytes) -> bytes:
    """The receipt of an entry of another stream; `join` is that of the entry which joins it in `main`."""
    own = format_receipt(msgspec.structs.replace(receipt, checkpoint=b""))
    return own.replace(PLAIN.encode(), TITLE.encode(), 1) + join


def is_joined_receipt(proof: bytes) -> bool:
    return proof.startswith(TITLE.encode())


def check_proof(proof: bytes, verifiers: Sequence[Verifier]) -> ProvenLeaf:
    """The entry that a receipt of either kind proves; refused if it proves nothing."""
    if is_joined_receipt(proof):
        return _check_joined(proof, verifiers)
    origin = open_checkpoint(parse_receipt(proof).checkpoint, verifiers).origin
    receipt, signed = check_receipt(proof, verifiers, origin)
    return ProvenLeaf(receipt, signed, MAIN, signed.size, _body_of(receipt, MAIN))


def _check_joined(proof: bytes, verifiers: Sequence[Verifier]) -> ProvenLeaf:
    receipt = _parse(proof)
    stream = _read(receipt).stream
    body = _body_of(receipt, stream)
    if receipt.checkpoint.startswith(TITLE.encode()):
        raise BadCheckpoint("only main joins other streams")
    joining = check_proof(receipt.checkpoint, verifiers)
    joined = _find_anchor(joining, stream)
    leaf = leaf_hash(receipt.content)
    if joined is None or not includes(joined.root, joined.size, receipt.index, leaf, receipt.path):
        raise BadCheckpoint("the path does not lead from this entry to a root that main has joined")
    return ProvenLeaf(receipt, joining.signed, stream, joined.size, body)


def read_receipt_body(proof: bytes) -> AuditBody:
    """What the entry in a receipt of either kind says; nothing of that is proven by it."""
    return _read(_parse(proof))


def _parse(proof: bytes) -> Receipt:
    plain = proof.replace(TITLE.encode(), PLAIN.encode(), 1) if is_joined_receipt(proof) else proof
    return parse_receipt(plain)


def _find_anchor(joining: ProvenLeaf, stream: str) -> Anchor | None:
    row = (joining.receipt.index + 1, joining.text, b"", b"")
    return dict(anchors_from_joins([row])).get(stream)


def _body_of(receipt: Receipt, stream: str) -> AuditBody:
    """What the entry says, if it is of this stream and in the place that the path starts from."""
    body = _read(receipt)
    if body.stream != stream or body.seq != receipt.index + 1:
        raise BadCheckpoint("the entry is not the one that the path starts from")
    return body


def _read(receipt: Receipt) -> AuditBody:
    try:
        return read_body(split_leaf(receipt.content)[1])
    except AuditError as error:
        raise BadCheckpoint(f"the entry cannot be read: {error.message}") from error
