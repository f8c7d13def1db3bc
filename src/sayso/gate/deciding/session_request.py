"""Requests in a session: who makes a call is read from the session, never from the caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.model import Call, Declaration, Origin, Request
from sayso.gate.deciding.request import make_call, make_request, read_request
from sayso.gate.gate import Gate, find_session_row
from sayso.reading.call import add_declared
from sayso.store.contract import SessionRow


class CallDeclaration(msgspec.Struct, frozen=True):
    """What a program declares about a call besides its tool and arguments."""

    declared: Declaration = Declaration()
    schema: str = ""
    folder: str | None = None
    """The working folder; None for the session's workspace."""
    state: str | None = None
    workflow: str | None = None
    """The workflow that the call starts, if it starts one."""
    door: str = "python"
    """The door the call came through; the digest covers it."""


NO_DECLARATION = CallDeclaration()


def request_in_session(
    gate: Gate,
    session: str,
    tool: str,
    args: Mapping[str, Any],
    command: str | None,
    confidence: float,
    said: CallDeclaration = NO_DECLARATION,
) -> Request:
    """Make the request for a call by a host or an agent. The policy reads what the call does."""
    row = find_session_row(gate, session)
    call = make_call(
        tool,
        args,
        folder=row.workspace if said.folder is None else said.folder,
        workspace=row.workspace,
        schema=said.schema,
        state=said.state,
        door=said.door,
    )
    who = {**requester_of_session(row), "confidence": confidence}
    if said.workflow is not None:
        started = add_declared((), said.declared, args, gate.policy)
        return make_request(call, started, workflow=said.workflow, **who)
    return read_request(call, said.declared, gate.policy, command=command, **who)


def request_for_function(
    gate: Gate, session: str, call: Call, declared: Declaration, workflow: str | None = None
) -> Request:
    """Make the request for a call of a function, or for a workflow, of the program that holds the gate."""
    row = find_session_row(gate, session)
    here, who = msgspec.structs.replace(call, workspace=row.workspace), requester_of_session(row)
    if workflow is not None:
        return make_request(here, declared.operations, workflow=workflow, **who)
    return read_request(here, declared, gate.policy, **who)


def requester_of_session(row: SessionRow) -> dict[str, Any]:
    """Return the fields of a request that say who makes it."""
    origin = Origin.AGENT if row.parent is None else Origin.SUBAGENT
    return {"agent": row.agent, "session": row.id, "origin": origin}
