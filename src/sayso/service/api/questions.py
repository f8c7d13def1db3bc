"""Questions: listed, looked at, explained; put in the conversation by a host; answered by operators alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import msgspec

from sayso.gate.gate import Gate
from sayso.gate.questions.expiry import ends_at
from sayso.gate.questions.explain import why_asked
from sayso.gate.questions.read import Read, UnknownQuestion, find_question, questions_in
from sayso.gate.sessions.messages import put_question
from sayso.service.api.answers import answer
from sayso.service.api.as_shapes import tell_question, with_coverage
from sayso.service.api.edits import preview_edit
from sayso.service.api.shapes import AnswerBody, Answered, EditBody, EditedTold, QuestionTold
from sayso.service.http.callers import own_session, owner_seen, sees
from sayso.service.http.endpoints import ANY, HOST, OPERATORS, Context, Endpoint, Paged
from sayso.service.http.problems import Refused
from sayso.store.contract import QuestionRow, QuestionState, Reader

STATES = ("open", "answered", "expired", "cancelled", "any")
PAGE = 50
MOST = 200


class Whose(NamedTuple):
    """Of which session, or of whose sessions, questions are listed; None for all."""

    session: str | None
    owner: str | None


class WhyTold(msgspec.Struct, frozen=True):
    """The decision made again as things stand now, one check a line."""

    question: str
    why: str


class ShownTold(msgspec.Struct, frozen=True):
    question: str
    text: str


def list_questions(context: Context) -> Paged:
    """A page of questions, oldest first. What each answer would have covered is told one by one."""
    state, limit = context.query.get("state", "open"), context.whole("limit", PAGE, 1, MOST)
    if state not in STATES:
        raise Refused(400, "malformed", f"there is no state {state!r}", hint=f"use: {', '.join(STATES)}")
    wanted = context.query.get("session")
    whose = Whose(None if wanted is None else own_session(context, wanted), owner_seen(context))
    with context.gate.store.read() as tx:
        rows = _page(context.gate, tx, whose, state, context.query.get("after", ""), limit)
        told = [tell_question(context, tx, one) for one in questions_in(context.gate, tx, rows)]
    full = len(rows) == limit
    return Paged(told, {**context.query, "after": rows[-1].id} if full else None)


def look(context: Context) -> QuestionTold:
    found = _own(context)
    with context.gate.store.read() as tx:
        told = tell_question(context, tx, found)
    return with_coverage(context.gate, told, found.question)


def explain(context: Context) -> WhyTold:
    found = _own(context)
    return WhyTold(found.row.id, why_asked(context.gate, found.question))


def show(context: Context) -> ShownTold:
    """Put the question in the conversation, for the user's next message to answer."""
    name = _own(context).row.id
    return ShownTold(name, put_question(context.gate, name))


def _page(gate: Gate, tx: Reader, whose: Whose, state: str, after: str, limit: int) -> list[QuestionRow]:
    """So many rows that are in this state now; one that nobody answered in time is not open any more."""
    found: list[QuestionRow] = []
    for row in _rows(tx, whose, state, after, limit):
        if state != "open" or tx.now < ends_at(gate, row):
            found.append(row)
            if len(found) == limit:
                break
    return found


def _rows(tx: Reader, whose: Whose, state: str, after: str, limit: int) -> Iterator[QuestionRow]:
    wanted = None if state == "any" else cast("QuestionState", state)
    session, owner = whose
    while page := tx.questions(session, state=wanted, owner=owner, after=after, limit=limit):
        yield from page
        after = page[-1].id


def _own(context: Context) -> Read:
    """The question the path names, if it exists for this caller."""
    name = context.parameters["question"]
    with context.gate.store.read() as tx:
        row = tx.question(name)
    if row is None or not sees(context, row.session):
        raise UnknownQuestion(f"there is no question {name}")
    return find_question(context.gate, name)


LISTING: dict[str, str] = {
    "state": f"One of {', '.join(STATES)}; open unless told.",
    "session": "Only those of this session.",
    "after": "Only those after this question.",
    "limit": f"How many at most, up to {MOST}.",
}
RESULT: Any = list[QuestionTold]
ENDPOINTS = (
    Endpoint("GET", "/v1/questions", ANY, "Questions", list_questions, result=RESULT, query=LISTING),
    Endpoint("GET", "/v1/questions/{question}", ANY, "One question, whole", look, result=QuestionTold),
    Endpoint("GET", "/v1/questions/{question}/why", ANY, "Why it is asked", explain, result=WhyTold),
    Endpoint(
        "POST",
        "/v1/questions/{question}/show",
        HOST,
        "Put it in the conversation",
        show,
        result=ShownTold,
    ),
    Endpoint(
        "POST",
        "/v1/questions/{question}/edited",
        OPERATORS,
        "How an edited call would be decided",
        preview_edit,
        EditBody,
        EditedTold,
    ),
    Endpoint("POST", "/v1/questions/{question}/answer", OPERATORS, "Answer it", answer, AnswerBody, Answered),
)
