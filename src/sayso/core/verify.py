"""Verifying a stored audit trail: where it is not what was written, in one pass and little memory.

Rows are read in the order of their numbers. Three things are held against each other: the chain (each entry
follows the one before), the tree (kept hashes are those of the entries) and marks (sizes and roots that a
trusted key signed, or that entries `JOINED` of `main` speak of). Without a mark that was kept elsewhere,
nobody can tell that the newest entries were cut off together with everything that speaks of them, or that
whoever holds the key wrote the whole trail anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256

import msgspec

from sayso.core.audit import HASH_BYTES, MAIN, TAG, AuditError, Row, chain_hash, genesis, read_body
from sayso.core.audit_marks import Finding, Kind, Mark
from sayso.core.merkle import TILE, WIDTH, Frontier, Kept, extend, fold, subtree

MOST_FINDINGS = 100


class Report(msgspec.Struct, frozen=True):
    """What verifying found. Past the first hundred findings only their number is kept."""

    stream: str
    entries: int
    head: bytes
    root: bytes | None
    pruned: int
    pruned_through: int
    marks: int
    held_through: int
    """The largest size at which a mark held: up to here the entries are those that were signed."""
    findings: tuple[Finding, ...]
    found: int

    @property
    def clean(self) -> bool:
        return self.found == 0


Found = Callable[[Kind, int, str], None]


def verify(
    rows: Iterable[Row],
    *,
    stream: str = MAIN,
    marks: Iterable[Mark | Finding] = (),
    nodes: Iterable[Kept] | None = None,
) -> Report:
    """Hold a stream's stored rows against its chain, its kept tree hashes and its marks.

    `rows` come in the order of their numbers; `marks` in the order of their sizes (see audit_marks); `nodes`
    in the order they were closed (by last leaf, then height), or None where none are kept.
    """
    findings: list[Finding] = []
    counted = [0]

    def found(kind: Kind, seq: int, text: str) -> None:
        counted[0] += 1
        if len(findings) < MOST_FINDINGS:
            findings.append(Finding(kind, seq, text))

    walked: list[Walked] = []
    climbed = _climb(_tiles(rows, stream, walked, found), walked, iter(marks), nodes, found)
    walk = walked[0]
    _check_ends(walk, climbed, nodes is not None, found)
    return Report(
        stream=stream,
        entries=walk.entries,
        head=walk.head,
        root=climbed.root if walk.whole else None,
        pruned=walk.pruned,
        pruned_through=walk.pruned_through,
        marks=climbed.marks,
        held_through=climbed.held_through,
        findings=tuple(findings),
        found=counted[0],
    )


# --- the chain: rows in, tiles of leaf hashes out ---


class Walked(msgspec.Struct, frozen=True):
    """Where walking along the chain came to. `whole`: each row stood at the place its number says."""

    entries: int
    head: bytes
    whole: bool
    pruned: int
    pruned_through: int
    accounted: int


def _tiles(rows: Iterable[Row], stream: str, walked: list[Walked], found: Found) -> Iterator[list[bytes]]:
    """The leaf hashes, 256 at a time, the last time fewer; none after a place where rows are missing."""
    head = genesis(stream).hash
    last = pruned = pruned_through = accounted = 0
    whole = True
    leaves: list[bytes] = []
    for row in rows:
        seq, body, prev, digest = row
        if (
            seq == last + 1
            and prev == head
            and type(body) is bytes
            and sha256(TAG + prev + body).digest() == digest
            and body.rfind(b',"seq":%d,"session":' % seq) > 0  # from the end, where it stands
        ):
            if pruned and b',"event":"PRUNED",' in body:
                accounted = max(accounted, _pruned_by(seq, body))
        elif not _explain(row, last, head, found):
            whole = False
            if not isinstance(seq, int) or seq <= last:
                continue
        if body is None:
            pruned, pruned_through = pruned + 1, seq
        last, head = seq, digest
        if whole:
            leaves.append(digest)
            if len(leaves) == WIDTH:
                yield leaves
                leaves = []
    walked.append(Walked(last, head, whole, pruned, pruned_through, accounted))
    yield leaves


def _explain(row: Row, last: int, head: bytes, found: Found) -> bool:
    """Say what is wrong with a row that may be wrong; whether it can still be leaf number `last + 1`."""
    seq, body, prev, digest = row
    if not _well_formed(row):
        found(Kind.EDITED, last + 1, f"what is stored after entry {last} is not an entry")
        return False
    if seq == last:
        found(Kind.INSERTED, seq, f"there are two entries {seq}")
    elif seq < last:
        found(Kind.REORDERED, seq, f"entry {seq} stands after entry {last}")
    elif seq > last + 1:
        found(Kind.DELETED, last + 1, f"{_span(last + 1, seq - 1)} missing")
    elif prev != head:
        found(Kind.LINK, seq, f"entry {seq} does not follow what is now entry {last}")
    if body is not None:
        _explain_body(seq, body, prev, digest, found)
    return seq == last + 1


def _well_formed(row: Row) -> bool:
    seq, body, prev, digest = row
    hashes = all(type(each) is bytes and len(each) == HASH_BYTES for each in (prev, digest))
    return type(seq) is int and hashes and (body is None or type(body) is bytes)


def _explain_body(seq: int, body: bytes, prev: bytes, digest: bytes, found: Found) -> None:
    if chain_hash(prev, body) != digest:
        found(Kind.EDITED, seq, f"entry {seq} is not what was hashed when it was written")
        return
    try:
        written = read_body(body).seq
    except AuditError as error:
        found(Kind.EDITED, seq, f"entry {seq} is not an entry: {error.message}")
        return
    if written != seq:
        found(Kind.REORDERED, seq, f"entry {seq} was written as entry {written}")


def _pruned_by(seq: int, body: bytes) -> int:
    """Through which entry this one says that bodies were dropped; 0 if it says no such thing."""
    try:
        said = read_body(body)
    except AuditError:
        return 0
    through = said.details.get("through")
    return through if said.event == "PRUNED" and type(through) is int and through < seq else 0


def _span(first: int, last: int) -> str:
    return f"entry {first} is" if first == last else f"entries {first} to {last} are"


# --- the tree: tiles in, held against kept hashes and marks ---


class Climbed(msgspec.Struct, frozen=True):
    """Where building the tree came to."""

    root: bytes
    marks: int
    held_through: int
    largest: int
    kept_through: int
    left_over: bool


def _climb(
    tiles: Iterable[list[bytes]],
    walked: list[Walked],
    marks: Iterator[Mark | Finding],
    nodes: Iterable[Kept] | None,
    found: Found,
) -> Climbed:
    """Build the tree tile by tile; only its frontier is held."""
    stored = iter(nodes or ())
    above = Frontier()
    seen = held = largest = size = kept_through = 0
    comparing, rest = True, b""
    mark = _next_mark(marks, found)
    for leaves in tiles:
        base, size = size, size + len(leaves)
        while mark is not None and mark.size <= size:
            seen, largest = seen + 1, max(largest, mark.size)
            if _holds(mark, base, above, leaves, found):
                held = max(held, mark.size)
            mark = _next_mark(marks, found)
        if len(leaves) < WIDTH:
            rest = fold((*above.peaks, *extend(Frontier(), leaves)[0].peaks))
            break
        above, closed = _close(above, leaves)
        comparing = comparing and _same(closed, stored, found)
        kept_through = size if comparing else kept_through
    while mark is not None:
        seen, largest = seen + 1, max(largest, mark.size)
        last = walked[0].entries
        if mark.size > last:
            found(Kind.TRUNCATED, mark.size, f"{mark.source}, but after entry {last} nothing is left")
        mark = _next_mark(marks, found)
    left_over = comparing and next(stored, None) is not None
    return Climbed(rest, seen, held, largest, kept_through, left_over)


def _next_mark(marks: Iterator[Mark | Finding], found: Found) -> Mark | None:
    """The next mark; findings on the way to it are passed on."""
    for each in marks:
        if isinstance(each, Mark):
            return each
        found(each.kind, each.seq, each.text)
    return None


def _holds(mark: Mark, base: int, above: Frontier, leaves: list[bytes], found: Found) -> bool:
    if mark.size < base:
        found(Kind.REORDERED, mark.size, f"{mark.source} comes after larger ones")
        return False
    inside = extend(Frontier(), leaves[: mark.size - base])[0].peaks
    if fold((*above.peaks, *inside)) == mark.root:
        return True
    found(
        Kind.REWRITTEN,
        mark.size,
        f"the first {mark.size} entries are not those that {mark.source} was made of",
    )
    return False


def _close(above: Frontier, leaves: list[bytes]) -> tuple[Frontier, list[Kept]]:
    """Put a full tile under the tree; the kept hashes that this closes."""
    tile = subtree(leaves)
    grown, higher = extend(above, (tile,))
    return grown, [(TILE, above.size, tile), *((height + TILE, place, h) for height, place, h in higher)]


def _same(closed: list[Kept], stored: Iterator[Kept], found: Found) -> bool:
    """Whether kept hashes go on, and are those of the entries where they do."""
    for height, place, hashed in closed:
        kept = next(stored, None)
        if kept is None:
            return False
        end = (place + 1) << height
        if tuple(kept[:2]) != (height, place):
            found(Kind.TREE, end, f"a kept hash of the tree is missing, or one too many, before entry {end}")
            return False
        if kept[2] != hashed:
            found(Kind.TREE, end, f"the kept hash over entries {(place << height) + 1} to {end} is another")
    return True


def _check_ends(walk: Walked, climbed: Climbed, kept: bool, found: Found) -> None:
    if walk.pruned_through > walk.accounted:
        found(Kind.BODY_MISSING, walk.pruned_through, "bodies are missing that no entry says were pruned")
    if not walk.whole or not kept:
        return
    if climbed.left_over:
        found(Kind.TRUNCATED, walk.entries, f"the tree has kept hashes beyond entry {walk.entries}")
    if climbed.kept_through < climbed.largest - climbed.largest % WIDTH:
        found(Kind.TREE, climbed.kept_through, "kept hashes of the tree are missing up to its checkpoints")
