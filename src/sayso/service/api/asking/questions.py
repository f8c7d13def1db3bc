"""Questions: listed, looked at, explained; put in the conversation by a host; answered by operators alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import msgspec

from sayso.gate.gate import Gate
from sayso.gate.questions.expiry import ends_at
from sayso.gate.questions.explain import describe_why_asked
from sayso.gate.questions.ratings import Rating, rate_question
from sayso.gate.questions.read import Read, UnknownQuestion, find_question, questions_in
from sayso.gate.sessions.messages import ask_in_conversation
from sayso.service.api.asking.answers import post_answer
from sayso.service.api.asking.edits import post_edit_preview
from sayso.service.api.asking.question_details import add_coverage, describe_question
from sayso.service.http.callers import can_see, own_session, visible_owner
from sayso.service.http.endpoints import ANY, HOST, OPERATORS, Context, Endpoint, Paged
from sayso.service.http.problems import RequestRefused
from sayso.service.shapes import AnswerBody, AnswerResult, EditBody, EditPreview, QuestionDetails
from sayso.store.contract import QuestionRow, QuestionState, Reader

STATES = ("open", "answered", "expired", "cancelled", "any")
PAGE = 50
MOST = 200


class QuestionFilter(NamedTuple):
    """Of which session, or of whose sessions, questions are listed; None for all."""

    session: str | None
    owner: str | None


class QuestionReason(msgspec.Struct, frozen=True):
    """The decision made again as of now, one check a line."""

    question: str
    why: str


class RatingBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rating: was the question clear to the person who answered it?"""

    clear: bool


class ShownQuestion(msgspec.Struct, frozen=True):
    question: str
    text: str


def list_questions(context: Context) -> Paged:
    """A page of questions, oldest first. What each answer would have covered is told one by one."""
    state, limit = context.query.get("state", "open"), context.whole_number("limit", PAGE, 1, MOST)
    if state not in STATES:
        raise RequestRefused(
            400, "malformed", f"there is no state {state!r}", hint=f"use: {', '.join(STATES)}"
        )
    wanted = context.query.get("session")
    whose = QuestionFilter(None if wanted is None else own_session(context, wanted), visible_owner(context))
    with context.gate.store.read() as tx:
        rows = _page(context.gate, tx, whose, state, context.query.get("after", ""), limit)
        told = [describe_question(context, tx, one) for one in questions_in(context.gate, tx, rows)]
    full = len(rows) == limit
    return Paged(told, {**context.query, "after": rows[-1].id} if full else None)


def get_question(context: Context) -> QuestionDetails:
    found = _find_own(context)
    with context.gate.store.read() as tx:
        told = describe_question(context, tx, found)
    return add_coverage(context.gate, told, found.question)


def get_question_reason(context: Context) -> QuestionReason:
    found = _find_own(context)
    return QuestionReason(found.row.id, describe_why_asked(context.gate, found.question))


def post_question_show(context: Context) -> ShownQuestion:
    """Put the question in the conversation, for the user's next message to answer."""
    name = _find_own(context).row.id
    return ShownQuestion(name, ask_in_conversation(context.gate, name))


def post_rating(context: Context) -> Rating:
    """Rate an answered question. The first rating of each person counts."""
    body: RatingBody = context.body
    name = context.parameters["question"]
    return rate_question(context.gate, name, clear=body.clear, by=context.token.name)


def _page(
    gate: Gate, tx: Reader, whose: QuestionFilter, state: str, after: str, limit: int
) -> list[QuestionRow]:
    """So many rows that are in this state now; one that nobody answered in time is not open any more."""
    found: list[QuestionRow] = []
    for row in _rows(tx, whose, state, after, limit):
        if state != "open" or tx.now < ends_at(gate, row):
            found.append(row)
            if len(found) == limit:
                break
    return found


def _rows(tx: Reader, whose: QuestionFilter, state: str, after: str, limit: int) -> Iterator[QuestionRow]:
    wanted = None if state == "any" else cast("QuestionState", state)
    session, owner = whose
    while page := tx.questions(session, state=wanted, owner=owner, after=after, limit=limit):
        yield from page
        after = page[-1].id


def _find_own(context: Context) -> Read:
    """The question the path names, if it exists for this caller."""
    name = context.parameters["question"]
    with context.gate.store.read() as tx:
        row = tx.question(name)
    if row is None or not can_see(context, row.session):
        raise UnknownQuestion.of(name)
    return find_question(context.gate, name)


LISTING: dict[str, str] = {
    "state": f"One of {', '.join(STATES)}; open unless told.",
    "session": "Only those of this session.",
    "after": "Only those after this question.",
    "limit": f"How many at most, up to {MOST}.",
}
RESULT: Any = list[QuestionDetails]
ENDPOINTS = (
    Endpoint("GET", "/v1/questions", ANY, "List questions", list_questions, result=RESULT, query=LISTING),
    Endpoint("GET", "/v1/questions/{question}", ANY, "Get a question", get_question, result=QuestionDetails),
    Endpoint(
        "GET",
        "/v1/questions/{question}/why",
        ANY,
        "Explain why a question is asked",
        get_question_reason,
        result=QuestionReason,
    ),
    Endpoint(
        "POST",
        "/v1/questions/{question}/show",
        HOST,
        "Put a question into the conversation",
        post_question_show,
        result=ShownQuestion,
    ),
    Endpoint(
        "POST",
        "/v1/questions/{question}/edited",
        OPERATORS,
        "Decide an edited call, without effect",
        post_edit_preview,
        EditBody,
        EditPreview,
    ),
    Endpoint(
        "POST",
        "/v1/questions/{question}/answer",
        OPERATORS,
        "Answer a question",
        post_answer,
        AnswerBody,
        AnswerResult,
    ),
    Endpoint(
        "POST",
        "/v1/questions/{question}/rating",
        OPERATORS,
        "Say whether a question was clear",
        post_rating,
        RatingBody,
        Rating,
    ),
)
