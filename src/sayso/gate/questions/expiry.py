"""Questions that nobody answered in time."""

from __future__ import annotations

import msgspec

from sayso.core.audit import events
from sayso.gate.gate import Gate, writing
from sayso.gate.rows.journal import record
from sayso.gate.rows.sessions import close_question_row
from sayso.store.contract import QuestionRow, Writer

MOST = 10_000


def ends_at(gate: Gate, row: QuestionRow) -> float:
    """Until when a question can be answered: as it was opened, or less where the policy gives less by now."""
    return min(row.expires_at, row.opened_at + gate.policy.settings.question_lasts)


def is_answerable(gate: Gate, row: QuestionRow, now: float) -> bool:
    """Return whether the question can still be answered. At the very second of its end it cannot."""
    return row.state == "open" and now < ends_at(gate, row)


def as_of(gate: Gate, row: QuestionRow, now: float) -> QuestionRow:
    """The row as it is at this time: expired once nobody can answer it, though nobody closed it yet."""
    if row.state != "open" or is_answerable(gate, row, now):
        return row
    return msgspec.structs.replace(row, state="expired")


def expire_questions(gate: Gate) -> int:
    """Close every question that nobody answered in time; how many. Sessions are held one at a time."""
    with gate.store.read() as tx:
        late = tx.late_sessions(tx.now)
    return sum(_expire_session(gate, session) for session in late)


def expire_in(gate: Gate, tx: Writer, session: str) -> int:
    """The same for one session, as part of a transaction that does more."""
    late = [row for row in tx.questions(session, limit=MOST) if tx.now >= ends_at(gate, row)]
    for row in late:
        expire_question(gate, tx, row)
    return len(late)


def _expire_session(gate: Gate, session: str) -> int:
    with writing(gate) as tx:
        return expire_in(gate, tx, session)


def expire_question(gate: Gate, tx: Writer, row: QuestionRow) -> QuestionRow:
    close_question_row(tx, gate.sealer, row, state="expired", closed_at=tx.now)
    record(tx, events.Expired(row.id), session=row.session, stream=gate.stream)
    return msgspec.structs.replace(row, state="expired", closed_at=tx.now)
