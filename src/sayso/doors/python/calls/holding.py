"""Blocks, and the code inside them: their function, and the tasks and threads that it started.

A block is held by the Python frame of the function that it is in. Whatever runs inside has that frame on
its stack; a task or a thread with a copy of the context has it on the stack of the thread it was entered in,
or among the coroutines its task waits for. A generator that stops in its block leaves the stack, and its
consumer, and whatever the consumer starts meanwhile, is outside. In doubt something is outside.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextvars import ContextVar, Token
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any

STOPS = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
"""What can stop in the middle of a block and hand over to whoever asked for the next piece."""
SUSPENDED = (CoroutineType, GeneratorType, AsyncGeneratorType)
MOST = 10_000

Place = tuple[int, int, asyncio.Task[Any] | None]
"""The process (how many forks lie before it), the thread and the task that some code runs in."""

_looking = threading.RLock()
_entered: ContextVar[None] = ContextVar("sayso_entered")
_forks = 0
_forking: set[int] = set()
"""The threads that fork this process now. Of what they do before it is done, nobody can say in which one."""
_FORKING = -1


def _begin_fork() -> None:
    _forking.add(threading.get_ident())


def _end_fork() -> None:
    _forking.discard(threading.get_ident())


def _count_fork() -> None:
    global _forks  # noqa: PLW0603  a process is a fact about the whole program
    _forks += 1
    _forking.clear()


os.register_at_fork(before=_begin_fork, after_in_parent=_end_fork, after_in_child=_count_fork)
os.register_at_fork(after_in_parent=_end_fork)  # again: Ctrl-C during the fork is raised in the first one


def place_here() -> Place:
    if _forking and threading.get_ident() in _forking:
        return _FORKING, threading.get_ident(), None
    loop = asyncio._get_running_loop()  # noqa: SLF001  which raises nothing where none runs
    return _forks, threading.get_ident(), None if loop is None else asyncio.current_task(loop)


class Holding:
    """A block while it lasts: the function that holds it, and the thread, task and context it is held in."""

    def __init__(self, frame: FrameType, at: Place) -> None:
        self._holder: FrameType | None = _beyond_contextlib(frame)
        self._stops = bool(self._holder.f_code.co_flags & STOPS)
        self._process, self._thread, task = at
        self._task = None if task is None else weakref.ref(task)
        self._token: Token[None] = _entered.set(None)

    def over(self) -> None:
        """The block was left. What it left behind still knows whose work it is."""
        self._holder = None

    def surrounds(self, at: Place, *, is_open: bool) -> bool:
        """Return whether this point of the program is inside the block, or after its end comes from it.

        A process that was forked inside never is: its copy of the stack says that the block lasts for ever.
        """
        process, thread, task = at
        if process != self._process:
            return False
        if thread == self._thread and task is (None if self._task is None else self._task()):
            return self._holder is not None and _is_on_stack(self._holder, sys._getframe(1))  # noqa: SLF001
        if self._stops or self._same_context():
            return False
        return not is_open or self._goes_on()

    def _goes_on(self) -> bool:
        """Return whether the function is at work in the block now: running, or waiting in its task.

        While one look follows the other, it may have changed from one to the other; so both are taken twice.
        """
        return self._runs() or self._waits() or self._runs() or self._waits()

    def _runs(self) -> bool:
        holder = self._holder
        return holder is not None and _is_on_stack(holder, _top_of(self._thread))

    def _waits(self) -> bool:
        holder, task = self._holder, None if self._task is None else self._task()
        return holder is not None and task is not None and holder in _awaiting(task.get_coro())

    def _same_context(self) -> bool:
        """Return whether this is the very context the block was entered in, shared instead of copied."""
        try:
            _entered.reset(self._token)
        except (ValueError, RuntimeError):
            return False
        self._token = _entered.set(None)
        return True


def _top_of(thread: int) -> FrameType | None:
    """Return the frame that this thread runs now.

    Before Python 3.12 a collection of garbage in the middle of this question can hang the process: it holds a
    lock of the interpreter that the end of a thread-local value wants as well (python/cpython#106883). So
    nothing is collected meanwhile.
    """
    if sys.version_info >= (3, 12):
        return sys._current_frames().get(thread)  # noqa: SLF001  there is no other way to ask
    with _looking:
        collects = gc.isenabled()
        gc.disable()
        try:
            return sys._current_frames().get(thread)  # noqa: SLF001
        finally:
            if collects:
                gc.enable()


def _beyond_contextlib(frame: FrameType) -> FrameType:
    """The function whose block it is, where an ExitStack enters it for that function."""
    while frame.f_globals.get("__name__") == "contextlib" and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _is_on_stack(wanted: FrameType, frame: FrameType | None) -> bool:
    while frame is not None and frame is not wanted:
        frame = frame.f_back
    return frame is not None


def _awaiting(coroutine: Any) -> Iterator[FrameType]:
    """The frames of a suspended coroutine and of what it waits for, outermost first."""
    for _ in range(MOST):
        if coroutine is None:
            return
        for name in ("cr_frame", "gi_frame", "ag_frame"):
            frame = getattr(coroutine, name, None)
            if frame is not None:
                yield frame
        coroutine = _inner_coroutine(coroutine)


def _inner_coroutine(coroutine: Any) -> Any:
    for name in ("cr_await", "gi_yieldfrom", "ag_await"):
        if hasattr(coroutine, name):
            return getattr(coroutine, name)
    # what steps an async generator, or wraps a coroutine, does not say which; it only holds it
    return next((one for one in gc.get_referents(coroutine) if isinstance(one, SUSPENDED)), None)
