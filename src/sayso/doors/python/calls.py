"""One gated call from question to end: decided, asked if need be, entered once, and reported.

The procedures here are generators (see steps): the same for sync and async callers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.decision import Question
from sayso.core.ledger import State
from sayso.core.session import Scope
from sayso.doors.python.capability import Capability, called
from sayso.doors.python.door import Door
from sayso.doors.python.results import Ambiguous, ConsentDenied, ConsentRequired, ConsentTimeout, written
from sayso.doors.python.scope import Frame, Job, carried, job_around, scope_of
from sayso.doors.python.steps import Done, Enter, Steps, Wait, Work
from sayso.gate import outcome
from sayso.gate.answer import cancel_question
from sayso.gate.call_rows import Attempt
from sayso.store.base import QuestionRow

NOBODY = "nobody can be asked: there is no surface that could show the question"


def gated(
    door: Door, capability: Capability, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Steps[Done]:
    """A call of a decorated function, wherever it is made. Inside a run it waits in place for its answer."""
    session = door.session_here()
    job = job_around(door, session)
    if job is not None and job.stopped is not None:
        raise job.stopped
    plain, objects = capability.shape.written(args, kwargs)
    request, scope = door.request(capability, plain, session), scope_of(door, session)
    attempt: Attempt = yield Work(lambda: door.start(capability, request, scope))
    try:
        attempt = yield from cleared(door, capability, attempt, scope, _patience(capability, job), job)
    except (ConsentRequired, ConsentDenied) as error:
        if job is not None:
            job.stopped = error
        raise
    if job is not None:
        job.started.append(attempt.record.request.operations[0].name)
    frame = Frame(door, session, outer=carried(attempt.record.items, scope))
    done: Done = yield from entered(door, capability, attempt, objects, frame)
    yield from reported(door, attempt.call, attempt.fence, done)
    return done


def cleared(
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
            raise _refused(attempt, None)
        name = attempt.question
        question: Question = yield Work(lambda name=name: door.question(name))  # type: ignore[misc]
        left = 0.0 if until is None else until - time.monotonic()
        if left <= 0:
            raise _required(attempt, question, ConsentRequired if until is None else ConsentTimeout)
        if not door.asker.able:
            yield Work(lambda name=name: cancel_question(door.gate, name, NOBODY))  # type: ignore[misc]
            raise ConsentDenied(question.items[0].operation, NOBODY, "no_surface")
        row: QuestionRow = yield from _asked(door, capability, question, left, job)
        if row.state == "open":
            raise _required(attempt, question, ConsentTimeout)
        if row.state != "answered":
            raise ConsentDenied(question.items[0].operation, f"the question was {row.state}", row.state)
        before = attempt
        attempt = yield Work(lambda before=before: door.retry(capability, before, scope))  # type: ignore[misc]
        if attempt.state == "denied":
            raise _refused(attempt, row)
    return attempt


def entered(
    door: Door,
    capability: Capability,
    attempt: Attempt,
    objects: Mapping[str, Any],
    frame: Frame,
    *,
    crossing: bool = False,
) -> Steps[Done]:
    """The function itself, with the arguments that were approved.

    `crossing`: whoever drives this is async and the function is not, or the other way round.
    """
    call, fence = attempt.call, attempt.fence
    door.keeper.hold(call, fence)
    try:
        args, kwargs = capability.shape.read(attempt.record.request.call.arguments, objects)
        done: Done = yield Enter(frame, lambda: called(capability.function, args, kwargs, crossing=crossing))
    except BaseException:  # it never came to the function
        yield Work(lambda: outcome.end_call(door.gate, call, fence, "failed"))
        raise
    finally:
        door.keeper.drop(call)
    return done


def reported(door: Door, call: str, fence: int, done: Done) -> Steps[None]:
    """Write down how the call ended, and what it returned."""
    state: State = "succeeded" if done.error is None else _state(done.error)
    result = None if done.error is not None else msgspec.json.encode(written(done.value))
    yield Work(lambda: outcome.end_call(door.gate, call, fence, state, result))


def _asked(
    door: Door, capability: Capability, question: Question, left: float, job: Job | None
) -> Steps[QuestionRow]:
    """Put the question to people and wait. The run around it is parked meanwhile, so that nobody holds it."""
    name, asker = question.id, door.asker
    if job is not None:
        yield Work(lambda: door.park(job, name))
    over = yield Work(
        lambda: asker.show(question, lambda edited: door.edited(question.request, capability, edited))
    )
    try:
        row: QuestionRow = yield Wait(lambda: asker.wait(name, left), lambda: asker.await_answer(name, left))
    finally:
        over.set()
    if job is not None:
        yield Work(lambda: door.unpark(job))
    return row


def _patience(capability: Capability, job: Job | None) -> float | None:
    return capability.wait if job is None else max(0.0, job.deadline - time.monotonic())


def _state(error: BaseException) -> State:
    """Failed if the tool says so; ambiguous if nobody can say what happened."""
    unsure = (Ambiguous, TimeoutError, ConnectionError)
    return "failed" if isinstance(error, Exception) and not isinstance(error, unsure) else "ambiguous"


def _refused(attempt: Attempt, row: QuestionRow | None) -> ConsentDenied:
    record = attempt.record
    reason = record.reason
    if row is not None and row.answer == "deny":
        reason = f"denied by {row.by}" + (f": {row.reason}" if row.reason else "")
    return ConsentDenied(record.request.operations[0].name, reason, record.rule)


def _required(attempt: Attempt, question: Question, kind: type[ConsentRequired]) -> ConsentRequired:
    asked = max(question.items, key=lambda item: item.risk)
    digest, reason = question.request.digest, asked.ruling.reason
    return kind(asked.operation, reason, asked.risk, digest, question.offers, question.id, attempt.call)
