"""One call decided by the service and run here, and `run` and `retry` on top of it.

The procedures are generators, as in the embedded door: the same for sync and async callers. There is no
nesting over a connection: what a function calls is decided on its own, and asked when it is reached.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from sayso.core.digest import canonical
from sayso.core.errors import SaysoError
from sayso.core.ledger import State
from sayso.core.model import Operation, Risk
from sayso.doors.python.calls import STATES, ended_as
from sayso.doors.python.capability import Capability, called, check_callable
from sayso.doors.python.results import (
    ConsentDenied,
    ConsentRequired,
    ConsentTimeout,
    Result,
    Status,
    encoded,
)
from sayso.doors.python.run import NOT_KEPT, RETRY, Wish, healthy
from sayso.doors.python.scope import Frame, Job, begun, job_around
from sayso.doors.python.steps import Done, Enter, Steps, Wait, Work
from sayso.doors.remote.door import NotConnected, Remote, Told
from sayso.gate.waiting import LONGEST
from sayso.gate.workflows import note_of

BLOCKING = ("blocked", "trusted_channel")
LARGEST = 64 * 1024
"""Results beyond this are not kept in the ledger, so they are not sent either."""


def gated(
    door: Remote, capability: Capability, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Steps[Done]:
    """A call of a decorated function, wherever it is made. Inside a run it waits in place for its answer."""
    check_host(door)
    session: str = yield Work(door.session_here)
    job = job_around(door, session)
    if job is not None and job.stopped is not None:
        raise job.stopped
    plain, objects = capability.shape.written(args, kwargs)
    told: Told = yield Work(lambda: door.start(capability, plain, session))
    try:
        told = yield from cleared(door, told, _patience(capability, job))
    except (ConsentRequired, ConsentDenied) as error:
        if job is not None:
            job.stopped = error
        raise
    begun(door, told.operation)
    done: Done = yield from entered(door, capability, told, objects, Frame(door, session))
    yield from reported(door, told, done)
    return done


def cleared(door: Remote, told: Told, patience: float | None) -> Steps[Told]:
    """The call once it may run. Waits for a person as long as patience lasts; otherwise raises."""
    until = None if patience is None else time.monotonic() + patience
    while not told.runs:
        if told.status != "pending" or told.question is None:
            raise _refused(told)
        if until is None:
            raise _required(told, ConsentRequired)
        call, left = told.operation_id, until - time.monotonic()
        if not left > 0 and not told.answered:  # nor a number at all
            raise _required(told, ConsentTimeout)
        if not told.answered:
            told = yield _waiting(door, call, min(left, LONGEST))
        if told.answered or told.status != "pending":
            told = yield Work(lambda call=call: door.retry(call))  # type: ignore[misc]
    return told


def entered(
    door: Remote,
    capability: Capability,
    told: Told,
    objects: Mapping[str, Any],
    frame: Frame,
    *,
    crossing: bool = False,
) -> Steps[Done]:
    """The function itself, with the arguments the service approved: a person may have edited them."""
    try:
        args, kwargs = capability.shape.read(
            canonical(told.call.args if told.call is not None else {}), objects
        )
        function = capability.function
        done: Done = yield Enter(frame, lambda: called(function, args, kwargs, crossing=crossing))
    except BaseException:  # it never came to the function
        yield Work(lambda: door.end(told, "failed"))
        raise
    return done


def reported(door: Remote, told: Told, done: Done) -> Steps[None]:
    """Tell the service how the call ended, and what it returned."""
    state: State = "succeeded" if done.error is None else ended_as(done.error)
    written = encoded(done.value) if done.error is None else b""
    result = written if 0 < len(written) <= LARGEST else None
    yield Work(lambda: door.end(told, state, result))


def run(door: Remote, name: str, params: Mapping[str, Any], wish: Wish) -> Steps[Result]:
    """Check, ask, wait, run once. Whatever happens, the caller gets one of the five results."""
    call: str | None = None
    try:
        check_host(door)
        capability = door.capabilities.find(name)
        check_callable(capability.function, from_async=wish.is_async)
        plain = capability.shape.given(params)
        yield from healthy(capability)
        hopeless: Result | None = yield Work(lambda: _hopeless(door, capability, plain, wish))
        if hopeless is not None:
            return hopeless
        told: Told = yield Work(
            lambda: door.start(capability, plain, wish.session, key=wish.key, host_id=wish.host_id)
        )
        call = told.operation_id
        return (yield from _carried_out(door, capability, told, wish))
    except SaysoError as error:
        return Result("error", reason=str(error), operation_id=call)


def retry(door: Remote, operation_id: str, wish: Wish) -> Steps[Result]:
    """Go on with a call that had to be asked about, without its parameters being sent again."""
    try:
        check_host(door)
        told: Told = yield Work(lambda: door.look(operation_id))
        if told.status != "pending":
            return result_of(told)
        capability = door.capabilities.find(told.tool)
        capability.shape.check_no_live()
        check_callable(capability.function, from_async=wish.is_async)
        yield from healthy(capability)
        tried: Told = yield Work(lambda: door.retry(operation_id))
        return (yield from _carried_out(door, capability, tried, wish))
    except SaysoError as error:
        return Result("error", reason=str(error), operation_id=operation_id)


def operations(door: Remote, capability: Capability) -> list[Operation]:
    """Everything the capability declares, its own operation first."""
    own = [] if capability.own is None else [capability.own]
    known = {one.name for one in own}
    return own + [door.capabilities.operation(name) for name in capability.declared if name not in known]


def result_of(told: Told) -> Result:
    """What the service knows of a call that is over, or in other hands."""
    name = told.operation_id
    if told.status == "succeeded":
        return Result("ok", told.result, operation_id=name, reason=NOT_KEPT if told.result is None else None)
    if told.status in ("denied", "blocked"):
        status: Status = "blocked" if told.status == "blocked" else "denied"
        return Result(status, reason=told.reason, operation_id=name)
    return Result("error", reason=STATES.get(told.status, f"the call is {told.status}"), operation_id=name)


def check_host(door: Remote) -> None:
    """Functions run in a program that holds a host's token: only a host may say how a call ended."""
    if door.agent:
        raise NotConnected(
            "an agent's token cannot run functions here: how they end is a host's to say",
            hint="connect with a token made by `sayso token new host NAME`",
        )


def _hopeless(door: Remote, capability: Capability, plain: Mapping[str, Any], wish: Wish) -> Result | None:
    """What ends a run before it begins: something it declares would be denied when it is reached."""
    if not capability.declared:
        return None
    told = door.check(capability, plain, wish.session, operations(door, capability))
    if told["verdict"] != "deny":
        return None
    status: Status = "blocked" if told["rule"] in BLOCKING else "denied"
    return Result(status, reason=told["reason"])


def _carried_out(door: Remote, capability: Capability, told: Told, wish: Wish) -> Steps[Result]:
    if not told.runs and told.status != "pending":
        return result_of(told)
    try:
        ready: Told = yield from cleared(door, told, wish.wait)
    except ConsentTimeout as error:
        return Result("timeout", operation_id=error.operation_id, reason=str(error), retry_with=RETRY)
    except ConsentDenied:
        now: Told = yield Work(lambda: door.look(told.operation_id))
        return result_of(now)
    begun(door, ready.operation)
    return (yield from _executed(door, capability, ready, wish))


def _executed(door: Remote, capability: Capability, told: Told, wish: Wish) -> Steps[Result]:
    job = Job(told.operation_id, told.fence, time.monotonic() + wish.wait, note_of(None))
    frame = Frame(door, wish.session, job=job)
    crossing = capability.is_async != wish.is_async
    done: Done = yield from entered(door, capability, told, {}, frame, crossing=crossing)
    if job.stopped is not None:
        yield from reported(door, told, Done(error=job.stopped))
        return _stopped(told, job.stopped, tuple(job.started))
    yield from reported(door, told, done)
    if done.error is None:
        return Result("ok", done.value, operation_id=told.operation_id)
    if not isinstance(done.error, Exception):
        raise done.error
    reason = f"{type(done.error).__name__}: {done.error}"
    return Result("error", reason=reason, operation_id=told.operation_id, ran=tuple(job.started))


def _stopped(told: Told, error: ConsentRequired | ConsentDenied, ran: tuple[str, ...]) -> Result:
    """A gate on the way was not passed. The run ends there; over a connection it is never begun again."""
    where = f"stopped at {error.operation}: {error.reason}"
    status: Status = "error"
    if isinstance(error, ConsentDenied):
        status = "blocked" if error.blocked else "denied"
    return Result(status, reason=where, operation_id=told.operation_id, ran=ran)


def _waiting(door: Remote, call: str, left: float) -> Wait:
    return Wait(lambda: door.wait(call, left), lambda: door.await_answer(call, left))


def _patience(capability: Capability, job: Job | None) -> float | None:
    return capability.wait if job is None else max(0.0, job.deadline - time.monotonic())


def _refused(told: Told) -> ConsentDenied:
    """The call may not run, or not by us: it is over, or somebody else has it."""
    if told.status in ("denied", "blocked"):
        return ConsentDenied(told.operation, told.reason, told.rule)
    return ConsentDenied(told.operation, STATES.get(told.status, f"the call is {told.status}"), told.status)


def _required(told: Told, kind: type[ConsentRequired]) -> ConsentRequired:
    risk = Risk.of(told.risk)
    return kind(told.operation, told.reason, risk, told.digest, told.offers, told.question, told.operation_id)
