"""A coroutine can be cancelled at any moment: what is begun is written down, and nothing is lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from sayso import Sayso
from sayso.doors.python.calls.results import ConsentRequired
from sayso.gate.open import open_gate
from sayso.policy import load_preset
from sayso.store.memory.store import MemoryStore, MemoryWriter
from tests.support.people import Person, answer_open, calls, questions, states

pytestmark = pytest.mark.each_store


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def sends(gate: Sayso, entered: asyncio.Event | None = None) -> list[str]:
    sent: list[str] = []

    @gate.capability()
    @gate.requires_consent("mail.send", wait=60)
    async def send(to: str) -> None:
        sent.append(to)
        if entered is not None:
            entered.set()
            await asyncio.Event().wait()

    return sent


async def asked(person: Person) -> None:
    await asyncio.to_thread(person.waits_to_be_asked)


def test_cancelled_before_it_starts_nothing_is_asked(gate: Sayso) -> None:
    sent = sends(gate)

    async def main() -> None:
        await cancelled(asyncio.create_task(gate.arun("send", {"to": "ana"})))

    asyncio.run(main())
    assert (sent, calls(gate), questions(gate)) == ([], [], [])


def test_cancelled_while_it_waits_the_question_stays_and_can_be_retried(gate: Sayso, person: Person) -> None:
    sent = sends(gate)

    async def main() -> None:
        task = asyncio.create_task(gate.arun("send", {"to": "ana"}))
        await asked(person)
        await cancelled(task)

    asyncio.run(main())
    assert (sent, states(gate)) == ([], {"send": "pending"})
    answer_open(gate)
    assert gate.retry(calls(gate)[0].id).ok
    assert sent == ["ana"]


def test_cancelled_while_it_runs_nobody_can_say_what_happened(gate: Sayso, person: Person) -> None:
    person.says("once")

    async def main() -> None:
        entered = asyncio.Event()
        sends(gate, entered)
        task = asyncio.create_task(gate.arun("send", {"to": "ana"}))
        await entered.wait()
        await cancelled(task)

    asyncio.run(main())
    assert states(gate) == {"send": "ambiguous"}


def test_a_thread_that_a_cancelled_run_leaves_behind_has_no_consent(gate: Sayso, person: Person) -> None:
    entered, go, found = threading.Event(), threading.Event(), []

    @gate.requires_consent("tasks.create", risk="low")
    def inner() -> None: ...

    @gate.capability()
    @gate.requires_consent("mail.send", risk="moderate")
    def send() -> None:
        entered.set()
        go.wait()
        try:
            inner()
        except BaseException as error:  # noqa: BLE001
            found.append(type(error))

    async def main() -> None:
        task = asyncio.create_task(gate.arun("send"))
        await asyncio.to_thread(entered.wait)
        await cancelled(task)
        go.set()

    person.says("once")
    asyncio.run(main())
    assert found == [ConsentRequired]
    assert states(gate)["send"] == "ambiguous"


def inside(gate: Sayso) -> list[str]:
    """A run with an undeclared gate in it."""
    done: list[str] = []

    @gate.requires_consent("mail.send")
    async def mail() -> None:
        done.append("mail")

    @gate.capability()
    async def report() -> None:
        await mail()

    return done


def test_cancelled_while_it_waits_inside_the_run_it_is_not_left_parked(gate: Sayso, person: Person) -> None:
    done = inside(gate)

    async def main() -> None:
        task = asyncio.create_task(gate.arun("report"))
        await asked(person)
        assert states(gate)["report"] == "waiting"
        await cancelled(task)

    asyncio.run(main())
    assert states(gate) == {"report": "ambiguous", "mail": "pending"}
    assert done == []


def test_two_gates_inside_one_run_can_wait_at_once(gate: Sayso, person: Person) -> None:
    done: list[str] = []

    @gate.requires_consent("mail.send")
    async def mail(to: str) -> None:
        done.append(to)

    @gate.capability()
    async def report() -> None:
        await asyncio.gather(mail("ana"), mail("bob"))

    async def main() -> None:
        task = asyncio.create_task(gate.arun("report"))
        await asked(person)
        await asked(person)
        for row in questions(gate, "open"):
            await asyncio.to_thread(gate.answer, row.id, "once", by="ana")
        assert (await task).ok

    asyncio.run(main())
    assert sorted(done) == ["ana", "bob"]
    assert {row.state for row in calls(gate)} == {"succeeded"}


class Held(MemoryStore):
    """A store in which a write can be held up."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived, self.go = threading.Event(), threading.Event()

        class Slow(MemoryWriter):
            def put_call(writer, row: Any) -> None:  # noqa: N805
                self.arrived.set()
                self.go.wait()
                super().put_call(row)

        self.writer = Slow


@pytest.mark.parametrize("risk", ["low", "high"])
def test_cancelled_while_it_is_written_down_the_write_is_finished_and_the_cancellation_told(
    risk: str,
) -> None:
    store, ran = Held(), []
    with Sayso(open_gate(load_preset("balanced"), store), [Person()]) as gate:

        @gate.requires_consent("tasks.create", risk=risk)
        async def create() -> None:
            ran.append("created")

        async def main() -> None:
            task = asyncio.create_task(create())
            await asyncio.to_thread(store.arrived.wait)
            task.cancel()
            store.go.set()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        assert ran == []
        assert states(gate) == {"create": "failed" if risk == "low" else "pending"}


def test_a_coroutine_that_is_thrown_away_while_it_runs_is_written_down(gate: Sayso, person: Person) -> None:
    person.says("once")

    async def main() -> None:
        entered = asyncio.Event()
        sends(gate, entered)
        running: Coroutine[Any, Any, Any] = gate.arun("send", {"to": "ana"})
        task = asyncio.create_task(running)
        await entered.wait()
        running.close()
        task.cancel()
        with pytest.raises(RuntimeError, match="cannot reuse"):
            await task

    asyncio.run(main())
    assert states(gate) == {"send": "ambiguous"}
