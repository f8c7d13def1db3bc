"""People for the tests: a surface on which somebody answers at once, and what they were asked."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

import msgspec

from sayso import Sayso
from sayso.core.audit.notices import Notice
from sayso.core.decision import Question
from sayso.core.digest import decode_canonical
from sayso.gate.ledger.attempts import load_attempt
from sayso.gate.questions.surface import AskedQuestion, Reply
from sayso.store.contract import CallRow, QuestionRow
from tests.support.saying import SayingPerson


class Person(SayingPerson):
    """Answers each question with the next of these; once there are no more, with silence."""

    def __init__(self, *answers: str | Reply, here: bool = True) -> None:
        super().__init__(self._next_answer)
        self.here = here
        self.questions: list[Question] = []
        self.notices: list[str] = []
        self.sees = threading.Semaphore(0)
        self._answers: deque[str | Reply] = deque(answers)

    def says(self, *answers: str | Reply) -> Person:
        self._answers.extend(answers)
        return self

    def able(self) -> bool:
        return self.here

    def _next_answer(self, asked: AskedQuestion) -> Reply | None:
        self.questions.append(asked.question)
        answer = self._answers.popleft() if self._answers else None
        self.sees.release()
        if answer is None:
            return None
        reply = answer if isinstance(answer, Reply) else Reply(answer, by="ana")
        return msgspec.structs.replace(reply, seen=asked.question.request.digest)

    def tell(self, notice: Notice, key: str) -> None:
        self.notices.append(notice.text)

    def waits_to_be_asked(self) -> None:
        """Until the next question is in front of the person."""
        assert self.sees.acquire(timeout=180)

    @property
    def asked(self) -> list[str]:
        """The operations asked about so far, a question a line."""
        return [" ".join(item.operation for item in question.items) for question in self.questions]


def sends(gate: Sayso) -> list[str]:
    """A capability `send` in whichever process, and whom it has written to."""
    sent: list[str] = []

    @gate.capability()
    @gate.requires_consent("mail.send", risk="moderate")
    def send(to: str) -> str:
        sent.append(to)
        return f"sent to {to}, {len(sent)}"

    return sent


def edit(arguments: Mapping[str, Any]) -> Reply:
    return Reply("edit", by="ana", edited=arguments)


def calls(gate: Sayso) -> list[CallRow]:
    """The whole ledger, oldest first."""
    with gate.gate.store.read() as tx:
        return sorted(tx.every(CallRow), key=lambda row: row.at)


def arguments(gate: Sayso, row: CallRow) -> Any:
    """The arguments a call stands with in the ledger."""
    return decode_canonical(load_attempt(gate.gate, row.id, row.session).record.request.call.arguments)


def states(gate: Sayso) -> dict[str, str]:
    """How the newest call of each tool stands."""
    return {row.tool: row.state for row in calls(gate)}


def questions(gate: Sayso, state: str | None = None) -> list[QuestionRow]:
    with gate.gate.store.read() as tx:
        return [row for row in tx.every(QuestionRow) if state in (None, row.state)]


def events(gate: Sayso, session: str | None = None) -> list[str]:
    with gate.gate.store.read() as tx:
        rows = tx.entries("main", limit=100_000)
    return [row.event for row in rows if session in (None, row.session)]


def answer_open(gate: Sayso, answer: str = "once") -> None:
    """Answer the only open question, as an operator does from elsewhere."""
    (row,) = questions(gate, "open")
    assert gate.answer(row.id, answer, by="ana", seen=row.digest).yours
