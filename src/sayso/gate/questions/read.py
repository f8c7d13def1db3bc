"""Reading questions from rows, and only from rows that were not tampered with.

- This is the only way from a row to its question. So everything people see was asked by this gate, and the
  digest beside it is computed again from what is shown.
- A row that was changed or reopened outside Sayso is shown to nobody, and reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NoReturn

import msgspec

from sayso.core.decision import Question
from sayso.core.digest import action_digest, call_digest
from sayso.core.errors import SaysoError
from sayso.core.model import Request
from sayso.gate import words
from sayso.gate.gate import Gate
from sayso.gate.rows.row_seals import SessionState
from sayso.gate.rows.sessions import load_kept
from sayso.gate.rows.tampering import Tampered
from sayso.store.contract import QuestionRow, Reader

LET_ASK = "let the agent ask again"


class UnknownQuestion(SaysoError):
    code = "unknown_question"
    advice = "`sayso inbox` lists the open questions"

    @classmethod
    def of(cls, question: str) -> UnknownQuestion:
        return cls(f"there is no question {question}")


class TamperedQuestion(Tampered, UnknownQuestion):
    """The row of the question is not as this gate left it. It is neither shown nor answered."""

    code = "tampered_question"


class Read(msgspec.Struct, frozen=True):
    """A question, and the row it was read from: both as this gate left them."""

    row: QuestionRow
    question: Question


def find_question(gate: Gate, name: str) -> Read:
    """Return the question of this name; an error if there is none, or it was tampered with."""
    with gate.store.read() as tx:
        return question_of(gate, tx, name)


def question_of(gate: Gate, tx: Reader, name: str) -> Read:
    """The same in a transaction that does more."""
    row = tx.question(name) if name.isprintable() else None  # no database is asked for what it cannot hold
    if row is None:
        raise UnknownQuestion.of(name)
    question = read_question(gate, tx, row)
    if question is None:
        raise TamperedQuestion(finding_of(row), hint=LET_ASK)
    return Read(_as_it_is_now(row, tx.now), question)


def questions_in(gate: Gate, tx: Reader, rows: Iterable[QuestionRow]) -> Iterator[Read]:
    """Return the questions in these rows. Tampered ones are left out, and reported once."""
    sessions: dict[str, SessionState | None] = {}
    for row in rows:
        if row.session not in sessions:
            sessions[row.session] = load_kept(tx, gate.sealer, row.session)
        question = _open_or_report(gate, tx, row, sessions[row.session])
        if question is not None:
            yield Read(_as_it_is_now(row, tx.now), question)


def read_question(gate: Gate, tx: Reader, row: QuestionRow) -> Question | None:
    """Return the question in this row; None if it was tampered with, which is reported once."""
    return _open_or_report(gate, tx, row, load_kept(tx, gate.sealer, row.session))


def _open_or_report(gate: Gate, tx: Reader, row: QuestionRow, kept: SessionState | None) -> Question | None:
    question = _open_row(gate, tx, row, kept)
    if question is None:
        gate.sealer.doubts.note_once(finding_of(row), row.session)
    return question


def refuse_tampered_question(gate: Gate, row: QuestionRow) -> NoReturn:
    """Refuse to use a question that was tampered with. Always reported."""
    gate.sealer.doubts.note(finding_of(row), row.session)
    raise TamperedQuestion(finding_of(row), hint=LET_ASK)


def finding_of(row: QuestionRow) -> str:
    return words.changed_or_reopened(row.id)


def _open_row(gate: Gate, tx: Reader, row: QuestionRow, kept: SessionState | None) -> Question | None:
    """Return the question in the row, if the whole row is untampered and its session names it."""
    question = gate.sealer.open_question(row, epoch=None if kept is None else kept.epoch)
    if question is None or not _is_digested(question.request):
        return None
    if row.state != "open" or tx.now >= row.expires_at:
        return question
    return question if kept is not None and row.id in kept.questions else None


def _as_it_is_now(row: QuestionRow, now: float) -> QuestionRow:
    """The row; expired once its time is over, though nobody has closed it yet.

    Its session does not name it any more by then, so nobody could tell it from a closed one restored as open.
    """
    over = row.state == "open" and now >= row.expires_at
    return msgspec.structs.replace(row, state="expired") if over else row


def _is_digested(request: Request) -> bool:
    """Return whether the digest of the request is that of the call in it."""
    names = [operation.name for operation in request.operations]
    made = call_digest(request.call, names, request.agent, request.session)
    return (made, action_digest(request.call)) == (request.digest, request.arguments_digest)
