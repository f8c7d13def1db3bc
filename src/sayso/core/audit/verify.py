"""Verifying a stored audit trail: where it is not what was written, in one pass and little memory.

Rows are read in the order of their numbers. Three things are held against each other: the chain (each entry
follows the one before), the tree (kept hashes are those of the entries) and marks (sizes and roots that a
trusted key signed, or that entries `JOINED` of `main` speak of). Without a mark that was kept elsewhere,
nobody can tell that the newest entries were cut off together with everything that speaks of them, or that
whoever holds the key rewrote the whole trail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from sayso.core.audit.anchors import Anchor, AuditFinding, FindingKind
from sayso.core.audit.bulk import RawBody, SoundSpan, StoredRow
from sayso.core.audit.chain import AddFinding, Chain
from sayso.core.audit.entry import HASH_BYTES, MAIN
from sayso.core.audit.merkle import (
    TILE,
    WIDTH,
    BrokenTree,
    Frontier,
    TreeNode,
    extend_tree,
    root_of_peaks,
    subtree_root,
)

MOST_FINDINGS = 100
RUN = 256
"""How many rows are looked at together: few enough to stay in the processor's cache meanwhile."""


class VerifyReport(msgspec.Struct, frozen=True):
    """The result of verifying. Past the first hundred findings only their number is kept."""

    stream: str
    entries: int
    head: bytes
    root: bytes | None
    pruned: int
    pruned_through: int
    marks: int
    held_through: int
    """The largest size at which a mark held: up to here the entries are those that were signed."""
    findings: tuple[AuditFinding, ...]
    found: int

    @property
    def clean(self) -> bool:
        return self.found == 0


RunObserver = Callable[[Sequence[StoredRow], Sequence[RawBody | None]], None]
"""Told the rows of a run and what each says: None where the body is gone, or is not that of an entry."""


def verify_rows(
    rows: Iterable[StoredRow],
    *,
    stream: str = MAIN,
    marks: Iterable[Anchor | AuditFinding] = (),
    nodes: Iterable[TreeNode] | None = None,
) -> VerifyReport:
    """Hold a stream's stored rows against its chain, its kept tree hashes and its marks.

    `rows` come in the order of their numbers; `marks` in the order of their sizes (see audit_marks); `nodes`
    in the order they were closed (by last leaf, then height), or None where none are kept.
    """
    left = iter(rows)
    runs = iter(lambda: list(islice(left, RUN)), [])
    return verify_runs(runs, stream=stream, marks=marks, nodes=nodes)


def verify_runs(
    runs: Iterable[Sequence[StoredRow] | SoundSpan],
    *,
    stream: str = MAIN,
    marks: Iterable[Anchor | AuditFinding] = (),
    nodes: Iterable[TreeNode] | None = None,
    look: RunObserver | None = None,
) -> VerifyReport:
    """The same for rows that come many at a time, or were verified already and only have to be joined.

    Each run has been looked at when the next is asked for; of a span, the notable rows.
    """
    findings: list[AuditFinding] = []
    counted = [0]

    def add_finding(kind: FindingKind, seq: int, text: str) -> None:
        counted[0] += 1
        if len(findings) < MOST_FINDINGS:
            findings.append(AuditFinding(kind, seq, text))

    chain = Chain(stream, add_finding)
    climbed = _climb(_tiles(runs, chain, look), chain, iter(marks), nodes, add_finding)
    _check_ends(chain, climbed, nodes is not None, add_finding)
    return VerifyReport(
        stream=stream,
        entries=chain.entries,
        head=chain.head,
        root=climbed.root if chain.whole else None,
        pruned=chain.pruned,
        pruned_through=chain.pruned_through,
        marks=climbed.marks,
        held_through=climbed.held_through,
        findings=tuple(findings),
        found=counted[0],
    )


class Tile(msgspec.Struct, frozen=True):
    """256 leaves side by side, the last time fewer. Of one whose root is known, the hashes come joined."""

    found: Sequence[bytes] = ()
    joined: bytes = b""
    root: bytes | None = None

    @property
    def leaves(self) -> Sequence[bytes]:
        return _split_hashes(self.joined) if self.joined else self.found

    @property
    def size(self) -> int:
        return len(self.joined) // HASH_BYTES or len(self.found)


def _tiles(
    runs: Iterable[Sequence[StoredRow] | SoundSpan], chain: Chain, look: RunObserver | None
) -> Iterator[Tile]:
    rest: list[bytes] = []
    for run in runs:
        if isinstance(run, SoundSpan):
            told = chain.pass_over(run)
            if look is not None:
                look(run.notable, told)
            if chain.whole:
                yield from _tiles_of_span(run, rest)
            continue
        leaves, told = chain.walk(run)
        if look is not None:
            look(run, told)
        rest += leaves
        full = len(rest) - len(rest) % WIDTH
        for start in range(0, full, WIDTH):
            yield Tile(rest[start : start + WIDTH])
        del rest[:full]
    yield Tile(rest)


def _tiles_of_span(span: SoundSpan, rest: Sequence[bytes]) -> Iterator[Tile]:
    """The tiles of a span, which must begin and end where tiles do."""
    width, roots = WIDTH * HASH_BYTES, _split_hashes(span.tiles)
    if rest or len(span.leaves) != len(roots) * width:
        raise BrokenTree(f"the entries from {span.first} on were verified apart, and fill no tiles")
    for number, root in enumerate(roots):
        yield Tile(joined=span.leaves[number * width : (number + 1) * width], root=root)


def _split_hashes(joined: bytes) -> list[bytes]:
    return [joined[start : start + HASH_BYTES] for start in range(0, len(joined), HASH_BYTES)]


# --- the tree: tiles in, held against kept hashes and marks ---


class TreeProgress(msgspec.Struct, frozen=True):
    """Where building the tree came to."""

    root: bytes
    marks: int
    held_through: int
    largest: int
    kept_through: int
    left_over: bool


def _climb(
    tiles: Iterable[Tile],
    chain: Chain,
    marks: Iterator[Anchor | AuditFinding],
    nodes: Iterable[TreeNode] | None,
    found: AddFinding,
) -> TreeProgress:
    """Build the tree tile by tile; only its frontier is held."""
    stored = iter(nodes or ())
    above = Frontier()
    seen = held = largest = size = kept_through = 0
    comparing, rest = True, b""
    mark = _next_mark(marks, found)
    for tile in tiles:
        base, size = size, size + tile.size
        while mark is not None and mark.size <= size:
            seen, largest = seen + 1, max(largest, mark.size)
            if _holds(mark, base, above, tile.leaves, found):
                held = max(held, mark.size)
            mark = _next_mark(marks, found)
        if tile.size < WIDTH:
            rest = root_of_peaks((*above.peaks, *extend_tree(Frontier(), tile.leaves)[0].peaks))
            break
        above, closed = _close(above, tile.root or subtree_root(tile.leaves))
        comparing = comparing and _same(closed, stored, found)
        kept_through = size if comparing else kept_through
    while mark is not None:
        seen, largest = seen + 1, max(largest, mark.size)
        if mark.size > chain.entries:
            text = f"{mark.source}, but after entry {chain.entries} nothing is left"
            found(FindingKind.TRUNCATED, mark.size, text)
        mark = _next_mark(marks, found)
    left_over = comparing and next(stored, None) is not None
    return TreeProgress(rest, seen, held, largest, kept_through, left_over)


def _next_mark(marks: Iterator[Anchor | AuditFinding], found: AddFinding) -> Anchor | None:
    """The next mark; findings on the way to it are passed on."""
    for each in marks:
        if isinstance(each, Anchor):
            return each
        found(each.kind, each.seq, each.text)
    return None


def _holds(mark: Anchor, base: int, above: Frontier, leaves: Sequence[bytes], found: AddFinding) -> bool:
    if mark.size < base:
        found(FindingKind.REORDERED, mark.size, f"{mark.source} comes after larger ones")
        return False
    inside = extend_tree(Frontier(), leaves[: mark.size - base])[0].peaks
    if root_of_peaks((*above.peaks, *inside)) == mark.root:
        return True
    found(
        FindingKind.REWRITTEN,
        mark.size,
        f"the first {mark.size} entries are not those that {mark.source} was made of",
    )
    return False


def _close(above: Frontier, tile: bytes) -> tuple[Frontier, list[TreeNode]]:
    """Put a full tile under the tree; the kept hashes that this closes."""
    grown, higher = extend_tree(above, (tile,))
    return grown, [(TILE, above.size, tile), *((height + TILE, place, h) for height, place, h in higher)]


def _same(closed: list[TreeNode], stored: Iterator[TreeNode], found: AddFinding) -> bool:
    """Return whether kept hashes go on, and are those of the entries where they do."""
    for height, place, hashed in closed:
        kept = next(stored, None)
        if kept is None:
            return False
        end = (place + 1) << height
        if tuple(kept[:2]) != (height, place):
            found(
                FindingKind.TREE,
                end,
                f"a kept hash of the tree is missing, or one too many, before entry {end}",
            )
            return False
        if kept[2] != hashed:
            found(
                FindingKind.TREE,
                end,
                f"the kept hash over entries {(place << height) + 1} to {end} is another",
            )
    return True


def _check_ends(chain: Chain, climbed: TreeProgress, kept: bool, found: AddFinding) -> None:
    if chain.pruned_through > chain.accounted:
        found(
            FindingKind.BODY_MISSING,
            chain.pruned_through,
            "bodies are missing that no entry says were pruned",
        )
    if not chain.whole or not kept:
        return
    if climbed.left_over:
        found(FindingKind.TRUNCATED, chain.entries, f"the tree has kept hashes beyond entry {chain.entries}")
    if climbed.kept_through < climbed.largest - climbed.largest % WIDTH:
        found(
            FindingKind.TREE,
            climbed.kept_through,
            "kept hashes of the tree are missing up to its checkpoints",
        )
