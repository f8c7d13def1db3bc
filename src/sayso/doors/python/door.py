"""What the Python door holds: the gate, its surfaces, the calls under way here, and who is calling."""

from __future__ import annotations

import os
import secrets
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sayso.core.decision import Question
from sayso.core.errors import SaysoError
from sayso.core.model import Operation, Origin, Request
from sayso.core.session import Scope
from sayso.doors.python.asking import Asker
from sayso.doors.python.capability import Capabilities, Capability
from sayso.doors.python.keeper import Keeper
from sayso.doors.python.scope import Job, session_around
from sayso.doors.python.steps import Done, Steps
from sayso.gate import calls, lease, sessions
from sayso.gate.call_rows import Attempt
from sayso.gate.gate import Gate, UnknownSession
from sayso.gate.recovery import Reconcile
from sayso.gate.request import make_call, make_request, restated
from sayso.gate.state import as_written
from sayso.gate.surface import Surface
from sayso.gate.waiting import question_row
from sayso.gate.workflows import encoded
from sayso.policy.resolve import with_content
from sayso.store.base import SessionRow

AGENT = "python"


class CannotSay(SaysoError):
    """The effect key or state of a call could not be found out, so it is neither asked for nor run."""

    code = "cannot_say"


class Door:
    """One gate as seen from the code of this process."""

    def __init__(self, gate: Gate, surfaces: Sequence[Surface]) -> None:
        self.gate = gate
        self.asker = Asker(gate, surfaces)
        self.keeper = Keeper(gate)
        self.capabilities = Capabilities()
        self.workflows: dict[str, Any] = {}
        self.reducers: dict[str, dict[str, str]] = {}
        self.holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._own: str | None = None
        self._opening = threading.Lock()

    def session_here(self) -> str:
        """The session of this point of the program; a process without one has its own, clean."""
        return session_around(self) or self._own_session()

    def close(self) -> None:
        """End the session nobody asked for by name."""
        if self._own is not None:
            sessions.end_session(self.gate, self._own)

    def row(self, session: str) -> SessionRow:
        with self.gate.store.read() as tx:
            row = tx.session(session)
        if row is None:
            raise UnknownSession("there is no such session", hint="open one first")
        return row

    def question(self, name: str) -> Question:
        return as_written(question_row(self.gate, name))

    def request(
        self,
        capability: Capability,
        plain: Mapping[str, Any],
        session: str,
        operations: Sequence[Operation] | None = None,
    ) -> Request:
        """The request for a call with these arguments. Who makes it is known here and nowhere asked for."""
        row = self.row(session)
        call = make_call(
            capability.name,
            plain,
            folder=_folder(),
            workspace=row.workspace,
            schema=capability.shape.schema,
        )
        named = operations if operations is not None else self.operations(capability)
        told = [with_content(operation, plain, self.gate.policy) for operation in named]
        return make_request(call, told, agent=row.agent, session=session, origin=origin_of(row))

    def operations(self, capability: Capability) -> list[Operation]:
        """Everything the capability declares, its own operation first."""
        own = [] if capability.own is None else [capability.own]
        return own + [
            self.capabilities.operation(name)
            for name in capability.declared
            if capability.own is None or name != capability.own.name
        ]

    def edited(self, request: Request, capability: Capability, arguments: Mapping[str, Any]) -> Request:
        """The same call with other arguments, which must fit the function as well."""
        plain = capability.shape.edited(arguments, request.call.arguments)
        edited = self.request(capability, plain, request.session, request.operations)
        return restated(edited, self.state_of(capability, edited))

    def start(self, capability: Capability, request: Request, scope: Scope, **more: Any) -> Attempt:
        """Decide and, if it may run, start; with what the function says of its effect and the world."""
        effect, state = self.effect_of(capability, request), self.state_of(capability, request)
        stated = restated(request, state)
        return calls.start_call(self.gate, stated, scope, holder=self.holder, effect_key=effect, **more)

    def start_ungated(self, capability: Capability, request: Request, **more: Any) -> Attempt:
        """Start what is not asked about by itself. It runs once all the same."""
        effect = self.effect_of(capability, request)
        return calls.start_ungated(self.gate, request, holder=self.holder, effect_key=effect, **more)

    def retry(self, capability: Capability, attempt: Attempt, scope: Scope) -> Attempt:
        """Try again what was asked for, or what a person made of it."""
        request = calls.wanted(self.gate, attempt.call)
        effect, state = self.effect_of(capability, request), self.state_of(capability, request)
        return calls.retry_call(
            self.gate,
            attempt.call,
            scope,
            holder=self.holder,
            state=state,
            effect_key=effect,
            meant=request,
        )

    def gated(self, capability: Capability, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Steps[Done]:
        """A call of a decorated function: judged, and run if it may."""
        from sayso.doors.python.calls import gated

        return gated(self, capability, args, kwargs)

    def state_of(self, capability: Capability, request: Request) -> str | None:
        """What the function says of the world it would meet. If it cannot say, nothing is asked or run."""
        return _said(capability, capability.state, request)

    def effect_of(self, capability: Capability, request: Request) -> str | None:
        """What makes another call the same effect as this one."""
        said = _said(capability, capability.effect_key, request)
        return None if said is None else f"{capability.name}:{said}"

    def reconcilers(self) -> dict[str, Reconcile]:
        """By tool, what tells from a call's arguments what became of it."""
        return {one.name: _reconciler(one) for one in self.capabilities.all() if one.reconcile is not None}

    def park(self, job: Job, question: str) -> None:
        """The run waits for an answer, at several gates at once if need be; it holds nothing meanwhile."""
        with job.parking:
            if job.waiting == 0:
                self.keeper.drop(job.call)
                job.note = msgspec.structs.replace(job.note, ran=bool(job.started))
                lease.park_call(self.gate, job.call, job.fence, question, encoded(job.note))
            job.waiting += 1

    def unpark(self, job: Job) -> None:
        """The run goes on under a new number once nothing in it waits any more."""
        with job.parking:
            job.waiting -= 1
            if job.waiting == 0:
                attempt = lease.unpark_call(self.gate, job.call, holder=self.holder)
                job.fence = attempt.fence
                self.keeper.hold(job.call, job.fence)

    def _own_session(self) -> str:
        with self._opening:
            if self._own is None:
                self._own = sessions.open_session(self.gate, agent=AGENT, owner=self.holder)
            return self._own


def _said(capability: Capability, tells: Callable[..., str] | None, request: Request) -> str | None:
    """What a function declared beside the capability says of these arguments; an error if it cannot."""
    if tells is None:
        return None
    args, kwargs = capability.shape.read(request.call.arguments, {})
    try:
        return str(tells(*args, **kwargs))
    except Exception as error:  # a foreign function: whatever went wrong, it could not say
        raise CannotSay(f"{capability.name}: {tells.__name__} failed: {error}") from error


def _reconciler(capability: Capability) -> Reconcile:
    def became(request: Request) -> object:
        args, kwargs = capability.shape.read(request.call.arguments, {})
        return None if capability.reconcile is None else capability.reconcile(*args, **kwargs)

    return became


def origin_of(row: SessionRow) -> Origin:
    return Origin.AGENT if row.parent is None else Origin.SUBAGENT


def _folder() -> str:
    try:
        return str(Path.cwd().resolve())
    except OSError:
        return ""
