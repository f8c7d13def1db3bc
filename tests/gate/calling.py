"""Calls for the tests of the ledger: one that asks, and that one approved."""

from __future__ import annotations

from sayso.gate.call_rows import Attempt
from sayso.gate.gate import Gate
from sayso.gate.ledger.start import start_call
from sayso.gate.questions.answer import answer_question
from tests.support.asking import edit


def approved(gate: Gate, session: str, answer: str = "once", state: str | None = None) -> Attempt:
    """A call that was asked for and approved, and has not run yet."""
    attempt = start_call(gate, edit(session, state=state), holder="one")
    assert attempt.state == "pending"
    answered(gate, attempt, answer)
    return attempt


def answered(gate: Gate, attempt: Attempt, answer: str = "once") -> None:
    assert attempt.question is not None
    assert answer_question(gate, attempt.question, answer, by="ana").yours


def events(gate: Gate, session: str) -> list[str]:
    with gate.store.read() as tx:
        return [row.event for row in tx.entries("main") if row.session == session]
