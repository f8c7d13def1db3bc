"""Verifying the stored audit trail: its streams, their trees, checkpoints and the values kept beside entries.

The store is read in pages, each in a short transaction, while others go on writing. What was signed when
verifying began is held against entries read afterwards, and those only ever grow.

Long streams are verified in spans, by several processes if so many are allowed. What is not right in a span,
and the rest after the last one, is read here, entry by entry: so it does not matter who verified what.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing

import msgspec

from sayso.core.audit import events
from sayso.core.audit.anchors import (
    Anchor,
    AuditFinding,
    FindingKind,
    anchors_from_checkpoints,
    anchors_from_joins,
)
from sayso.core.audit.bulk import RawBody, SoundSpan
from sayso.core.audit.checkpoint import BadCheckpoint, parse_checkpoint, parse_note
from sayso.core.audit.commitments import SaltedValue, opens
from sayso.core.audit.entry import MAIN, AuditError, format_timestamp, genesis
from sayso.core.audit.merkle import TILE, WIDTH, TreeNode
from sayso.core.audit.verify import MOST_FINDINGS, RUN, VerifyReport, verify_runs
from sayso.gate import words
from sayso.gate.audit.checkpoints import LAST_CHECKPOINT
from sayso.gate.audit.tree import TreeEnd, load_end, log_origin, own_verifiers, require_key
from sayso.gate.audit.verifying.check_rows import check_rows
from sayso.gate.audit.verifying.check_values import check_values
from sayso.gate.audit.verifying.columns import find_differing_rows
from sayso.gate.audit.verifying.signatures import PASSKEY_EVENTS as SIGNED
from sayso.gate.audit.verifying.signatures import Proofs
from sayso.gate.audit.verifying.spans import BEFORE_ALL, TELLING
from sayso.gate.audit.verifying.workers import Workers
from sayso.gate.gate import Gate
from sayso.gate.rows.keys import SigningKey
from sayso.gate.summaries.check import check_summaries
from sayso.store.contract import CheckpointRow, EntryTuple, Reader

PAGE = 1_000
CHECKPOINT_PAGE = 1_000
"""How many stored checkpoints are read at once; all of them are verified."""
TILES = 256
"""How many full tiles of a tree are read at once."""
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


class AuditReport(msgspec.Struct, frozen=True):
    """The result of verifying: one report per stream, `main` first."""

    reports: tuple[VerifyReport, ...]
    checkpoints: int
    outside: int
    tampering: Tampering = Tampering()

    @property
    def clean(self) -> bool:
        return self.found == 0

    @property
    def found(self) -> int:
        return sum(report.found for report in self.reports)


_decode_erased = msgspec.json.Decoder(events.Erased).decode


def verify_audit(
    gate: Gate,
    outside: Sequence[bytes] = (),
    *,
    progress: VerifyProgress | None = None,
    rows: bool = True,
    processes: int = 1,
) -> AuditReport:
    """Hold the whole trail against itself, its signatures, and the checkpoints that were kept outside.

    With `rows`, the sealed rows beside it as well: against their seals and the mark. At most `processes` work
    at it, this one included; a store in memory and a short trail are read by this one alone.
    """
    with Workers(gate.store, processes) as workers:
        return _verify(gate, outside, progress, workers, rows=rows)


def _verify(
    gate: Gate, outside: Sequence[bytes], progress: VerifyProgress | None, workers: Workers, *, rows: bool
) -> AuditReport:
    key = require_key(gate)
    with gate.store.read() as tx:
        origin, streams = log_origin(tx), set(tx.streams())
        stored = _load_checkpoints(tx)
        ends = {stream: _load_end_or_finding(tx, key, stream) for stream in streams | {MAIN}}
        beside = [
            *_check_checkpoint_rows(stored),
            *_check_checkpoint_count(gate, len({row.note for row in stored}), ends[MAIN]),
        ]
    notes = [row.note.encode() for row in stored]
    proofs = Proofs()
    walk = Walk(gate, MAIN, progress, proofs, workers)
    marks = anchors_from_checkpoints(notes, outside, own_verifiers(key), origin)
    beside += _check_mark(gate)
    if rows:
        beside += [*check_rows(gate), *check_values(gate), *_check_summaries(gate)]
    main = _report_on_stream(walk, ends[MAIN], marks, beside, expected=bool(stored))
    reports = [main]
    for stream in sorted((streams | walk.joined.keys()) - {MAIN}):
        joined = walk.joined.get(stream, ())
        other = Walk(gate, stream, progress, proofs, workers)
        reports.append(_report_on_stream(other, ends.get(stream), joined, (), expected=bool(joined)))
        walk.tampering |= other.tampering
    proofs.end(pruned=any(report.pruned for report in reports))
    told = tuple(_with_findings(report, proofs.findings.get(report.stream, ())) for report in reports)
    return AuditReport(told, len(stored), len(outside), walk.tampering)


class Walk:
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


def _report_on_stream(
    walk: Walk,
    end: TreeEnd | AuditFinding | None,
    marks: Iterable[Anchor | AuditFinding],
    findings: Iterable[AuditFinding],
    *,
    expected: bool,
) -> VerifyReport:
    """The report on one stream. `expected`: its tree was grown before, so its end must be kept."""
    sealed: list[Anchor] = []
    more = list(findings)
    if isinstance(end, AuditFinding):
        more.append(end)
    elif end is not None:
        sealed.append(Anchor(end.size, end.tree.root, f"the sealed end of the tree, at {end.size},"))
    elif expected:
        more.append(AuditFinding(FindingKind.TREE, 0, "the end of the tree is not kept any more"))
    nodes = _load_nodes(walk.gate, walk.stream, end.size) if isinstance(end, TreeEnd) else None
    try:
        report = verify_runs(
            walk.spans_and_runs(),
            stream=walk.stream,
            marks=_merge_marks(marks, sealed),
            nodes=nodes,
            look=walk.check_run,
        )
    except AuditError as error:  # a stream that cannot have been written by us
        report = VerifyReport(walk.stream, 0, b"", None, 0, 0, 0, 0, (), 0)
        more.append(AuditFinding(FindingKind.INSERTED, 0, error.message))
    return _with_findings(report, more + walk.findings + walk.end())


def _with_findings(report: VerifyReport, more: Sequence[AuditFinding]) -> VerifyReport:
    return msgspec.structs.replace(
        report, findings=(*report.findings, *more)[:MOST_FINDINGS], found=report.found + len(more)
    )


def _load_end_or_finding(tx: Reader, key: SigningKey, stream: str) -> TreeEnd | AuditFinding | None:
    try:
        return load_end(tx, key, stream)
    except (AuditError, msgspec.MsgspecError) as error:
        return AuditFinding(FindingKind.SIGNATURE, 0, getattr(error, "message", str(error)))


def _merge_marks(
    marks: Iterable[Anchor | AuditFinding], sealed: Iterable[Anchor]
) -> Iterator[Anchor | AuditFinding]:
    """Both in the order of their sizes."""
    waiting = list(sealed)
    for each in marks:
        while waiting and isinstance(each, Anchor) and waiting[0].size <= each.size:
            yield waiting.pop(0)
        yield each
    yield from waiting


def _load_checkpoints(tx: Reader) -> list[CheckpointRow]:
    """All that are stored, oldest first."""
    found: list[CheckpointRow] = []
    while page := tx.checkpoints(limit=CHECKPOINT_PAGE, skip=len(found)):
        found += page
    return found[::-1]


def _check_checkpoint_rows(stored: Iterable[CheckpointRow]) -> Iterator[AuditFinding]:
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


def _check_checkpoint_count(
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


def _check_mark(gate: Gate) -> Iterator[AuditFinding]:
    """Yield a finding if the store contradicts the mark beside the key, where there is one."""
    if gate.mark is None:
        return
    reached = gate.mark.reached()  # before the transaction: others go on writing meanwhile
    with gate.store.read() as tx:
        if gate.mark.lost:
            yield AuditFinding(FindingKind.TRUNCATED, 0, words.LOST_MARK)
        elif not gate.mark.holds(tx, reached):
            text = "an entry that the mark beside the key speaks of is missing, or another"
            yield AuditFinding(FindingKind.TRUNCATED, 0, text)


def _check_summaries(gate: Gate) -> Iterator[AuditFinding]:
    """Yield a finding for each stream whose summaries are not what its entries add up to."""
    for text in check_summaries(gate):
        yield AuditFinding(FindingKind.EDITED, 0, text)


def _load_nodes(gate: Gate, stream: str, size: int) -> Iterator[TreeNode]:
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
