"""Calls that a host runs itself: it proposes them, is told what was decided, and reports how they went."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sayso.core.decision import Decision
from sayso.core.ledger import State
from sayso.core.model import Request
from sayso.doors.python.door import Door, origin_of
from sayso.gate import calls, outcome
from sayso.gate.call_rows import Attempt
from sayso.gate.conversation import put_question
from sayso.gate.request import make_call, make_request
from sayso.gate.telemetry import run_ended, run_started
from sayso.policy.resolve import operations_for, target_for

SHELL = "shell"


class Called:
    """One proposed call. Run it only if `allowed`; then say `succeeded()` or `failed()`."""

    def __init__(self, door: Door, attempt: Attempt) -> None:
        self._door = door
        self._attempt = attempt
        if attempt.runs:
            run_started(attempt.call, attempt.record.request)
        self.text = put_question(door.gate, attempt.question) if attempt.question and self.asked else None
        """The question, as it was put in the conversation; None if nobody has to be asked."""

    @property
    def allowed(self) -> bool:
        return self._attempt.runs

    @property
    def asked(self) -> bool:
        return self._attempt.state == "pending"

    @property
    def decision(self) -> Decision:
        return self._attempt.record.decision

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
        again = calls.retry_call(self._door.gate, self._attempt.call, holder=self._door.holder)
        return Called(self._door, again)

    def succeeded(self, result: bytes | None = None) -> None:
        self._end("succeeded", result)

    def failed(self) -> None:
        self._end("failed")

    def _end(self, state: State, result: bytes | None = None) -> None:
        attempt = self._attempt
        outcome.end_call(self._door.gate, attempt.call, attempt.fence, state, result)
        run_ended(attempt.call, attempt.record.request, state)


def propose(
    door: Door,
    session: str,
    tool: str,
    args: Mapping[str, Any],
    command: str | None,
    confidence: float,
    call_id: str | None,
) -> Called:
    """Decide a call as the policy reads it. A question it leads to is put in the conversation."""
    request = request_for(door, session, tool, args, command, confidence)
    attempt = calls.start_call(door.gate, request, holder=door.holder, host_id=call_id)
    return Called(door, attempt)


def request_for(
    door: Door, session: str, tool: str, args: Mapping[str, Any], command: str | None, confidence: float
) -> Request:
    row, policy = door.row(session), door.gate.policy
    where = {"folder": row.workspace, "workspace": row.workspace, "home": str(Path.home())}
    target = target_for(tool, args, policy, **where)
    call = make_call(
        tool, args, command=command, target=target, folder=row.workspace, workspace=row.workspace
    )
    return make_request(
        call,
        operations_for(tool, args, policy, **where),
        agent=row.agent,
        session=session,
        origin=origin_of(row),
        confidence=confidence,
    )
