"""What AuthZEN asks about, as a request of ours: subject, action, resource and context become a call.

Who asks, in which session, comes from the token and a header. Nothing in a body says so: a subject is data.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Annotated, Any

import msgspec

from sayso.core.digest import canonical
from sayso.core.errors import MalformedRequest
from sayso.core.model import Operation, Request
from sayso.doors.python.embedded import origin_of
from sayso.doors.python.host import request_for
from sayso.gate.request import make_call, make_request
from sayso.policy.resolve import entry_for, operations_for, target_for, with_content
from sayso.service.callers import session_for
from sayso.service.endpoints import Context
from sayso.service.problems import Refused

TOOL = "tool"
"""The type of resource that is a tool of the agent's, called with the resource's properties."""
CALLS = ("call", "tools/call")
"""What can be done with a tool."""
SCHEMA = "authzen/1"
"""Marks calls that stand for an operation somebody else carries out: no tool of ours is run with them."""
MACHINERY = ("access_request", "approval", "evaluated_at", "evaluation_id", "reason")
"""Members of a context that the access request profile sends around: no data for the policy."""

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
    def said(self) -> dict[str, Any]:
        """Who would do what to what."""
        told: dict[str, Any] = msgspec.to_builtins(
            {"subject": self.subject, "action": self.action, "resource": self.resource}
        )
        return told


def session_asked(context: Context) -> str:
    """The session to decide in: an agent's own, or the one a header names."""
    if context.session is None and context.token.role != "agent":
        raise Refused(400, "malformed", "no session is named", hint="open one; name it in X-Sayso-Session")
    return session_for(context, context.session)


def request_of(context: Context, session: str, body: EvaluationBody) -> Request:
    """The request that the evaluation is about."""
    if _is_tool(body.resource.type):
        return _tool_called(context, session, body)
    return _operation_done(context, session, body)


def _is_tool(kind: str) -> bool:
    plain = unicodedata.normalize("NFKC", kind).casefold().strip()
    if plain == TOOL and kind != TOOL:
        raise MalformedRequest(f"{kind!r} is not a type of resource", hint="write tool")
    return kind == TOOL


def _tool_called(context: Context, session: str, body: EvaluationBody) -> Request:
    """The same request that a call of this tool makes."""
    if body.action.name not in CALLS:
        raise MalformedRequest(
            f"{body.action.name!r} cannot be done with a tool", hint=f"use one of: {', '.join(CALLS)}"
        )
    return request_for(context.door, session, body.resource.id, body.resource.properties, None, 0.0)


def _operation_done(context: Context, session: str, body: EvaluationBody) -> Request:
    """What the policy says a tool of that name does; if it has none, the operation of that name.

    The policy's reading sees the context as well. An approval is for the rest, which is what people see: a
    context under which the call does something else makes it another call.
    """
    row, policy = context.door.row(session), context.gate.policy
    name = _operation_named(body)
    said = body.said
    data = {key: value for key, value in body.context.items() if key not in MACHINERY}
    canonical(data)  # what has no clear form is nothing to decide by
    read = {**said, "context": data}
    where = {"folder": row.workspace, "workspace": row.workspace, "home": str(Path.home())}
    if entry_for(name, read, policy, folder=row.workspace)[0] is None:
        operations: tuple[Operation, ...] = (with_content(Operation(name), read, policy),)
    else:
        operations = operations_for(name, read, policy, **where)
    call = make_call(
        name,
        said,
        target=target_for(name, read, policy, **where),
        folder=row.workspace,
        workspace=row.workspace,
        schema=SCHEMA,
    )
    return make_request(call, operations, agent=row.agent, session=session, origin=origin_of(row))


def _operation_named(body: EvaluationBody) -> str:
    name = body.action.name
    return name if "." in name else f"{body.resource.type}.{name}"
