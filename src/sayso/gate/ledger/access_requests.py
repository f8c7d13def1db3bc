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
from sayso.gate.deciding.authorize import authorize_in, reporting
from sayso.gate.gate import Gate, writing
from sayso.gate.ledger.rows import KeyReused, checked, finding_in, put
from sayso.gate.ledger.start import new_name, new_row
from sayso.store.contract import CallRow, QuestionRow, Reader

PREFIX = "access-request:"
"""How the host id of such a call begins; then comes the key it was asked for with."""


class NotRequestable(SaysoError):
    """Nobody is to be asked about this: it never runs, was just denied, or is allowed already."""

    code = "not_requestable"


class TooManyQuestions(SaysoError):
    """The session asks too much. The refusal is recorded."""

    code = "too_many"


class Asked(msgspec.Struct, frozen=True):
    """An access request, and the question it opened or joined. None if that is not as this gate wrote it."""

    call: str
    question: QuestionRow | None


def request_access(gate: Gate, request: Request, *, key: str | None, same: str) -> Asked:
    """Open the question for this call. `same` tells what was submitted: a key stands for one of those.

    Nothing is started or used up. What is denied is recorded as denied, what is allowed leaves no trace.
    """
    with reporting(gate, request.session) as report, writing(gate) as tx:
        known = known_request(gate, tx, request.session, key, same)
        if known is not None:
            return known
        name = new_name()
        done = authorize_in(gate, tx, request, call=name)
        if done.decision.verdict is Verdict.ALLOW:
            raise NotRequestable("this is allowed already", hint="evaluate it again")
        report.decided(request, done.decision, done.question, opened=done.opened)
        if done.question is not None:
            kept = f"{same} {done.question.id}"
            host_id = f"{PREFIX}{key or name}"
            put(gate, tx, new_row(gate, tx, name, request, done, host_id=host_id, key=kept))
            return Asked(name, tx.question(done.question.id))
    raise _refused(done.decision)


def known_request(gate: Gate, tx: Reader, session: str, key: str | None, same: str) -> Asked | None:
    """The access request that this key stands for already; an error if that was another."""
    row = None if key is None else tx.call_by_host(session, f"{PREFIX}{key}")
    if row is None:
        return None
    checked(gate, tx, row)
    if (row.key or "").partition(" ")[0] != same:
        raise KeyReused("this key stands for another access request", hint="use a new key for each")
    return _asked(gate, tx, row)


def access_request(gate: Gate, tx: Reader, call: str) -> tuple[CallRow, Asked] | None:
    """The access request of this id, with its row; None if there is none."""
    row = tx.call(call)
    if row is None or not (row.host_id or "").startswith(PREFIX):
        return None
    finding = finding_in(gate, tx, row)
    if finding is not None:
        gate.sealer.doubts.note(finding, row.session)
    return row, _asked(gate, tx, row) if finding is None else Asked(row.id, None)


def given_by(gate: Gate, tx: Reader, question: QuestionRow) -> list[Grant]:
    """What the answer to this question granted, whether it is live or not."""
    opened = (gate.sealer.open_grant(row) for row in tx.grants(question.session))
    return [grant for grant in opened if grant is not None and grant.question == question.id]


def granted_until(gate: Gate, decision: Decision) -> float | None:
    """When the first of the grants that allow this ends; None if it needs none."""
    with gate.store.read() as tx:
        rows = [row for row in map(tx.grant, decision.grants) if row is not None]
    grants = [grant for row in rows if (grant := gate.sealer.open_grant(row)) is not None]
    return min((grant.expires_at for grant in grants), default=None)


def _asked(gate: Gate, tx: Reader, row: CallRow) -> Asked:
    """It is about the question it opened, whatever a retry of the call asks later."""
    found = tx.question((row.key or "").partition(" ")[2])
    ours = found is not None and found.session == row.session and gate.sealer.open_question(found) is not None
    return Asked(row.id, found if ours else None)


def _refused(decision: Decision) -> SaysoError:
    if decision.rule == "flooding":
        return TooManyQuestions(decision.reason)
    return NotRequestable(decision.reason)
