"""What AuthZEN asks about, as a request of ours: subject, action, resource and context become a call.

Who asks, in which session, comes from the token and a header. Nothing in a body says so: a subject is data.
"""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any

import msgspec

from sayso.core.decision import Decision
from sayso.core.errors import MalformedRequest
from sayso.core.model import Declaration, Operation, Request, Verdict
from sayso.gate.deciding.request import CallDeclaration, request_in_session
from sayso.gate.questions.evaluated_calls import OPERATION as EVALUATED_OPERATION
from sayso.gate.questions.evaluated_calls import TOOL as EVALUATED_TOOL
from sayso.gate.questions.evaluated_calls import tool_arguments
from sayso.gate.questions.explain import preview_decision
from sayso.service.api.call_body import HTTP
from sayso.service.http.callers import session_for
from sayso.service.http.endpoints import Context
from sayso.service.http.problems import RequestRefused
from sayso.wire import SESSION_HEADER

TOOL = "tool"
"""The type of resource that is a tool of the agent's, called with the resource's properties."""
CALLS = ("call", "tools/call")
"""What can be done with a tool."""
APPROVAL = "approval"
"""The member of a context in which the access request profile sends an approval around."""
APPROVAL_MEMBERS = {"id", "approved_at", "approved_until"}

Name = Annotated[str, msgspec.Meta(min_length=1)]


class Subject(msgspec.Struct, frozen=True):
    """Who the enforcement point says it is about. Shown, and data for `when`; it is nobody's authority."""

    type: Name
    id: Name
    properties: dict[str, Any] = {}


class Action(msgspec.Struct, frozen=True):
    """The operation, whole (`email.send`) or as an action of the resource's type; or the call of a tool."""

    name: Name
    properties: dict[str, Any] = {}


class Resource(msgspec.Struct, frozen=True):
    """What it is done to; of type `tool`, the tool that is called, with its arguments."""

    type: Name
    id: Name
    properties: dict[str, Any] = {}


class EvaluationBody(msgspec.Struct, frozen=True):
    """May this subject do this to that? Fields that are not known are ignored."""

    subject: Subject
    action: Action
    resource: Resource
    context: dict[str, Any] = {}

    @property
    def content(self) -> dict[str, Any]:
        """Return who would do what to what, in which context: what is decided by, shown and approved."""
        told: dict[str, Any] = msgspec.to_builtins(
            {
                "subject": self.subject,
                "action": self.action,
                "resource": self.resource,
                "context": _without_approval(self.context),
            }
        )
        return told


def evaluation_session(context: Context) -> str:
    """The session to decide in: an agent's own, or the one a header names."""
    if context.session is None and context.token.role != "agent":
        raise RequestRefused(
            400, "malformed", "no session is named", hint=f"open one; name it in {SESSION_HEADER}"
        )
    return session_for(context, context.session)


def request_from_evaluation(context: Context, session: str, body: EvaluationBody) -> Request:
    """The request for all that was evaluated: what an access request asks for, and its approval allows."""
    if _is_tool(body.resource.type):
        return _tool_request(context, session, body)
    return _operation_request(context, session, body)


def decide_evaluation(context: Context, session: str, body: EvaluationBody) -> tuple[Request, Decision]:
    """The request for all that was evaluated, and what would be decided now.

    Whatever allows the plain call of a tool permits its evaluation, too. The reverse does not hold, and a
    denial of either is one.
    """
    request = request_from_evaluation(context, session, body)
    decisions = [preview_decision(context.gate, request)]
    if _is_tool(body.resource.type):
        properties = body.resource.properties
        plain = request_in_session(
            context.gate, session, body.resource.id, properties, None, 0.0, CallDeclaration(door=HTTP)
        )
        decisions.append(preview_decision(context.gate, plain))
    for verdict in (Verdict.DENY, Verdict.ALLOW):
        for decision in decisions:
            if decision.verdict is verdict:
                return request, decision
    return request, decisions[0]


def _is_tool(kind: str) -> bool:
    plain = unicodedata.normalize("NFKC", kind).casefold().strip()
    if plain == TOOL and kind != TOOL:
        raise MalformedRequest(f"{kind!r} is not a type of resource", hint="write tool")
    return kind == TOOL


def _tool_request(context: Context, session: str, body: EvaluationBody) -> Request:
    """Return what a call of this tool would be, with all that was evaluated among its arguments."""
    if body.action.name not in CALLS:
        raise MalformedRequest(
            f"{body.action.name!r} cannot be done with a tool", hint=f"use one of: {', '.join(CALLS)}"
        )
    args = tool_arguments(body.resource.properties, body.content)
    said = CallDeclaration(schema=EVALUATED_TOOL, door=HTTP)
    return request_in_session(context.gate, session, body.resource.id, args, None, 0.0, said)


def _operation_request(context: Context, session: str, body: EvaluationBody) -> Request:
    """Return what the policy says a tool of that name does; if it has none, the operation of that name."""
    name = _operation_name(body)
    said = CallDeclaration(Declaration((Operation(name),), "name"), EVALUATED_OPERATION, door=HTTP)
    return request_in_session(context.gate, session, name, body.content, None, 0.0, said)


def _operation_name(body: EvaluationBody) -> str:
    name = body.action.name
    return name if "." in name else f"{body.resource.type}.{name}"


def _without_approval(context: dict[str, Any]) -> dict[str, Any]:
    """The context but for an approval as the profile writes it, which is not data and allows nothing."""
    if not _is_profile_approval(context.get(APPROVAL)):
        return context
    return {name: value for name, value in context.items() if name != APPROVAL}


def _is_profile_approval(value: object) -> bool:
    if not isinstance(value, dict) or not value.keys() <= APPROVAL_MEMBERS:
        return False
    return all(isinstance(text, str) for text in value.values())
