"""The audit tree in the store: grown a page at a time, its end kept under a seal.

Of each stream's tree the store keeps the leaf hashes (in the entries), one node in 256, and the end: size,
complete subtrees and the hash the next entry follows. The end is sealed with the gate's key, so that the tree
is never grown from where somebody else put it.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence

import msgspec

from sayso.core.audit import events
from sayso.core.audit.checkpoint import Verifier
from sayso.core.audit.entry import MAIN, AuditError, chain_hash, genesis
from sayso.core.audit.merkle import Frontier, Hashes, TreeNode, extend_tree
from sayso.gate import words
from sayso.gate.decoding import decode_json
from sayso.gate.gate import Gate
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import SigningKey, make_verifier, public_key_of
from sayso.gate.rows.moves import check_goes_on
from sayso.gate.rows.tampering import compute_seal, mac_key
from sayso.store.contract import EntryRow, NodeRow, Reader, Writer

PAGE = 2_000
"""How many entries one transaction adds to a tree."""
LOOK_AT_IT = "run `sayso audit verify` to see what is wrong"


class TreeEnd(msgspec.Struct, frozen=True):
    """The end of a stream's tree.

    Only `main` has `joined`, how far it has joined each other stream; the number of stored checkpoints; and
    the number of the last one, which only rises.
    """

    size: int
    peaks: tuple[bytes, ...]
    head: bytes
    joined: Mapping[str, int] = {}
    signed: int = 0
    last_signed: int = 0

    @property
    def tree(self) -> Frontier:
        return Frontier(self.size, self.peaks)


def require_key(gate: Gate) -> SigningKey:
    if gate.key is None:
        raise AuditError("the gate's key is not at hand", hint="without it nothing can be signed or verified")
    return gate.key


def own_verifiers(key: SigningKey) -> tuple[Verifier, ...]:
    return (make_verifier(key.name, public_key_of(key)),)


def log_origin(tx: Reader) -> str:
    """The name of this store's log, as its checkpoints bear it."""
    return f"sayso/{tx.meta('name') or 'unnamed'}"


def load_end(tx: Reader, key: SigningKey, stream: str) -> TreeEnd | None:
    """The end that was kept, None if there is none; refused if it is not under our seal."""
    kept = tx.meta(_end_name(stream))
    if kept is None:
        return None
    mac, _, body = kept.partition(" ")
    if not hmac.compare_digest(mac.encode(), _mac(tx, key, stream, body).encode()):
        raise AuditError(words.changed_outside(f"the end of the audit tree of {stream}"), hint=LOOK_AT_IT)
    return decode_json(body, TreeEnd)


def save_end(tx: Writer, key: SigningKey, stream: str, end: TreeEnd) -> None:
    body = msgspec.json.encode(end).decode()
    tx.set_meta(_end_name(stream), f"{_mac(tx, key, stream, body)} {body}")


def grow_tree(tx: Writer, key: SigningKey, stream: str) -> tuple[TreeEnd, bool]:
    """Add the next page of entries to the tree; where it ends now, and whether entries are left to add.

    Entries that do not follow one another are refused: what is broken is not signed.
    """
    check_goes_on(tx, tx.head(stream))  # from here on nobody else adds to this stream
    end = _load_end_or_start(tx, key, stream)
    rows = tx.entries(stream, after=end.size, limit=PAGE)
    if not rows:
        return end, False
    head = _follow_chain(end, rows)
    tree, closed = extend_tree(end.tree, (row.hash for row in rows))
    _save_nodes(tx, stream, closed)
    grown = msgspec.structs.replace(end, size=tree.size, peaks=tree.peaks, head=head)
    save_end(tx, key, stream, grown)
    return grown, len(rows) == PAGE


def hashes_of(tx: Reader, stream: str) -> Hashes:
    """The tree's hashes as proofs want them."""

    def hashes(height: int, first: int, count: int) -> Sequence[bytes]:
        if height == 0:
            return [row.hash for row in tx.entries(stream, after=first, limit=count)]
        nodes = tx.nodes(stream, [(height, first + i) for i in range(count)])
        return [node.hash for node in sorted(nodes, key=lambda node: node.index)]

    return hashes


def _load_end_or_start(tx: Writer, key: SigningKey, stream: str) -> TreeEnd:
    """Return the stored end. Without one, or with a false one, build the tree again from the first entry."""
    try:
        kept = load_end(tx, key, stream)
    except AuditError as error:
        record(tx, events.TamperingFound(finding=error.message), stream=stream)
        kept = None
    return kept or TreeEnd(0, (), genesis(stream).hash)


def _follow_chain(end: TreeEnd, rows: Sequence[EntryRow]) -> bytes:
    """The hash of the last of these entries, if each follows the one before."""
    seq, head = end.size, end.head
    for row in rows:
        follows = row.seq == seq + 1 and row.prev == head
        if not follows or (row.body is not None and chain_hash(head, row.body) != row.hash):
            raise AuditError(
                f"entry {row.seq} of {row.stream} is not what was written: the audit is not signed",
                hint=LOOK_AT_IT,
            )
        seq, head = row.seq, row.hash
    return head


def _save_nodes(tx: Writer, stream: str, closed: Sequence[TreeNode]) -> None:
    """Store the nodes that are missing. A tree that is built again must give the same hashes as before."""
    before = {(node.level, node.index): node.hash for node in tx.nodes(stream, [kept[:2] for kept in closed])}
    for height, index, hashed in closed:
        if before.get((height, index), hashed) != hashed:
            raise AuditError(f"a kept hash of the tree of {stream} is another", hint=LOOK_AT_IT)
    new = (kept for kept in closed if kept[:2] not in before)
    tx.add_nodes(NodeRow(stream, height, index, hashed) for height, index, hashed in new)


def _mac(tx: Reader, key: SigningKey, stream: str, body: str) -> str:
    return compute_seal(mac_key(key), "tree", log_origin(tx).encode(), stream.encode(), body.encode()).hex()


def _end_name(stream: str) -> str:
    return f"tree/{stream or MAIN}"
