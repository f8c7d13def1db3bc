"""`run` and `retry`: everything a capability declares is checked first, asked in one question, and run once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.decision import Decision
from sayso.core.errors import SaysoError
from sayso.core.model import Operation, Request, Risk, Verdict
from sayso.core.session import Scope
from sayso.doors.python.calls import cleared, entered, reported
from sayso.doors.python.capability import Capability
from sayso.doors.python.door import Door
from sayso.doors.python.results import ConsentDenied, ConsentRequired, ConsentTimeout, Result
from sayso.doors.python.scope import Frame, Job, carried, scope_of
from sayso.doors.python.steps import Done, Steps, Work
from sayso.gate import calls
from sayso.gate.authorize import Bundle, preview
from sayso.gate.calls import Attempt

PATIENCE = 90.0
MOST_RUNS = 3
RETRY = "retry"


class Wish(msgspec.Struct, frozen=True):
    """Who wants something run, and how long they wait."""

    session: str
    patience: float = PATIENCE
    key: str | None = None
    host_id: str | None = None
    is_async: bool = False


def run(door: Door, name: str, params: Mapping[str, Any], wish: Wish) -> Steps[Result]:
    """Check, ask, wait, run once. Whatever happens, the caller gets one of the five results."""
    try:
        capability = door.capabilities.find(name)
        plain = capability.shape.given(params)
        yield from _healthy(capability)
        scope = scope_of(door, wish.session)
        attempt = yield from _begun(door, capability, plain, scope, wish)
        return (yield from _carried_out(door, capability, attempt, scope, wish))
    except SaysoError as error:
        return Result("error", reason=str(error))


def retry(door: Door, operation_id: str, wish: Wish) -> Steps[Result]:
    """Go on with a call that had to be asked about, without its parameters being sent again."""
    try:
        attempt: Attempt = yield Work(lambda: calls.look_at(door.gate, operation_id, wish.session))
        capability = door.capabilities.find(attempt.record.request.call.tool)
        if attempt.state not in ("pending", "waiting"):
            return told(attempt)
        yield from _healthy(capability)
        scope = scope_of(door, wish.session)
        if attempt.state == "pending":
            attempt = yield Work(lambda: door.retry(capability, attempt, scope))
            return (yield from _carried_out(door, capability, attempt, scope, wish))
        return (yield from _resumed(door, capability, attempt, wish))
    except SaysoError as error:
        return Result("error", reason=str(error), operation_id=operation_id)


def told(attempt: Attempt) -> Result:
    """What the ledger knows of a call that is over, or in other hands."""
    record, name = attempt.record, attempt.call
    if attempt.state == "succeeded":
        value = msgspec.json.decode(attempt.result) if attempt.result is not None else None
        return Result("ok", value, operation_id=name)
    if attempt.state == "denied":
        status = "blocked" if record.rule in ("blocked", "trusted_channel") else "denied"
        return Result(status, reason=record.reason, operation_id=name)
    return Result(
        "error", reason=STATES.get(attempt.state, f"the call is {attempt.state}"), operation_id=name
    )


STATES = {
    "running": "the call is running, started by somebody else",
    "failed": "the call has failed",
    "ambiguous": "nobody knows whether the call ran: the operator has to say what happened",
    "expired": "nobody answered in time",
    "cancelled": "the question was withdrawn",
}


def _begun(
    door: Door, capability: Capability, plain: Mapping[str, Any], scope: Scope, wish: Wish
) -> Steps[Attempt]:
    """Everything declared is decided in one go. High risk whose arguments are not known yet is left for later."""
    operations = door.operations(capability)
    later: tuple[str, ...] = ()
    if capability.declared:
        request = door.request(capability, plain, wish.session, operations)
        decision: Decision = yield Work(lambda: preview(door.gate, request, scope))
        later = _for_later(capability, decision)
        operations = [one for one in operations if one.name not in later]
    bundle = Bundle(f"bundle:{capability.name}", later) if capability.declared else None
    keys = {"key": wish.key, "host_id": wish.host_id, "bundle": bundle}
    if not operations:
        bare = door.request(
            capability, plain, wish.session, door.operations(capability) or [_unnamed(capability)]
        )
        attempt: Attempt = yield Work(lambda: door.start_ungated(bare, **keys))
        return attempt
    wanted: Request = door.request(capability, plain, wish.session, operations)
    attempt = yield Work(lambda: door.start(capability, wanted, scope, **keys))
    return attempt


def _for_later(capability: Capability, decision: Decision) -> tuple[str, ...]:
    own = capability.own.name if capability.own is not None else None
    return tuple(
        dict.fromkeys(
            item.operation
            for item in decision.items
            if item.ruling.verdict is Verdict.ASK and item.risk >= Risk.HIGH and item.operation != own
        )
    )


def _unnamed(capability: Capability) -> Operation:
    """For the ledger: what has no gated operation is not asked about, but its run is written down."""
    return Operation(f"capability.{capability.name}", risk=Risk.LOW)


def _healthy(capability: Capability) -> Steps[None]:
    """The capability's own check before each attempt; False or an error keeps it from being tried."""
    if capability.health is None:
        return
    check = capability.health
    try:
        fine = yield Work(check)
    except Exception as error:
        raise Unhealthy(f"{capability.name} is not ready: {error}") from error
    if fine is False:
        raise Unhealthy(f"{capability.name} is not ready")


class Unhealthy(SaysoError):
    code = "unhealthy"


def _carried_out(
    door: Door, capability: Capability, attempt: Attempt, scope: Scope, wish: Wish
) -> Steps[Result]:
    if not attempt.runs and attempt.state not in ("pending", "denied"):
        return told(attempt)
    deadline = time.monotonic() + wish.patience
    try:
        attempt = yield from cleared(door, capability, attempt, scope, wish.patience)
    except ConsentTimeout as error:
        return _late(door, error)
    except ConsentDenied as error:
        return Result(
            "blocked" if error.blocked else "denied", reason=error.reason, operation_id=attempt.call
        )
    job = Job(attempt.call, max(deadline, time.monotonic() + wish.patience))
    return (yield from _executed(door, capability, attempt, job, wish))


def _resumed(door: Door, capability: Capability, attempt: Attempt, wish: Wish) -> Steps[Result]:
    """A run that stopped at a gate inside it, once that gate's question was answered: run again from the top."""
    if attempt.question is not None:
        row = yield from door.waited(attempt.question, wish.patience)
        if row.state == "open":
            return Result("timeout", operation_id=attempt.call, retry_with=RETRY)
    attempt = yield Work(lambda: calls.resume_call(door.gate, attempt.call, holder=door.holder))
    if not attempt.runs:
        return told(attempt)
    job = Job(attempt.call, time.monotonic() + wish.patience)
    return (yield from _executed(door, capability, attempt, job, wish))


def _executed(door: Door, capability: Capability, attempt: Attempt, job: Job, wish: Wish) -> Steps[Result]:
    job.fence = attempt.fence
    frame = Frame(door, wish.session, outer=carried(attempt.record.items), job=job)
    crossing = capability.is_async != wish.is_async
    done: Done = yield from entered(door, capability, attempt, {}, frame, crossing=crossing)
    if job.stopped is not None:
        return (yield from _stopped(door, capability, attempt, job))
    yield from reported(door, attempt.call, job.fence, done)
    if done.error is None:
        return Result("ok", done.value, operation_id=attempt.call)
    if not isinstance(done.error, Exception):
        raise done.error
    reason = f"{type(done.error).__name__}: {done.error}"
    return Result("error", reason=reason, operation_id=attempt.call, ran=tuple(job.started))


def _stopped(door: Door, capability: Capability, attempt: Attempt, job: Job) -> Steps[Result]:
    """A gate on the way was not passed. The run ends there, even if its code went on after the error."""
    error, ran = job.stopped, tuple(job.started)
    again = capability.restartable or not ran
    if isinstance(error, ConsentTimeout) and again and job.runs < MOST_RUNS:
        yield Work(lambda: door.leave(job, error.question))
        return Result("timeout", operation_id=attempt.call, reason=str(error), retry_with=RETRY)
    yield from reported(door, attempt.call, job.fence, Done(error=error))
    operation = getattr(error, "operation", "")
    reason = f"stopped at {operation}: {getattr(error, 'reason', error)}"
    status = "denied" if isinstance(error, ConsentDenied) and not error.blocked else "error"
    status = "blocked" if isinstance(error, ConsentDenied) and error.blocked else status
    return Result(status, reason=reason, operation_id=attempt.call, ran=ran)


def _late(door: Door, error: ConsentRequired) -> Result:
    door.asker.tell(
        f"The agent is no longer waiting for {error.operation}. A yes within 2 hours lets it try again."
    )
    return Result("timeout", operation_id=error.operation_id, reason=str(error), retry_with=RETRY)
