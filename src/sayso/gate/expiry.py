"""Questions that nobody answered in time."""

from __future__ import annotations

import msgspec

from sayso.gate.gate import Gate, writing
from sayso.gate.journal import record
from sayso.store.base import QuestionRow, Writer


def expire_questions(gate: Gate) -> int:
    """Close every question that nobody answered in time; how many."""
    with writing(gate) as tx:
        return expire_in(gate, tx, None)


def expire_in(gate: Gate, tx: Writer, session: str | None) -> int:
    """The same for one session, as part of a transaction that does more."""
    late = [row for row in tx.questions(session, limit=10_000) if tx.now >= row.expires_at]
    for row in late:
        expire_question(gate, tx, row)
    return len(late)


def expire_question(gate: Gate, tx: Writer, row: QuestionRow) -> QuestionRow:
    closed = msgspec.structs.replace(row, state="expired", closed_at=tx.now)
    tx.close_question(closed)
    record(tx, "EXPIRED", session=row.session, details={"question": row.id}, stream=gate.stream)
    return closed
