"""Verifying the stored audit trail: its streams, their trees, checkpoints and the values kept beside entries.

The store is read in pages, each in a short transaction, while others go on writing. What was signed when
verifying began is held against entries read afterwards, and those only ever grow.

Long streams are verified in spans, by several processes if so many are allowed. What is not right in a span,
and the rest after the last one, is read here, entry by entry: so it does not matter who verified what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from sayso.core.audit.anchors import (
    Anchor,
    AuditFinding,
    FindingKind,
    anchors_from_checkpoints,
)
from sayso.core.audit.entry import MAIN, AuditError
from sayso.core.audit.verify import MOST_FINDINGS, VerifyReport, verify_runs
from sayso.gate import words
from sayso.gate.audit.tree import TreeEnd, load_end, log_origin, own_verifiers, require_key
from sayso.gate.audit.verifying.check_checkpoints import (
    check_checkpoint_count,
    check_checkpoint_rows,
    load_checkpoints,
    load_nodes,
)
from sayso.gate.audit.verifying.check_rows import check_rows
from sayso.gate.audit.verifying.check_values import check_values
from sayso.gate.audit.verifying.signatures import Proofs
from sayso.gate.audit.verifying.stream_walk import StreamWalk, Tampering, VerifyProgress
from sayso.gate.audit.verifying.workers import Workers
from sayso.gate.gate import Gate
from sayso.gate.rows.keys import SigningKey
from sayso.store.contract import Reader

VerifyPart = Callable[[str], None]
"""Told what is verified next, in words for a person."""


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


def verify_audit(
    gate: Gate,
    outside: Sequence[bytes] = (),
    *,
    progress: VerifyProgress | None = None,
    begin: VerifyPart | None = None,
    rows: bool = True,
    processes: int = 1,
) -> AuditReport:
    """Hold the whole trail against itself, its signatures, and the checkpoints that were kept outside.

    With `rows`, the sealed rows beside it as well: against their seals and the mark. At most `processes` work
    at it, this one included; a store in memory and a short trail are read by this one alone.
    """
    with Workers(gate.store, processes) as workers:
        return _verify(gate, outside, progress, begin or (lambda part: None), workers, rows=rows)


def _verify(
    gate: Gate,
    outside: Sequence[bytes],
    progress: VerifyProgress | None,
    begin: VerifyPart,
    workers: Workers,
    *,
    rows: bool,
) -> AuditReport:
    key = require_key(gate)
    with gate.store.read() as tx:
        origin, streams = log_origin(tx), set(tx.streams())
        longest = max((head.seq for head in map(tx.head, streams) if head is not None), default=0)
        stored = load_checkpoints(tx)
        ends = {stream: _load_end_or_finding(tx, key, stream) for stream in streams | {MAIN}}
        beside = [
            *check_checkpoint_rows(stored),
            *check_checkpoint_count(gate, len({row.note for row in stored}), ends[MAIN]),
        ]
    notes = [row.note.encode() for row in stored]
    proofs = Proofs()
    walk = StreamWalk(gate, MAIN, progress, proofs, workers)
    marks = anchors_from_checkpoints(notes, outside, own_verifiers(key), origin)
    take_wrong_summaries = workers.begin_summaries(longest) if rows else None
    beside += _check_mark(gate)
    if rows:
        begin(words.VERIFY_ROWS)
        beside += [*check_rows(gate), *check_values(gate)]
    begin(words.VERIFY_TRAIL)
    main = _report_on_stream(walk, ends[MAIN], marks, beside, expected=bool(stored))
    reports = [main]
    for stream in sorted((streams | walk.joined.keys()) - {MAIN}):
        joined = walk.joined.get(stream, ())
        other = StreamWalk(gate, stream, progress, proofs, workers)
        reports.append(_report_on_stream(other, ends.get(stream), joined, (), expected=bool(joined)))
        walk.tampering |= other.tampering
    if take_wrong_summaries is not None:
        begin(words.VERIFY_SUMMARIES)
        wrong = [AuditFinding(FindingKind.EDITED, 0, text) for text in take_wrong_summaries()]
        reports[0] = _with_findings(main, wrong)
    proofs.end(pruned=any(report.pruned for report in reports))
    told = tuple(_with_findings(report, proofs.findings.get(report.stream, ())) for report in reports)
    return AuditReport(told, len(stored), len(outside), walk.tampering)


def _report_on_stream(
    walk: StreamWalk,
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
    nodes = load_nodes(walk.gate, walk.stream, end.size) if isinstance(end, TreeEnd) else None
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
