"""A call between its row in the ledger and what is told of it.

What the ledger keeps of a call is sealed for that call: its arguments are what runs after an approval, so a
row changed by hand must not be able to put others in their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.decision import Decision, Item
from sayso.core.errors import SaysoError
from sayso.core.grants import DAY
from sayso.core.ledger import NotNow, Standing
from sayso.core.model import Request, Verdict
from sayso.core.terms import Terms, terms_of
from sayso.gate.gate import Gate
from sayso.store.base import CallRow, Reader, Writer

RESULT_LASTS = DAY


class UnknownCall(SaysoError):
    code = "unknown_call"


class TamperedCall(SaysoError):
    """The row of the call was not written by this gate as it stands. It is not run."""

    code = "tampered_call"


class Record(msgspec.Struct, frozen=True):
    """What the ledger keeps of a call: the request, and what was decided about it."""

    request: Request
    verdict: Verdict
    rule: str
    reason: str
    items: tuple[Item, ...]
    announce: str | None = None
    terms: Mapping[str, Terms] = {}
    """What the policy said of each operation when this was decided."""
    clearings: int = 0
    """How often all consent of the session had been cleared by then."""
    entries: int = 1
    """How often the function was entered under this start."""
    made_in: tuple[str, ...] = ()
    """The other sessions that a replayed call comes from."""

    @property
    def decision(self) -> Decision:
        return Decision(self.verdict, self.rule, self.reason, self.announce, self.items, (), ())


class Attempt(msgspec.Struct, frozen=True):
    """Where a call stands after somebody tried to run it. `fence` is 0 unless this attempt may run it now.

    `note` is what a holder left with a call that is not over.
    """

    call: str
    state: str
    fence: int
    record: Record
    question: str | None = None
    result: bytes | None = None
    note: bytes | None = None

    @property
    def runs(self) -> bool:
        """Whether whoever got this attempt is the one to run the call.

        A run that was taken back where it waited, and may not go on, is held only to say how it ended.
        """
        return self.fence > 0 and self.record.verdict is Verdict.ALLOW


_encode = msgspec.json.Encoder().encode
_record = msgspec.json.Decoder(Record).decode


def row_of(tx: Reader, call: str) -> CallRow:
    row = tx.call(call)
    if row is None:
        raise UnknownCall(f"there is no call {call}")
    return row


def body_of(gate: Gate, call: str, request: Request, decision: Decision, **more: Any) -> bytes:
    """What the ledger keeps of this decision, without what it changed elsewhere; `more` of the record."""
    bare = tuple(
        msgspec.structs.replace(item, ruling=msgspec.structs.replace(item.ruling, effects=()))
        for item in decision.items
    )
    terms = terms_of(gate.policy, ((item.operation, item.risk) for item in bare))
    said = (decision.verdict, decision.rule, decision.reason, bare, decision.announce, terms)
    return sealed_record(gate, call, Record(request, *said, **more))


def sealed_record(gate: Gate, call: str, kept: Record) -> bytes:
    return gate.sealer.call(call, _encode(kept))


def with_refusal(kept: Record, no: Decision) -> Record:
    """What is kept of a call that was started and does not go on."""
    return msgspec.structs.replace(kept, verdict=no.verdict, rule=no.rule, reason=no.reason, announce=None)


def record_of(gate: Gate, row: CallRow) -> Record:
    """What was kept of the call; an error if somebody else wrote it."""
    kept = found_record(gate, row)
    if kept is None:
        raise TamperedCall("the call was changed by hand", hint="make it anew, and look at the audit")
    return kept


def found_record(gate: Gate, row: CallRow) -> Record | None:
    """The same; None if it cannot be believed."""
    kept = gate.sealer.open_call(row.id, row.body)
    return None if kept is None else _record(kept)


def standing(row: CallRow) -> Standing:
    return msgspec.convert(
        {"state": row.state, "fence": row.fence, "holder": row.holder, "lease_until": row.lease_until},
        Standing,
    )


def placed(row: CallRow, where: Standing) -> CallRow:
    return msgspec.structs.replace(
        row, state=where.state, fence=where.fence, holder=where.holder, lease_until=where.lease_until
    )


def moved(tx: Writer, before: CallRow, after: CallRow) -> None:
    """Store the call as it stands now, unless somebody moved it since it was read."""
    if not tx.move_call(after, states=(before.state,), fence=before.fence):
        raise NotNow("this start of the call is over", hint="somebody else started or ended it since")


def told(gate: Gate, tx: Reader, row: CallRow, *, mine: bool = False) -> Attempt:
    """The call for whoever tried it. Its result is told for a day after it ended."""
    fresh = row.ended_at is not None and abs(tx.now - row.ended_at) < RESULT_LASTS
    result, note = (row.result if fresh else None), (row.result if row.ended_at is None else None)
    fence = row.fence if mine else 0
    return Attempt(row.id, row.state, fence, record_of(gate, row), row.question, result, note)
