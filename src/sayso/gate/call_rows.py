"""Calls in the ledger: their rows, and what callers see of them.

- The whole row of a call is sealed: what runs after an approval, its state, its number and its keys.
- While a call is untried, running or parked, the sealed row of its session names it and its state. So a
  genuine older row that was restored is noticed: its call is not run, continued or ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.decision import Decision, Item
from sayso.core.durations import DAY
from sayso.core.errors import SaysoError
from sayso.core.ledger import NOT_STARTED, CallStanding, NotNow, read_state
from sayso.core.model import Request, Verdict
from sayso.core.policy import Terms, terms_of
from sayso.gate import words
from sayso.gate.gate import Gate, refuse_tampered
from sayso.gate.rows.row_seals import SessionState, Untried, draft_of, standing_label
from sayso.gate.rows.sessions import (
    LoadedSession,
    RowSelection,
    keep_within_bounds,
    load_kept,
    load_session,
    with_call,
)
from sayso.gate.rows.tampering import Tampered
from sayso.store.contract import CallRow, Reader, SessionRow, Writer

RESULT_LASTS = DAY


class UnknownCall(SaysoError):
    code = "unknown_call"
    advice = "`sayso calls` lists them"

    @classmethod
    def of(cls, call: str, *, hint: str | None = None) -> UnknownCall:
        return cls(f"there is no call {call}", hint=hint)


class KeyReused(SaysoError):
    """An id or key that belongs to one call was used for another."""

    code = "key_reused"


class EffectTaken(KeyReused):
    """Another call had the effect of this one, has it now, or may have had it. The refusal is recorded."""

    def __init__(self, request: Request, call: str, message: str, hint: str, *, again: bool) -> None:
        super().__init__(message, hint=hint)
        self.request = request
        self.call = call
        self.again = again


class TamperedCall(Tampered):
    """The row of the call was not written by this gate as it is. It is not run."""

    code = "tampered_call"


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """The ledger's record of a call: the request, and what was decided about it.

    `effect_turn` is the call's place among those with its effect key, once it was started.
    """

    request: Request
    verdict: Verdict
    rule: str
    reason: str
    items: tuple[Item, ...]
    announce: str | None = None
    terms: Mapping[str, Terms] = {}
    """What the policy said of each operation when this was decided."""
    decided_at: float = 0.0
    """When it was last decided, if that was after the call was made."""
    clearings: int = 0
    """How often all consent of the session had been cleared by then."""
    revocations: int = 0
    """How often consent had been taken back by name in the session by then."""
    entries: int = 1
    """How often the function was entered under this start."""
    made_in: tuple[str, ...] = ()
    """The other sessions that a replayed call comes from."""
    effect_turn: int = 0
    unkept: str | None = None
    """Why there is no result: why what it returned is not kept, or how it failed."""
    story: tuple[str, int] | None = None
    """The entry, by stream and number, that its story begins with; None if it is told with another call."""
    questions: tuple[str, ...] = ()
    """The questions of that story, in order."""
    silent: bool = False
    """Whoever holds it has promised no heartbeats: its lease does not say that somebody is there."""
    claimed: bool = False
    """Only the agent whose call it is says how it ended. A failure may be none: its effect counts as had."""

    @property
    def decision(self) -> Decision:
        return Decision(self.verdict, self.rule, self.reason, self.announce, self.items, (), ())


class Attempt(msgspec.Struct, frozen=True):
    """A call after somebody tried to run it.

    `fence` is 0 unless this attempt may run it now. `note` is what a holder left with a call that has not
    ended, or with a run that failed.
    """

    call: str
    state: str
    fence: int
    record: Record
    question: str | None = None
    result: bytes | None = None
    note: bytes | None = None
    decided_at: float = 0.0
    """When it was last decided."""

    @property
    def runs(self) -> bool:
        """Return whether whoever got this attempt is the one to run the call.

        A run that was taken back where it waited, and may not go on, is held only to say how it ended.
        """
        return self.fence > 0 and self.record.verdict is Verdict.ALLOW


class SeenSession(msgspec.Struct, frozen=True):
    """A session's row as this transaction read it, and the state sealed in it.

    There is no state in a row of an earlier epoch, or in one that was tampered with.
    """

    row: SessionRow | None
    state: SessionState | None


UNSEEN = SeenSession(None, None)

_encode = msgspec.json.Encoder().encode
_decode_record = msgspec.json.Decoder(Record).decode


def load_call_row(gate: Gate, tx: Reader, call: str) -> CallRow:
    """The row of this call, if it is as this gate left it."""
    row = tx.call(call)
    if row is None:
        raise UnknownCall.of(call)
    return check_call_row(gate, tx, row)


def load_call_and_session(gate: Gate, tx: Reader, call: str) -> tuple[CallRow, Record, SeenSession]:
    """This call, if it is as this gate left it, its record, and the session that was asked about it."""
    row = tx.call(call)
    if row is None:
        raise UnknownCall.of(call)
    session = see_session(gate, tx, row.session)
    kept = find_record(gate, row)
    if kept is None or session.state is None or find_fault_beside(row, session.state) is not None:
        check_call_row(gate, tx, row)
    return row, kept or load_record(gate, row), session


def see_session(gate: Gate, tx: Reader, session: str) -> SeenSession:
    """Read the row of this session, and what is sealed in it."""
    row = tx.session(session)
    return SeenSession(row, None if row is None else gate.sealer.open_session(row))


def check_call_row(gate: Gate, tx: Reader, row: CallRow) -> CallRow:
    """Return the row; an error if it was tampered with."""
    finding = find_fault(gate, tx, row)
    if finding is None:
        return row
    if gate.sealer.open_call(row) is not None:
        _session_of(gate, tx, row)  # if that is what is wrong, it is said as such
    gate.sealer.doubts.note(finding, row.session)
    raise TamperedCall(finding, hint="make the call again, and look at the audit")


def sound_call(gate: Gate, tx: Reader, row: CallRow) -> CallRow | None:
    """Return the row for display; None if it was tampered with, which is reported once.

    Old results are dropped, and so are the marks of old sessions: then only the seal counts.
    """
    kept = load_kept(tx, gate.sealer, row.session)
    finding = None if kept is None else find_fault_beside(row, kept)
    if gate.sealer.open_call(row, any_result=True) is None:
        finding = words.changed_outside(f"call {row.id}")
    if finding is not None:
        gate.sealer.doubts.note_once(finding, row.session)
    return row if finding is None else None


def find_fault(gate: Gate, tx: Reader, row: CallRow) -> str | None:
    """Return what is wrong with this row; None if nothing is."""
    if gate.sealer.open_call(row) is None:
        return words.changed_outside(f"call {row.id}")
    kept = load_kept(tx, gate.sealer, row.session)
    if kept is None:
        return f"call {row.id} has no session that can be believed"
    return find_fault_beside(row, kept)


def find_fault_beside(row: CallRow, kept: SessionState) -> str | None:
    """Return what is wrong with this row compared with its session; None if nothing is."""
    same = kept.calls.get(row.id) == standing_label(row) and kept.untried.get(row.id) == _find_untried(row)
    return None if same or is_forgotten(row, kept) else words.restored_outside(f"call {row.id}")


def is_forgotten(row: CallRow, kept: SessionState) -> bool:
    """Return whether its session no longer knows this call, which is then too old to be tried."""
    named = row.id in kept.calls or row.id in kept.untried
    return _find_untried(row) is not None and not named and row.at <= kept.forgotten


def record_of_decision(gate: Gate, request: Request, decision: Decision, **more: Any) -> Record:
    """The ledger's record of a call by this decision, without what that changed elsewhere.

    `more` is of the record.
    """
    bare = tuple([_without_effects(item) for item in decision.items])
    terms = terms_of(gate.policy, [(item.operation, item.risk) for item in bare])
    said = (decision.verdict, decision.rule, decision.reason, bare, decision.announce, terms)
    return Record(request, *said, **more)


def _without_effects(item: Item) -> Item:
    if not item.ruling.effects:
        return item
    return msgspec.structs.replace(item, ruling=msgspec.structs.replace(item.ruling, effects=()))


def draft_body(gate: Gate, call: str, kept: Record) -> bytes:
    """The body of a call's row with this kept in it; `add_call_row` and `move_call_row` seal it."""
    record = _encode(kept)
    gate.sealer.records.put(call, record, kept)
    return draft_of(record)


def with_record(gate: Gate, row: CallRow, kept: Record) -> CallRow:
    """The row with this kept in it, still without a seal."""
    return msgspec.structs.replace(row, body=draft_body(gate, row.id, kept))


def with_effect_turn(gate: Gate, row: CallRow, turn: int) -> CallRow:
    return with_record(gate, row, msgspec.structs.replace(load_record(gate, row), effect_turn=turn))


def with_refusal(kept: Record, no: Decision) -> Record:
    """Return the record of a call that was started and may not continue."""
    return msgspec.structs.replace(kept, verdict=no.verdict, rule=no.rule, reason=no.reason, announce=None)


def load_record(gate: Gate, row: CallRow) -> Record:
    """Return the record of the call; an error if it was tampered with."""
    kept = find_record(gate, row)
    if kept is None:
        finding = words.changed_outside(f"call {row.id}")
        gate.sealer.doubts.note(finding, row.session)
        raise TamperedCall(finding, hint="make the call again, and look at the audit")
    return kept


def find_record(gate: Gate, row: CallRow, *, any_result: bool = False) -> Record | None:
    """Return the record of the call; None if it was tampered with. `any_result`: ignore its result."""
    kept = gate.sealer.open_call(row, any_result=any_result)
    if kept is None:
        return None
    known: Record | None = gate.sealer.records.get(row.id, kept)
    return known if known is not None else gate.sealer.records.put(row.id, kept, _decode_record(kept))


def standing_of(row: CallRow) -> CallStanding:
    return CallStanding(read_state(row.state), row.fence, row.holder, row.lease_until)


def with_standing(row: CallRow, where: CallStanding, **more: Any) -> CallRow:
    """The row with this standing, and more that changes with it; `put` and `moved` seal it."""
    return msgspec.structs.replace(
        row, state=where.state, fence=where.fence, holder=where.holder, lease_until=where.lease_until, **more
    )


def add_call_row(gate: Gate, tx: Writer, row: CallRow, *, named: bool = False) -> CallRow:
    """Store a call that is new. `named`: its session has its state already."""
    row = gate.sealer.call(row)
    tx.put_call(row)
    if not named:
        _name_in_session(gate, tx, None, row)
    return row


def move_call_row(
    gate: Gate,
    tx: Writer,
    before: CallRow,
    after: CallRow,
    *,
    named: bool = False,
    seen: SeenSession = UNSEEN,
) -> CallRow:
    """Store the call as it is now, unless somebody moved it since it was read.

    `seen` is its session as this transaction read it, to be read again if it has changed since.
    """
    after = gate.sealer.call(after)
    if not tx.move_call(after, states=(before.state,), fence=before.fence):
        raise NotNow.of_lost_start()
    if not named:
        _name_in_session(gate, tx, before, after, seen)
    return after


def _name_in_session(
    gate: Gate, tx: Writer, before: CallRow | None, after: CallRow, seen: SeenSession = UNSEEN
) -> None:
    """Keep the call's state in its session's row, as long as it is not over."""
    stands, untried = standing_label(after), _find_untried(after)
    if before is not None and stands == standing_label(before) and untried == _find_untried(before):
        return
    if before is None and stands is None and untried is None:
        return
    row = tx.session(after.session)
    was = seen.state  # of a row that never changes, so of this one if it is the same object
    if row is not seen.row:
        was = None if row is None else gate.sealer.open_session(row)
    if row is None or was is None:
        found = _session_of(gate, tx, after)
        if stands is None and untried is None:
            return  # it ends in a session of an earlier epoch, which says no more
        refuse_tampered(gate, tx, after.session, found)
        raise UnknownCall(f"there is no session of call {after.id}")
    calls, waiting = with_call(was.calls, after.id, stands), with_call(was.untried, after.id, untried)
    if calls is not was.calls or waiting is not was.untried:
        kept = msgspec.structs.replace(was, calls=calls, untried=waiting, version=was.version + 1)
        tx.change_session(gate.sealer.session(row, keep_within_bounds(kept, tx.now)))


def _session_of(gate: Gate, tx: Reader, row: CallRow) -> LoadedSession:
    found = load_session(tx, gate.sealer, row.session, RowSelection())
    if found is None or not (found.believed or gate.sealer.void_session(found.row)):
        refuse_tampered(gate, tx, row.session, found)
    if found is None:
        raise UnknownCall(f"there is no session of call {row.id}")
    return found


def _find_untried(row: CallRow) -> Untried | None:
    """Return the standing of a call that waits to be tried: asked about, or given back; else None."""
    return Untried(row.fence, row.at) if row.state in NOT_STARTED else None


def attempt_from_row(
    gate: Gate, tx: Reader, row: CallRow, *, mine: bool = False, kept: Record | None = None
) -> Attempt:
    """Return the call for whoever tried it. Its result is available for a day after it ended.

    `kept` is its record, if this transaction has just written it.
    """
    fresh = row.ended_at is not None and abs(tx.now - row.ended_at) < RESULT_LASTS
    noted = row.ended_at is None or (row.workflow is not None and row.state != "succeeded")
    result = row.result if fresh and not noted else None
    note = row.result if noted and (fresh or row.ended_at is None) else None
    fence = row.fence if mine else 0
    if kept is None:
        kept = load_record(gate, row)
    return Attempt(row.id, row.state, fence, kept, row.question, result, note, kept.decided_at or row.at)
