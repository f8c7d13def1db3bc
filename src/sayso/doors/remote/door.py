"""A service as seen from the code of this process: it decides and keeps the ledger, functions run here.

Over a connection nobody is believed that one call is part of another: what a function calls is decided on its
own, and asked when it is reached. A workflow run is told by its number, which the service gave out.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from sayso.core import words
from sayso.core.decision import Decision
from sayso.core.digest import decode_canonical
from sayso.core.durations import LONGEST_WAIT
from sayso.core.errors import SaysoError
from sayso.core.ledger import AWAITING, NotNow, State
from sayso.core.model import Call, Declaration, Operation, Request
from sayso.core.session import Scope
from sayso.doors.python.calls.capability import Capability
from sayso.doors.python.calls.door import NO_CALL_KEYS, CallKeys, Door, PendingAsk, WaitResult, workspace_here
from sayso.doors.remote.decode import RemoteAttempt, decode_attempt, decode_decision
from sayso.doors.remote.line import AWAY, NotSayso, ServiceLine, ServiceRefusal, ServiceRequest, Unreachable
from sayso.gate.call_rows import Attempt
from sayso.gate.deciding.authorize import Bundle
from sayso.gate.deciding.request import make_request
from sayso.gate.gate import UnknownSession
from sayso.gate.ledger.outcome import KEPT_RESULT, LONGEST_REASON
from sayso.gate.ledger.workflows import RunNote
from sayso.gate.sessions.reopen import KeyedSession, SessionWish
from sayso.store.contract import StoreError

REPORTING = 120.0
"""How long a call that has run is tried to be reported while the service is away."""
BEATING = 5.0


class NotConnected(SaysoError):
    """This cannot be done over a connection: it would be authority that only the gate's own process has."""

    code = "not_over_a_connection"


class RemoteDoor(Door):
    """One service, spoken to over a line."""

    nests = False
    unrecorded = (StoreError, Unreachable, ServiceRefusal, NotSayso)

    def __init__(self, line: ServiceLine, *, agent: bool = False) -> None:
        super().__init__()
        self.line = line
        self.agent = agent
        """Whether the token is an agent's, who has one session and declares nothing."""

    def check_host(self) -> None:
        """Functions run in a program that holds a host's token."""
        if self.agent:
            raise NotConnected(
                "an agent's token cannot run functions here: what they do is a host's to declare",
                hint="connect with a token made by `sayso token new host NAME`",
            )

    # --- how calls are decided and kept ---

    def request_for_call(
        self, call: Call, declared: Declaration, session: str, workflow: str | None = None
    ) -> Request:
        """Return what is asked for. The service makes the request of it that counts, and says who made it."""
        return make_request(call, declared.operations, session=session, workflow=workflow, declared=declared)

    def check_workflow(self, name: str, operations: Sequence[str]) -> None:
        """The service checks it when a run is begun."""
        self.check_host()

    def preview(self, request: Request, scope: Scope) -> Decision:
        bare = request.declared is not None and request.declared.by == "name"
        call = _body_without_operations(request) if bare else _call_body(request)
        body = {**call, **_scope_body(scope), "session": request.session}
        return decode_decision(self.line.ask(ServiceRequest("POST", "/v1/check", body)))

    def begin(
        self, request: Request, scope: Scope, keys: CallKeys = NO_CALL_KEYS, bundle: Bundle | None = None
    ) -> Attempt:
        return self._start_call({**_call_body(request), **_scope_body(scope)}, request.session, keys)

    def begin_ungated(self, request: Request, scope: Scope, keys: CallKeys) -> Attempt:
        return self._start_call(
            {**_body_without_operations(request), **_scope_body(scope)}, request.session, keys
        )

    def propose(self, session: str, body: Mapping[str, Any]) -> Attempt:
        """A call that a host or an agent makes itself, as the policy reads it."""
        named = {} if self.agent else {"session": session}
        return self._send_call({**body, **named}, None)

    def find_call(self, call: str, session: str) -> Attempt:
        return decode_attempt(self.line.ask(ServiceRequest("GET", f"/v1/calls/{call}")), call=call)

    def look_now(self, call: str, session: str) -> Attempt:
        """The service tells of every call how it will end, once that is known."""
        return self.find_call(call, session)

    def session_of(self, call: str, around: str | None) -> str:
        """The service knows whose it is, by the token."""
        return self.find_call(call, "").record.request.session

    def request_to_retry(self, call: str) -> Request:
        return self.find_call(call, "").record.request

    def begin_again(
        self,
        call: str,
        scope: Scope,
        *,
        state: str | None = None,
        effect: str | None = None,
        meant: bytes | None = None,
    ) -> Attempt:
        """Start the call if it may run now. Sent again, it is the same start."""
        said = {
            "state": state,
            "effect_key": effect,
            "meant": None if meant is None else decode_canonical(meant),
            "beats": not self.agent,
        }
        query = {"attempt": secrets.token_hex(16)}
        sent = ServiceRequest("POST", f"/v1/calls/{call}/retry", {**said, **_scope_body(scope)}, query=query)
        return decode_attempt(self.line.ask(sent), call=call)

    def replay(self, call: str, session: str, *, state: str | None = None) -> Attempt:
        """Run it in this session: a call of its own, of the same tool."""
        body = {"session": session, "state": state, "attempt": secrets.token_hex(16), "beats": True}
        queued = self.find_call(call, session).record.request.call.tool
        return decode_attempt(
            self.line.ask(ServiceRequest("POST", f"/v1/calls/{call}/replay", body, again=False)), tool=queued
        )

    def end(
        self, call: str, fence: int, state: State, result: bytes | None = None, unkept: str | None = None
    ) -> None:
        """Say how the call ended. If the answer to that got lost, what the ledger says is looked at."""
        body: dict[str, Any] = {"fence": fence, "state": state}
        if result and len(result) > KEPT_RESULT:
            result, unkept = None, words.RESULT_TOO_LARGE
        if result:
            body["result"] = msgspec.Raw(result)
        if unkept:
            body["unkept"] = unkept[:LONGEST_REASON]
        try:
            self.line.ask(ServiceRequest("POST", f"/v1/calls/{call}/outcome", body), away=REPORTING)
        except NotNow:
            if self.find_call(call, "").state != state:
                raise

    def beat(self, call: str, fence: int) -> None:
        self.line.ask(ServiceRequest("POST", f"/v1/calls/{call}/heartbeat", {"fence": fence}), away=BEATING)

    def park_call(self, call: str, fence: int, question: str, note: bytes) -> None:
        """Park it. If the answer to that got lost, what the ledger says is looked at."""
        body = {"fence": fence, "question": question, "note": msgspec.Raw(note)}
        try:
            self.line.ask(ServiceRequest("POST", f"/v1/calls/{call}/park", body))
        except NotNow:
            if self.find_call(call, "").state != "waiting":
                raise

    def resume(self, call: str, scope: Scope, *, fence: int | None = None) -> Attempt:
        body = {"attempt": secrets.token_hex(16), "beats": True, "fence": fence}
        return decode_attempt(
            self.line.ask(ServiceRequest("POST", f"/v1/calls/{call}/resume", body), away=REPORTING), call=call
        )

    def keep_note(self, call: str, fence: int, note: RunNote) -> None:
        self.line.ask(ServiceRequest("PUT", f"/v1/calls/{call}/note", {"fence": fence, "note": note}))

    # --- how people are asked ---

    def asks(self, attempt: Attempt) -> PendingAsk:
        if not isinstance(attempt, RemoteAttempt) or attempt.asks is None:
            raise AssertionError("only a pending call asks for something")
        return attempt.asks

    def show(self, capability: Capability, attempt: Attempt) -> threading.Event:
        """The service shows it, on surfaces of its own."""
        return threading.Event()

    def wait(self, attempt: Attempt, seconds: float) -> WaitResult:
        sent = _wait_request(attempt, seconds)
        answer = self.line.ask(sent, away=max(AWAY, seconds))
        return _wait_result_of(decode_attempt(answer, call=attempt.call))

    def await_answer(self, attempt: Attempt, seconds: float) -> Awaitable[WaitResult]:
        async def wait_for_answer() -> WaitResult:
            sent = _wait_request(attempt, seconds)
            answer = await self.line.ask_later(sent, away=max(AWAY, seconds))
            return _wait_result_of(decode_attempt(answer, call=attempt.call))

        return wait_for_answer()

    def wait_end(self, call: str, seconds: float) -> None:
        self.line.ask(_wait_end_request(call, seconds), away=max(AWAY, seconds))

    def await_end(self, call: str, seconds: float) -> Awaitable[None]:
        async def wait_for_end() -> None:
            await self.line.ask_later(_wait_end_request(call, seconds), away=max(AWAY, seconds))

        return wait_for_end()

    def put_in_conversation(self, question: str) -> str | None:
        """A host puts a question in the conversation; an agent's is for the operator alone."""
        if self.agent:
            return None
        return str(self.line.ask(ServiceRequest("POST", f"/v1/questions/{question}/show"))["text"])

    def check_able(self, capability: Capability, attempt: Attempt, scope: Scope) -> None:
        """The service is always there to be asked on."""

    def tell_left(self, operation: str, question: str) -> None:
        """The service knows by itself who waits."""

    # --- sessions ---

    def open_own(self) -> str:
        return "" if self.agent else self.open_session("", "", "", None)

    def open_session(self, agent: str, user: str, workspace: str, parent: str | None) -> str:
        where = workspace_here(workspace)
        body = {"agent": agent, "user": user, "workspace": where, "parent": parent}
        opened = self.line.ask(ServiceRequest("POST", "/v1/sessions", body, again=False))
        return str(opened["id"])

    def open_by_key(self, key: str, asked: SessionWish) -> KeyedSession:
        """The session this key of this token stands for. Sent again, it is the same one."""
        said = {name: value for name, value in msgspec.structs.asdict(asked).items() if value is not None}
        body = {**said, "key": key, "agent": asked.agent or "", "any_agent": asked.agent is None}
        opened = self.line.ask(ServiceRequest("POST", "/v1/sessions", {**body, "folder": workspace_here()}))
        return KeyedSession(str(opened["id"]), reopened=opened["reopened"], after=opened["after"])

    def end_session(self, session: str) -> None:
        self.line.ask(ServiceRequest("DELETE", f"/v1/sessions/{session}", again=False), away=1.0)

    def close(self) -> None:
        """End the session nobody asked for by name. If the service is away, it ends with its time."""
        with suppress(Unreachable, UnknownSession):
            super().close()
        self.line.close()

    def _start_call(self, body: Mapping[str, Any], session: str, keys: CallKeys) -> Attempt:
        self.check_host()
        said = {"session": session, "call_id": keys.host_id, "effect_key": keys.effect, "beats": True}
        return self._send_call({**body, **said}, keys.key)

    def _send_call(self, body: Mapping[str, Any], key: str | None) -> Attempt:
        """Have a call decided and, if it may run, started. Sent again, it is the same start."""
        named = {**body, "attempt": secrets.token_hex(16)}
        sent = ServiceRequest("POST", "/v1/calls", named, key=key or secrets.token_hex(16))
        return decode_attempt(self.line.ask(sent), tool=body["tool"])


def _call_body(request: Request) -> dict[str, Any]:
    """The call as its program declares it. What it is allowed is for the service to say."""
    call = request.call
    return {
        "tool": call.tool,
        "args": decode_canonical(call.arguments),
        "schema": call.schema,
        **_parameters_body(request),
        "folder": call.folder,
        "state": call.state,
        "workflow": request.workflow,
        "operations": [_operation_body(one) for one in request.operations],
    }


def _parameters_body(request: Request) -> dict[str, Any]:
    """Return the types of the function's parameters, so that an edit they refuse is never allowed."""
    takes = "" if request.declared is None else request.declared.parameters
    return {"parameters": msgspec.json.decode(takes)} if takes and request.workflow is None else {}


def _body_without_operations(request: Request) -> dict[str, Any]:
    """The call of a function that declares nothing: what it does is for the policy to read."""
    return {**_call_body(request), "operations": [], "ungated": True}


def _operation_body(operation: Operation) -> dict[str, Any]:
    risk = None if operation.risk is None else operation.risk.word
    weight = None if operation.weight is None else operation.weight.word
    return {"operation": operation.name, "risk": risk, "weight": weight, "reason": operation.reason}


def _scope_body(scope: Scope) -> dict[str, Any]:
    """Of all that is around a call, only the run it is part of can be told."""
    return {"run": None if scope.run is None else scope.run.id, "individual": scope.individual}


def _wait_request(attempt: Attempt, seconds: float) -> ServiceRequest:
    return ServiceRequest("GET", f"/v1/calls/{attempt.call}", wait=min(seconds, LONGEST_WAIT))


def _wait_end_request(call: str, seconds: float) -> ServiceRequest:
    return ServiceRequest("GET", f"/v1/calls/{call}", query={"until": "end"}, wait=min(seconds, LONGEST_WAIT))


def _wait_result_of(attempt: RemoteAttempt) -> WaitResult:
    still = attempt.state in AWAITING and not attempt.answered
    return WaitResult("open" if still else "answered")
