"""Dropping what may be dropped of the audit trail: old bodies, and single sensitive values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from sayso.core.audit import events
from sayso.core.audit.bulk import read_raw_body
from sayso.core.audit.entry import MAIN, read_body
from sayso.core.errors import MalformedRequest
from sayso.gate.audit.checkpoints import sign_audit
from sayso.gate.audit.read import UnknownEntry, load_entry_row, require_body
from sayso.gate.gate import Gate, writing
from sayso.gate.rows.journal import record
from sayso.gate.rows.moves import hold_streams
from sayso.gate.summaries.add_up import add_up
from sayso.store.contract import EntryRow, Writer

READ_PAGE = 1_000
PRUNE_PAGE = 20_000


class PruneReport(msgspec.Struct, frozen=True):
    """Through which entry of each stream bodies were dropped, and how many."""

    through: dict[str, int]
    bodies: int


def prune_audit(
    gate: Gate,
    before: int | datetime,
    *,
    by: str = "operator",
    stream: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> PruneReport:
    """Drop the bodies, and what is kept beside them, of all entries before this one or this time.

    The hashes stay, so the trail still verifies. A number counts in one stream (`main` unless named), a time
    in all. What is dropped was signed first, and the entry PRUNED is written before anything goes.
    """
    sign_audit(gate)
    with gate.store.read() as tx:
        every = list(tx.streams())
        if isinstance(before, int):  # too large a number is rather a slip than a wish to drop everything
            load_entry_row(tx, stream or MAIN, before)
    streams = [stream] if stream is not None else [MAIN] if isinstance(before, int) else every
    through: dict[str, int] = {}
    bodies = 0
    for name in streams:
        first, last = _prunable_range(gate, name, before)
        if first <= last:
            through[name] = last
            bodies += _prune_stream(gate, name, first, last, by, progress)
    if through:
        sign_audit(gate, rejoin=True)  # the entries that anchor other streams may be among the dropped
        add_up(
            gate, most=None, progress=progress or _ignore
        )  # what the dropped bodies had been added to went with them
    return PruneReport(through, bodies)


def erase_value(gate: Gate, seq: int, name: str, *, by: str = "operator", stream: str = MAIN) -> None:
    """Forget a sensitive value and its salt for good. The entry and its chain stay as they are."""
    with writing(gate) as tx:
        hold_streams(tx, (stream, gate.stream))
        row = load_entry_row(tx, stream, seq)
        if name not in read_body(require_body(row)).commitments:
            raise UnknownEntry(f"entry {seq} of {stream} commits to no value {name!r}")
        if not tx.erase_secret(stream, seq, name):
            raise UnknownEntry(f"the value {name!r} of entry {seq} was erased already")
        record(tx, events.Erased(seq, name, by), session=row.session, stream=stream)
    sign_audit(gate)


def _prunable_range(gate: Gate, stream: str, before: int | datetime) -> tuple[int, int]:
    """The first entry that has a body, and the last before this number or time."""
    if isinstance(before, datetime) and before.tzinfo is None:
        raise MalformedRequest("a time to prune before needs its zone")
    first = last = 0
    while True:
        with gate.store.read() as tx:
            page = tx.entries(stream, after=last, limit=READ_PAGE)
        for row in page:
            if row.seq >= before if isinstance(before, int) else row.at >= before.timestamp():
                return first or last + 1, last
            first = first or (row.seq if row.body is not None else 0)
            last = row.seq
        if not page:
            return first or last + 1, last


def _prune_stream(
    gate: Gate, stream: str, first: int, last: int, by: str, progress: Callable[[int], None] | None
) -> int:
    dropped = 0
    for start in range(first - 1, last, PRUNE_PAGE):
        end = min(start + PRUNE_PAGE, last)
        with writing(gate) as tx:
            hold_streams(tx, (stream, gate.stream))
            if start == first - 1:
                record(tx, events.Pruned(last, by), stream=stream)
            for row in tx.entries(stream, after=start, limit=end - start):
                _erase_values(tx, row)
            dropped += tx.prune_entries(stream, before=end + 1)
        if progress is not None:
            progress(end)
    return dropped


def _ignore(done: int) -> None:
    """Nobody wants to know how far it is."""


def _erase_values(tx: Writer, row: EntryRow) -> None:
    if row.body is None or not _commits(row.body):
        return
    for secret in tx.secrets(row.stream, row.seq):
        tx.erase_secret(row.stream, row.seq, secret.name)


def _commits(body: bytes) -> bool:
    told = read_raw_body(body)
    return told is None or bool(told.commitments)  # better one look too many
