"""One gated call from question to end: decided, asked if need be, entered once, and reported.

The procedures here are generators (see steps): the same for sync and async callers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from sayso.core.ledger import NotNow, State
from sayso.core.session import OuterCall, Scope
from sayso.doors.python import words
from sayso.doors.python.calls.capability import Capability, call_function
from sayso.doors.python.calls.door import Door, PendingAsk, WaitResult
from sayso.doors.python.calls.results import (
    Ambiguous,
    ConsentDenied,
    ConsentRequired,
    ConsentTimeout,
    EndUnrecorded,
)
from sayso.doors.python.calls.scope import (
    Frame,
    Job,
    frames_here,
    job_around,
    note_start,
    outer_consent,
    outer_resting_on,
    scope_here,
    session_around,
)
from sayso.doors.python.calls.steps import Enter, Outcome, Steps, Wait, Work
from sayso.doors.python.values.plain import keep_result
from sayso.gate.call_rows import Attempt
from sayso.gate.telemetry import AskingSpan, RunningSpan

TAKEN_OVER = "somebody else has gone on with this run"

UNANSWERED: State = "expired"
"""The state of a call that nobody answered in time, which stands where a denial names its rule."""
STATE_WORDS = {
    "running": "the call is running, started by somebody else",
    "waiting": "the call waits for an answer, in the hands of whoever runs it",
    "succeeded": "the call has been run by somebody else",
    "failed": "the call has failed",
    "ambiguous": "nobody knows whether the call ran: the operator has to say what happened",
    "expired": "nobody answered in time",
    "cancelled": words.WITHDRAWN,
}
"""What is told of a call that is over, or in other hands."""


def run_gated_call(
    door: Door, capability: Capability, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Steps[Outcome]:
    """A call of a decorated function, wherever it is made. Inside a run it waits in place for its answer."""
    here = frames_here()  # looked up at once: in the thread of some work, other code is around
    session = session_around(door, here)
    if session is None:
        session = yield Work(door.own_session)
    job = job_around(door, session, here)
    if job is not None and job.stopped is not None:
        raise job.stopped
    plain, objects = capability.shape.write_call(args, kwargs)
    request, scope = door.request(capability, plain, session), scope_here(door, session, here)
    attempt: Attempt = yield Work(partial(door.start, capability, request, scope))
    if not attempt.runs:
        patience = _patience(capability, job)
        try:
            attempt = yield from obtain_consent(door, capability, attempt, scope, patience, job)
        except (ConsentRequired, ConsentDenied) as error:
            if job is not None:
                job.stopped = error
            raise
    note_start(door, attempt.record.request.operations[0].name, here)
    frame = Frame(door, session, pass_on=partial(consent_passed_on, attempt, scope))
    done: Outcome = yield from enter_function(door, capability, attempt, objects, frame)
    yield report_end(door, attempt.call, attempt.fence, end_of(done))
    return done


def obtain_consent(
    door: Door,
    capability: Capability,
    attempt: Attempt,
    scope: Scope,
    patience: float | None,
    job: Job | None = None,
) -> Steps[Attempt]:
    """The attempt once it may run. Waits for a person as long as patience lasts; otherwise raises."""
    until = None if patience is None else time.monotonic() + patience
    while not attempt.runs:
        if attempt.state != "pending" or attempt.question is None:
            raise _make_denied(attempt)
        asks: PendingAsk = yield Work(partial(door.asks, attempt))
        if until is None:
            raise _make_required(attempt, asks, ConsentRequired)
        yield Work(partial(door.check_able, capability, attempt, scope))
        left = until - time.monotonic()
        if not left > 0:  # nor a number at all
            raise _make_required(attempt, asks, ConsentTimeout)
        waited: WaitResult = yield from _ask_and_wait(door, capability, attempt, asks, left, job)
        if waited.state == "open":
            raise _make_required(attempt, asks, ConsentTimeout)
        attempt = yield Work(partial(door.retry, capability, attempt, scope))
    return attempt


def consent_passed_on(attempt: Attempt, scope: Scope) -> OuterCall | None:
    """The consent that a started call passes on to the calls inside it."""
    return outer_resting_on(outer_consent(attempt.record.items, scope), attempt)


def enter_function(
    door: Door,
    capability: Capability,
    attempt: Attempt,
    objects: Mapping[str, Any],
    frame: Frame,
    *,
    crossing: bool = False,
) -> Steps[Outcome]:
    """The function itself, with the arguments that were approved.

    `crossing`: whoever drives this is async and the function is not, or the other way round.
    """
    call, fence = attempt.call, attempt.fence
    request = attempt.record.request
    door.keeper.hold(call, fence)
    with RunningSpan(call, request) as run:
        try:
            args, kwargs = capability.shape.read(request.call.arguments, objects)
            function, folder = capability.function, request.call.folder
            enter = partial(call_function, function, args, kwargs, folder=folder, crossing=crossing)
            done: Outcome = yield Enter(frame, enter)
        except BaseException:  # it never came to the function
            yield report_end(door, call, fence, End("failed", None, None))
            raise
        finally:
            door.keeper.drop(call)
        run.set_end(describe_ending(done, frame.job), done.error)
    return done


class End(msgspec.Struct, frozen=True):
    """The recorded end of a call: with its result, or the reason why there is none."""

    state: State
    result: bytes | None
    unkept: str | None


def end_of(done: Outcome) -> End:
    if done.error is not None:
        return End(state_after_error(done.error), None, error_text(done.error))
    return End("succeeded", *keep_result(done.value))


def report_end(door: Door, call: str, fence: int, end: End) -> Work:
    """The work of writing down how a call ended; none in a process that was forked inside it."""
    if door.keeper.is_of_parent(call, fence):
        return Work(lambda: None)
    return Work(partial(_record_end, door, call, fence, end))


def _record_end(door: Door, call: str, fence: int, end: End) -> None:
    """Write down how it ended. It has run, so an error must not say otherwise."""
    try:
        door.end(call, fence, end.state, end.result, end.unkept)
    except door.unrecorded as error:
        raise EndUnrecorded(call, error.message) from error


def error_text(error: BaseException) -> str:
    """An error as every caller reads it."""
    return f"{type(error).__name__}: {error}"


def state_text(attempt: Attempt) -> str:
    """A call that is over, or in other hands, in a sentence; if it failed, how."""
    said, why = STATE_WORDS.get(attempt.state, f"the call is {attempt.state}"), attempt.record.unkept
    if why is None or attempt.state not in ("failed", "ambiguous"):
        return said
    return why if attempt.state == "failed" else f"{said} ({why})"


def describe_ending(done: Outcome, job: Job | None) -> str:
    """Describe the end of a run in a word; stopped if a gate inside it was not passed."""
    if job is not None and job.stopped is not None:
        return "stopped"
    return "succeeded" if done.error is None else state_after_error(done.error)


def _ask_and_wait(
    door: Door, capability: Capability, attempt: Attempt, asks: PendingAsk, left: float, job: Job | None
) -> Steps[WaitResult]:
    """Put the question to people and wait. The run around it is parked meanwhile, so that nobody holds it."""
    if job is not None:
        yield Work(lambda: door.park(job, asks.question))
    over: threading.Event | None = None
    with AskingSpan(asks.question, attempt.record.request) as wait:
        try:
            over = yield Work(lambda: door.show(capability, attempt))
            waited: WaitResult = yield Wait(
                lambda: door.wait(attempt, left), lambda: door.await_answer(attempt, left)
            )
        finally:
            if over is not None:
                over.set()
            if job is not None:
                yield from _unpark_run(door, job, asks)
        wait.over(waited.state, waited.answer)
    if job is not None and job.stopped is not None:  # its own consent ended while it waited
        raise job.stopped
    return waited


def _unpark_run(door: Door, job: Job, asks: PendingAsk) -> Steps[None]:
    """Hold the run again, however the wait in it ended: whoever holds it says what became of it."""
    try:
        yield Work(lambda: door.unpark(job))
    except NotNow as error:  # somebody else goes on with it, from the top
        raise ConsentDenied(asks.operation, TAKEN_OVER, "running") from error


def _patience(capability: Capability, job: Job | None) -> float | None:
    return capability.wait if job is None else max(0.0, job.deadline - time.monotonic())


def state_after_error(error: BaseException) -> State:
    """Failed if the tool says so; ambiguous if nobody can say what happened."""
    if isinstance(error, BaseExceptionGroup):
        return "ambiguous" if "ambiguous" in map(state_after_error, error.exceptions) else "failed"
    unsure = (Ambiguous, TimeoutError, ConnectionError)
    return "failed" if isinstance(error, Exception) and not isinstance(error, unsure) else "ambiguous"


def _make_denied(attempt: Attempt) -> ConsentDenied:
    """The call may not run, or not by us: it is over, or somebody else has it."""
    record, operation = attempt.record, attempt.record.request.operations[0].name
    if attempt.state == "denied":
        return ConsentDenied(operation, record.reason, record.rule)
    return ConsentDenied(operation, state_text(attempt), attempt.state)


def _make_required(attempt: Attempt, asks: PendingAsk, kind: type[ConsentRequired]) -> ConsentRequired:
    return kind(asks.operation, asks.reason, asks.risk, asks.digest, asks.offers, asks.question, attempt.call)
