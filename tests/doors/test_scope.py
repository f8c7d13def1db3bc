"""Where a call is made decides what carries it: outer calls and sessions, as long as they are open."""

from __future__ import annotations

import asyncio
import threading

import pytest

from sayso import Sayso
from sayso.doors.python.calls.results import ConsentRequired
from tests.support.people import Person, answer_open, calls, questions


def ops(gate: Sayso) -> dict[str, object]:
    """Gated functions of every weight."""
    made: dict[str, object] = {}
    for risk, operation in (("low", "notes.read"), ("moderate", "notes.write"), ("high", "notes.share")):

        @gate.requires_consent(operation, risk=risk)
        def inner() -> str:
            return "done"

        made[risk] = inner
    return made


@pytest.mark.parametrize(
    ("outer", "inner", "carried"),
    [
        ("low", "low", True),
        ("low", "moderate", False),
        ("low", "high", False),
        ("moderate", "low", True),
        ("moderate", "moderate", True),
        ("moderate", "high", False),
        ("high", "low", True),
        ("high", "moderate", True),
        ("high", "high", False),
    ],
)
def test_an_outer_consent_carries_what_weighs_no_more_and_never_high(
    gate: Sayso, person: Person, outer: str, inner: str, *, carried: bool
) -> None:
    def work() -> str:
        return ops(gate)[inner]()  # type: ignore[operator, no-any-return]

    person.says("once")
    around = gate.requires_consent("notes.tidy", risk=outer, wait=60)(work)
    if carried:
        assert around() == "done"
    else:
        with pytest.raises(ConsentRequired):
            around()


def test_a_consent_for_one_thing_is_over_when_its_call_is(gate: Sayso, person: Person) -> None:
    @gate.requires_consent("tasks.create", risk="moderate", wait=60)
    def outer() -> str:
        return inner()

    @gate.requires_consent("tasks.list", risk="low")
    def inner() -> str:
        return "listed"

    person.says("once", "once")
    assert outer() == "listed"
    with pytest.raises(ConsentRequired):
        inner()


def test_a_background_task_that_outlives_its_approved_call_has_no_consent(
    gate: Sayso, person: Person
) -> None:
    @gate.requires_consent("tasks.list", risk="low")
    async def inner() -> str:
        return "listed"

    async def background(go: asyncio.Event) -> str:
        await go.wait()
        return await inner()

    @gate.requires_consent("tasks.create", risk="moderate", wait=60)
    async def outer(*, wait_for_it: bool) -> asyncio.Task[str]:
        go = asyncio.Event()
        task = asyncio.create_task(background(go))
        if wait_for_it:
            go.set()
            await task
        waiting.append(go)
        return task

    waiting: list[asyncio.Event] = []

    async def main() -> None:
        assert await (await outer(wait_for_it=True)) == "listed"
        left = await outer(wait_for_it=False)
        waiting[-1].set()
        with pytest.raises(ConsentRequired):
            await left

    person.says("once", "once")
    asyncio.run(main())


def test_what_outlives_its_call_still_belongs_to_its_session(gate: Sayso, person: Person) -> None:
    @gate.requires_consent("tasks.list", risk="low")
    async def inner() -> None: ...

    @gate.capability()
    async def start() -> asyncio.Task[None]:
        async def later() -> None:
            await asyncio.sleep(0)
            await inner()

        return asyncio.create_task(later())

    async def main() -> None:
        with gate.session().active():
            task = (await session.arun("start")).value
        with pytest.raises(ConsentRequired):
            await task

    session = gate.session()
    asyncio.run(main())
    assert {row.session for row in calls(gate)} == {session.id}


def test_two_coroutines_do_not_share_consent(gate: Sayso, person: Person) -> None:
    inside, tried = asyncio.Event(), asyncio.Event()

    @gate.requires_consent("tasks.list", risk="low")
    async def inner() -> str:
        return "listed"

    @gate.requires_consent("tasks.create", risk="moderate", wait=60)
    async def outer() -> str:
        inside.set()
        await tried.wait()
        return await inner()

    async def other() -> None:
        await inside.wait()
        with pytest.raises(ConsentRequired):
            await inner()
        with pytest.raises(ConsentRequired):
            await asyncio.to_thread(lambda: asyncio.run(inner()))
        tried.set()

    async def main() -> None:
        assert (await asyncio.gather(outer(), other()))[0] == "listed"

    person.says("once")
    asyncio.run(main())


def test_two_threads_do_not_share_consent(gate: Sayso, person: Person) -> None:
    found: list[type] = []

    @gate.requires_consent("tasks.list", risk="low")
    def inner() -> str:
        return "listed"

    def other() -> None:
        try:
            inner()
        except ConsentRequired as error:
            found.append(type(error))

    @gate.requires_consent("tasks.create", risk="moderate", wait=60)
    def outer() -> str:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return inner()

    person.says("once")
    with gate.user_initiated("dashboard.create"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert outer() == "listed"
    assert found == [ConsentRequired, ConsentRequired]


def test_the_session_a_call_is_run_in_is_the_innermost(gate: Sayso, person: Person) -> None:
    host, agent = gate.session(), gate.session()

    @gate.requires_consent("mail.send")
    def send() -> str:
        return "sent"

    @gate.capability()
    def report() -> str:
        return send()

    with host.active():
        with pytest.raises(ConsentRequired):
            send()
        answer_open(gate, "always")
        assert send() == "sent"
        assert agent.run("report", wait=0.01).status == "timeout"
        assert send() == "sent"
    assert questions(gate, "open")[0].session == agent.id
