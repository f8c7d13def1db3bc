"""Audit trails to try verifying on: rows, kept hashes and checkpoints as a store would hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

import msgspec

from sayso.core.audit.anchors import anchors_from_checkpoints
from sayso.core.audit.checkpoint import Checkpoint, sign_checkpoint
from sayso.core.audit.commitments import SaltedValue, commitment_of
from sayso.core.audit.entry import (
    MAIN,
    AuditBody,
    AuditEntry,
    AuditError,
    ChainHead,
    ChainRow,
    chain_hash,
    encode_body,
    format_timestamp,
    genesis,
)
from sayso.core.audit.merkle import Frontier, TreeNode, extend_tree
from sayso.core.audit.verify import VerifyReport, verify_rows
from sayso.core.digest import decode_canonical, encode_canonical
from sayso.core.errors import NotCanonical
from sayso.gate.rows.keys import SigningKey, make_key, make_signer, make_verifier, public_key_of

ORIGIN = "sayso.example/audit"
START = 1_800_000_000.0
KEY = make_key(ORIGIN)
TRUSTED = (make_verifier(ORIGIN, public_key_of(KEY)),)


class Trail(msgspec.Struct, frozen=True):
    """A stored trail: whatever of it somebody with the file could change."""

    rows: tuple[ChainRow, ...]
    nodes: tuple[TreeNode, ...]
    checkpoints: tuple[bytes, ...]


def entry(seq: int, stream: str = MAIN, event: str = "DECIDED", **details: Any) -> AuditEntry:
    details = details or {"rule": "operation_grant", "turn": seq % 7, "verdict": "allow"}
    return AuditEntry(
        seq, START + seq / 8, event, f"s-{seq % 5}", "agent", ("git.push",), details, {}, stream
    )


def encode_entry(entry: AuditEntry) -> bytes:
    """The bytes of an entry, as the gate writes them."""
    return encode_body(
        AuditBody(
            entry.agent,
            format_timestamp(entry.at),
            entry.commitments,
            entry.details,
            entry.event,
            entry.operations,
            entry.seq,
            entry.session,
            entry.stream,
        )
    )


def append_entry(head: ChainHead, new: AuditEntry) -> tuple[bytes, ChainHead]:
    """The bytes to store for the entry that comes next in a chain, and the chain's new head."""
    body = encode_entry(new)
    return body, ChainHead(new.seq, chain_hash(head.hash, body), head.stream)


def rows(count: int, stream: str = MAIN, first: int = 1, head: bytes | None = None) -> Iterator[ChainRow]:
    """Rows one after the other, without holding them."""
    end = genesis(stream)
    if head is not None:
        end = msgspec.structs.replace(end, seq=first - 1, hash=head)
    for seq in range(first, first + count):
        before = end.hash
        body, end = append_entry(end, entry(seq, stream))
        yield seq, body, before, end.hash


def trail(count: int, every: int, key: SigningKey = KEY) -> Trail:
    """A trail with a checkpoint every so many entries; the rest has none yet."""
    stored = tuple(rows(count))
    tree, nodes, notes = Frontier(), list[TreeNode](), list[bytes]()
    for start in range(0, count - count % every, every):
        tree, closed = extend_tree(tree, (row[3] for row in stored[start : start + every]))
        nodes += closed
        notes.append(sign_checkpoint(Checkpoint(ORIGIN, tree.size, tree.root), [make_signer(key)]))
    return Trail(stored, tuple(nodes), tuple(notes))


def judged(found: Trail, *outside: bytes) -> VerifyReport:
    marks = anchors_from_checkpoints(found.checkpoints, outside, TRUSTED, ORIGIN)
    return verify_rows(found.rows, marks=marks, nodes=found.nodes)


def flipped(content: bytes, rng: Random) -> bytes:
    """The same bytes with one bit turned round."""
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


def commit_values(
    values: Mapping[str, object], salt: Callable[[], bytes]
) -> tuple[dict[str, str], tuple[SaltedValue, ...]]:
    """Commitments for an entry, and what to keep beside it. `salt` gives 32 bytes a call."""
    kept = tuple(SaltedValue(name, encode_canonical(value), salt()) for name, value in sorted(values.items()))
    return {sealed.name: commitment_of(sealed) for sealed in kept}, kept


def parse_json_line(line: bytes) -> tuple[str, ChainRow]:
    """Stream and stored entry from an exported line, so that an export can be verified on its own."""
    try:
        said = decode_canonical(line)
        row = (
            int(said["seq"]),
            None if said["entry"] is None else encode_canonical(said["entry"]),
            bytes.fromhex(said["prev"]),
            bytes.fromhex(said["hash"]),
        )
        return str(said["stream"]), row
    except (NotCanonical, KeyError, TypeError, ValueError) as error:
        raise AuditError(f"this line is not an exported entry: {error}") from error
