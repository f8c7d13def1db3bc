"""`run` and `retry`: what a capability declares is checked first, asked in one question, and run once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from sayso.core.decision import Decision
from sayso.core.durations import USUAL_WAIT
from sayso.core.errors import SaysoError
from sayso.core.ledger import AWAITING, IN_PROGRESS, NotNow
from sayso.core.model import Request, Risk, Verdict
from sayso.core.rulebook import BLOCKING
from sayso.core.session import Scope
from sayso.core.words import no_answer_reason
from sayso.doors.python import words
from sayso.doors.python.calls.capability import Capability, check_callable
from sayso.doors.python.calls.door import CallKeys, Door, WaitResult
from sayso.doors.python.calls.gated_call import (
    STATE_WORDS,
    UNANSWERED,
    End,
    consent_passed_on,
    end_of,
    enter_function,
    error_text,
    obtain_consent,
    report_end,
    state_after_error,
    state_text,
)
from sayso.doors.python.calls.results import ConsentDenied, ConsentRequired, ConsentTimeout, Result, Status
from sayso.doors.python.calls.scope import (
    Frame,
    Job,
    calls_around,
    note_start,
    scope_here,
)
from sayso.doors.python.calls.steps import Outcome, Steps, Wait, Work
from sayso.doors.python.values.inputs import check_key, check_params, check_wait
from sayso.gate.call_rows import Attempt
from sayso.gate.deciding.authorize import Bundle
from sayso.gate.ledger.workflows import decode_note
from sayso.gate.telemetry import AskingSpan

MOST_RUNS = 3
RETRY = "retry"

Execute = Callable[[Attempt, int], Steps[Result]]
"""Run a call whose consent is there; the number says how often it has been run, this time included."""


class Unhealthy(SaysoError):
    code = "unhealthy"


class OtherFunction(SaysoError):
    """The name stands for another function now, or for one that takes something else. It is not run."""

    code = "other_function"


class RunOptions(msgspec.Struct, frozen=True):
    """Options of a run: its session, and how long the caller waits."""

    session: str
    wait: float = USUAL_WAIT
    key: str | None = None
    host_id: str | None = None
    is_async: bool = False
    began: float = msgspec.field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        check_wait(self.wait)
        check_key(self.key)

    @property
    def left(self) -> float:
        """Return the rest of the time to wait."""
        return self.wait - (time.monotonic() - self.began)


def run_capability(
    door: Door, name: str, params: Mapping[str, Any] | None, wish: RunOptions
) -> Steps[Result]:
    """Check, ask, wait, run once. Whatever happens, the caller gets one of the five results."""
    call: str | None = None
    try:
        capability = door.capabilities.find(name)
        check_callable(capability.function, from_async=wish.is_async)
        plain = capability.shape.write_params(check_params(params))
        yield from check_health(capability)
        scope = scope_here(door, wish.session)
        attempt: Attempt = yield from _begin_run(door, capability, plain, scope, wish)
        call = attempt.call
        return (yield from _carry_out(door, capability, attempt, scope, wish))
    except SaysoError as error:
        return Result("error", reason=str(error), operation_id=call)


def retry_capability(door: Door, operation_id: str, wish: RunOptions) -> Steps[Result]:
    """Go on with a call that had to be asked about, without its parameters being sent again."""
    try:
        attempt: Attempt = yield Work(lambda: door.find_call(operation_id, wish.session))
        if attempt.state not in AWAITING:
            return (yield from join_call(door, attempt, wish))
        capability = door.capabilities.find(attempt.record.request.call.tool)
        capability.shape.check_no_live()
        _check_same_function(capability, attempt.record.request)
        check_callable(capability.function, from_async=wish.is_async)
        yield from check_health(capability)
        scope = scope_here(door, wish.session)
        if attempt.state == "waiting":
            execute, restartable = partial(_execute, door, capability, scope, wish), capability.restartable
            return (yield from rerun(door, attempt, scope, wish, execute, restartable=restartable))
        tried: Attempt = yield Work(lambda: door.retry(capability, attempt, scope))
        return (yield from _carry_out(door, capability, tried, scope, wish))
    except NotNow:  # somebody else was quicker
        now: Attempt = yield Work(lambda: door.find_call(operation_id, wish.session))
        return (yield from join_call(door, now, wish))
    except SaysoError as error:
        return Result("error", reason=str(error), operation_id=operation_id)


def replay_capability(door: Door, operation_id: str, wish: RunOptions) -> Steps[Result]:
    """Run a queued operation again, as a new call: with its own session's grants for it, or this one's."""
    try:
        request: Request = yield Work(lambda: door.request_to_retry(operation_id))
        capability = door.capabilities.find(request.call.tool)
        _check_same_function(capability, request)
        state = door.state_of(capability, request)
        attempt: Attempt = yield Work(
            lambda: door.replay_here(operation_id, request, wish.session, state=state)
        )
        return (yield from _carry_out(door, capability, attempt, scope_here(door, wish.session), wish))
    except SaysoError as error:
        return Result("error", reason=str(error), operation_id=operation_id)


def check_capability(door: Door, name: str, params: Mapping[str, Any] | None, session: str) -> Decision:
    """Decide this run without running it."""
    capability = door.capabilities.find(name)
    request = door.request(capability, capability.shape.write_params(check_params(params)), session)
    return door.preview(request, scope_here(door, session))


def join_call(door: Door, attempt: Attempt, wish: RunOptions) -> Steps[Result]:
    """The result of a call that somebody else runs, once it is over: one call has one result for all.

    Bounded by the time that this caller waits. A call never waits for itself.
    """
    call = attempt.call
    if attempt.state in IN_PROGRESS:
        if call in calls_around(door):
            return Result("error", operation_id=call, reason=words.WAITS_FOR_ITSELF)
        left = wish.left
        if left > 0:
            yield Wait(lambda: door.wait_end(call, left), lambda: door.await_end(call, left))
        attempt = yield Work(lambda: door.find_call(call, wish.session))
    live = None if attempt.state in IN_PROGRESS else door.handing_on.find(call, wish.began)
    return result_from_attempt(attempt) if live is None else live


def conclude_run(door: Door, call: str, fence: int, done: Outcome, ran: tuple[str, ...]) -> Steps[Result]:
    """Write down how the call ended; its result, which those who wait for it in this process get as well."""
    end = end_of(done)
    if done.error is None:
        result = Result("ok", done.value, operation_id=call, kept=end.result is not None)
    else:
        result = Result("error", reason=error_text(done.error), operation_id=call, ran=ran)
    with door.handing_on.ending(call, result):
        yield report_end(door, call, fence, end)
    if done.error is not None and not isinstance(done.error, Exception):
        raise done.error
    return result


def result_from_attempt(attempt: Attempt) -> Result:
    """Make a result from the ledger, for a call that is over or in other hands."""
    record, name = attempt.record, attempt.call
    if attempt.state == "succeeded":
        if attempt.result is None:
            return Result("ok", operation_id=name, reason=words.not_kept(record.unkept))
        return Result("ok", msgspec.json.decode(attempt.result), operation_id=name, kept=True)
    if attempt.state == "denied":
        blocked = record.rule in BLOCKING
        return Result("blocked" if blocked else "denied", reason=record.reason, operation_id=name)
    if attempt.state in IN_PROGRESS:
        return Result("timeout", operation_id=name, reason=words.still_running(name), retry_with=RETRY)
    return Result("error", reason=state_text(attempt), operation_id=name)


def result_from_denial(error: ConsentDenied, call: str, ran: tuple[str, ...] = ()) -> Result:
    status: Status = "blocked" if error.blocked else "denied"
    return Result(status, reason=error.reason, operation_id=call, ran=ran)


def _handle_denial(door: Door, error: ConsentDenied, attempt: Attempt, wish: RunOptions) -> Steps[Result]:
    """A call that may not run, or that somebody else was quicker to run."""
    if error.rule not in STATE_WORDS:
        return result_from_denial(error, attempt.call)
    now: Attempt = yield Work(lambda: door.find_call(attempt.call, wish.session))
    return (yield from join_call(door, now, wish))


def _handle_timeout(door: Door, error: ConsentRequired) -> Result:
    """Nobody answered in time: the question stays, and whoever sees it is told that the agent went on."""
    door.tell_left(error.operation, error.question or "")
    return timeout_result(error.operation_id, error)


def timeout_result(call: str, error: ConsentRequired | None = None) -> Result:
    """The result of a call that still waits for a person: what to do about it, and nothing else."""
    asked = () if error is None else (error.operation, error.risk.word)
    return Result("timeout", operation_id=call, reason=no_answer_reason(call, *asked), retry_with=RETRY)


def settle_stopped_run(door: Door, job: Job, *, restartable: bool) -> Steps[Result]:
    """A gate on the way was not passed. The run ends there, even if its code went on after the error.

    Only if nothing that needed consent had been begun, or it says itself that it can be begun again, does it
    stay open to be run again from the top, twice at most.
    """
    error, ran = job.stopped, (*job.done, *job.started)
    if error is None:
        raise AssertionError("only a stopped run is asked for here")
    again = job.note.runs < MOST_RUNS + job.note.finished
    if isinstance(error, ConsentTimeout) and (restartable or not job.started) and again:
        question = error.question or ""
        yield Work(lambda: door.park(job, question))
        door.tell_left(error.operation, question)
        return timeout_result(job.call, error)
    where = f"stopped at {error.operation}: {error.reason}"
    result = Result("error", reason=where, operation_id=job.call, ran=ran)
    if isinstance(error, ConsentDenied) and error.rule != UNANSWERED:
        result = msgspec.structs.replace(result_from_denial(error, job.call, ran), reason=where)
    end = End(state_after_error(error), None, where)
    with door.handing_on.ending(job.call, result):
        yield report_end(door, job.call, job.fence, end)
    return result


def rerun(
    door: Door, attempt: Attempt, scope: Scope, wish: RunOptions, execute: Execute, *, restartable: bool
) -> Steps[Result]:
    """Run a parked run again from the top, once the question it stopped at is closed."""
    resumed: Attempt | None = yield from _resume_run(door, attempt, scope, wish, restartable=restartable)
    if resumed is None:
        return timeout_result(attempt.call)
    if not resumed.runs:
        return result_from_attempt(resumed)
    return (yield from execute(resumed, decode_note(resumed.note).runs + 1))


def run_with_consent(
    door: Door, capability: Capability, attempt: Attempt, scope: Scope, wish: RunOptions, execute: Execute
) -> Steps[Result]:
    """Wait for the consent that the call needs, then run it for the first time."""
    if not attempt.runs and attempt.state not in ("pending", "denied"):
        return (yield from join_call(door, attempt, wish))
    try:
        ready: Attempt = yield from obtain_consent(door, capability, attempt, scope, wish.wait)
    except ConsentTimeout as error:
        return _handle_timeout(door, error)
    except ConsentDenied as error:
        return (yield from _handle_denial(door, error, attempt, wish))
    return (yield from execute(ready, 1))


def _resume_run(
    door: Door, attempt: Attempt, scope: Scope, wish: RunOptions, *, restartable: bool
) -> Steps[Attempt | None]:
    """Give a parked run its next number once its question is closed; None if it is still open.

    It is decided again at that moment; one that may not go on comes back as it ended. A run that began
    something which cannot be begun again belongs to whoever waits in it.
    """
    note = decode_note(attempt.note)
    if note.runs >= MOST_RUNS + note.finished or (note.ran and not restartable):
        raise NotNow("this run can only be resumed where it is waiting")
    if attempt.question is not None:
        with AskingSpan(attempt.question, attempt.record.request) as wait:
            waited: WaitResult = yield Wait(
                lambda: door.wait(attempt, wish.wait), lambda: door.await_answer(attempt, wish.wait)
            )
            wait.over(waited.state, waited.answer)
        if waited.state == "open":
            return None
    resumed: Attempt = yield Work(lambda: door.enter_again(attempt, scope))
    return resumed


def _check_same_function(capability: Capability, request: Request) -> None:
    if request.call.schema != capability.shape.schema:
        raise OtherFunction(f"{capability.name} is no longer the function that was asked for")


def _begin_run(
    door: Door, capability: Capability, plain: Mapping[str, Any], scope: Scope, wish: RunOptions
) -> Steps[Attempt]:
    """Everything declared is decided in one go. High risk whose arguments are not known yet waits."""
    operations, bundle = door.operations(capability), None
    keys = CallKeys(wish.host_id, wish.key)
    if capability.declared:
        everything = door.request(capability, plain, wish.session, operations)
        decision: Decision = yield Work(lambda: door.preview(everything, scope))
        later = _for_later(capability, decision, nests=door.nests)
        operations = [one for one in operations if one.name not in later]
        bundle = Bundle(f"bundle:{capability.name}", later)
    if operations:
        request = door.request(capability, plain, wish.session, operations)
        attempt: Attempt = yield Work(lambda: door.start(capability, request, scope, keys, bundle))
        return attempt
    bare = door.request(capability, plain, wish.session, ())
    attempt = yield Work(lambda: door.start_ungated(capability, bare, scope, keys))
    return attempt


def _for_later(capability: Capability, decision: Decision, *, nests: bool) -> tuple[str, ...]:
    """Return the operations to ask when they are reached: high risk, other than the function's own.

    Where calls are not believed to be part of another, all of it is; unless it would be denied anyway.
    """
    if not nests and decision.verdict is not Verdict.DENY:
        later = [item.operation for item in decision.items]
    else:
        asked = [item for item in decision.items if item.ruling.verdict is Verdict.ASK]
        later = [item.operation for item in asked if item.risk >= Risk.HIGH]
    own = capability.own.name if capability.own is not None else None
    return tuple(name for name in dict.fromkeys(later) if name != own)


def check_health(capability: Capability) -> Steps[None]:
    """The capability's own check before each attempt; False or an error keeps it from being tried."""
    if capability.health is None:
        return
    try:
        fine = yield Work(capability.health)
    except Exception as error:
        raise Unhealthy(f"{capability.name} is not ready: {error}") from error
    if fine is False:
        raise Unhealthy(f"{capability.name} is not ready")


def _carry_out(
    door: Door, capability: Capability, attempt: Attempt, scope: Scope, wish: RunOptions
) -> Steps[Result]:
    execute = partial(_execute, door, capability, scope, wish)
    return (yield from run_with_consent(door, capability, attempt, scope, wish, execute))


def _execute(
    door: Door, capability: Capability, scope: Scope, wish: RunOptions, attempt: Attempt, runs: int
) -> Steps[Result]:
    if runs == 1 and attempt.record.items:
        note_start(door, attempt.record.request.operations[0].name)
    note = msgspec.structs.replace(decode_note(None), runs=runs, restartable=capability.restartable)
    folder = attempt.record.request.call.folder
    job = Job(attempt.call, attempt.fence, time.monotonic() + wish.wait, note, scope, folder)
    frame = Frame(door, wish.session, pass_on=partial(consent_passed_on, attempt, scope), job=job)
    crossing = capability.is_async != wish.is_async
    done: Outcome = yield from enter_function(door, capability, attempt, {}, frame, crossing=crossing)
    if job.stopped is not None:
        return (yield from settle_stopped_run(door, job, restartable=capability.restartable))
    return (yield from conclude_run(door, attempt.call, job.fence, done, tuple(job.started)))
