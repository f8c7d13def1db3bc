"""A stream for each service: so several of them on one database do not wait for each other's entries.

- The first service writes `main`, as everything else does. Each further one takes a stream of its own, under
  a name that nobody else uses as long as it runs. Once it has ended, even by kill -9, the next takes it over.
- A name that two use all the same costs time and nothing else: whoever adds to a stream holds it.
- Every checkpoint joins all streams in `main`, also those whose service is gone, and the mark beside the key
  is raised to what was joined: so it shows if the store loses what another service has written.
- Whatever every service has to obey from its next batch on is written while all streams are held.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from sayso.core.audit import events
from sayso.core.audit.entry import MAIN
from sayso.gate.audit.tree import load_end, require_key
from sayso.gate.gate import Gate
from sayso.gate.rows.journal import record
from sayso.store.contract import EntryRow, Reader

MOST_SERVICES = 64
"""So many streams are tried; more services share `main`."""


def claim_stream(gate: Gate) -> Gate:
    """Return the gate on a stream that no other service has; on `main` where only one can write at a time."""
    claim: Callable[[str], bool] | None = getattr(gate.marked_store.unmarked, "claim", None)
    if gate.store.local or claim is None:
        return gate
    names = (MAIN, *(f"service-{number}" for number in range(2, MOST_SERVICES + 1)))
    stream = next((name for name in names if claim(name)), MAIN)
    if stream == MAIN:
        return gate
    with gate.store.write() as tx:
        tx.head(MAIN)  # whoever holds all streams holds this one first, so that it misses none
        if tx.head(stream) is None:
            record(tx, events.StreamBegun(stream), stream=stream)
    gate.marked_store.stream = stream
    return msgspec.structs.replace(gate, stream=stream)


def mark_joined_streams(gate: Gate) -> None:
    """Raise the mark to what is signed and joined of every stream, whoever wrote it.

    What a tree has taken in was on the database's disk before: the tree was committed after it.
    """
    if gate.mark is None or gate.store.local:
        return
    with gate.store.read() as tx:
        ends = [_load_signed_entry(gate, tx, stream) for stream in tx.streams()]
    gate.mark.reach(*(one for one in ends if one is not None))


def _load_signed_entry(gate: Gate, tx: Reader, stream: str) -> EntryRow | None:
    end = load_end(tx, require_key(gate), stream)
    found = () if end is None or not end.size else tx.entries(stream, after=end.size - 1, limit=1)
    return next((row for row in found if end is not None and row.hash == end.head), None)
