"""What a fresh process finds after another was killed, and what comes of going on from there."""

from __future__ import annotations

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.grants import Grant
from sayso.core.ledger import LEASE
from sayso.core.model import Operation
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.recovery import recover_calls
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.store.contract import CallRow, Reader, Store
from tests.crash.jobs import (
    ALL_STATES,
    Clock,
    Job,
    Recovered,
    effects,
    gate_on,
    look,
    opened,
    take_effect,
)
from tests.support.answers import answer_question


def recover(job: Job) -> Recovered:
    """Take over: mark what the dead left running, answer what is open, try every call again, twice."""
    clock = Clock()
    store = opened(job.address, clock)
    found = look(store)
    gate = gate_on(store, job)
    let_leases_lapse(store, clock)
    lapsed = recover_calls(gate)
    _answer_what_is_open(gate)
    ran = [number for _ in range(2) for number in _try_all(gate, job)]
    pushed = _push(gate)
    with store.read() as tx:
        twice, epoch = _spent_twice(tx), tx.meta("epoch")
    verified = verify_audit(gate).clean
    went_on = look(store)
    store.close()
    return Recovered(
        found, went_on, len(lapsed), tuple(ran), effects(job), tuple(twice), verified, epoch, pushed
    )


def let_leases_lapse(store: Store, clock: Clock) -> None:
    """Where the clock is ours it goes on; the database's own cannot, so there the leases are moved back."""
    clock.now += LEASE
    with store.write() as tx:
        for row in tx.calls(states=("running",)):
            if row.lease_until is not None and row.lease_until > tx.now:
                past = msgspec.structs.replace(row, lease_until=tx.now)
                assert tx.move_call(past, states=("running",), fence=row.fence)


def _answer_what_is_open(gate: Gate) -> None:
    with gate.store.read() as tx:
        questions = tx.questions()
    for row in questions:
        assert answer_question(gate, row.id, "once", by="ben").yours


def _try_all(gate: Gate, job: Job) -> list[int]:
    """Try every call by its number and again by its host's id; the numbers of those that were let run."""
    with gate.store.read() as tx:
        rows = tx.calls(states=ALL_STATES)
    return [int(row.host_id or 0) for row in rows for _ in range(2) if _try(gate, job, row)]


def _try(gate: Gate, job: Job, row: CallRow) -> bool:
    """Whether this call was let run. The host sends it again first, which must change nothing."""
    try:
        request = retry_call(gate, row.id, holder="second life")
        again = start_call(gate, request.record.request, holder="second life", host_id=row.host_id)
    except SaysoError:
        return False
    assert (again.call, again.runs) == (row.id, False)
    if request.runs:
        take_effect(job, int(row.host_id or 0))
        end_call(gate, row.id, request.fence, "succeeded", b'"second life"')
    return request.runs


def _push(gate: Gate) -> str:
    """What the next decision on a push in the first session comes to, if that is still open."""
    with gate.store.read() as tx:
        sessions = tx.sessions()
    if not sessions:
        return "no session"
    call = make_call("shell", {}, command="git push")
    request = make_request(call, [Operation("git.push")], session=sessions[0].id)
    return authorize(gate, request).decision.rule


def _spent_twice(tx: Reader) -> list[str]:
    """Grants that were used more often than they may be."""
    found = []
    for session in tx.sessions(open_only=False):
        for row in tx.grants(session.id):
            uses = msgspec.json.decode(row.body, type=Grant).uses
            spends = [spend.what for spend in tx.spends([row.id])]
            used = spends.count("use") - spends.count("return")
            if uses is not None and used > uses:
                found.append(row.id)
    return found
