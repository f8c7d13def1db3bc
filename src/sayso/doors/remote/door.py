"""What a connected program holds: the line to the service, its functions, and the session they belong to."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from sayso.core.decision import Offer
from sayso.core.errors import SaysoError
from sayso.core.ledger import NotNow, State
from sayso.core.model import Operation, Risk
from sayso.doors.python.capability import Capabilities, Capability
from sayso.doors.python.scope import session_around
from sayso.doors.python.steps import Done, Steps
from sayso.doors.remote.line import AWAY, Line, Sent, Unreachable
from sayso.gate.gate import UnknownSession

AGENT = "python"
REPORTING = 120.0
"""How long a call that has run is tried to be reported while the service is away."""


class NotConnected(SaysoError):
    """This cannot be done over a connection: it would be authority that only the gate's own process has."""

    code = "not_over_a_connection"


class Runs(msgspec.Struct, frozen=True):
    """What to run, and nothing else: a person may have edited it."""

    tool: str
    args: dict[str, Any]
    command: str | None = None


class Told(msgspec.Struct, frozen=True):
    """Where a call stands, as the service tells it."""

    operation_id: str
    status: str
    rule: str = ""
    reason: str = ""
    tool: str = ""
    announce: str | None = None
    question: str | None = None
    fence: int = 0
    result: Any = None
    call: Runs | None = None
    digest: str = ""
    operation: str = ""
    risk: str = Risk.MODERATE.word
    offers: tuple[Offer, ...] = ()
    answered: bool = False

    @property
    def runs(self) -> bool:
        """Whether this is to be run, here and now, with the arguments it came with."""
        return self.status == "allowed" and self.fence > 0 and self.call is not None


class Remote:
    """One service as seen from the code of this process."""

    def __init__(self, line: Line, *, agent: bool = False) -> None:
        self.line = line
        self.agent = agent
        """Whether the token is an agent's, who has one session and may not say how calls ended."""
        self.capabilities = Capabilities()
        self._own: str | None = None
        self._opening = threading.Lock()

    def gated(self, capability: Capability, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Steps[Done]:
        from sayso.doors.remote.calling import gated

        return gated(self, capability, args, kwargs)

    # --- sessions ---

    def session_here(self) -> str:
        """The session of this point of the program; a process without one has its own, clean."""
        return session_around(self) or self._own_session()

    def open_session(self, agent: str, user: str, workspace: str, parent: str | None) -> str:
        body = {"agent": agent, "user": user, "workspace": workspace, "parent": parent}
        opened = self.line.ask(Sent("POST", "/v1/sessions", body, again=False))
        return str(opened["id"])

    def end_session(self, session: str) -> None:
        self.line.ask(Sent("DELETE", f"/v1/sessions/{session}", again=False), away=1.0)

    def close(self) -> None:
        """End the session nobody asked for by name. If the service is away, it ends with its time."""
        own, self._own = self._own, None
        with suppress(Unreachable, UnknownSession):
            if own:
                self.end_session(own)
        self.line.close()

    def _own_session(self) -> str:
        with self._opening:
            if self._own is None:
                self._own = "" if self.agent else self.open_session(AGENT, "", "", None)
            return self._own

    # --- calls ---

    def check(
        self, capability: Capability, plain: Mapping[str, Any], session: str, operations: Sequence[Operation]
    ) -> dict[str, Any]:
        """What would be decided now, as the service tells decisions."""
        body = self._body(capability, plain, session, operations)
        told: dict[str, Any] = self.line.ask(Sent("POST", "/v1/check", body))
        return told

    def start(
        self,
        capability: Capability,
        plain: Mapping[str, Any],
        session: str,
        *,
        key: str | None = None,
        host_id: str | None = None,
    ) -> Told:
        """Have the call decided and, if it may run, started. Sent again, it is the same start."""
        own = [] if capability.own is None else [capability.own]
        body = self._body(capability, plain, session, own)
        more = {"attempt": secrets.token_hex(16), "call_id": host_id}
        sent = Sent("POST", "/v1/calls", {**body, **more}, key=key or secrets.token_hex(16))
        return told_of(self.line.ask(sent))

    def propose(self, session: str, body: Mapping[str, Any]) -> Told:
        """A call that a host makes itself, as the policy reads it."""
        more: dict[str, Any] = {"attempt": secrets.token_hex(16)}
        more |= {} if self.agent else {"session": session}
        sent = Sent("POST", "/v1/calls", {**body, **more}, key=secrets.token_hex(16))
        return told_of(self.line.ask(sent))

    def retry(self, call: str) -> Told:
        """Start the call if it may run now. Sent again, it is the same start."""
        query = {"attempt": secrets.token_hex(16)}
        return told_of(self.line.ask(Sent("POST", f"/v1/calls/{call}/retry", query=query)))

    def look(self, call: str) -> Told:
        return told_of(self.line.ask(Sent("GET", f"/v1/calls/{call}")))

    def wait(self, call: str, seconds: float) -> Told:
        """The call once its question is closed, or as it stands when the time is over."""
        sent = Sent("GET", f"/v1/calls/{call}", wait=seconds)
        return told_of(self.line.ask(sent, away=max(AWAY, seconds)))

    def await_answer(self, call: str, seconds: float) -> Awaitable[Told]:
        async def waited() -> Told:
            sent = Sent("GET", f"/v1/calls/{call}", wait=seconds)
            return told_of(await self.line.ask_later(sent, away=max(AWAY, seconds)))

        return waited()

    def end(self, told: Told, state: State, result: bytes | None = None) -> None:
        """Say how the call ended. If the answer to that got lost, what the ledger says is looked at."""
        written = None if result is None else msgspec.Raw(result)
        body = {"fence": told.fence, "state": state, "result": written}
        try:
            self.line.ask(Sent("POST", f"/v1/calls/{told.operation_id}/outcome", body), away=REPORTING)
        except NotNow:
            if self.look(told.operation_id).status != state:
                raise

    def _body(
        self, capability: Capability, plain: Mapping[str, Any], session: str, operations: Sequence[Operation]
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "tool": capability.name,
            "args": plain,
            "schema": capability.shape.schema,
            "operations": [_declared(one) for one in operations],
        }
        return body | ({} if self.agent else {"session": session, "folder": _folder()})


def told_of(answer: object) -> Told:
    return msgspec.convert(answer, Told)


def _declared(operation: Operation) -> dict[str, Any]:
    risk = None if operation.risk is None else operation.risk.word
    return {"operation": operation.name, "risk": risk, "reason": operation.reason}


def _folder() -> str:
    try:
        return str(Path.cwd().resolve())
    except OSError:
        return ""
