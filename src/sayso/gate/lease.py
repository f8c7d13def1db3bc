"""What the holder of a started call may do with it: keep it, enter it, give it back, park it.

Whoever has the fencing number is the holder. A start that was made with `entered=False` can be given back
until the function is entered; then what it used is used up, whatever comes of it.
"""

from __future__ import annotations

import msgspec

from sayso.core import ledger
from sayso.core.effects import Effect, Returned
from sayso.core.ledger import LEASE, NotNow
from sayso.core.session import Session
from sayso.gate.answer import UnknownQuestion
from sayso.gate.call_rows import Attempt, moved, placed, row_of, standing, told
from sayso.gate.gate import Gate, everything, loaded, settle, writing
from sayso.gate.journal import record
from sayso.gate.outcome import entering
from sayso.store.base import CallRow, Writer


def keep_alive(gate: Gate, call: str, fence: int, lease: float = LEASE) -> None:
    """The holder is still at it; without this, its call is ambiguous once the lease is over."""
    with writing(gate, durable=False) as tx:
        row = row_of(gate, tx, call)
        moved(gate, tx, row, placed(row, ledger.beat(standing(row), fence, tx.now, lease)))


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


def unpark_call(gate: Gate, call: str, *, holder: str, lease: float = LEASE) -> Attempt:
    """Go on with a parked call under a new lease and number. Of any number that try, one gets it.

    It says nothing about the question: what was asked for is decided where it is called.
    """
    with writing(gate) as tx:
        row = row_of(gate, tx, call)
        running = placed(row, ledger.resume(standing(row), holder, tx.now, lease))
        running = moved(gate, tx, row, running)
        _record(gate, tx, row, "RESUMED", question=row.question or "", holder=holder)
        return told(gate, tx, running, mine=True)


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
