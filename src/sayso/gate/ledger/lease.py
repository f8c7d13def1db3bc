"""What the holder of a started call may do with it: keep it, enter it, give it back, park it.

Whoever has the fencing number is the holder. A start that was made with `entered=False` can be given back
until the function is entered; then what it used is used up, whatever comes of it.
"""

from __future__ import annotations

import msgspec

from sayso.core import ledger
from sayso.core.decision import Decision
from sayso.core.effects import Effect, Returned
from sayso.core.ledger import LEASE, NotNow
from sayso.core.session import Scope, Session
from sayso.gate.deciding.authorize import record_decision
from sayso.gate.deciding.going_on import MOST_ENTRIES, end_run_grant, refuse_by_question, refuse_to_go_on
from sayso.gate.deciding.request import read_again
from sayso.gate.gate import NO_SCOPE, Gate, everything, loaded, settle, writing
from sayso.gate.ledger.outcome import entering
from sayso.gate.ledger.rows import (
    Attempt,
    Record,
    moved,
    placed,
    record_of,
    row_of,
    standing,
    told,
    with_record,
    with_refusal,
)
from sayso.gate.ledger.workflows import note_of
from sayso.gate.questions.read import UnknownQuestion, read_question, refuse_question
from sayso.gate.rows.journal import record
from sayso.store.contract import CallRow, Writer


def keep_alive(gate: Gate, call: str, fence: int, lease: float = LEASE) -> None:
    """The holder is still at it; without this, its call is ambiguous once the lease is over."""
    with writing(gate, durable=False) as tx:
        row = row_of(gate, tx, call)
        alive = placed(row, ledger.beat(standing(row), fence, tx.now, lease))
        kept = record_of(gate, row)
        if kept.silent:
            alive = with_record(gate, alive, msgspec.structs.replace(kept, silent=False))
        moved(gate, tx, row, alive)


def enter_call(gate: Gate, call: str, fence: int) -> None:
    """The holder enters the function now; what it used cannot be given back any more."""
    with writing(gate) as tx:
        row = row_of(gate, tx, call)
        ledger.held(standing(row), fence)
        _enter(gate, tx, row)


def release_call(gate: Gate, call: str, fence: int) -> None:
    """The holder gives the call back before it entered the function.

    What its start used is usable again, as far as it still lives: what was revoked or cleared meanwhile, or
    has expired, stays dead. Whoever tries the call next is decided anew.
    """
    with writing(gate) as tx:
        row = row_of(gate, tx, call)
        back = placed(row, ledger.release(standing(row), fence))
        found = loaded(gate, tx, row.session, everything())
        if call not in found.session.unentered:
            raise NotNow("the call was entered, so it cannot be given back", hint="say how it ended")
        returned = _returned(found.session, call)
        settle(gate, tx, found, (*returned, *entering(found.session, call)), call=call)
        moved(gate, tx, row, back)
        _record(gate, tx, row, "RELEASED", grants=list(found.session.unentered[call]))


def park_call(gate: Gate, call: str, fence: int, question: str, note: bytes | None = None) -> None:
    """The holder waits for the answer to this question of its session, however long, without a lease.

    What it notes is for whoever goes on with the call.
    """
    with writing(gate) as tx:
        row = row_of(gate, tx, call)
        parked = placed(row, ledger.park(standing(row), fence))
        asked = tx.question(question)
        if asked is None or asked.session != row.session:
            raise UnknownQuestion(f"there is no question {question} in this session")
        _enter(gate, tx, row)
        moved(gate, tx, row, msgspec.structs.replace(parked, question=question, result=note or row.result))
        _record(gate, tx, row, "PARKED", question=question)


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
        row = row_of(gate, tx, call)
        running = placed(row, ledger.resume(standing(row), holder, tx.now, lease))
        kept = msgspec.structs.replace(record_of(gate, row), silent=lease > ledger.BEATEN)
        no = refuse_to_go_on(gate, tx, row, kept, read_again(kept.request, gate.policy), scope)
        if fence is None:
            no = no or _refuse_to_enter(gate, tx, row, kept)
            if no is not None:
                return _ended(gate, tx, row, kept, no)
            again = msgspec.structs.replace(kept, entries=kept.entries + 1)
            running = with_record(gate, running, again)
        elif fence != row.fence:
            raise NotNow("this start of the call is over", hint="somebody else started or ended it since")
        elif no is not None:
            running = with_record(gate, running, with_refusal(kept, no))
            record_decision(gate, tx, kept.request, no, call=call, again=True)
        else:
            running = with_record(gate, running, kept)
        running = moved(gate, tx, row, running)
        _record(gate, tx, row, "RESUMED", question=row.question or "", holder=holder)
        return told(gate, tx, running, mine=True)


def _refuse_to_enter(gate: Gate, tx: Writer, row: CallRow, kept: Record) -> Decision | None:
    """The refusal to enter the function again from the top: what it waits for was not allowed.

    One that was entered too often, or that has begun what cannot be begun again, belongs to who waits in it.
    """
    note = note_of(row.result)
    if kept.entries >= MOST_ENTRIES or (note.ran and not note.restartable):
        raise NotNow("this run can only be gone on with where it waits")
    asked = tx.question(row.question or "")
    if asked is not None and read_question(gate, tx, asked) is None:
        refuse_question(gate, asked)
    return refuse_by_question(gate, kept, asked, tx.now)


def _ended(gate: Gate, tx: Writer, row: CallRow, kept: Record, no: Decision) -> Attempt:
    """The parked call as it ends without going on, with the entry that says why."""
    record_decision(gate, tx, kept.request, no, call=row.id, again=True)
    ended = placed(row, ledger.move(standing(row), "denied"))
    over = msgspec.structs.replace(ended, result=None, ended_at=tx.now)
    over = moved(gate, tx, row, with_record(gate, over, with_refusal(kept, no)))
    end_run_grant(gate, tx, row)
    return told(gate, tx, over)


def _enter(gate: Gate, tx: Writer, row: CallRow) -> None:
    found = loaded(gate, tx, row.session, everything())
    entered = entering(found.session, row.id)
    if entered:
        settle(gate, tx, found, entered, call=row.id)
        _record(gate, tx, row, "ENTERED")


def _returned(session: Session, call: str) -> tuple[Effect, ...]:
    used = session.unentered[call]
    return tuple(Returned(held.grant.key, held.grant.id) for held in session.held if held.grant.id in used)


def _record(gate: Gate, tx: Writer, row: CallRow, event: str, **details: object) -> None:
    said = {"call": row.id, "digest": row.digest, **details}
    record(tx, event, session=row.session, details=said, stream=gate.stream)
