"""A scope is for the code inside its block: not for whoever holds a generator that stopped in the middle."""

from __future__ import annotations

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from sayso import ConsentRequired, Sayso, Step
from sayso.doors.python.calls.capability import NotGateable
from sayso.doors.python.session import Session
from sayso.gate.open import open_gate
from sayso.policy import load_text
from tests.support.gates import KEY, Clock, embedded, no_settings
from tests.support.people import Person, calls

__all__ = ["no_settings"]

POLICY = """
extends: [gateway]
domains:
  mail: {autonomous: [], requires_approval: [send], blocked: []}
"""


class Program:
    """A gated function, sync and async, and a session in which it was granted."""

    def __init__(self, gate: Sayso) -> None:
        self.gate = gate
        self.sent: list[str] = []

        @gate.requires_consent("mail.send", risk="moderate")
        def send() -> str:
            self.sent.append("sync")
            return "sent"

        @gate.requires_consent("mail.send", risk="moderate")
        async def asend() -> str:
            self.sent.append("async")
            return "sent"

        self.send, self.asend = send, asend
        self.granted = gate.session(agent="granted")
        with self.granted.active():
            with pytest.raises(ConsentRequired) as asked:
                send()
            gate.answer(asked.value.question or "", "always", by="ana")
            assert (send(), asyncio.run(asend())) == ("sent", "sent")
        self.sent.clear()

    def scope(self, kind: str) -> AbstractContextManager[Any]:
        return self.gate.user_initiated("desk.click") if kind == "click" else self.granted.active()

    def refused(self) -> None:
        with pytest.raises(ConsentRequired):
            self.send()

    async def arefused(self) -> None:
        with pytest.raises(ConsentRequired):
            await self.asend()


@pytest.fixture
def program(clock: Clock, tmp_path: Path) -> Iterator[Program]:
    with (
        embedded("memory", tmp_path, clock) as store,
        Sayso(open_gate(load_text(POLICY), store, key=KEY), [Person()]) as gate,
    ):
        yield Program(gate)


def main(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


both = pytest.mark.parametrize("kind", ["click", "session"])


@both
def test_a_generator_in_a_scope_lends_it_to_no_consumer(program: Program, kind: str) -> None:
    def pieces() -> Iterator[str]:
        with program.scope(kind):
            yield program.send()
            yield program.send()

    for piece in pieces():
        assert piece == "sent"
        program.refused()
    program.refused()
    assert program.sent == ["sync", "sync"]


@both
def test_an_async_generator_in_a_scope_lends_it_to_no_consumer(program: Program, kind: str) -> None:
    async def pieces() -> AsyncIterator[str]:
        with program.scope(kind):
            yield await program.asend()
            yield await program.asend()

    async def consume() -> None:
        async for piece in pieces():
            assert piece == "sent"
            await program.arefused()
        await program.arefused()

    main(consume())
    assert program.sent == ["async", "async"]


@both
def test_a_context_manager_made_of_a_generator_lends_no_scope(program: Program, kind: str) -> None:
    @contextmanager
    def wrapped() -> Iterator[None]:
        with program.scope(kind):
            yield

    @asynccontextmanager
    async def awrapped() -> AsyncIterator[None]:
        with program.scope(kind):
            yield

    async def consume() -> None:
        async with awrapped():
            await program.arefused()

    with wrapped():
        program.refused()
    main(consume())


@both
@pytest.mark.parametrize("is_async", [False, True])
def test_a_task_started_while_a_generator_is_suspended_has_no_scope(
    program: Program, kind: str, *, is_async: bool
) -> None:
    def pieces() -> Generator[None, None, None]:
        with program.scope(kind):
            yield

    async def apieces() -> AsyncGenerator[None, None]:
        with program.scope(kind):
            yield

    async def consume() -> None:
        stopped, astopped = pieces(), apieces()
        await anext(astopped) if is_async else next(stopped)
        await asyncio.create_task(program.arefused())
        await asyncio.gather(program.arefused(), program.arefused())
        await asyncio.to_thread(program.refused)
        await astopped.aclose() if is_async else stopped.close()

    main(consume())
    assert program.sent == []


@both
def test_a_thread_with_the_context_of_a_suspended_generator_has_no_scope(program: Program, kind: str) -> None:
    def pieces() -> Generator[None, None, None]:
        with program.scope(kind):
            yield

    stopped = pieces()
    next(stopped)
    in_thread(contextvars.copy_context(), program.refused)
    stopped.close()


@both
def test_a_task_of_a_suspended_generator_has_no_scope_when_the_generator_goes_on(
    program: Program, kind: str
) -> None:
    """It was started outside the block, and runs while somebody is inside it."""
    loop = asyncio.new_event_loop()

    def pieces() -> Generator[None, None, None]:
        with program.scope(kind):
            yield
            loop.run_until_complete(waiting[0])

    waiting: list[Any] = []
    stopped = pieces()
    next(stopped)
    waiting.append(loop.create_task(program.arefused()))
    list(stopped)
    loop.close()
    assert program.sent == []


@both
def test_who_drives_a_coroutine_by_hand_is_not_in_its_scope(program: Program, kind: str) -> None:
    class Pause:
        def __await__(self) -> Generator[None, None, None]:
            yield

    async def work() -> None:
        with program.scope(kind):
            await Pause()

    async def drive() -> None:
        driven = work()
        driven.send(None)
        await program.arefused()
        await asyncio.create_task(program.arefused())
        await asyncio.to_thread(program.refused)
        driven.close()

    main(drive())
    assert program.sent == []


@both
def test_tasks_that_share_one_context_share_no_scope(program: Program, kind: str) -> None:
    async def work(inside: asyncio.Event, over: asyncio.Event) -> None:
        with program.scope(kind):
            inside.set()
            await over.wait()

    async def drive() -> None:
        shared = contextvars.copy_context()
        inside, over = asyncio.Event(), asyncio.Event()
        first = asyncio.create_task(work(inside, over), context=shared)
        await inside.wait()
        await asyncio.create_task(program.arefused(), context=shared)
        over.set()
        await first

    main(drive())
    assert program.sent == []


@both
def test_a_scope_entered_by_a_function_that_has_returned_is_over(program: Program, kind: str) -> None:
    def enter() -> AbstractContextManager[Any]:
        scope = program.scope(kind)
        scope.__enter__()
        return scope

    async def drive() -> None:
        scope = enter()
        await program.arefused()
        await asyncio.create_task(program.arefused())
        await asyncio.to_thread(program.refused)
        scope.__exit__(None, None, None)

    main(drive())
    assert program.sent == []


@both
def test_a_generator_that_ends_late_takes_no_scope_away_and_leaves_none(program: Program, kind: str) -> None:
    def pieces() -> Generator[None, None, None]:
        with program.scope(kind):
            yield

    stopped = pieces()
    next(stopped)
    with program.scope("click"):
        list(stopped)
        assert program.send() == "sent"
    program.refused()
    left = pieces()
    next(left)
    thread = threading.Thread(target=left.close)  # ended in another context than it was begun in
    thread.start()
    thread.join()
    program.refused()
    asyncio.run(program.arefused())
    assert program.sent == ["sync"]


def test_what_a_consumer_calls_belongs_to_the_consumers_session(program: Program) -> None:
    gate = program.gate
    own = gate.session(agent="own")

    def pieces() -> Generator[None, None, None]:
        with program.granted.active():
            yield

    with own.active():
        for _ in pieces():
            program.refused()
    assert calls(gate)[-1].session == own.id


@both
def test_what_runs_inside_the_block_is_in_it_whoever_does_it(program: Program, kind: str) -> None:
    async def work() -> None:
        with program.scope(kind):
            assert await program.asend() == "sent"
            await asyncio.gather(program.asend(), program.asend())
            await asyncio.create_task(program.asend())
            await asyncio.wait_for(program.asend(), 60)
            assert await asyncio.to_thread(program.send) == "sent"
            async with asyncio.TaskGroup() as group:
                group.create_task(program.asend())

    main(work())
    with program.scope(kind):
        assert program.send() == "sent"
        assert asyncio.run(program.asend()) == "sent"
        assert in_thread(contextvars.copy_context(), program.send) == "sent"
        assert [program.send() for _ in range(2)] == ["sent", "sent"]
    with ExitStack() as stack:
        stack.enter_context(program.scope(kind))
        assert program.send() == "sent"
    program.refused()


def test_work_that_outlives_its_block_has_no_consent_but_still_its_session(program: Program) -> None:
    other = program.gate.session(agent="other")

    async def later(go: asyncio.Event) -> None:
        await go.wait()
        await program.arefused()

    async def work() -> None:
        go = asyncio.Event()
        with other.active(), program.gate.user_initiated("desk.click"):
            left = asyncio.create_task(later(go))
        go.set()
        await left

    main(work())
    assert calls(program.gate)[-1].session == other.id


def test_no_generator_function_is_decorated(program: Program) -> None:
    gate = program.gate

    def pieces() -> Generator[None, None, None]:
        yield

    async def apieces() -> AsyncGenerator[None, None]:
        yield

    ways: list[Callable[[Any], object]] = [
        gate.requires_consent("mail.send"),
        gate.reduces_risk_for("mail.send", "low"),
        gate.capability(),
        lambda one: gate.workflow("w", [Step("one", one)]),
    ]
    for way in ways:
        for one in (pieces, apieces):
            with pytest.raises(NotGateable):
                way(one)


def test_a_session_is_named_by_the_scope_it_is_looked_up_in(program: Program) -> None:
    session: Session = program.granted

    async def work() -> None:
        with session.active():
            assert (await session.arun("send")).status == "ok"

    with session.active() as same:
        assert same is session
    main(work())


def in_thread(context: contextvars.Context, work: Callable[[], Any]) -> Any:
    """What the work comes to in a thread of its own, in this context."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(context.run(work)))
    thread.start()
    thread.join()
    assert found, "it failed"
    return found[0]


def said_by_child(work: Callable[[], str]) -> str:
    """What this returns, or raises, in a process that is forked here."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(there, work().encode())
        except BaseException as error:  # noqa: BLE001  it is told
            os.write(there, type(error).__name__.encode())
        os._exit(0)
    os.close(there)
    with os.fdopen(here) as told:
        said = told.read()
    os.waitpid(child, 0)
    return said


# Of what begins when a process is forked, this is the first: it was there before Sayso was loaded.
EARLY_HOOK = """
import os
hooks = []
os.register_at_fork(after_in_child=lambda: [hook() for hook in hooks])
from sayso.doors.python.calls.scope import Frame, frames_here, inside
with inside(Frame(None, "s", clicked="send")):
    assert frames_here()
    hooks.append(lambda: os._exit(len(frames_here())))
    for _ in range(2):
        child = os.fork()
        assert os.waitpid(child, 0)[1] == 0, "it is inside"
    assert frames_here()
"""


@pytest.mark.cold
def test_what_begins_with_the_fork_itself_takes_no_scope_along() -> None:
    done = subprocess.run([sys.executable, "-c", EARLY_HOOK], check=False, capture_output=True, text=True)
    assert not done.returncode, done.stderr


@both
def test_no_forked_process_takes_a_scope_along(program: Program, kind: str) -> None:
    """A pool of processes that a click happens to start would be inside that click for ever."""
    with program.scope(kind):
        assert program.send() == "sent"
        assert said_by_child(program.send) == "ConsentRequired"
        assert program.send() == "sent"
