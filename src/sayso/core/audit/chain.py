"""Walking along a stored chain: rows in, leaf hashes out, and a finding for every row that is not right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sayso.core.audit.anchors import FindingKind
from sayso.core.audit.bulk import (
    RawBody,
    SoundSpan,
    StoredRow,
    read_pruned_run,
    read_raw_body,
    read_sound_run,
)
from sayso.core.audit.entry import HASH_BYTES, AuditError, chain_hash, genesis, read_body
from sayso.core.audit.events import Pruned
from sayso.core.audit.merkle import BrokenTree

AddFinding = Callable[[FindingKind, int, str], None]


class Chain:
    """Where walking along a stream came to. `whole`: each row so far was at the place its number names."""

    def __init__(self, stream: str, found: AddFinding) -> None:
        self.entries = 0
        self.head = genesis(stream).hash
        self.whole = True
        self.pruned = 0
        self.pruned_through = 0
        self.accounted = 0
        self._stream = stream
        self._found = found

    def walk(self, run: Sequence[StoredRow]) -> tuple[Sequence[bytes], Sequence[RawBody | None]]:
        """Go on by these rows: their leaf hashes, none after a place where rows are missing, and what each
        says, None where the body is gone or is not that of an entry.
        """
        leaves: Sequence[bytes]
        told: Sequence[RawBody | None]
        whole = read_sound_run(run, self._stream, self.entries, self.head)
        if whole is not None:
            leaves, told = whole
            leaves = self._go_on(run[-1][0], leaves)
        elif (pruned := read_pruned_run(run, self.entries, self.head)) is not None:
            told = [None] * len(run)
            self.pruned, self.pruned_through = self.pruned + len(run), run[-1][0]
            leaves = self._go_on(run[-1][0], pruned)
        else:
            told = [read_raw_body(row[1]) if type(row[1]) is bytes else None for row in run]
            leaves = [row[3] for row, one in zip(run, told, strict=True) if self._step(row, one)]
        if self.pruned:
            self._account(run, told)
        return leaves, told

    def pass_over(self, span: SoundSpan) -> Sequence[RawBody | None]:
        """Go on by entries that were verified elsewhere; what the notable ones say."""
        if not span.follows(self.entries, self.head):
            raise BrokenTree(f"the entries from {span.first} on were verified apart, and do not join")
        self.entries, self.head = span.last, span.head
        if span.pruned:
            self.pruned, self.pruned_through = self.pruned + span.pruned, span.pruned_through
        told = [None if row[1] is None else read_raw_body(row[1]) for row in span.notable]
        if self.pruned:
            self._account(span.notable, told)
        return told

    def _go_on(self, last: int, leaves: Sequence[bytes]) -> Sequence[bytes]:
        """Take a run in which nothing is wrong."""
        self.entries, self.head = last, leaves[-1]
        return leaves if self.whole else ()

    def _step(self, row: StoredRow, one: RawBody | None) -> bool:
        """Go on by one row, and say what is wrong with it; whether its hash is the next leaf."""
        if not self._explain(row, one):
            self.whole = False
            if not isinstance(row[0], int) or row[0] <= self.entries:
                return False
        self.entries, self.head = row[0], row[3]
        if row[1] is None:
            self.pruned, self.pruned_through = self.pruned + 1, row[0]
        return self.whole

    def _explain(self, row: StoredRow, one: RawBody | None) -> bool:
        """Say what is wrong with a row, if anything is; whether it can still be the next leaf."""
        seq, body, prev, digest = row[:4]
        last = self.entries
        if not _well_formed(row):
            self._found(FindingKind.EDITED, last + 1, f"what is stored after entry {last} is not an entry")
            return False
        if seq == last:
            self._found(FindingKind.INSERTED, seq, f"there are two entries {seq}")
        elif seq < last:
            self._found(FindingKind.REORDERED, seq, f"entry {seq} stands after entry {last}")
        elif seq > last + 1:
            self._found(FindingKind.DELETED, last + 1, f"{_span(last + 1, seq - 1)} missing")
        elif prev != self.head:
            self._found(FindingKind.LINK, seq, f"entry {seq} does not follow what is now entry {last}")
        if body is not None and chain_hash(prev, body) != digest:
            self._found(FindingKind.EDITED, seq, f"entry {seq} is not what was hashed when it was written")
        elif body is not None:
            self._explain_body(seq, body, one)
        return seq == last + 1

    def _explain_body(self, seq: int, body: bytes, one: RawBody | None) -> None:
        if one is None:
            self._found(FindingKind.EDITED, seq, f"entry {seq} is not an entry: {_explain_unreadable(body)}")
        elif one.seq != seq:
            self._found(FindingKind.REORDERED, seq, f"entry {seq} was written as entry {one.seq}")
        elif one.stream != self._stream:
            self._found(
                FindingKind.INSERTED, seq, f"entry {seq} was written as one of the stream {one.stream}"
            )

    def _account(self, run: Sequence[StoredRow], told: Sequence[RawBody | None]) -> None:
        """Note through which entry bodies were dropped, as entries record it."""
        for row, one in zip(run, told, strict=True):
            if one is not None and one.event == Pruned.event and row[1] is not None:
                self.accounted = max(self.accounted, _read_pruned_through(row[0], row[1]))


def _well_formed(row: StoredRow) -> bool:
    seq, body, prev, digest = row[:4]
    hashes = all(type(each) is bytes and len(each) == HASH_BYTES for each in (prev, digest))
    return type(seq) is int and hashes and (body is None or type(body) is bytes)


def _explain_unreadable(body: bytes) -> str:
    try:
        read_body(body)
    except AuditError as error:
        return error.message
    return "it is not in its canonical form"


def _read_pruned_through(seq: int, body: bytes) -> int:
    """Through which entry this one says that bodies were dropped; 0 if it says no such thing."""
    try:
        through = read_body(body).details.get("through")
    except AuditError:
        return 0
    return through if type(through) is int and through < seq else 0


def _span(first: int, last: int) -> str:
    return f"entry {first} is" if first == last else f"entries {first} to {last} are"
