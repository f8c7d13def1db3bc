"""Live events: delivered as they happen, to whom they are for, and gone on with after a break."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from sayso.core.audit.events import DECISIONS, EVENTS
from sayso.core.model import Operation
from sayso.core.session import Scope
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.questions.answer import answer_question
from sayso.gate.sessions.sessions import open_session
from sayso.service.http.state import ServiceSettings
from sayso.service.live.trail import KEPT
from tests.support.service import READ, WRITE, Service, Stream

pytestmark = pytest.mark.each_store


def run(service: Service, play: Coroutine[Any, Any, None]) -> None:
    service.runner.run(asyncio.wait_for(play, 60))


async def until(stream: Stream, kind: str) -> tuple[dict[str, Any], str]:
    """The next event of this kind."""
    while True:
        found, told, name = await stream.event()
        if found == kind:
            return told, name


def test_an_operator_sees_questions_and_answers_as_they_happen(service: Service) -> None:
    async def play() -> None:
        async with service.streaming("operator", "/v1/events") as stream:
            assert (await stream.event())[0] == "hello"
            asked = (await service.ask("agent", "POST", "/v1/calls", WRITE)).json()["question"]
            told, _ = await until(stream, "question")
            assert told == {"kind": "question", "id": asked, "session": asked.rpartition(".")[0]}
            # As another process would: nothing of the service takes part in it.
            stands = await asyncio.to_thread(answer_question, service.gate, asked, "once", by="somebody")
            assert (await until(stream, "answer"))[0]["id"] == asked
            assert (await until(stream, "grant"))[0]["id"] == stands.grants[0]

    run(service, play())


@pytest.mark.parametrize("event", DECISIONS)
def test_no_decision_is_left_out_of_the_live_events(event: str) -> None:
    assert EVENTS[event].topic == ("question" if event == "ASKED" else "decision")


def test_a_click_of_the_users_own_is_told_and_counted_like_any_decision(service: Service) -> None:
    session = service.opened()
    request = make_request(make_call("push"), [Operation("git.push")], session=session)

    async def play() -> None:
        async with service.streaming("operator", "/v1/events") as stream:
            await until(stream, "hello")
            clicked = Scope(user_initiated="git.push")
            await asyncio.to_thread(authorize, service.gate, request, clicked)
            await until(stream, "decision")

    run(service, play())
    text = service.get("operator", "/metrics").text
    assert 'sayso_decisions_total{verdict="allow",rule="user_initiated"} 1' in text


def test_sessions_grants_and_runs_are_told(service: Service) -> None:
    async def play() -> None:
        async with service.streaming("operator", "/v1/events") as stream:
            await until(stream, "hello")
            opened = (await service.ask("host", "POST", "/v1/sessions", {"agent": "a"})).json()["id"]
            assert (await until(stream, "session"))[0]["id"] == opened
            given = {"session": opened, "operation": "files.write"}
            grant = (await service.ask("operator", "POST", "/v1/grants", given)).json()["id"]
            assert (await until(stream, "grant"))[0]["id"] == grant
            call = (await service.ask("host", "POST", "/v1/calls", {**READ, "session": opened})).json()
            await until(stream, "decision")
            path = f"/v1/calls/{call['operation_id']}/outcome"
            await service.ask("host", "POST", path, {"fence": 1, "state": "succeeded"})
            assert (await until(stream, "run"))[0]["id"] == call["operation_id"]
            await service.ask("operator", "POST", f"/v1/sessions/{opened}/stop")
            assert (await until(stream, "session"))[0]["id"] == opened

    run(service, play())


def test_an_agent_hears_of_its_own_calls_and_of_no_others(service: Service) -> None:
    async def play() -> None:
        async with service.streaming("agent", "/v1/events") as stream:
            await until(stream, "hello")
            other = (await service.ask("other_agent", "POST", "/v1/calls", WRITE)).json()["question"]
            await service.ask("operator", "POST", f"/v1/questions/{other}/answer", {"answer": "once"})
            await service.ask("operator", "POST", "/v1/tokens", {"role": "agent", "name": "third"})
            own = (await service.ask("agent", "POST", "/v1/calls", WRITE)).json()["question"]
            heard: list[dict[str, Any]] = []
            while not heard or heard[-1]["kind"] != "question":
                heard.append((await stream.event())[1])
            assert heard[-1]["id"] == own
            assert {one["session"] for one in heard} == {own.rpartition(".")[0]}

    run(service, play())


def test_who_comes_back_goes_on_after_the_last_event_they_saw(service: Service) -> None:
    async def play() -> None:
        async with service.streaming("operator", "/v1/events") as stream:
            _, seen = await until(stream, "hello")
            first = (await service.ask("agent", "POST", "/v1/calls", WRITE)).json()["question"]
            told, seen = await until(stream, "question")
            assert told["id"] == first
        async with service.streaming("operator", "/v1/events") as other:
            await until(other, "hello")
            second = {**WRITE, "args": {"path": "b"}}
            asked = (await service.ask("agent", "POST", "/v1/calls", second)).json()["question"]
            await until(other, "question")
            async with service.streaming("operator", "/v1/events", {"Last-Event-ID": seen}) as again:
                kind, told, _ = await again.event()
                assert (kind, told["id"]) == ("question", asked)

    run(service, play())


def test_who_was_away_for_too_long_is_told_to_read_everything_again(service: Service) -> None:
    async def play() -> None:
        for name in ("", "garbage", "00000000-1", "-", "x" * 5_000, "\u00b2-\u00b2"):
            header = {"Last-Event-ID": name.encode("ascii", "replace").decode()}
            async with service.streaming("operator", "/v1/events", header) as stream:
                assert (await stream.event())[0] == "hello"

    run(service, play())


def test_events_are_kept_in_bounds_and_a_slow_reader_is_told(service: Service) -> None:
    trail = service.app.state.running.trail
    start = trail.newest
    for _ in range(3):
        for number in range(KEPT // 2):
            open_session(service.gate, agent=f"agent {number}", owner="test")
        trail.catch_up()
    assert trail.newest - start == 3 * (KEPT // 2)
    assert trail.after(start) is None
    kept = trail.after(trail.newest - KEPT)
    assert kept is not None
    assert len(kept) == KEPT


def test_a_line_without_news_is_kept_alive(service: Service) -> None:
    quick = Service(service.gate, service.runner, ServiceSettings(ping=0.001))

    async def play() -> None:
        async with quick.streaming("operator", "/v1/events") as stream:
            told, _ = await until(stream, "hello")
            assert told["every"] == 0.001
            assert (await until(stream, "ping"))[0]["every"] == 0.001

    run(quick, play())


def test_too_many_streams_with_one_token_are_refused(service: Service) -> None:
    narrow = Service(service.gate, service.runner, ServiceSettings(waits=1))

    async def play() -> None:
        async with narrow.streaming("host", "/v1/events") as first:
            await until(first, "hello")
            async with narrow.streaming("host", "/v1/events") as second:
                assert await second.status == 429
        async with narrow.streaming("host", "/v1/events") as third:
            assert await third.status == 200

    run(narrow, play())


def test_no_stream_of_an_operator_is_one_too_many(service: Service) -> None:
    narrow = Service(service.gate, service.runner, ServiceSettings(waits=1, all_waits=1))

    async def play() -> None:
        async with narrow.streaming("operator", "/v1/events") as first:
            await until(first, "hello")
            async with narrow.streaming("operator", "/v1/events") as second:
                assert await second.status == 200

    run(narrow, play())


def test_who_leaves_costs_nothing_any_more(service: Service) -> None:
    limits = service.app.state.running.limits

    async def play() -> None:
        async with service.streaming("operator", "/v1/events") as stream:
            await until(stream, "hello")
            assert limits.waits == 1
        assert limits.waits == 0

    run(service, play())


def test_a_stream_ends_when_its_token_is_revoked(service: Service) -> None:
    async def play() -> None:
        async with (
            service.streaming("agent", "/v1/events") as stream,
            service.streaming("other_agent", "/v1/events") as other,
        ):
            await until(stream, "hello")
            await until(other, "hello")
            await service.ask("operator", "DELETE", f"/v1/tokens/{service.tokens['agent'].id}")
            await asyncio.wait_for(stream.over.wait(), 10)
            assert not other.over.is_set()

    run(service, play())


def test_streams_end_when_the_service_stops(service: Service) -> None:
    async def play() -> None:
        async with service.streaming("operator", "/v1/events") as stream:
            await until(stream, "hello")
            service.app.state.running.trail.close()
            await asyncio.wait_for(stream.over.wait(), 10)

    run(service, play())
