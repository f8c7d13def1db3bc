"""The clock: whether time can be trusted, and the operator's word that it can again.

A clock that falls behind what is stored was wrong before or is wrong now. Until the operator says that it is
right now, grants count as expired and autonomous permissions as decayed. That word revives nothing: what was
given by the wrong clock would outlive its time, and what had run out by it might run again.
"""

from __future__ import annotations

import msgspec

from sayso.core.audit import events
from sayso.core.effects import ConsentCleared, SessionChanged
from sayso.core.ledger import LEASE
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import Gate, apply_and_save, latest_time, select_live_rows, time_trusted
from sayso.gate.rows.journal import record
from sayso.gate.rows.moves import hold_streams
from sayso.gate.rows.sessions import LoadedSession, load_session
from sayso.store.contract import CallRow, Reader, Writer

MOST = 1_000_000
WHY = "the clock was wrong"


class ClockReading(msgspec.Struct, frozen=True):
    """The time by the store's clock, the highest time stored (None: nothing), and whether it is trusted."""

    now: float
    stored: float | None
    trusted: bool

    @property
    def behind(self) -> float:
        """Return how many seconds the clock is behind the highest time stored."""
        return max(0.0, (self.stored or self.now) - self.now)


def read_clock(gate: Gate) -> ClockReading:
    with gate.store.read() as tx:
        return _read_clock(gate, tx)


def trust_clock(gate: Gate, *, by: str) -> ClockReading:
    """Trust the clock from now on, as the operator says; return how it was until then.

    If it was trusted, nothing changes. Otherwise all consent of the open sessions ends, reviews in the future
    count as none, and leases are cut to their length.
    """
    begun = gate.sealer.mark.tick
    with operator_act(gate) as tx:
        sessions = _load_open_sessions(gate, tx)
        leases = _long_leases(gate, tx)
        newest = hold_streams(tx)  # after the sessions: streams are always held last
        before = _read_clock(gate, tx)
        if before.trusted:
            return before
        for found in sessions:
            apply_and_save(
                gate,
                tx,
                found,
                (ConsentCleared("everything", WHY), SessionChanged(heard_at=None)),
                by=by,
            )
        for row in leases:
            cut = msgspec.structs.replace(row, lease_until=tx.now + LEASE)
            tx.move_call(gate.sealer.call(cut), states=("running",), fence=row.fence)
        _void_reviews(gate, tx)
        trusted = events.ClockTrusted(by, was=before.stored, now=tx.now)
        for stream in sorted({gate.stream, *(one.stream for one in newest if one.at > tx.now)}):
            record(tx, trusted, stream=stream)
        for found in sessions:
            record(tx, events.Cleared(why=WHY), session=found.row.id, stream=gate.stream)
    # Nothing was cleared in sessions that could not be seen: they never go on.
    gate.sealer.mark.burn("session", {found.row.id for found in sessions}, before=begun)
    return before


def _read_clock(gate: Gate, tx: Reader) -> ClockReading:
    return ClockReading(tx.now, latest_time(gate, tx), time_trusted(gate, tx))


def _load_open_sessions(gate: Gate, tx: Reader) -> list[LoadedSession]:
    """Load all open, untampered sessions, the oldest first, so that each is held after its parents."""
    found = [load_session(tx, gate.sealer, row.id, select_live_rows()) for row in tx.sessions(limit=MOST)]
    return [one for one in found if one is not None and one.believed and one.row.ended_at is None]


def _long_leases(gate: Gate, tx: Reader) -> list[CallRow]:
    """The running calls whose lease would last longer than any that is given now, as they are once held."""
    long = [row.id for row in tx.calls(states=("running",), limit=MOST) if _is_long(row, tx.now)]
    held = [row for row in map(tx.call, long) if row is not None and _is_long(row, tx.now)]
    return [row for row in held if gate.sealer.open_call(row) is not None]


def _is_long(row: CallRow, now: float) -> bool:
    return row.lease_until is not None and row.lease_until > now + LEASE


def _void_reviews(gate: Gate, tx: Writer) -> None:
    """Void times of the future: what was seen then is first seen now; a review then does not count."""
    for row in tx.reviews():
        if row.at > tx.now:
            tx.put_review(gate.sealer.review(row.name, tx.now if row.by is None else 0.0, row.by, before=row))
