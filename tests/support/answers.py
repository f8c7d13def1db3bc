"""Answers of somebody who was shown the whole call: the same functions, with the digest of what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sayso.core.model import Request
from sayso.gate.gate import Gate
from sayso.gate.questions import answer
from sayso.gate.questions.answer import QuestionStanding


def answer_question(gate: Gate, question: str, given: str, **how: Any) -> QuestionStanding:
    return answer.answer_question(gate, question, given, seen=digest_of(gate, question), **how)


def answer_items(gate: Gate, question: str, given: Mapping[str, str], **how: Any) -> QuestionStanding:
    return answer.answer_items(gate, question, given, seen=digest_of(gate, question), **how)


def edit_and_allow(gate: Gate, question: str, edited: Request, **how: Any) -> QuestionStanding:
    return answer.edit_and_allow(gate, question, edited, seen=digest_of(gate, question), **how)


def digest_of(gate: Gate, question: str) -> str:
    """Of the call the question is about; of nothing, if there is no such question."""
    with gate.store.read() as tx:
        row = tx.question(question)
    return "" if row is None else row.digest
