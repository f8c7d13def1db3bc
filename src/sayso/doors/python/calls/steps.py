"""One procedure for sync and async callers alike.

A procedure is a generator that yields what has to be done outside of it: work that blocks, a wait for an
answer, the function itself. `drive` does these things in place; `adrive` in threads and by awaiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from types import AsyncGeneratorType
from typing import Any, TypeVar

import msgspec

from sayso.core.errors import SaysoError
from sayso.doors.python.calls.holding import SUSPENDED
from sayso.doors.python.calls.scope import Frame, inside


class PutOff(SaysoError, TypeError):
    """The function gave back work instead of doing it. What it gave back is not begun."""

    code = "put_off"


class Work(msgspec.Struct, frozen=True):
    """Something that blocks for a moment: a transaction of the store. It is never left half done."""

    do: Callable[[], Any]


class Wait(msgspec.Struct, frozen=True):
    """Waiting for an answer, in one of two ways."""

    block: Callable[[], Any]
    suspend: Callable[[], Awaitable[Any]]


class Enter(msgspec.Struct, frozen=True):
    """The function itself, inside its frame. It comes back as Done; an error means it was not entered."""

    frame: Frame
    function: Callable[[], Any]


class Outcome(msgspec.Struct, frozen=True):
    """A function's result or exception."""

    value: Any = None
    error: BaseException | None = None


Instruction = Work | Wait | Enter
T = TypeVar("T")
Steps = Generator[Instruction, Any, T]


def drive(steps: Steps[T]) -> T:
    """Do every step here and now."""
    done: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = steps.send(done) if error is None else steps.throw(error)
        except StopIteration as end:
            result: T = end.value
            return result
        try:
            done, error = _do(step), None
        except BaseException as wrong:  # noqa: BLE001  the procedure says what an error means
            done, error = None, wrong


async def adrive(steps: Steps[T]) -> T:
    """The same without holding up the event loop. A cancellation waits until work under way is done.

    A coroutine that is thrown away can wait for nothing any more: what is left to write is written at once.
    """
    send: Callable[[], Instruction] = lambda: next(steps)  # noqa: E731  the first step
    cancelled: list[BaseException] = []
    thrown_away = False
    while True:
        step = _next_instruction(send, cancelled, thrown_away=thrown_away)
        if isinstance(step, _End):
            result: T = step.value
            return result
        if cancelled and not isinstance(step, Work):
            send = _throwing(steps, cancelled.pop())
            continue
        try:
            done = _do(step) if thrown_away else await _ado(step, cancelled)
        except GeneratorExit:
            thrown_away = True
            send = _leaving(steps, step)
        except BaseException as error:  # noqa: BLE001  the procedure says what an error means
            send = _throwing(steps, error)
        else:
            send = _sending(steps, done)


class _End(msgspec.Struct, frozen=True):
    """The procedure is over, with what it came to."""

    value: Any


def _next_instruction(
    send: Callable[[], Instruction], cancelled: list[BaseException], *, thrown_away: bool
) -> Instruction | _End:
    """The next step, or the end; a cancellation that came meanwhile is told instead of what it came to."""
    try:
        return send()
    except StopIteration as end:
        if cancelled:
            raise cancelled[0] from None
        return _End(end.value)
    except BaseException as error:
        if thrown_away:
            raise GeneratorExit from error
        if cancelled and isinstance(error, Exception):
            raise cancelled[0] from error
        raise


def _sending(steps: Steps[T], done: Any) -> Callable[[], Instruction]:
    return lambda: steps.send(done)


def _throwing(steps: Steps[T], error: BaseException) -> Callable[[], Instruction]:
    return lambda: steps.throw(error)


def _leaving(steps: Steps[T], step: Instruction) -> Callable[[], Instruction]:
    """Tell the procedure, in a word it may still answer with work, that nobody waits for it any more."""
    gone = asyncio.CancelledError("the coroutine was thrown away")
    return _sending(steps, Outcome(error=gone)) if isinstance(step, Enter) else _throwing(steps, gone)


def _do(step: Instruction) -> Any:
    if isinstance(step, Work):
        return step.do()
    if isinstance(step, Wait):
        return step.block()
    with inside(step.frame):
        try:
            return Outcome(_complete(step.function()))
        except BaseException as error:  # noqa: BLE001  the caller gets it back as it is
            return Outcome(error=error)


async def _ado(step: Instruction, cancelled: list[BaseException]) -> Any:
    if isinstance(step, Work):
        return await _finish_work(step, cancelled)
    if isinstance(step, Wait):
        return await step.suspend()
    with inside(step.frame):
        try:
            return Outcome(_complete(await step.function()))
        except BaseException as error:  # noqa: BLE001  the caller gets it back as it is
            return Outcome(error=error)


def _complete(value: Any) -> Any:
    """Return the result; refuse a coroutine or generator, which would run after the consent was used."""
    if not isinstance(value, SUSPENDED):
        return value
    if not isinstance(value, AsyncGeneratorType):  # which is closed by its loop
        value.close()
    raise PutOff(
        f"it returned a {type(value).__name__}, whose work would be done after the consent was used",
        hint="gate the function that does the work: an `async def`, or what is done for each piece",
    )


async def _finish_work(step: Work, cancelled: list[BaseException]) -> Any:
    """The outcome of work in a thread, however often the caller is cancelled meanwhile."""
    work = asyncio.ensure_future(in_thread(step.do))
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError as error:
            cancelled[:] = [error]
    return work.result()


async def in_thread(function: Callable[[], Any]) -> Any:
    """The function in a thread. A StopIteration could not be told through a future, and would hang."""
    done = await asyncio.to_thread(_try_call, function)
    if done.error is not None:
        raise done.error
    return done.value


def _try_call(function: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(function())
    except BaseException as error:  # noqa: BLE001  raised again where it is waited for
        return Outcome(error=error)
