"""Audit trails to try verifying on: rows, kept hashes and checkpoints as a store would hold them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec

from sayso.core.audit.anchors import checkpoint_marks
from sayso.core.audit.checkpoint import Checkpoint, sign_checkpoint
from sayso.core.audit.entry import MAIN, Entry, Row, append, genesis
from sayso.core.audit.merkle import Frontier, Kept, extend
from sayso.core.audit.verify import Report, verify
from sayso.gate.rows.keys import Key, make_key, public_key, signer, verifier

ORIGIN = "sayso.example/audit"
START = 1_800_000_000.0
KEY = make_key(ORIGIN)
TRUSTED = (verifier(ORIGIN, public_key(KEY)),)


class Trail(msgspec.Struct, frozen=True):
    """A stored trail: whatever of it somebody with the file could change."""

    rows: tuple[Row, ...]
    nodes: tuple[Kept, ...]
    checkpoints: tuple[bytes, ...]


def entry(seq: int, stream: str = MAIN, event: str = "DECIDED", **details: Any) -> Entry:
    details = details or {"rule": "operation_grant", "turn": seq % 7, "verdict": "allow"}
    return Entry(seq, START + seq / 8, event, f"s-{seq % 5}", "agent", ("git.push",), details, {}, stream)


def rows(count: int, stream: str = MAIN, first: int = 1, head: bytes | None = None) -> Iterator[Row]:
    """Rows one after the other, without holding them."""
    end = genesis(stream)
    if head is not None:
        end = msgspec.structs.replace(end, seq=first - 1, hash=head)
    for seq in range(first, first + count):
        before = end.hash
        body, end = append(end, entry(seq, stream))
        yield seq, body, before, end.hash


def trail(count: int, every: int, key: Key = KEY) -> Trail:
    """A trail with a checkpoint every so many entries; the rest has none yet."""
    stored = tuple(rows(count))
    tree, nodes, notes = Frontier(), list[Kept](), list[bytes]()
    for start in range(0, count - count % every, every):
        tree, closed = extend(tree, (row[3] for row in stored[start : start + every]))
        nodes += closed
        notes.append(sign_checkpoint(Checkpoint(ORIGIN, tree.size, tree.root), [signer(key)]))
    return Trail(stored, tuple(nodes), tuple(notes))


def judged(found: Trail, *outside: bytes) -> Report:
    marks = checkpoint_marks(found.checkpoints, outside, TRUSTED, ORIGIN)
    return verify(found.rows, marks=marks, nodes=found.nodes)


def flipped(content: bytes, rng: Random) -> bytes:
    """The same bytes with one bit turned round."""
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
