"""Calls that a host runs itself: it proposes them, is told what was decided, and reports how they went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sayso.core.decision import Decision
from sayso.core.digest import decode_canonical
from sayso.core.ledger import State
from sayso.doors.python.calls.door import CallKeys, Door
from sayso.doors.python.calls.embedded import EmbeddedDoor
from sayso.gate.call_rows import Attempt
from sayso.gate.deciding.request import request_in_session
from sayso.gate.gate import NO_SCOPE
from sayso.gate.telemetry import log_run_end, log_run_start
from sayso.wire import RunnableCall


class Called:
    """One proposed call. Run it only if `allowed`, as `runs` says; then say `succeeded()` or `failed()`."""

    def __init__(self, door: Door, attempt: Attempt) -> None:
        self._door = door
        self._attempt = attempt
        if attempt.runs:
            log_run_start(attempt.call, attempt.record.request)
        self.text = door.put_in_conversation(attempt.question) if attempt.question and self.asked else None
        """The question, as it was put in the conversation; None if nobody has to be asked."""

    @property
    def allowed(self) -> bool:
        return self._attempt.runs

    @property
    def asked(self) -> bool:
        return self._attempt.state == "pending"

    @property
    def runs(self) -> RunnableCall | None:
        """Return the call to run, decoded from the approved bytes."""
        call = self._attempt.record.request.call
        return (
            RunnableCall(call.tool, decode_canonical(call.arguments), call.command, call.folder)
            if self.allowed
            else None
        )

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
        return Called(self._door, self._door.begin_again(self._attempt.call, NO_SCOPE))

    def succeeded(self, result: bytes | None = None) -> None:
        self._end("succeeded", result)

    def failed(self) -> None:
        self._end("failed")

    def _end(self, state: State, result: bytes | None = None) -> None:
        attempt = self._attempt
        self._door.end(attempt.call, attempt.fence, state, result)
        log_run_end(attempt.call, attempt.record.request, state)


def propose_call(
    door: EmbeddedDoor,
    session: str,
    tool: str,
    args: Mapping[str, Any],
    command: str | None,
    confidence: float,
    call_id: str | None,
) -> Called:
    """Decide a call as the policy reads it. A question it leads to is put in the conversation."""
    request = request_in_session(door.gate, session, tool, args, command, confidence)
    return Called(door, door.begin(request, NO_SCOPE, CallKeys(host_id=call_id)))
