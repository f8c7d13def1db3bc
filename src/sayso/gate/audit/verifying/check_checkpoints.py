"""The stored checkpoints, and the kept hashes of the tree: complete, and as their rows say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sayso.core.audit.anchors import (
    AuditFinding,
    FindingKind,
)
from sayso.core.audit.checkpoint import BadCheckpoint, parse_checkpoint, parse_note
from sayso.core.audit.merkle import TILE, WIDTH, TreeNode
from sayso.gate.audit.checkpoints import LAST_CHECKPOINT
from sayso.gate.audit.tree import TreeEnd
from sayso.gate.gate import Gate
from sayso.store.contract import CheckpointRow, Reader

CHECKPOINT_PAGE = 1_000
"""How many stored checkpoints are read at once; all of them are verified."""


TILES = 256
"""How many full tiles of a tree are read at once."""


def load_checkpoints(tx: Reader) -> list[CheckpointRow]:
    """All that are stored, oldest first."""
    found: list[CheckpointRow] = []
    while page := tx.checkpoints(limit=CHECKPOINT_PAGE, skip=len(found)):
        found += page
    return found[::-1]


def check_checkpoint_rows(stored: Iterable[CheckpointRow]) -> Iterator[AuditFinding]:
    """Yield a finding for each checkpoint whose row contradicts its note."""
    for row in stored:
        try:
            size = parse_checkpoint(parse_note(row.note.encode()).text).size
        except BadCheckpoint:
            continue  # found with its signature
        if size != row.size:
            yield AuditFinding(
                FindingKind.EDITED, size, f"the row of the checkpoint of size {size} says {row.size}"
            )


def check_checkpoint_count(
    gate: Gate, stored: int, end: TreeEnd | AuditFinding | None
) -> Iterator[AuditFinding]:
    """Check that every stored checkpoint is still there, and that the newest is the marked one."""
    kept = end if isinstance(end, TreeEnd) else TreeEnd(0, (), b"")
    if kept.last_signed < gate.sealer.mark.version(*LAST_CHECKPOINT):
        yield AuditFinding(
            FindingKind.TRUNCATED, kept.size, "the end of the tree is older than the mark says"
        )
    if stored < kept.signed:
        text = f"{kept.signed} checkpoints were signed, and {stored} of them are stored"
        yield AuditFinding(FindingKind.DELETED, kept.size, text)


def load_nodes(gate: Gate, stream: str, size: int) -> Iterator[TreeNode]:
    """The kept hashes of a tree of this size, in the order they were closed."""
    full = size // WIDTH
    for first in range(0, full, TILES):
        places = [
            place for tile in range(first, min(first + TILES, full)) for place in _subtrees_closed_by(tile)
        ]
        with gate.store.read() as tx:
            found = {(node.level, node.index): node.hash for node in tx.nodes(stream, places)}
        yield from ((*place, found[place]) for place in places if place in found)


def _subtrees_closed_by(tile: int) -> Iterator[tuple[int, int]]:
    """The complete subtrees to keep that end with this tile, the lowest first."""
    height, end = TILE, (tile + 1) << TILE
    while end % (1 << height) == 0:
        yield height, (end >> height) - 1
        height += TILE
