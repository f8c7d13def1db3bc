"""Evidence for suggestions: how people answered, call by call, and how often each permission was used.

Calls are the same only if tool, folder and every argument that counts are: what people said yes to in one
folder, or with other arguments, is not evidence for another. A question that was edited, or that cannot be
believed, counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sayso.core.deciding.titles import title_of
from sayso.core.decision import Question, operations_of
from sayso.core.digest import decode_canonical, encode_canonical
from sayso.core.errors import NotCanonical
from sayso.core.model import Call, Request, Risk
from sayso.core.policy import Policy
from sayso.gate.gate import Gate
from sayso.gate.questions.read import read_question
from sayso.reading.resolve import find_tool_entry
from sayso.store.contract import QuestionRow, Reader

PAGE = 500

CallKey = tuple[str, str, str, bytes, tuple[str, ...]]
"""Tool, folder, workspace, the arguments that count, and the operations."""


class Answers(msgspec.Struct):
    """How often people were asked about something, and what they said. `expired`: nobody answered in time."""

    asked: int = 0
    approved: int = 0
    denied: int = 0
    expired: int = 0
    edited: int = 0
    first_at: float = 0.0
    last_at: float = 0.0
    people: set[str] = set()
    agents: set[str] = set()

    @property
    def answered(self) -> int:
        """Count the questions that somebody answered; expired ones do not dilute refusals."""
        return self.approved + self.denied + self.edited

    def add(self, row: QuestionRow, agent: str) -> None:
        self.asked += 1
        self.agents.add(agent)
        self.first_at = min(self.first_at or row.opened_at, row.opened_at)
        self.last_at = max(self.last_at, row.opened_at)
        if row.state == "expired":
            self.expired += 1
        if row.state != "answered" or row.answer is None:
            return
        self.people.add(row.by or "")
        if row.answer == "deny":
            self.denied += 1
        elif row.edited is not None:
            self.edited += 1
        else:
            self.approved += 1


class CallAnswers(msgspec.Struct):
    """The answers to one call, made again and again. `risk` is the highest it was asked at."""

    request: Request
    risk: Risk
    answers: Answers

    @property
    def title(self) -> str:
        call = self.request.call
        return call.command_line or title_of(call)


class Evidence(msgspec.Struct):
    """The answers of a time, by call and by operation."""

    calls: dict[CallKey, CallAnswers]
    operations: dict[str, Answers]
    risks: dict[str, Risk]


def gather_evidence(gate: Gate, since: float) -> Evidence:
    """Count the answers to all questions opened since."""
    found = Evidence({}, {}, {})
    for row, question in _read_questions(gate, since):
        risk = max(question.risk, *(item.risk for item in question.items))
        for name in operations_of(question.items):
            found.operations.setdefault(name, Answers()).add(row, question.request.agent)
            found.risks[name] = max(risk, found.risks.get(name, Risk.LOW))
        key = find_call_key(question.request, gate.policy)
        if key is not None:
            one = found.calls.setdefault(key, CallAnswers(question.request, risk, Answers()))
            one.risk = max(one.risk, risk)
            one.answers.add(row, question.request.agent)
    return found


def find_call_key(request: Request, policy: Policy) -> CallKey | None:
    """Return what calls have in common that are the same; None for one whose arguments nobody can compare."""
    call = request.call
    try:
        counting = find_counting_arguments(call, policy)
        spelled = encode_canonical(counting)
    except NotCanonical:
        return None
    operations = tuple(sorted({one.name for one in request.operations}))
    return call.tool, call.folder, call.workspace, spelled, operations


def find_counting_arguments(call: Call, policy: Policy) -> dict[str, object]:
    """Return the arguments of a call without those that its tool's entry lists as harmless."""
    args = decode_canonical(call.arguments)
    if not isinstance(args, dict):
        raise NotCanonical("the arguments are not named")
    entry, _ = find_tool_entry(call.tool, args, policy, folder=call.folder)
    harmless = set() if entry is None or entry.command_from is None else set(entry.ignore)
    return {name: value for name, value in args.items() if name not in harmless}


def _read_questions(gate: Gate, since: float) -> Iterator[tuple[QuestionRow, Question]]:
    """Yield every question about a call opened since, with its row. What was tampered with is left out."""
    after = ""
    while True:
        with gate.store.read() as tx:
            page = tx.questions(state=None, after=after, limit=PAGE)
            read = [_read(gate, tx, row) for row in page if row.opened_at >= since]
        yield from (one for one in read if one is not None and one[1].claim is None)
        if not page:
            return
        after = page[-1].id


def _read(gate: Gate, tx: Reader, row: QuestionRow) -> tuple[QuestionRow, Question] | None:
    question = read_question(gate, tx, row)
    return None if question is None else (row, question)
