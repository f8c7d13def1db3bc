"""Waiting for an answer: woken at once by a change, and never trusting the wake-up, only the row."""

from __future__ import annotations

import time

from sayso.core.durations import LONGEST_WAIT
from sayso.gate.gate import Gate
from sayso.gate.questions.expiry import as_of, ends_at, is_answerable
from sayso.gate.questions.read import UnknownQuestion, find_question, question_of, refuse_tampered_question
from sayso.store.contract import QuestionRow


def wait_for_answer(gate: Gate, question: str, timeout: float) -> QuestionRow:
    """Wait until the question is closed or the time is up, LONGEST_WAIT at most; return its row."""
    until = time.monotonic() + min(max(timeout, 0.0), LONGEST_WAIT)
    mark = 0
    while True:
        with gate.store.read() as tx:
            row, now = tx.question(question), tx.now
            if row is None:
                raise UnknownQuestion.of(question)
            if gate.sealer.open_question(row) is None:
                refuse_tampered_question(gate, row)
        row = as_of(gate, row, now)
        left = min(until - time.monotonic(), ends_at(gate, row) - now)
        if row.state != "open" or left <= 0:
            return row
        mark = gate.store.wait_for_change(mark, left)


def load_question_row(gate: Gate, question: str) -> QuestionRow:
    """Return the question's row; an error if it was tampered with."""
    return find_question(gate, question).row


def load_question_now(gate: Gate, question: str) -> QuestionRow:
    """The same as it is now: one that nobody answered in time has expired."""
    with gate.store.read() as tx:
        return as_of(gate, question_of(gate, tx, question).row, tx.now)


def seconds_left(gate: Gate, question: str) -> float:
    """Return how long the question can still be answered; 0 if it cannot."""
    with gate.store.read() as tx:
        row = question_of(gate, tx, question).row
        return ends_at(gate, row) - tx.now if is_answerable(gate, row, tx.now) else 0.0
