"""The audit trail for operators: its state, its entries, receipts, verification."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

from sayso.core.audit.entry import MAIN, AuditEntry, genesis
from sayso.gate.audit.backwards import find_newest_entries
from sayso.gate.audit.joined_proofs import prove_entry_of
from sayso.gate.audit.read import (
    entry_with_values_to_json,
    format_entry_json,
    format_entry_text,
    load_entry_with_values,
)
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.service.http.endpoints import OPERATORS, Context, Endpoint, Paged
from sayso.service.http.problems import RequestRefused
from sayso.service.shapes import AuditState, AuditVerification
from sayso.store.contract import EntryRow, Reader

PAGE = 50
MOST = 500


class VerifyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Checkpoints that were kept elsewhere, to hold the trail against."""

    checkpoints: tuple[str, ...] = ()


class AuditEntryView(msgspec.Struct, frozen=True):
    """One entry: its place, what it says, and the same as one line of text."""

    seq: int
    stream: str
    hash: str
    prev: str
    line: str
    entry: dict[str, Any] | None = None


def get_audit_state(context: Context) -> AuditState:
    """Return the length of the trail, and how far it is signed."""
    with context.gate.store.read() as tx:
        streams = tuple(tx.streams())
        heads = [head for head in map(tx.head, streams) if head is not None]
        signed = tx.checkpoints(limit=1)
    return AuditState(
        entries=sum(head.seq for head in heads),
        newest_at=max((head.at for head in heads), default=None),
        checkpoint_size=signed[0].size if signed else 0,
        checkpoint_at=signed[0].at if signed else None,
        streams=streams,
    )


def list_entries(context: Context) -> Paged:
    """Entries newest first; with `after`, oldest first from there on, in one stream."""
    limit = context.whole_number("limit", PAGE, 1, MOST)
    if "after" in context.query:
        return _page_forward(context, limit)
    event, session, text = (context.query.get(name) for name in ("event", "session", "text"))

    def wanted(tx: Reader, row: EntryRow, said: AuditEntry | None) -> bool:
        return session in (None, row.session) and (
            text is None or text.casefold() in format_entry_text(row).casefold()
        )

    events = None if event is None else frozenset({event})
    before = context.query.get("before")
    found = find_newest_entries(context.gate, wanted, before=before, limit=limit, events=events)
    more = None if found.before is None else {**context.query, "before": found.before}
    return Paged([_describe_entry(row) for row, _ in found.entries], more)


def get_entry(context: Context) -> dict[str, Any]:
    """One entry, and of its sensitive values those that are still kept."""
    return entry_with_values_to_json(
        load_entry_with_values(context.gate, entry_number(context), stream=context.query.get("stream", MAIN))
    )


def get_proof(context: Context) -> Response:
    """A receipt that shows offline that this entry is in the signed trail."""
    seq, stream = entry_number(context), context.query.get("stream", MAIN)
    of = "" if stream == MAIN else f"{genesis(stream).stream}-"
    name = {"Content-Disposition": f'attachment; filename="sayso-entry-{of}{seq}.tlog-proof"'}
    proof = prove_entry_of(context.gate, stream, seq)
    return Response(proof, headers=name, media_type="text/plain; charset=utf-8")


def post_verify(context: Context) -> AuditVerification:
    """Hold the whole trail against its chain, its tree and its signatures."""
    body: VerifyBody = context.body
    found = verify_audit(context.gate, [note.encode() for note in body.checkpoints])
    findings = tuple(
        f"{report.stream}: {finding.text}" for report in found.reports for finding in report.findings
    )
    reported = found.tampering.text(whole=found.clean) if found.tampering.entries else None
    return AuditVerification(found.clean, sum(report.entries for report in found.reports), findings, reported)


def _page_forward(context: Context, limit: int) -> Paged:
    stream, after = context.query.get("stream", MAIN), context.whole_number("after", 0, 0, 2**53)
    with context.gate.store.read() as tx:
        rows = tx.entries(stream, after=after, limit=limit)
    more = {**context.query, "after": str(rows[-1].seq)} if len(rows) == limit else None
    return Paged([_describe_entry(row) for row in rows], more)


def _describe_entry(row: EntryRow) -> AuditEntryView:
    said = msgspec.json.decode(format_entry_json(row))
    return AuditEntryView(
        row.seq, row.stream, said["hash"], said["prev"], format_entry_text(row), said["entry"]
    )


def entry_number(context: Context) -> int:
    """The number of an entry in the path."""
    text = context.parameters["seq"]
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise RequestRefused(404, "unknown_entry", "entries have numbers")
    return int(text)


ENTRIES: Any = list[AuditEntryView]
LISTING = {
    "before": "Only those before this place; the link to the next page names it.",
    "after": "Only those after this number, oldest first.",
    "stream": "With `after`: of this stream.",
    "limit": f"How many at most, up to {MOST}.",
    "event": "Only of this event.",
    "session": "Only of this session.",
    "text": "Only those whose line of text holds this.",
}
IN_STREAM = {"stream": "Of this stream; main unless told."}
ENTRY = "/v1/audit/entries/{seq}"
ENDPOINTS = (
    Endpoint(
        "GET", "/v1/audit", OPERATORS, "Get the length of the trail", get_audit_state, result=AuditState
    ),
    Endpoint(
        "GET",
        "/v1/audit/entries",
        OPERATORS,
        "List audit entries",
        list_entries,
        result=ENTRIES,
        query=LISTING,
    ),
    Endpoint(
        "GET", ENTRY, OPERATORS, "Get an audit entry", get_entry, result=dict[str, Any], query=IN_STREAM
    ),
    Endpoint(
        "GET",
        "/v1/audit/proof/{seq}",
        OPERATORS,
        "Get the receipt of an entry",
        get_proof,
        query=IN_STREAM,
        media="text/plain",
    ),
    Endpoint(
        "POST", "/v1/audit/verify", OPERATORS, "Verify the trail", post_verify, VerifyBody, AuditVerification
    ),
)
