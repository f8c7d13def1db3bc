"""Receipts: one text file that shows offline that an entry is in a signed log (C2SP tlog-proof).

The entry itself travels in the line `extra`, as the content of its leaf; nothing of it counts until the path
has led from it to a root that a trusted key signed.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sayso.core.audit.checkpoint import (
    SIZE,
    BadCheckpoint,
    Checkpoint,
    Verifier,
    decode_base64,
    encode_base64,
    open_checkpoint,
    root_hash,
)
from sayso.core.audit.merkle import includes, leaf_hash

TITLE = "c2sp.org/tlog-proof@v1"
MOST_STEPS = 64


class Receipt(msgspec.Struct, frozen=True):
    """A leaf's content, its place counted from 0, the path to the root, and the signed checkpoint."""

    content: bytes
    index: int
    path: tuple[bytes, ...]
    checkpoint: bytes


def format_receipt(receipt: Receipt) -> bytes:
    head = [
        TITLE,
        f"extra {encode_base64(receipt.content)}",
        f"index {receipt.index}",
        *map(encode_base64, receipt.path),
        "",
    ]
    return "".join(f"{line}\n" for line in head).encode() + receipt.checkpoint


def parse_receipt(proof: bytes) -> Receipt:
    """Parse a receipt, and verify nothing."""
    head, _, checkpoint = proof.partition(b"\n\n")
    try:
        title, extra, index, *path = head.decode("ascii").split("\n")
    except ValueError as error:
        raise BadCheckpoint("this is not a receipt: it lacks its first lines") from error
    if title != TITLE or len(path) > MOST_STEPS or not SIZE.fullmatch(_after("index ", index)):
        raise BadCheckpoint("this is not a receipt, or one of a form not known here")
    content = decode_base64(_after("extra ", extra))
    return Receipt(content, int(_after("index ", index)), tuple(map(root_hash, path)), checkpoint)


def check_receipt(proof: bytes, verifiers: Sequence[Verifier], origin: str) -> tuple[Receipt, Checkpoint]:
    """The receipt and the checkpoint its entry is proven to be under; refused if it proves nothing."""
    receipt = parse_receipt(proof)
    checkpoint = open_checkpoint(receipt.checkpoint, verifiers, origin)
    leaf = leaf_hash(receipt.content)
    if not includes(checkpoint.root, checkpoint.size, receipt.index, leaf, receipt.path):
        raise BadCheckpoint("the path does not lead from this entry to the signed root")
    return receipt, checkpoint


def _after(word: str, line: str) -> str:
    if not line.startswith(word):
        raise BadCheckpoint(f"a receipt has a line that begins with {word!r} here")
    return line.removeprefix(word)
