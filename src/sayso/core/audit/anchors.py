"""Marks: what the first entries of a stream must come to, by checkpoints and entries `JOINED`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

import msgspec

from sayso.core.audit.checkpoint import BadCheckpoint, Verifier, open_checkpoint
from sayso.core.audit.entry import MAIN, AuditError, ChainRow, read_body
from sayso.core.audit.events import Joined

_JOINED = f',"event":"{Joined.event}",'.encode()


class FindingKind(Enum):
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


class AuditFinding(msgspec.Struct, frozen=True):
    """One thing that is wrong, and the entry (or the size of the tree) where it shows."""

    kind: FindingKind
    seq: int
    text: str


class Anchor(msgspec.Struct, frozen=True):
    """What the first `size` entries must come to, and who says so."""

    size: int
    root: bytes
    source: str


def anchors_from_checkpoints(
    stored: Iterable[bytes], outside: Iterable[bytes], verifiers: Sequence[Verifier], origin: str
) -> Iterator[Anchor | AuditFinding]:
    """The marks that signed checkpoints make, in the order of their sizes; false ones come as findings.

    `stored` are read one by one, in the order they were made; `outside` are the few that were kept elsewhere.
    """
    waiting: list[Anchor] = []
    for note in outside:
        opened = _anchor_from_note(note, verifiers, origin, "a checkpoint kept outside")
        if isinstance(opened, Anchor):
            waiting.append(opened)
        else:
            yield opened
    waiting.sort(key=lambda mark: mark.size, reverse=True)
    size = 0
    for note in stored:
        opened = _anchor_from_note(note, verifiers, origin, "a stored checkpoint")
        if isinstance(opened, Anchor):
            if opened.size < size:
                yield AuditFinding(
                    FindingKind.REORDERED, opened.size, "a stored checkpoint is smaller than one before it"
                )
                continue
            size = opened.size
            while waiting and waiting[-1].size <= size:
                yield waiting.pop()
        yield opened
    yield from reversed(waiting)


def anchors_from_joins(rows: Iterable[ChainRow]) -> Iterator[tuple[str, Anchor]]:
    """From the rows of `main`: each stream it joins, with the size and root it gives for it, oldest first.

    What is malformed is passed over here, and found by verifying `main`.
    """
    for seq, body, _, _ in rows:
        if type(body) is bytes and _JOINED in body:
            yield from _anchors_from_entry(seq, body)


def _anchors_from_entry(seq: int, body: bytes) -> Iterator[tuple[str, Anchor]]:
    try:
        said = read_body(body)
        if said.event == Joined.event:
            for stream, joined in said.details["streams"].items():
                mark = Anchor(int(joined["size"]), bytes.fromhex(joined["root"]), f"entry {seq} of {MAIN}")
                yield str(stream), mark
    except (AuditError, AttributeError, KeyError, TypeError, ValueError):
        return


def _anchor_from_note(
    note: bytes, verifiers: Sequence[Verifier], origin: str, source: str
) -> Anchor | AuditFinding:
    try:
        checkpoint = open_checkpoint(note, verifiers, origin)
    except BadCheckpoint as error:
        return AuditFinding(FindingKind.SIGNATURE, 0, f"{source} proves nothing: {error.message}")
    return Anchor(checkpoint.size, checkpoint.root, f"{source} of size {checkpoint.size}")
