"""Calls that a host runs itself: it proposes them, is told what was decided, and reports how they went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sayso.core.decision import Decision
from sayso.core.digest import decode
from sayso.core.ledger import State
from sayso.core.model import Operation, Request, Risk
from sayso.doors.python.door import Door, Keys
from sayso.doors.python.embedded import EmbeddedDoor, origin_of
from sayso.gate.call_rows import Attempt
from sayso.gate.gate import NO_SCOPE
from sayso.gate.request import make_call, make_request
from sayso.gate.telemetry import run_ended, run_started
from sayso.policy.resolve import entry_for, operations_for, target_for, with_content

SHELL = "shell"


class Declared(msgspec.Struct, frozen=True):
    """What a program says of a call that it makes over a socket, besides the tool and its arguments.

    `names`: where the policy knows no such tool, these are its operations. Without it, the tool itself stays
    one as well, which nothing lists.
    """

    operations: tuple[Operation, ...] = ()
    names: bool = False
    schema: str = ""
    folder: str | None = None
    state: str | None = None
    workflow: str | None = None
    """The workflow that the call starts, if it starts one."""


NOTHING_DECLARED = Declared()


class Runs(msgspec.Struct, frozen=True):
    """What to run, and nothing else: a person may have edited it."""

    tool: str
    args: dict[str, Any]
    command: str | None = None


class Called:
    """One proposed call. Run it only if `allowed`, as `runs` says; then say `succeeded()` or `failed()`."""

    def __init__(self, door: Door, attempt: Attempt) -> None:
        self._door = door
        self._attempt = attempt
        if attempt.runs:
            run_started(attempt.call, attempt.record.request)
        self.text = door.put(attempt.question) if attempt.question and self.asked else None
        """The question, as it was put in the conversation; None if nobody has to be asked."""

    @property
    def allowed(self) -> bool:
        return self._attempt.runs

    @property
    def asked(self) -> bool:
        return self._attempt.state == "pending"

    @property
    def runs(self) -> Runs | None:
        """What to run, once it is allowed: decoded from the bytes that were approved."""
        call = self._attempt.record.request.call
        return Runs(call.tool, decode(call.arguments), call.command) if self.allowed else None

    @property
    def decision(self) -> Decision:
        return self._attempt.record.decision

    @property
    def rule(self) -> str:
        return self._attempt.record.rule

    @property
    def reason(self) -> str:
        return self._attempt.record.reason

    @property
    def announce(self) -> str | None:
        """The line to show the user, if there is one."""
        return self._attempt.record.announce

    @property
    def operation_id(self) -> str:
        return self._attempt.call

    def retry(self) -> Called:
        """The same call, after the user has spoken."""
        return Called(self._door, self._door.again(self._attempt.call, NO_SCOPE))

    def succeeded(self, result: bytes | None = None) -> None:
        self._end("succeeded", result)

    def failed(self) -> None:
        self._end("failed")

    def _end(self, state: State, result: bytes | None = None) -> None:
        attempt = self._attempt
        self._door.end(attempt.call, attempt.fence, state, result)
        run_ended(attempt.call, attempt.record.request, state)


def propose(
    door: EmbeddedDoor,
    session: str,
    tool: str,
    args: Mapping[str, Any],
    command: str | None,
    confidence: float,
    call_id: str | None,
) -> Called:
    """Decide a call as the policy reads it. A question it leads to is put in the conversation."""
    request = request_for(door, session, tool, args, command, confidence)
    return Called(door, door.begin(request, NO_SCOPE, Keys(host_id=call_id)))


def request_for(
    door: EmbeddedDoor,
    session: str,
    tool: str,
    args: Mapping[str, Any],
    command: str | None,
    confidence: float,
    *,
    declared: Declared | None = None,
) -> Request:
    """The request for a call of a host's or an agent's. What it does is what the policy reads in it."""
    row, policy = door.row(session), door.gate.policy
    said = declared or NOTHING_DECLARED
    folder = row.workspace if said.folder is None else said.folder
    where = {"folder": folder, "workspace": row.workspace, "home": str(Path.home())}
    call = make_call(
        tool,
        args,
        command=command,
        target=target_for(tool, args, policy, **where),
        folder=folder,
        workspace=row.workspace,
        schema=said.schema,
        state=said.state,
    )
    unknown = entry_for(tool, args, policy, folder=folder)[0] is None
    named = said.names and bool(said.operations) and unknown
    read = () if named else operations_for(tool, args, policy, **where)
    return make_request(
        call,
        joined(read, [with_content(one, args, policy) for one in said.operations]),
        agent=row.agent,
        session=session,
        origin=origin_of(row),
        confidence=confidence,
        workflow=said.workflow,
    )


def joined(read: Sequence[Operation], declared: Sequence[Operation]) -> tuple[Operation, ...]:
    """What the policy reads in a call, and what was declared besides. A declaration only adds and raises.

    That something is low, or weighs less than its risk, is for the policy to say: over a socket nobody is
    believed it. Of several readings under one name (two paths, one of them a secret) each is kept, so that
    the strictest decides.
    """
    found = list(read)
    for one in declared:
        said = msgspec.structs.replace(
            one,
            risk=None if one.risk is Risk.LOW else one.risk,
            weight=one.weight if one.weight is Risk.HIGH else None,
        )
        if all(known.name != one.name for known in found):
            found.append(
                Operation(
                    one.name, risk=said.risk, weight=said.weight, reason=one.reason, content=one.content
                )
            )
        else:
            found = [_raised(known, said) if known.name == one.name else known for known in found]
    return tuple(found)


def _raised(operation: Operation, said: Operation) -> Operation:
    risks = [risk for risk in (operation.risk, said.risk) if risk is not None]
    return msgspec.structs.replace(
        operation, risk=max(risks, default=None), weight=said.weight or operation.weight
    )
