"""One stream of the trail, read from the first entry to the last, each row compared with its body."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing

import msgspec

from sayso.core.audit import events
from sayso.core.audit.anchors import (
    Anchor,
    AuditFinding,
    FindingKind,
    anchors_from_joins,
)
from sayso.core.audit.bulk import RawBody, SoundSpan
from sayso.core.audit.commitments import SaltedValue, opens
from sayso.core.audit.entry import MAIN, format_timestamp, genesis
from sayso.core.audit.merkle import TILE
from sayso.core.audit.verify import RUN
from sayso.gate import words
from sayso.gate.audit.verifying.columns import find_differing_rows
from sayso.gate.audit.verifying.signatures import PASSKEY_EVENTS as SIGNED
from sayso.gate.audit.verifying.signatures import Proofs
from sayso.gate.audit.verifying.spans import BEFORE_ALL, TELLING
from sayso.gate.audit.verifying.workers import Workers
from sayso.gate.gate import Gate
from sayso.store.contract import EntryTuple

PAGE = 1_000


MOST_JOINED = 1_000


VerifyProgress = Callable[[str, int], None]
"""Told the stream and how many of its entries were read."""


class Tampering(msgspec.Struct, frozen=True):
    """The trail's reports of tampering: the number of entries, and the time of the last.

    A trail can be intact and still report tampering beside it.
    """

    entries: int = 0
    last_at: float | None = None

    def text(self, *, whole: bool) -> str:
        """The sentence that says so; `whole`: the trail itself holds."""
        last = None if self.last_at is None else format_timestamp(self.last_at)[:19] + "Z"
        return words.tampering_reported(self.entries, last, whole=whole)

    def __or__(self, other: Tampering) -> Tampering:
        times = [at for at in (self.last_at, other.last_at) if at is not None]
        return Tampering(self.entries + other.entries, max(times, default=None))


_decode_erased = msgspec.json.Decoder(events.Erased).decode


class StreamWalk:
    """One stream, read from the first entry to the last, each row checked."""

    def __init__(
        self,
        gate: Gate,
        stream: str,
        progress: VerifyProgress | None = None,
        proofs: Proofs | None = None,
        workers: Workers | None = None,
    ) -> None:
        self.stream = stream
        self.joined: dict[str, deque[Anchor]] = defaultdict(lambda: deque(maxlen=MOST_JOINED))
        self.findings: list[AuditFinding] = []
        self.tampering = Tampering()
        self.gate = gate
        self._progress = progress
        self._proofs = proofs if proofs is not None else Proofs()
        self._workers = workers if workers is not None else Workers(gate.store, 1)
        self._after = BEFORE_ALL
        self._gone: set[tuple[int, str]] = set()
        self._erased: set[tuple[int, str]] = set()

    def runs(self) -> Iterator[Sequence[EntryTuple]]:
        """The rows that were not read yet, in their order, many at a time."""
        for page in self._read_pages():
            yield from _cut_page(page)

    def spans_and_runs(self) -> Iterator[Sequence[EntryTuple] | SoundSpan]:
        """All rows in their order; those that were verified already come as spans.

        Where numbers are missing or too many, spans and rows would get out of step: from there on, rows.
        """
        last, head = 0, genesis(self.stream).hash
        with closing(self._workers.check_spans(self.stream, self._count_entries())) as spans:
            for span in spans:
                if span is not None and span.follows(last, head):
                    yield span
                    head = span.head
                    self._note_read(span.last)
                else:
                    for page in self._read_pages(self._workers.span):
                        yield from _cut_page(page)
                        head = page[-1][3]
                last += self._workers.span
                if self._after != last:
                    break
        yield from self.runs()

    def _count_entries(self) -> int:
        """Return how many entries the newest one says there are; what is wrong with that is found later."""
        with self.gate.store.read() as tx:
            newest = tx.head(self.stream)
        return 0 if newest is None else newest.seq

    def _read_pages(self, most: int | None = None) -> Iterator[Sequence[EntryTuple]]:
        """The rows after the last one read, at most so many."""
        left = most
        while left is None or left > 0:
            with self.gate.store.read() as tx:
                wanted = PAGE if left is None else min(PAGE, left)
                page = tx.entry_tuples(self.stream, after=self._after, limit=wanted)
            if not page:
                return
            yield page
            self._note_read(page[-1][0])
            left = None if left is None else left - len(page)

    def _note_read(self, through: int) -> None:
        self._after = through
        if self._progress is not None:
            self._progress(self.stream, through)

    def check_run(self, run: Sequence[EntryTuple], told: Sequence[RawBody | None]) -> None:
        """Hold the columns of these rows, and the values kept beside them, against what the bodies say."""
        for seq in find_differing_rows(run, told):
            self._add_finding(
                FindingKind.EDITED, seq, f"the columns beside entry {seq} do not say what it says"
            )
        reported = events.TamperingFound.event
        for row, one in zip(run, told, strict=True):
            if one is None:
                if row[5] == reported:  # of a pruned one the column is left
                    self.tampering |= Tampering(1, row[4])
                continue
            if one.event == reported:
                self.tampering |= Tampering(1, row[4])
            if one.commitments or one.event in TELLING:
                self._check_entry(row, one)

    def end(self) -> list[AuditFinding]:
        """Return the findings that need all rows."""
        findings = [
            AuditFinding(
                FindingKind.DELETED, seq, f"the value {name!r} of entry {seq} is gone, and no entry erased it"
            )
            for seq, name in sorted(self._gone - self._erased)
        ]
        with self.gate.store.read() as tx:
            findings += [
                AuditFinding(
                    FindingKind.INSERTED, seq, f"the value {name!r} of entry {seq} was erased, but it is back"
                )
                for seq, name in sorted(self._erased)
                if any(secret.name == name for secret in tx.secrets(self.stream, seq))
            ]
            newest = tx.head(self.stream)
            entries = newest.seq if newest is not None else 0
            if entries >= 0 and tx.nodes(self.stream, [(TILE, entries >> TILE)]):
                text = f"the tree has kept hashes beyond entry {entries}"
                findings.append(AuditFinding(FindingKind.TRUNCATED, entries, text))
        return findings

    def _check_entry(self, row: EntryTuple, one: RawBody) -> None:
        if one.commitments:
            self._check_values(row[0], one.commitments)
        if one.event in SIGNED:
            self._proofs.take_entry(self.stream, row[0], one.event, one.details)
        elif one.event == events.Erased.event:
            self._note_erased(one.details)
        elif one.event == events.Joined.event and self.stream == MAIN:
            for stream, mark in anchors_from_joins([row[:4]]):
                self.joined[stream].append(mark)

    def _check_values(self, seq: int, commitments: Mapping[str, str]) -> None:
        with self.gate.store.read() as tx:
            kept = {secret.name: secret for secret in tx.secrets(self.stream, seq)}
            pruned = any(row[1] is None for row in tx.entry_tuples(self.stream, after=seq - 1, limit=1))
        for name, committed in commitments.items():
            secret = kept.get(name)
            if secret is None:
                if not pruned:  # by others, since this entry was read
                    self._gone.add((seq, name))
            elif not opens(SaltedValue(name, secret.value, secret.salt), committed):
                text = f"the value {name!r} kept beside entry {seq} is not the one it speaks of"
                self._add_finding(FindingKind.EDITED, seq, text)

    def _note_erased(self, details: msgspec.Raw) -> None:
        try:
            one = _decode_erased(details)
        except msgspec.MsgspecError:
            return  # what it erased is then missed, and found
        self._erased.add((one.entry, one.name))

    def _add_finding(self, kind: FindingKind, seq: int, text: str) -> None:
        self.findings.append(AuditFinding(kind, seq, text))


def _cut_page(page: Sequence[EntryTuple]) -> Iterator[Sequence[EntryTuple]]:
    return (page[start : start + RUN] for start in range(0, len(page), RUN))
