"""Writing the audit trail: each entry is part of the transaction that it records."""

from __future__ import annotations

from collections.abc import Mapping
from secrets import token_bytes

from sayso.core.audit.commitments import SALT_BYTES, SaltedValue, commitment_of
from sayso.core.audit.entry import AuditBody, chain_hash, encode_body, format_timestamp, genesis
from sayso.core.audit.events import AuditEvent, ClockTrusted, Sealed
from sayso.core.digest import decode_canonical, encode_canonical
from sayso.core.model import Call
from sayso.gate.rows.moves import check_goes_on
from sayso.store.contract import EntryRow, SecretRow, Writer


def record(
    tx: Writer,
    event: AuditEvent,
    *,
    session: str = "",
    agent: str = "",
    operations: tuple[str, ...] = (),
    stream: str = "main",
    sensitive: Mapping[str, bytes] | None = None,
) -> int:
    """Append the entry of this event to its chain and return its number.

    - If the entry cannot be written, neither is anything else in this transaction.
    - Of `sensitive` values (canonical JSON) the entry holds commitments. The values are stored beside it, and
      can be erased.
    - Time never goes back along a chain, except where the operator has said that the clock is right.
    """
    last = tx.head(stream)
    if not event.follows_seal and (last is None or last.event == Sealed.event):
        check_goes_on(tx, last)
    at = tx.now if last is None or isinstance(event, ClockTrusted) else max(tx.now, last.at)
    seq, before = (1, genesis(stream).hash) if last is None else (last.seq + 1, last.hash)
    kept = _salt(sensitive) if sensitive else ()
    body = encode_body(
        AuditBody(
            agent,
            format_timestamp(at),
            {sealed.name: commitment_of(sealed) for sealed in kept} if kept else {},
            event,  # type: ignore[arg-type]  # its fields are the details
            event.event,
            operations,
            seq,
            session,
            stream,
        )
    )
    tx.add_entry(EntryRow(stream, seq, at, event.event, session, body, before, chain_hash(before, body)))
    for sealed in kept:
        tx.add_secret(SecretRow(stream, seq, sealed.name, sealed.salt, sealed.value))
    return seq


def _salt(sensitive: Mapping[str, bytes]) -> list[SaltedValue]:
    return [SaltedValue(name, value, token_bytes(SALT_BYTES)) for name, value in sensitive.items()]


def call_for_entry(call: Call) -> dict[str, bytes]:
    """Return the sensitive part of an entry about a call: what a person was shown, or would have been."""
    shown = {
        "tool": call.tool,
        "command": call.command,
        "arguments": decode_canonical(call.arguments),
        "folder": call.folder,
    }
    return {"call": encode_canonical(shown)}
