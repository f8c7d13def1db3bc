"""Writing the audit trail: every entry goes into the transaction of what it records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sayso.core.audit import Entry, Head, append, genesis
from sayso.gate.moves import GOES_ON, check_goes_on
from sayso.store.base import EntryRow, Writer

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
) -> int:
    """Append an entry to its chain; its number. If it cannot be written, nothing else is either."""
    last = tx.head(stream)
    if event not in GOES_ON:
        check_goes_on(tx, last)
    at = tx.now if last is None or event == CLOCK else max(tx.now, last.at)
    head = genesis(stream) if last is None else Head(last.seq, last.hash, stream)
    entry = Entry(
        seq=head.seq + 1,
        at=at,
        event=event,
        session=session,
        agent=agent,
        operations=operations,
        details=details or {},
        stream=stream,
    )
    body, after = append(head, entry)
    tx.add_entry(EntryRow(stream, after.seq, at, event, session, body, head.hash, after.hash, after.hash))
    return after.seq
