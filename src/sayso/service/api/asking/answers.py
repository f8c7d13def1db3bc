"""Answering over HTTP: what the person saw is what is answered, and the token says who they are."""

from __future__ import annotations

from typing import Any

from sayso.core import words
from sayso.core.decision import Question
from sayso.gate.questions.answer import QuestionStanding, answer_items, answer_question, edit_and_allow
from sayso.gate.questions.read import find_question
from sayso.service.api.asking.edits import request_from_edit
from sayso.service.api.asking.signed_answers import signing_from_body
from sayso.service.http.callers import answerer_of
from sayso.service.http.endpoints import Context
from sayso.service.http.problems import RequestRefused
from sayso.service.shapes import AnswerBody, AnswerResult
from sayso.store.contract import QuestionRow

MOST_REASON = 2_000


def post_answer(context: Context) -> AnswerResult:
    """Answer a question. The first answer counts; a later one is told whose it was, and changes nothing."""
    body: AnswerBody = context.body
    found = find_question(context.gate, context.parameters["question"])
    row = found.row
    check_answer_body(row, body)
    if row.state != "open":
        return AnswerResult(row.id, row.state, row.answer, row.by, row.closed_at, yours=False)
    stands = _give_answer(context, found.question, body)
    return AnswerResult(
        stands.question, stands.state, stands.answer, stands.by, stands.at, stands.yours, stands.missing
    )


def check_answer_body(row: QuestionRow, body: AnswerBody) -> None:
    """Refuse what is not an answer, or one to something else than what is asked."""
    if body.digest is not None and body.digest != row.digest:
        said = words.wrong_digest_reason(body.digest, row.digest)
        raise RequestRefused(409, "stale", said, hint=words.where_digest_is(row.id))
    if (body.answer is None) == (body.items is None):
        raise RequestRefused(422, "malformed", "give one answer, or one for each item")
    edits = body.edited is not None or body.command is not None
    if edits != (body.answer == "edit") or (body.edited_digest is not None and not edits):
        raise RequestRefused(
            422, "malformed", 'edited arguments belong to the answer "edit", and to no other'
        )
    if body.break_glass and (body.answer != "once" or not body.reason):
        raise RequestRefused(422, "malformed", "breaking the glass allows once, and needs a reason")
    if body.reason is not None and len(body.reason) > MOST_REASON:
        raise RequestRefused(422, "malformed", f"a reason has {MOST_REASON:,} characters at most")


def _give_answer(context: Context, asked: Question, body: AnswerBody) -> QuestionStanding:
    gate, proof = context.gate, signing_from_body(context, body)
    how: dict[str, Any] = {"by": context.token.name, "reason": body.reason, "seen": body.digest}
    how["who"] = answerer_of(context)
    if body.items is not None:
        return answer_items(gate, asked.id, body.items, signing=proof, **how)
    if body.answer == "edit":
        instead = request_from_edit(context, asked, body)
        return edit_and_allow(gate, asked.id, instead, signing=proof, seen_edited=body.edited_digest, **how)
    glass = body.break_glass
    return answer_question(gate, asked.id, body.answer or "", signing=proof, glass=glass, **how)
