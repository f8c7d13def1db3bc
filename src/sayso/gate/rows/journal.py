"""Writing the audit trail: every entry goes into the transaction of what it records."""

from __future__ import annotations

from collections.abc import Mapping
from secrets import token_bytes
from typing import Any

from sayso.core.audit.commitments import SALT_BYTES, SaltedValue, commitment_of
from sayso.core.audit.entry import AuditEntry, ChainHead, append_entry, genesis
from sayso.core.digest import decode_canonical, encode_canonical
from sayso.core.model import Call
from sayso.gate.rows.moves import GOES_ON, check_goes_on
from sayso.store.contract import EntryRow, SecretRow, Writer

CLOCK = "CLOCK"
"""The operator says the clock is right. No other entry goes back in time: a clock set back is noticed."""


def record(
    tx: Writer,
    event: str,
    *,
    session: str = "",
    agent: str = "",
    operations: tuple[str, ...] = (),
    details: Mapping[str, Any] | None = None,
    stream: str = "main",
    sensitive: Mapping[str, bytes] | None = None,
) -> int:
    """Append an entry to its chain; its number. If it cannot be written, nothing else is either.

    Of `sensitive` values (canonical JSON) the entry holds commitments; they lie beside it and can be erased.
    """
    last = tx.head(stream)
    if event not in GOES_ON:
        check_goes_on(tx, last)
    at = tx.now if last is None or event == CLOCK else max(tx.now, last.at)
    head = genesis(stream) if last is None else ChainHead(last.seq, last.hash, stream)
    kept = [SaltedValue(name, value, token_bytes(SALT_BYTES)) for name, value in (sensitive or {}).items()]
    entry = AuditEntry(
        seq=head.seq + 1,
        at=at,
        event=event,
        session=session,
        agent=agent,
        operations=operations,
        details=details or {},
        commitments={sealed.name: commitment_of(sealed) for sealed in kept},
        stream=stream,
    )
    body, after = append_entry(head, entry)
    tx.add_entry(EntryRow(stream, after.seq, at, event, session, body, head.hash, after.hash))
    for sealed in kept:
        tx.add_secret(SecretRow(stream, after.seq, sealed.name, sealed.salt, sealed.value))
    return after.seq


def call_for_entry(call: Call) -> dict[str, bytes]:
    """The sensitive part of an entry about a call: what a person was shown, or would have been."""
    told = {
        "tool": call.tool,
        "command": call.command,
        "arguments": decode_canonical(call.arguments),
        "folder": call.folder,
    }
    return {"call": encode_canonical(told)}
