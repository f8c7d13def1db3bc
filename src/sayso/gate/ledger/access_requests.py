"""Asking for access: the question a call would open is opened, without a start.

An access request is a call in the ledger that waits for its answer. It can be retried by its id once it was
approved, and runs once, as any call does.
"""

from __future__ import annotations

import msgspec

from sayso.core.decision import Decision
from sayso.core.errors import SaysoError
from sayso.core.grants import Grant
from sayso.core.model import Request, Verdict
from sayso.core.rulebook import FLOODING
from sayso.gate.call_rows import KeyReused, add_call_row, check_call_row, find_fault
from sayso.gate.deciding.authorize import Reporting, authorize_in
from sayso.gate.gate import Gate, writing
from sayso.gate.ledger.start import new_call_id, new_call_row
from sayso.store.contract import CallRow, QuestionRow, Reader

PREFIX = "access-request:"
"""How the host id of such a call begins; then comes the key it was asked for with."""


class NotRequestable(SaysoError):
    """Nobody is to be asked about this: it never runs, was just denied, or is allowed already."""

    code = "not_requestable"


class TooManyQuestions(SaysoError):
    """The session asks too much. The refusal is recorded."""

    code = "too_many"


class AccessRequest(msgspec.Struct, frozen=True):
    """An access request, and the question it opened or joined. None if that is not as this gate wrote it."""

    call: str
    question: QuestionRow | None


def request_access(gate: Gate, request: Request, *, key: str | None, same: str) -> AccessRequest:
    """Open the question for this call. `same` is what was submitted: a key belongs to one submission.

    Nothing is started or used up. A denial is recorded; an allow leaves no trace.
    """
    with Reporting(gate, request.session) as report, writing(gate) as tx:
        known = find_access_request(gate, tx, request.session, key, same)
        if known is not None:
            return known
        name = new_call_id()
        done = authorize_in(gate, tx, request, call=name)
        if done.decision.verdict is Verdict.ALLOW:
            raise NotRequestable("this is allowed already", hint="evaluate it again")
        report.set_decision(request, done.decision, done.question, opened=done.opened)
        if done.question is not None:
            kept = f"{same} {done.question.id}"
            host_id = f"{PREFIX}{key or name}"
            add_call_row(gate, tx, new_call_row(gate, tx, name, request, done, host_id=host_id, key=kept))
            return AccessRequest(name, tx.question(done.question.id))
    raise _refusal_error(done.decision)


def find_access_request(
    gate: Gate, tx: Reader, session: str, key: str | None, same: str
) -> AccessRequest | None:
    """Return the access request already opened under this key; an error if it was another one."""
    row = None if key is None else tx.call_by_host(session, f"{PREFIX}{key}")
    if row is None:
        return None
    check_call_row(gate, tx, row)
    if (row.key or "").partition(" ")[0] != same:
        raise KeyReused("this key stands for another access request", hint="use a new key for each")
    return _access_request_from_row(gate, tx, row)


def load_access_request(gate: Gate, tx: Reader, call: str) -> tuple[CallRow, AccessRequest] | None:
    """The access request of this id, with its row; None if there is none."""
    row = tx.call(call)
    if row is None or not (row.host_id or "").startswith(PREFIX):
        return None
    finding = find_fault(gate, tx, row)
    if finding is not None:
        gate.sealer.doubts.note(finding, row.session)
    return row, _access_request_from_row(gate, tx, row) if finding is None else AccessRequest(row.id, None)


def find_grants_of_answer(gate: Gate, tx: Reader, question: QuestionRow) -> list[Grant]:
    """Return what the answer to this question granted, live or not."""
    opened = (gate.sealer.open_grant(row) for row in tx.grants(question.session))
    return [grant for grant in opened if grant is not None and grant.question == question.id]


def earliest_grant_end(gate: Gate, decision: Decision) -> float | None:
    """When the first of the grants that allow this ends; None if it needs none."""
    with gate.store.read() as tx:
        rows = [row for row in map(tx.grant, decision.grants) if row is not None]
    grants = [grant for row in rows if (grant := gate.sealer.open_grant(row)) is not None]
    return min((grant.expires_at for grant in grants), default=None)


def _access_request_from_row(gate: Gate, tx: Reader, row: CallRow) -> AccessRequest:
    """It is about the question it opened, whatever a retry of the call asks later."""
    found = tx.question((row.key or "").partition(" ")[2])
    ours = found is not None and found.session == row.session and gate.sealer.open_question(found) is not None
    return AccessRequest(row.id, found if ours else None)


def _refusal_error(decision: Decision) -> SaysoError:
    if decision.rule == FLOODING.name:
        return TooManyQuestions(decision.reason)
    return NotRequestable(decision.reason)
