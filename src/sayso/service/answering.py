"""Answering over HTTP: what the person saw is what is answered, and the token says who they are."""

from __future__ import annotations

from typing import Any

from sayso.core import words
from sayso.core.decision import Question
from sayso.core.digest import decode
from sayso.core.model import Call, Request
from sayso.core.policy import Policy
from sayso.doors.python.host import Said, request_for
from sayso.gate.answer import EditRefused, Stands, answer_items, answer_question, edit_and_allow
from sayso.gate.waiting import question_row
from sayso.policy.call_reading import command_argument
from sayso.service.endpoints import Context
from sayso.service.evaluated import EVALUATED
from sayso.service.evaluated import OPERATION as EVALUATED_OPERATION
from sayso.service.evaluated import TOOL as EVALUATED_TOOL
from sayso.service.problems import Refused
from sayso.service.shapes import AnswerBody, Answered
from sayso.service.signing import signing
from sayso.store.base import QuestionRow

MOST_REASON = 2_000
NO_COMMAND = "this call has no command to edit"
EDIT_ARGUMENTS = "edit its arguments"
ELSEWHERE = "only the program that asks can edit this call"
NOT_YOURS = "who asks, by which action and in which context cannot be edited"


def answer(context: Context) -> Answered:
    """Answer a question. The first answer stands; a later one is told whose it was, and changes nothing."""
    body: AnswerBody = context.body
    row = question_row(context.gate, context.parameters["question"])
    check_body(row, body)
    if row.state != "open":
        return Answered(row.id, row.state, row.answer, row.by, row.closed_at, yours=False)
    asked = context.door.question(row.id)
    stands = _given(context, asked, body)
    return Answered(stands.question, stands.state, stands.answer, stands.by, stands.at, stands.yours)


def check_body(row: QuestionRow, body: AnswerBody) -> None:
    """Refuse what is no answer, or one to something else than what is asked."""
    if body.digest is not None and body.digest != row.digest:
        said = words.wrong_digest(body.digest, row.digest)
        raise Refused(409, "stale", said, hint=words.where_digest_is(row.id))
    if (body.answer is None) == (body.items is None):
        raise Refused(422, "malformed", "give one answer, or one for each item")
    edits = body.edited is not None or body.command is not None
    if edits != (body.answer == "edit"):
        raise Refused(422, "malformed", 'edited arguments belong to the answer "edit", and to no other')
    if body.reason is not None and len(body.reason) > MOST_REASON:
        raise Refused(422, "malformed", f"a reason has {MOST_REASON:,} characters at most")


def _given(context: Context, asked: Question, body: AnswerBody) -> Stands:
    gate, proof = context.gate, signing(context, body)
    how: dict[str, Any] = {"by": context.token.name, "reason": body.reason, "seen": body.digest}
    if body.items is not None:
        return answer_items(gate, asked.id, body.items, signing=proof, **how)
    if body.answer == "edit":
        return edit_and_allow(gate, asked.id, edited(context, asked, body), signing=proof, **how)
    return answer_question(gate, asked.id, body.answer or "", signing=proof, **how)


def edited(context: Context, asked: Question, body: AnswerBody) -> Request:
    """The request for the edited call: by the same maker, with the same tool, read by the policy again."""
    request = asked.request
    call = request.call
    elsewhere = call.state is not None or request.workflow is not None
    if elsewhere or request.declared is None or call.schema == EVALUATED_OPERATION:
        raise EditRefused(ELSEWHERE, hint="deny it, and say why")
    arguments: dict[str, Any] = dict(decode(call.arguments)) if body.edited is None else dict(body.edited)
    if call.schema == EVALUATED_TOOL:
        arguments = _as_evaluated(call, arguments, body)
    elif call.schema:
        _check_fits(call, arguments, body)
    elif body.command is not None:
        _put_command(context.gate.policy, call, arguments, body)
    said = Said(request.declared, call.schema, call.folder, door=call.door)
    return request_for(
        context.door, request.session, call.tool, arguments, body.command, request.confidence, said
    )


def _put_command(policy: Policy, call: Call, arguments: dict[str, Any], body: AnswerBody) -> None:
    """The edited command goes into the argument that holds it; arguments that say otherwise are refused."""
    name = command_argument(call.tool, decode(call.arguments), policy, call.folder)
    if call.command is None or name is None:
        raise EditRefused(NO_COMMAND, hint=EDIT_ARGUMENTS)
    if body.edited is not None and arguments.get(name) != body.command:
        raise EditRefused("the command and the arguments say different things", hint="edit both alike")
    arguments[name] = body.command


def _as_evaluated(call: Call, arguments: dict[str, Any], body: AnswerBody) -> dict[str, Any]:
    """The edited arguments of an evaluated tool, for the same subject, action and context."""
    if body.command is not None:
        raise EditRefused(NO_COMMAND, hint=EDIT_ARGUMENTS)
    evaluated = decode(call.arguments)[EVALUATED]
    if arguments.get(EVALUATED, evaluated) != evaluated:
        raise EditRefused(NOT_YOURS, hint="deny it, and say why")
    return {**arguments, EVALUATED: evaluated}


def _check_fits(call: Call, arguments: dict[str, Any], body: AnswerBody) -> None:
    """A function of a program: what fits it is known there. Here, an edit changes values and no kinds."""
    if body.command is not None:
        raise EditRefused(NO_COMMAND, hint=EDIT_ARGUMENTS)
    _check_alike(decode(call.arguments), arguments)


def _check_alike(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Refuse other arguments than the call has, and values of another kind."""
    other = sorted(set(before) ^ set(after))
    if other:
        raise EditRefused(f"the call has no such argument, or needs it: {', '.join(map(repr, other))}")
    for name, value in before.items():
        if _kind(value) != _kind(after[name]):
            raise EditRefused(f"{name!r} is a {_kind(value)}, and stays one", hint="edit its value")


def _kind(value: object) -> str:
    """What it is in JSON, whole numbers told apart."""
    kinds = {bool: "boolean", int: "whole number", float: "number", str: "text", list: "list", dict: "map"}
    return kinds.get(type(value), "null")
