"""Calls of the ledger as they are, for whoever only looks: what its question ended is over.

The ledger moves a call when somebody tries it. Until then only its question says that it was denied.
"""

from __future__ import annotations

from sayso.core import ledger, rulebook
from sayso.gate.call_rows import (
    Attempt,
    UnknownCall,
    attempt_from_row,
    check_call_row,
    find_record,
    is_forgotten,
    load_call_row,
    load_record,
    standing_of,
    with_record,
    with_refusal,
    with_standing,
)
from sayso.gate.gate import Gate
from sayso.gate.ledger.resume import make_refusal
from sayso.gate.questions.expiry import ends_at
from sayso.gate.questions.read import read_question
from sayso.gate.rows.sessions import load_kept
from sayso.store.contract import CallRow, QuestionRow, Reader


def load_attempt(gate: Gate, call: str, session: str) -> Attempt:
    """Return a call of this session. For other sessions it does not exist."""
    with gate.store.read() as tx:
        row = tx.call(call)
        if row is None or row.session != session:
            raise UnknownCall.of(call)
        return attempt_from_row(gate, tx, check_call_row(gate, tx, row))


def load_attempt_now(gate: Gate, call: str, session: str) -> Attempt:
    """The same for whoever only wants to know: what is over is not pending, though nobody tried it since.

    What was denied in one state of the world may be asked in another; trying it again finds out.
    """
    found = load_attempt(gate, call, session)
    if found.state != "pending" or found.record.request.call.state is not None:
        return found
    with gate.store.read() as tx:
        return attempt_from_row(gate, tx, with_question_outcome(gate, tx, load_call_row(gate, tx, call)))


def with_question_outcome(gate: Gate, tx: Reader, row: CallRow) -> CallRow:
    """The row of a call; of one that waits for a question that is over, as it will end when it is tried.

    The ledger moves a call when somebody tries it. Until then only its question says that it was denied.
    """
    kept = find_record(gate, row) if row.state in ledger.NOT_STARTED else None
    question = tx.question(row.question) if row.question is not None else None
    if kept is None or (question is not None and read_question(gate, tx, question) is None):
        return row
    over = row_after_question(gate, tx, row, question, kept.request.call.state)
    return row if over is None else gate.sealer.call(over)


def session_of_call(gate: Gate, call: str) -> str:
    with gate.store.read() as tx:
        return load_call_row(gate, tx, call).session


def row_after_question(
    gate: Gate, tx: Reader, row: CallRow, question: QuestionRow | None, state: str | None
) -> CallRow | None:
    """The call as it ends with its question, denied, withdrawn or not answered in time; None if it goes on.

    What was denied in one state of the world was not denied in another. What its session has forgotten, too
    old or one of too many, has expired.
    """
    session = load_kept(tx, gate.sealer, row.session)
    if session is not None and is_forgotten(row, session):
        return with_standing(row, ledger.move_to_state(standing_of(row), "expired"))
    if question is None or row.state != "pending":
        return None
    if question.state == "answered" and question.answer == "deny":
        kept = load_record(gate, row)
        if kept.request.call.state != state:
            return None
        reason = f"denied by {question.by}" + (f": {question.reason}" if question.reason else "")
        no = make_refusal(kept, reason, rulebook.DENIED_CALL)
        ended = with_standing(row, ledger.move_to_state(standing_of(row), "denied"))
        return with_record(gate, ended, with_refusal(kept, no))
    if question.state == "cancelled":
        return with_standing(row, ledger.move_to_state(standing_of(row), "cancelled"))
    if question.state == "expired" or (question.state == "open" and tx.now >= ends_at(gate, question)):
        return with_standing(row, ledger.move_to_state(standing_of(row), "expired"))
    return None
