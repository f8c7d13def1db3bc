"""One procedure for sync and async callers alike.

A procedure is a generator that yields what has to be done outside of it: work that blocks, a wait for an
answer, the function itself. `drive` does these things in place; `adrive` in threads and by awaiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

import msgspec

from sayso.doors.python.scope import Frame, inside


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


class Done(msgspec.Struct, frozen=True):
    """What the function returned or raised."""

    value: Any = None
    error: BaseException | None = None


Step = Work | Wait | Enter
T = TypeVar("T")
Steps = Generator[Step, Any, T]


def drive(steps: Steps[T]) -> T:
    """Do every step here and now."""
    send: Callable[[], Step] = lambda: next(steps)  # noqa: E731  the first step
    while True:
        try:
            step = send()
        except StopIteration as end:
            result: T = end.value
            return result
        try:
            done = _do(step)
        except BaseException as error:  # noqa: BLE001  the procedure says what an error means
            send = _throwing(steps, error)
        else:
            send = _sending(steps, done)


async def adrive(steps: Steps[T]) -> T:
    """The same without holding up the event loop. A cancellation waits until work under way is done."""
    send: Callable[[], Step] = lambda: next(steps)  # noqa: E731  the first step
    cancelled: list[BaseException] = []
    while True:
        try:
            step = send()
        except StopIteration as end:
            if cancelled:
                raise cancelled[0] from None
            result: T = end.value
            return result
        if cancelled and not isinstance(step, Work):
            send = _throwing(steps, cancelled.pop())
            continue
        try:
            done = await _ado(step, cancelled)
        except BaseException as error:  # noqa: BLE001  the procedure says what an error means
            send = _throwing(steps, error)
        else:
            send = _sending(steps, done)


def _sending(steps: Steps[T], done: Any) -> Callable[[], Step]:
    return lambda: steps.send(done)


def _throwing(steps: Steps[T], error: BaseException) -> Callable[[], Step]:
    return lambda: steps.throw(error)


def _do(step: Step) -> Any:
    if isinstance(step, Work):
        return step.do()
    if isinstance(step, Wait):
        return step.block()
    with inside(step.frame):
        try:
            return Done(step.function())
        except BaseException as error:  # noqa: BLE001  the caller gets it back as it is
            return Done(error=error)


async def _ado(step: Step, cancelled: list[BaseException]) -> Any:
    if isinstance(step, Work):
        return await _finished(step, cancelled)
    if isinstance(step, Wait):
        return await step.suspend()
    with inside(step.frame):
        try:
            return Done(await step.function())
        except BaseException as error:  # noqa: BLE001  the caller gets it back as it is
            return Done(error=error)


async def _finished(step: Work, cancelled: list[BaseException]) -> Any:
    """The outcome of work in a thread, however often the caller is cancelled meanwhile."""
    work = asyncio.ensure_future(asyncio.to_thread(step.do))
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError as error:
            cancelled[:] = [error]
    return work.result()
