"""The holder of a started call may keep it, enter it, give it back or park it.

- The holder is whoever has the fencing number.
- A start with `entered=False` can be given back until the function is entered. From then on what it used is
  used up, however the call ends.
"""

from __future__ import annotations

import msgspec

from sayso.core import ledger
from sayso.core.audit import events
from sayso.core.decision import Decision
from sayso.core.effects import Effect, UseReturned
from sayso.core.ledger import LEASE, NotNow
from sayso.core.session import Scope, Session
from sayso.gate.call_rows import (
    Attempt,
    Record,
    attempt_from_row,
    load_call_row,
    load_record,
    move_call_row,
    standing_of,
    with_record,
    with_refusal,
    with_standing,
)
from sayso.gate.deciding.authorize import record_decision
from sayso.gate.gate import (
    EPOCH_READ,
    NO_SCOPE,
    Gate,
    apply_and_save,
    load_open_session,
    select_live_rows,
    writing,
)
from sayso.gate.ledger.outcome import effects_of_entering
from sayso.gate.ledger.resume import MOST_ENTRIES, end_run_grant, refuse_by_question, refuse_to_go_on
from sayso.gate.ledger.workflows import decode_note
from sayso.gate.questions.read import UnknownQuestion
from sayso.gate.rows.journal import record
from sayso.store.contract import Ahead, CallRow, Writer


def keep_alive(gate: Gate, call: str, fence: int, lease: float = LEASE) -> None:
    """The holder is still at it; without this, its call is ambiguous once the lease is over."""
    with writing(gate, durable=False) as tx:
        row = load_call_row(gate, tx, call)
        alive = with_standing(row, ledger.renew_lease(standing_of(row), fence, tx.now, lease))
        kept = load_record(gate, row)
        if kept.silent:
            alive = with_record(gate, alive, msgspec.structs.replace(kept, silent=False))
        move_call_row(gate, tx, row, alive)


def rows_ahead_of_beat(gate: Gate, call: str) -> Ahead:
    """What keeping this call alive is going to read."""
    return Ahead(metas=EPOCH_READ, calls=frozenset({call}), streams=frozenset({gate.stream}))


def enter_call(gate: Gate, call: str, fence: int) -> None:
    """The holder enters the function: from now on what it used cannot be given back."""
    with writing(gate) as tx:
        row = load_call_row(gate, tx, call)
        ledger.check_holder(standing_of(row), fence)
        _enter(gate, tx, row)


def release_call(gate: Gate, call: str, fence: int) -> None:
    """The holder gives the call back before it entered the function.

    What its start used can be used again if it is still live: what was revoked, cleared or has expired
    meanwhile stays dead. The next attempt is decided again.
    """
    with writing(gate) as tx:
        row = load_call_row(gate, tx, call)
        back = with_standing(row, ledger.release_running(standing_of(row), fence))
        found = load_open_session(gate, tx, row.session, select_live_rows())
        if call not in found.session.unentered:
            raise NotNow("the call was entered, so it cannot be given back", hint="say how it ended")
        returned = _return_effects(found.session, call)
        apply_and_save(gate, tx, found, (*returned, *effects_of_entering(found.session, call)), call=call)
        move_call_row(gate, tx, row, back)
        released = events.Released(call, row.digest, grants=tuple(found.session.unentered[call]))
        record(tx, released, session=row.session, stream=gate.stream)


def park_call(gate: Gate, call: str, fence: int, question: str, note: bytes | None = None) -> None:
    """The holder waits for the answer to this question of its session, however long, without a lease.

    Its note is for whoever continues the call.
    """
    with writing(gate) as tx:
        row = load_call_row(gate, tx, call)
        parked = with_standing(row, ledger.park_running(standing_of(row), fence))
        asked = tx.question(question)
        if asked is None or asked.session != row.session:
            raise UnknownQuestion(f"there is no question {question} in this session")
        _enter(gate, tx, row)
        move_call_row(
            gate, tx, row, msgspec.structs.replace(parked, question=question, result=note or row.result)
        )
        record(tx, events.Parked(call, row.digest, question), session=row.session, stream=gate.stream)


def unpark_call(
    gate: Gate,
    call: str,
    scope: Scope = NO_SCOPE,
    *,
    holder: str,
    lease: float = LEASE,
    fence: int | None = None,
) -> Attempt:
    """Go on with a parked call under a new lease and number. Of any number that try, one gets it.

    It is decided at this moment whether the call may go on (see going_on); one that may not ends here.
    Whoever parked it and waits in place says so with its `fence`, and gets it back in any case, to say how it
    ended; the attempt `runs` only if it may go on.
    """
    with writing(gate) as tx:
        row = load_call_row(gate, tx, call)
        running = with_standing(row, ledger.resume_parked(standing_of(row), holder, tx.now, lease))
        kept = msgspec.structs.replace(load_record(gate, row), silent=lease > ledger.BEATEN)
        no = refuse_to_go_on(gate, tx, row, kept, scope)
        if fence is None:
            no = no or _refuse_to_enter(gate, tx, row, kept)
            if no is not None:
                return _end_parked_call(gate, tx, row, kept, no)
            again = msgspec.structs.replace(kept, entries=kept.entries + 1)
            running = with_record(gate, running, again)
        elif fence != row.fence:
            raise NotNow.of_lost_start()
        elif no is not None:
            running = with_record(gate, running, with_refusal(kept, no))
            record_decision(gate, tx, kept.request, no, call=call, again=True)
        else:
            running = with_record(gate, running, kept)
        running = move_call_row(gate, tx, row, running)
        resumed = events.CallResumed(call, row.digest, row.question or "", holder)
        record(tx, resumed, session=row.session, stream=gate.stream)
        return attempt_from_row(gate, tx, running, mine=True)


def _refuse_to_enter(gate: Gate, tx: Writer, row: CallRow, kept: Record) -> Decision | None:
    """The refusal to enter the function again from the top: what it waits for was not allowed.

    One that was entered too often, or that has begun what cannot be begun again, belongs to who waits in it.
    """
    note = decode_note(row.result)
    if kept.entries >= MOST_ENTRIES + note.finished or (note.ran and not note.restartable):
        raise NotNow("this run can only be resumed where it is waiting")
    return refuse_by_question(gate, tx, kept, tx.question(row.question or ""))


def _end_parked_call(gate: Gate, tx: Writer, row: CallRow, kept: Record, no: Decision) -> Attempt:
    """The parked call as it ends without going on, with the entry that says why."""
    record_decision(gate, tx, kept.request, no, call=row.id, again=True)
    ended = with_standing(row, ledger.move_to_state(standing_of(row), "denied"))
    over = msgspec.structs.replace(ended, result=None, ended_at=tx.now)
    over = move_call_row(gate, tx, row, with_record(gate, over, with_refusal(kept, no)))
    end_run_grant(gate, tx, row)
    return attempt_from_row(gate, tx, over)


def _enter(gate: Gate, tx: Writer, row: CallRow) -> None:
    found = load_open_session(gate, tx, row.session, select_live_rows())
    entered = effects_of_entering(found.session, row.id)
    if entered:
        apply_and_save(gate, tx, found, entered, call=row.id)
        record(tx, events.Entered(row.id, row.digest), session=row.session, stream=gate.stream)


def _return_effects(session: Session, call: str) -> tuple[Effect, ...]:
    used = session.unentered[call]
    return tuple(
        UseReturned(held.grant.key, held.grant.id) for held in session.all_grants if held.grant.id in used
    )
