"""Reading the audit trail: its newest entries, one of them whole, or all as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from sayso.core.audit.checkpoint import encode_base64
from sayso.core.audit.commitments import RevealedValue, SaltedValue, reveal_values
from sayso.core.audit.entry import MAIN, AuditBody, AuditError, ChainRow, read_body
from sayso.core.audit.text import format_json_line, format_pruned_line, format_text_line
from sayso.core.errors import SaysoError
from sayso.gate.gate import Gate
from sayso.store.contract import EntryRow, Reader

ExportForm = Literal["text", "jsonl"]
PAGE = 1_000


class UnknownEntry(SaysoError):
    code = "unknown_entry"
    advice = "`sayso audit tail` lists entries with their numbers"


class EntryWithValues(msgspec.Struct, frozen=True):
    """One entry with all that is known of it; `body` is None once it was pruned."""

    row: EntryRow
    body: AuditBody | None
    values: dict[str, RevealedValue]


def load_newest_entries(gate: Gate, count: int = 20, *, stream: str = MAIN) -> Sequence[EntryRow]:
    """The newest entries, oldest of them first."""
    with gate.store.read() as tx:
        newest = tx.head(stream)
        return [] if newest is None else tx.entries(stream, after=max(newest.seq - count, 0), limit=count)


def count_entries(gate: Gate) -> int:
    """Return how many entries all streams have, by the numbers of the newest."""
    with gate.store.read() as tx:
        heads = [tx.head(stream) for stream in tx.streams()]
    return sum(head.seq for head in heads if head is not None)


def load_entry_with_values(gate: Gate, seq: int, *, stream: str = MAIN) -> EntryWithValues:
    """One entry, and of its sensitive values those that are still kept."""
    with gate.store.read() as tx:
        row = load_entry_row(tx, stream, seq)
        kept = {secret.name: secret for secret in tx.secrets(stream, seq)}
    if row.body is None:
        return EntryWithValues(row, None, {})
    body = read_body(row.body)
    sealed = {name: SaltedValue(name, secret.value, secret.salt) for name, secret in kept.items()}
    return EntryWithValues(row, body, reveal_values(body.commitments, sealed))


def export_audit(gate: Gate, form: ExportForm = "text", *, stream: str | None = None) -> Iterator[str]:
    """Every entry as a line: of one stream, or of all, `main` first. Read in pages, as long as it lasts."""
    line = {"text": format_entry_text, "jsonl": format_entry_json}[form]
    with gate.store.read() as tx:
        streams = sorted(tx.streams(), key=lambda name: (name != MAIN, name)) if stream is None else [stream]
    for name in streams:
        after = 0
        while True:
            with gate.store.read() as tx:
                page = tx.entries(name, after=after, limit=PAGE)
            if not page:
                break
            yield from map(line, page)
            after = page[-1].seq


def format_entry_text(row: EntryRow) -> str:
    """The entry as people read it; one that cannot be read says so in its place."""
    if row.body is None:
        return format_pruned_line(row.seq, row.stream)
    try:
        return format_text_line(row.body)
    except SaysoError:
        return f"- | - | - | entry {row.seq} cannot be read"


def format_entry_json(row: EntryRow) -> str:
    """The entry as a line of JSON; the bytes of one that cannot be read are in `unreadable`."""
    try:
        if row.body is not None:
            read_body(row.body)
        return format_json_line(_chain_row(row), row.stream).decode()
    except SaysoError:
        told = {"entry": None, "hash": row.hash.hex(), "prev": row.prev.hex(), "seq": row.seq}
        told |= {"stream": row.stream, "unreadable": encode_base64(row.body or b"")}
        return msgspec.json.encode(told).decode()


def entry_with_values_to_json(shown: EntryWithValues) -> dict[str, Any]:
    """Return an entry as `sayso audit show --json` prints it."""
    told = msgspec.json.decode(format_entry_json(shown.row))
    values = {n: {"state": v.state.value, "value": v.value} for n, v in shown.values.items()}
    return {**told, "values": values}


def load_entry_row(tx: Reader, stream: str, seq: int) -> EntryRow:
    """The entry of this number, or UnknownEntry."""
    found = tx.entries(stream, after=seq - 1, limit=1) if 0 < seq < 2**53 else ()
    if not found or found[0].seq != seq:
        raise UnknownEntry(f"there is no entry {seq} in {stream}", hint="`sayso audit tail` shows the newest")
    return found[0]


def require_body(row: EntryRow) -> bytes:
    """Its body, refused if that was pruned."""
    if row.body is None:
        raise AuditError(f"the body of entry {row.seq} was pruned", hint="its hash is all that is left")
    return row.body


def _chain_row(row: EntryRow) -> ChainRow:
    return row.seq, row.body, row.prev, row.hash
