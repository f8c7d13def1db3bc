"""Editing a call over HTTP: the arguments are what is edited, and the policy decides them again.

- The command of a call is one of its arguments. There is no second place to change it.
- Of a function of a program, values can be edited; its types decide what fits, as far as it declared them.
- A preview decides the edited call without any effect, so that people see its risk before they allow it.
"""

from __future__ import annotations

from typing import Any

from sayso.core import words
from sayso.core.deciding.titles import title_of
from sayso.core.decision import Question, operations_of
from sayso.core.digest import decode_canonical
from sayso.core.model import Call, Request, Verdict
from sayso.core.policy import Policy
from sayso.gate.deciding.request import CallDeclaration, request_in_session
from sayso.gate.people.passkeys import needs_proof
from sayso.gate.questions.answer import EditRefused, check_edit
from sayso.gate.questions.argument_types import find_misfit, has_type
from sayso.gate.questions.editable import reason_not_editable
from sayso.gate.questions.evaluated_calls import EVALUATED
from sayso.gate.questions.evaluated_calls import TOOL as EVALUATED_TOOL
from sayso.gate.questions.explain import describe_reason, preview_decision
from sayso.gate.questions.read import find_question
from sayso.gate.words import argument_names, other_arguments
from sayso.reading.call import command_argument
from sayso.service.http.endpoints import Context
from sayso.service.shapes import AnswerBody, EditBody, EditPreview

NO_COMMAND = "this call has no command to edit"
EDIT_ARGUMENTS = "edit its arguments"
NOT_YOURS = "who asks, by which action and in which context cannot be edited"


def post_edit_preview(context: Context) -> EditPreview:
    """Decide the edited call as it would be decided now. Nothing is allowed, used up or written."""
    body: EditBody = context.body
    gate = context.gate
    asked = find_question(gate, context.parameters["question"]).question
    instead = request_from_edit(context, asked, AnswerBody(answer="edit", edited=body.edited))
    check_edit(asked, instead)
    decision = preview_decision(gate, instead)
    worst = max(decision.items, key=lambda item: item.risk)
    denied = decision.verdict is Verdict.DENY
    with gate.store.read() as tx:
        signed = needs_proof(gate, tx, max(asked.risk, decision.risk))
    return EditPreview(
        digest=instead.digest,
        denied=denied,
        risk=decision.risk.word,
        why=describe_reason(decision),
        rule=decision.rule if denied else worst.ruling.rule,
        command=instead.call.command,
        arguments=decode_canonical(instead.call.arguments),
        target=instead.call.target,
        operations=operations_of(decision.items),
        because=tuple(dict.fromkeys(piece for one in instead.operations for piece in one.because)),
        signed=signed,
        title=title_of(instead.call),
    )


def request_from_edit(context: Context, asked: Question, body: AnswerBody) -> Request:
    """The request for the edited call: by the same maker, with the same tool, read by the policy again."""
    request, why_not = asked.request, reason_not_editable(asked, elsewhere=True)
    call = request.call
    if why_not is not None or request.declared is None:
        raise EditRefused(why_not or words.EDITED_BY_PROGRAM, hint="deny it, and say why")
    arguments: dict[str, Any] = (
        dict(decode_canonical(call.arguments)) if body.edited is None else dict(body.edited)
    )
    if call.schema == EVALUATED_TOOL:
        arguments = _as_evaluated(call, arguments, body)
    elif body.command is not None:
        _replace_command(context.gate.policy, call, arguments, body)
    if call.schema != EVALUATED_TOOL and (call.schema or request.declared.parameters):
        _check_fits(call, request.declared.parameters, arguments)
    said = CallDeclaration(request.declared, call.schema, call.folder, door=call.door)
    return request_in_session(
        context.gate, request.session, call.tool, arguments, body.command, request.confidence, said
    )


def _replace_command(policy: Policy, call: Call, arguments: dict[str, Any], body: AnswerBody) -> None:
    """The edited command goes into the argument that holds it; arguments that say otherwise are refused."""
    name = command_argument(call.tool, decode_canonical(call.arguments), policy, call.folder)
    if call.command is None or name is None or call.schema:
        raise EditRefused(NO_COMMAND, hint=EDIT_ARGUMENTS)
    if body.edited is not None and arguments.get(name) != body.command:
        raise EditRefused("the command and the arguments say different things", hint="edit both alike")
    arguments[name] = body.command


def _as_evaluated(call: Call, arguments: dict[str, Any], body: AnswerBody) -> dict[str, Any]:
    """The edited arguments of an evaluated tool, for the same subject, action and context."""
    if body.command is not None:
        raise EditRefused(NO_COMMAND, hint=EDIT_ARGUMENTS)
    evaluated = decode_canonical(call.arguments)[EVALUATED]
    if arguments.get(EVALUATED, evaluated) != evaluated:
        raise EditRefused(NOT_YOURS, hint="deny it, and say why")
    return {**arguments, EVALUATED: evaluated}


def _check_fits(call: Call, parameters: str, arguments: dict[str, Any]) -> None:
    """A function of a program: an argument takes what its program declared; without that, no other kind."""
    before = decode_canonical(call.arguments)
    _check_alike(before, arguments, parameters)
    misfit = find_misfit(parameters, before, arguments)
    if misfit is not None:
        raise EditRefused(misfit, hint="that is what the function declares")


def _check_alike(before: dict[str, Any], after: dict[str, Any], parameters: str) -> None:
    """Refuse other arguments than the call has, and values of another kind where no type is declared."""
    if set(before) != set(after):
        raise EditRefused(
            other_arguments(set(after) - set(before), set(before) - set(after)),
            hint="send every argument of the call, and no others",
        )
    for name, value in before.items():
        if not _same_kind(value, after[name]) and not has_type(parameters, before, name):
            raise EditRefused(
                f"{argument_names([name])} is a {_kind(value)}, and stays one", hint="edit its value"
            )


def _same_kind(before: object, after: object) -> bool:
    """Return whether what takes the one takes the other: what takes fractions takes whole numbers."""
    return _kind(before) == _kind(after) or (_kind(before), _kind(after)) == ("number", "whole number")


def _kind(value: object) -> str:
    """Return the JSON type, with integers as a type of their own."""
    kinds = {bool: "boolean", int: "whole number", float: "number", str: "text", list: "list", dict: "map"}
    return kinds.get(type(value), "null")
