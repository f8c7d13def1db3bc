"""Marks: what the first entries of a stream must come to, as checkpoints and entries `JOINED` say it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

import msgspec

from sayso.core.audit.checkpoint import BadCheckpoint, Verifier, open_checkpoint
from sayso.core.audit.entry import MAIN, AuditError, Row, read_body


class Kind(Enum):
    EDITED = "edited"
    INSERTED = "inserted"
    DELETED = "deleted"
    REORDERED = "reordered"
    LINK = "link"
    BODY_MISSING = "body_missing"
    TREE = "tree"
    SIGNATURE = "signature"
    TRUNCATED = "truncated"
    REWRITTEN = "rewritten"
    PROOF = "proof"


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong, and the entry (or the size of the tree) where it shows."""

    kind: Kind
    seq: int
    text: str


class Mark(msgspec.Struct, frozen=True):
    """What the first `size` entries must come to, and who says so."""

    size: int
    root: bytes
    source: str


def checkpoint_marks(
    stored: Iterable[bytes], outside: Iterable[bytes], verifiers: Sequence[Verifier], origin: str
) -> Iterator[Mark | Finding]:
    """The marks that signed checkpoints make, in the order of their sizes; false ones come as findings.

    `stored` are read one by one, in the order they were made; `outside` are the few that were kept elsewhere.
    """
    waiting: list[Mark] = []
    for note in outside:
        opened = _open(note, verifiers, origin, "a checkpoint kept outside")
        if isinstance(opened, Mark):
            waiting.append(opened)
        else:
            yield opened
    waiting.sort(key=lambda mark: mark.size, reverse=True)
    size = 0
    for note in stored:
        opened = _open(note, verifiers, origin, "a stored checkpoint")
        if isinstance(opened, Mark):
            if opened.size < size:
                yield Finding(
                    Kind.REORDERED, opened.size, "a stored checkpoint is smaller than one before it"
                )
                continue
            size = opened.size
            while waiting and waiting[-1].size <= size:
                yield waiting.pop()
        yield opened
    yield from reversed(waiting)


def joined_marks(rows: Iterable[Row]) -> Iterator[tuple[str, Mark]]:
    """From the rows of `main`: each stream it joins, with the size and root it gives for it, oldest first.

    What is malformed is passed over here, and found by verifying `main`.
    """
    for seq, body, _, _ in rows:
        if type(body) is bytes and b',"event":"JOINED",' in body:
            yield from _joined(seq, body)


def _joined(seq: int, body: bytes) -> Iterator[tuple[str, Mark]]:
    try:
        said = read_body(body)
        if said.event == "JOINED":
            for stream, joined in said.details["streams"].items():
                mark = Mark(int(joined["size"]), bytes.fromhex(joined["root"]), f"entry {seq} of {MAIN}")
                yield str(stream), mark
    except (AuditError, AttributeError, KeyError, TypeError, ValueError):
        return


def _open(note: bytes, verifiers: Sequence[Verifier], origin: str, source: str) -> Mark | Finding:
    try:
        checkpoint = open_checkpoint(note, verifiers, origin)
    except BadCheckpoint as error:
        return Finding(Kind.SIGNATURE, 0, f"{source} proves nothing: {error.message}")
    return Mark(checkpoint.size, checkpoint.root, f"{source} of size {checkpoint.size}")
