"""That an agent waits, or is at work, is said only while it is known."""

from __future__ import annotations

import asyncio
from itertools import chain, repeat
from typing import Any

import pytest

from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.wait import load_question_row
from sayso.service.live import waiters as live_waiters
from sayso.service.live.waiters import BETWEEN, Waiters
from tests.support.gates import Clock
from tests.support.service import HOST, READ, WRITE, Service

pytestmark = pytest.mark.each_store


class Caller:
    """One request over a line that the caller can close."""

    def __init__(self, service: Service, who: str, method: str, path: str) -> None:
        where, _, query = path.partition("?")
        headers = [(b"host", HOST.encode())]
        headers += [(name.lower().encode(), value.encode()) for name, value in service.headers(who).items()]
        self._scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": where,
            "raw_path": where.encode(), "query_string": query.encode(), "headers": headers,
            "scheme": "http", "root_path": "",
            "server": (HOST, 80), "client": ("127.0.0.1", 1),
            "asgi": {"version": "3.0", "spec_version": "2.3"},
        }  # fmt: skip
        self._app, self._gone, self._body = service.app, asyncio.Event(), False
        self.over = asyncio.create_task(self._run())

    def leave(self) -> None:
        self._gone.set()

    async def _run(self) -> None:
        async def send(message: Any) -> None:
            pass

        await self._app(self._scope, self._receive, send)

    async def _receive(self) -> dict[str, Any]:
        if not self._body:
            self._body = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}


async def waits(service: Service, question: str) -> bool | None:
    told = (await service.ask("operator", "GET", f"/v1/questions/{question}")).json()
    found: bool | None = told["waiting"]
    return found


async def until(service: Service, question: str, wanted: bool | None) -> None:
    while await waits(service, question) is not wanted:
        pass


def test_an_agent_that_left_is_not_said_to_wait_and_starts_nothing(service: Service) -> None:
    question = service.asked()
    call = service.told("agent", "GET", "/v1/calls")[0]["operation_id"]
    now = [1000.0]
    running = service.app.state.running
    told: list[str] = []
    running.waiters = Waiters(told.append, clock=lambda: now[0])

    async def play() -> None:
        assert await waits(service, question) is None
        caller = Caller(service, "agent", "POST", f"/v1/calls/{call}/retry?wait=600")
        await until(service, question, wanted=True)
        caller.leave()
        await caller.over
        assert await waits(service, question) is True  # it may come back in a moment
        now[0] += BETWEEN
        assert await waits(service, question) is False
        shown = (await service.ask("operator", "GET", f"/v1/questions/{question}")).json()
        assert shown["left_at"] == 1000.0
        await asyncio.to_thread(answer_question, service.gate, question, "once", by="somebody")

    service.runner.run(asyncio.wait_for(play(), 60))
    assert told[:1] == [question]
    assert service.told("agent", "GET", f"/v1/calls/{call}")["status"] == "pending"
    assert load_question_row(service.gate, question).state == "answered"


def test_that_an_agent_left_is_told_although_the_loop_was_early(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_waiters, "BETWEEN", 0.05)
    times = chain((1000.0, 1000.049), repeat(1000.06))  # it leaves; its moment is almost over; it is over
    told: asyncio.Queue[str] = asyncio.Queue()

    async def play() -> None:
        waiters = Waiters(told.put_nowait, clock=lambda: next(times))
        with waiters.waiting("q"):
            assert await told.get() == "q"
        assert await told.get() == "q"

    service.runner.run(asyncio.wait_for(play(), 10))


def test_who_waits_in_short_requests_waits_all_the_while(service: Service) -> None:
    now = [0.0]
    told: list[str] = []

    async def play() -> None:
        waiters = Waiters(told.append, clock=lambda: now[0])
        for _ in range(5):
            with waiters.waiting("q"):
                now[0] += 20
            now[0] += BETWEEN / 2
            known = waiters.find_waits("q")
            assert known is not None
            assert known.now
        now[0] += BETWEEN
        known = waiters.find_waits("q")
        assert known is not None
        assert not known.now
        assert waiters.find_waits("other") is None

    service.runner.run(play())
    assert told == ["q"]


def test_pages_hear_when_waiting_begins(service: Service) -> None:
    question = service.asked()
    call = service.told("agent", "GET", "/v1/calls")[0]["operation_id"]

    async def play() -> None:
        async with service.streaming("operator", "/v1/events") as stream:
            assert (await stream.event())[0] == "hello"
            caller = Caller(service, "agent", "GET", f"/v1/calls/{call}?wait=600")
            while (heard := await stream.event())[0] != "waiting":
                pass
            assert heard[1]["id"] == question
            caller.leave()
            await caller.over

    service.runner.run(asyncio.wait_for(play(), 60))


def seen(service: Service, session: str) -> dict[str, Any]:
    found: dict[str, Any] = service.told("operator", "GET", f"/v1/sessions/{session}")
    return found


def test_a_session_says_when_it_was_last_seen_and_not_that_it_is_at_work(
    service: Service, clock: Clock
) -> None:
    session = service.opened()
    opened = clock.now
    clock.now += 100
    told = service.told("host", "POST", "/v1/calls", {**READ, "session": session, "beats": True})
    assert seen(service, session)["last_seen"] == opened + 100
    assert seen(service, session)["presence"] == "working"
    clock.now += 10
    outcome = {"fence": told["fence"], "state": "succeeded"}
    service.told("host", "POST", f"/v1/calls/{told['operation_id']}/outcome", outcome)
    clock.now += 3600
    found = seen(service, session)
    assert (found["presence"], found["last_seen"]) == ("unknown", opened + 110)
    assert service.told("operator", "GET", "/v1/sessions")[0]["last_seen"] == opened + 110


def test_a_program_that_died_is_not_at_work(service: Service, clock: Clock) -> None:
    session = service.opened()
    service.told("host", "POST", "/v1/calls", {**READ, "session": session})
    clock.now += 24 * 3600
    assert seen(service, session)["presence"] == "unknown"


@pytest.mark.parametrize("who", ["agent", "host"])
def test_a_call_whose_end_nobody_reports_does_not_keep_a_program_at_work(
    service: Service, clock: Clock, who: str
) -> None:
    named = {"session": service.opened()} if who == "host" else {}
    told = service.told(who, "POST", "/v1/calls", {**READ, **named})
    assert told["status"] == "allowed"
    at = clock.now
    for later in (0, 60, 24 * 3600 - 120):
        clock.now = at + later
        found = seen(service, service.told("operator", "GET", "/v1/sessions")[0]["id"])
        assert (found["presence"], found["last_seen"]) == ("unknown", at)


def test_heartbeats_say_that_a_program_is_there_until_they_cease(service: Service, clock: Clock) -> None:
    session = service.opened()
    told = service.told("host", "POST", "/v1/calls", {**READ, "session": session})
    assert seen(service, session)["presence"] == "unknown"
    beat = {"fence": told["fence"]}
    service.told("host", "POST", f"/v1/calls/{told['operation_id']}/heartbeat", beat)
    assert seen(service, session)["presence"] == "working"
    clock.now += 130
    assert seen(service, session)["presence"] == "unknown"


def test_what_the_operator_does_is_no_sign_of_life(service: Service, clock: Clock) -> None:
    session = service.opened()
    question = service.asked("host", {**WRITE, "session": session})
    at = clock.now
    clock.now += 60
    service.answer(question, "once")
    service.told("operator", "POST", f"/v1/sessions/{session}/stop")
    service.told("operator", "POST", f"/v1/sessions/{session}/resume")
    assert seen(service, session)["last_seen"] == at


def test_a_session_whose_agent_waits_is_said_to_wait_and_only_then(service: Service, clock: Clock) -> None:
    question = service.asked()
    found = service.told("agent", "GET", "/v1/calls")[0]
    call, session = found["operation_id"], found["session"]
    now = [1000.0]
    service.app.state.running.waiters = Waiters(lambda _: None, clock=lambda: now[0])

    async def presence() -> str:
        one = (await service.ask("operator", "GET", f"/v1/sessions/{session}")).json()
        listed = (await service.ask("operator", "GET", "/v1/sessions")).json()
        assert one["presence"] == next(each["presence"] for each in listed if each["id"] == session)
        told: str = one["presence"]
        return told

    async def play() -> None:
        curious = Caller(service, "operator", "GET", f"/v1/calls/{call}?wait=600")
        while not service.app.state.running.asker.waiting:
            await waits(service, question)
        assert await presence() == "unknown"
        caller = Caller(service, "agent", "GET", f"/v1/calls/{call}?wait=600")
        await until(service, question, wanted=True)
        assert await presence() == "waiting"
        caller.leave()
        await caller.over
        now[0] += BETWEEN
        assert await presence() == "unknown"  # the operator waits on: that is no agent
        curious.leave()
        await curious.over

    service.runner.run(asyncio.wait_for(play(), 60))


def test_a_session_is_not_said_to_wait_for_what_expired_or_was_answered(
    service: Service, clock: Clock
) -> None:
    question = service.asked()
    session = service.told("agent", "GET", "/v1/calls")[0]["session"]
    service.app.state.running.waiters = Waiters(lambda _: None, clock=lambda: 1000.0)

    async def play() -> None:
        with service.app.state.running.waiters.waiting(question):
            one = (await service.ask("operator", "GET", f"/v1/sessions/{session}")).json()
            assert one["presence"] == "waiting"
            clock.now += 3 * 3600
            one = (await service.ask("operator", "GET", f"/v1/sessions/{session}")).json()
            assert one["presence"] == "unknown"

    service.runner.run(asyncio.wait_for(play(), 60))


def test_sessions_are_called_by_the_name_of_their_token(service: Service) -> None:
    named = service.told("host", "POST", "/v1/sessions", {})
    assert (named["agent"], named["opened_by"]) == ("host", "host")
    other = service.told("host", "POST", "/v1/sessions", {"agent": "claude"})
    assert (other["agent"], other["opened_by"]) == ("claude", "host")
    service.asked("other_agent")
    assert "other agent" in {one["agent"] for one in service.told("operator", "GET", "/v1/sessions")}
