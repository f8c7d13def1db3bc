"""Making requests: a call, its operations and who makes it become one immutable, digested question.

- What a call does is read by the policy, together with what was declared of it (`read_request`).
- Who makes a call is read from its session, never from the caller (`request_in_session`).
- It is read again whenever a call that waited is about to start (`read_again`): the world may have changed.

A request without a session needs no gate, so that is imported where a session is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from sayso.core.digest import action_digest, call_digest, decode_canonical, encode_canonical
from sayso.core.model import Call, Declaration, Operation, Origin, Request
from sayso.core.policy import Policy
from sayso.gate.questions.evaluated_calls import OPERATION as EVALUATED_OPERATION
from sayso.reading.call import CallReading, add_declared, check_command, read_call
from sayso.reading.path_operations import CallFolders
from sayso.reading.paths.budget import share_budget
from sayso.reading.paths.ground import read_ground
from sayso.reading.paths.guard import follow_paths
from sayso.reading.paths.own_places import home_folder
from sayso.reading.resolve import watches_content
from sayso.reading.verbs import is_git_operation

if TYPE_CHECKING:
    from sayso.gate.gate import Gate
    from sayso.store.contract import SessionRow

READINGS_KEPT = 256
"""How many readings of declarations are kept; others are made again."""


def make_call(tool: str, args: Mapping[str, Any] | None = None, **where: Any) -> Call:
    """A call with its arguments in canonical bytes; what has no canonical form is refused here."""
    return Call(tool=tool, arguments=encode_canonical(dict(args or {})), **where)


def make_request(
    call: Call,
    operations: Sequence[Operation],
    *,
    agent: str = "agent",
    session: str = "session",
    origin: Origin = Origin.AGENT,
    confidence: float = 0.0,
    workflow: str | None = None,
    declared: Declaration | None = None,
    read_by: str = "",
) -> Request:
    """The request for a call. The digest is made once, here, and nowhere else.

    Here, too, every call of every door is looked over for the paths in its arguments and its real folder.
    """
    with share_budget():
        return _make_request(
            read_ground(call), operations, agent, session, origin, confidence, workflow, declared, read_by
        )


def _make_request(
    call: Call,
    operations: Sequence[Operation],
    agent: str = "agent",
    session: str = "session",
    origin: Origin = Origin.AGENT,
    confidence: float = 0.0,
    workflow: str | None = None,
    declared: Declaration | None = None,
    read_by: str = "",
) -> Request:
    """The same for a call whose ground was read."""
    followed = follow_paths(call, operations)
    operations, works_on = followed.operations, call.works_on
    if works_on or call.places or followed.links or followed.targets:
        places = tuple(sorted({*call.places, *followed.links}))
        targets = tuple(dict.fromkeys((*works_on, *followed.targets)))
        if (places, targets) != (call.places, call.targets):
            call = msgspec.structs.replace(call, places=places, targets=targets)
    return Request(
        call=call,
        operations=operations,
        digest=call_digest(call, [operation.name for operation in operations], agent, session),
        arguments_digest=action_digest(call),
        agent=agent,
        session=session,
        origin=origin,
        confidence=confidence,
        workflow=workflow,
        declared=declared,
        read_by=read_by,
    )


def read_request(
    call: Call, declared: Declaration, policy: Policy, *, command: str | None = None, **who: Any
) -> Request:
    """The request for a call as the policy reads it now. `command` is what its caller says it runs."""
    with share_budget():
        call = read_ground(call)
        reading = _make_reading(call, declared, policy)
        if command is not None:
            check_command(command, reading, call)
            for one in policy.readings:
                check_command(command, _make_reading(call, declared, one), call)
        return _make_request(_as_read(call, reading), reading.operations, declared=declared, **who)


def _as_read(call: Call, reading: CallReading) -> Call:
    """The call with what was read of it; the same one if it says that already."""
    if _find_read(call) == _find_read(reading):
        return call
    return msgspec.structs.replace(
        call,
        command=reading.command,
        beside=reading.beside,
        target=reading.target,
        targets=reading.targets,
        places=reading.places,
        title=reading.title,
    )


_find_read = attrgetter("command", "beside", "target", "targets", "places", "title")


class CallDeclaration(msgspec.Struct, frozen=True):
    """A program's declarations about a call, besides tool and arguments."""

    declared: Declaration = Declaration()
    schema: str = ""
    folder: str | None = None
    """The working folder; None for the session's workspace."""
    state: str | None = None
    workflow: str | None = None
    """The workflow that the call starts, if it starts one."""
    door: str = "python"
    """The door the call came through; the digest covers it."""
    subagent: str = ""
    """The sub-agent that makes the call, as its host names it."""


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
    row = _find_row(gate, session)
    gate = gate.in_workspace(row.workspace)
    call = make_call(
        tool,
        args,
        folder=row.workspace if said.folder is None else said.folder,
        workspace=row.workspace,
        schema=said.schema,
        state=said.state,
        door=said.door,
    )
    who = requester_of_session(row, read_by=_name_reader(gate), confidence=confidence)
    if said.subagent:
        who |= {"agent": f"{row.agent}, sub-agent {said.subagent}", "origin": Origin.SUBAGENT}
    if said.workflow is not None:
        started = add_declared((), said.declared, args, gate.policy)
        return make_request(call, started, workflow=said.workflow, **who)
    return read_request(call, said.declared, gate.policy, command=command, **who)


def request_for_function(
    gate: Gate, session: str, call: Call, declared: Declaration, workflow: str | None = None
) -> Request:
    """Make the request for a call of a function, or for a workflow, of the program that holds the gate.

    Who asks, and where, is said when a session is opened and never changes: so any row of it will do that was
    found right. Whether the session is still open is seen when the call is started.
    """
    row = gate.sealer.last_session(session) or _find_row(gate, session)
    gate = gate.in_workspace(row.workspace, look=False)
    here = msgspec.structs.replace(call, workspace=row.workspace)
    who = requester_of_session(row, read_by=_name_reader(gate))
    if workflow is not None:
        return make_request(here, declared.operations, workflow=workflow, **who)
    return read_request(here, declared, gate.policy, **who)


def requester_of_session(row: SessionRow, **who: Any) -> dict[str, Any]:
    """Return the fields of a request that say who makes it."""
    who |= {
        "agent": row.agent,
        "session": row.id,
        "origin": Origin.AGENT if row.parent is None else Origin.SUBAGENT,
    }
    return who


def _name_reader(gate: Gate) -> str:
    """Name the policy that reads, if it may be another one by the time the call is decided."""
    alone = gate.base is None and (gate.live is None or gate.live.is_own(gate.policy))
    return "" if alone else gate.policy.digest


def _find_row(gate: Gate, session: str) -> SessionRow:
    from sayso.gate.gate import find_session_row

    return find_session_row(gate, session)


def as_read_now(gate: Gate, request: Request) -> Request:
    """The request as the policy of this gate reads its call, should another policy have read it."""
    return gate_and_reading(gate, request)[1]


def gate_and_reading(gate: Gate, request: Request) -> tuple[Gate, Request]:
    """The gate for the workspace of this request, and the request as its policy reads the call now."""
    gate = gate.in_workspace(request.call.workspace)
    if request.read_by == _name_reader(gate):
        return gate, request
    return gate, read_again(request, gate.policy)


def read_again(request: Request, policy: Policy) -> Request:
    """The same request as its call reads now. If it reads otherwise, no approval of before is for it."""
    if request.declared is None:
        return _on_ground(request)
    return read_request(request.call, request.declared, policy, **_requester_fields(request))


def _on_ground(request: Request) -> Request:
    """The same request where its folder and workspace are now, if nothing else of it was read."""
    call = read_ground(request.call)
    if call == request.call:
        return request
    return make_request(call, request.operations, workflow=request.workflow, **_requester_fields(request))


def with_state(request: Request, state: str | None) -> Request:
    """The same request for another state of the world: another question, as the digest covers the state."""
    if state == request.call.state:
        return request
    call = msgspec.structs.replace(request.call, state=state)
    return make_request(
        call,
        request.operations,
        workflow=request.workflow,
        declared=request.declared,
        **_requester_fields(request),
    )


def just_reviewed(policy: Policy, now: float) -> dict[str, float]:
    """Reviews for deciding without a store: a domain counts as reviewed now, unless its file says when."""
    return {name: now for name, domain in policy.domains.items() if domain.last_reviewed is None}


def _make_reading(call: Call, declared: Declaration, policy: Policy) -> CallReading:
    """Return the reading of the call. A tool that the policy does not know is not read."""
    if declared.by == "code":
        unread = _declared_alone.find(call.tool, declared, policy)
        if unread is not None:
            return unread
    policy.check_tool_name(call.tool)
    where = CallFolders(call.folder, call.workspace, home_folder())
    args, evaluated = decode_canonical(call.arguments), call.schema == EVALUATED_OPERATION
    return read_call(call.tool, args, policy, where, declared, evaluated=evaluated)


class _DeclaredAlone:
    """Calls that are what their code declares, as the policy does not know the tool.

    What they come to depends on the tool, the declaration and the policy alone, and these never change: it is
    kept by which objects they are. Used by many threads at once.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], tuple[Declaration, Policy, str, CallReading | None]] = {}

    def find(self, tool: str, declared: Declaration, policy: Policy) -> CallReading | None:
        """Return what such a call comes to; None if it has to be read."""
        kept = self._kept.get((id(declared), id(policy)))  # both are kept as well, so no other has their id
        if kept is not None and kept[2] == tool:
            return kept[3]
        found = _read_declared_alone(tool, declared, policy)
        if len(self._kept) >= READINGS_KEPT:
            self._kept.clear()
        self._kept[id(declared), id(policy)] = (declared, policy, tool, found)
        return found


_declared_alone = _DeclaredAlone()


def _read_declared_alone(tool: str, declared: Declaration, policy: Policy) -> CallReading | None:
    policy.check_tool_name(tool)
    if policy.entries_for(tool) or policy.names_of(tool) != (tool,):
        return None
    for one in declared.operations:
        if watches_content(one, policy) or is_git_operation(one.name):
            return None
    return CallReading(add_declared((), declared, {}, policy))


def _requester_fields(request: Request) -> dict[str, Any]:
    return {
        "agent": request.agent,
        "session": request.session,
        "origin": request.origin,
        "confidence": request.confidence,
    }
