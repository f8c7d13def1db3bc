"""`sayso mcp wrap` between a client and a server of the mcp SDK, with the real service and a person."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.gateway_place import PATIENCE, GatedServer, ending_services, wait_for
from tests.e2e.mcp_place import ERAS
from tests.support.service_process import a_home


@pytest.fixture
def gated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[GatedServer]:
    a_home(monkeypatch, tmp_path)
    with ending_services():
        yield GatedServer(tmp_path)


@pytest.mark.cold
@pytest.mark.parametrize("era", ERAS)
def test_each_tool_runs_only_as_the_policy_and_the_person_say(gated: GatedServer, era: str) -> None:
    with gated.serving("once") as serving:
        assert gated.call("look", era) == (True, "wrote look")
        assert not serving.questions
        assert gated.call("write", era) == (True, "wrote write")
        assert len(serving.questions) == 1
        ran, why = gated.call("wipe", era)
        assert len(serving.questions) == 1
    assert not ran
    assert why.startswith("Sayso: ")
    assert gated.files == {"look", "write"}


def test_a_person_who_says_no_is_heard(gated: GatedServer) -> None:
    with gated.serving("deny"):
        ran, _ = gated.call("write")
    assert not ran
    assert gated.files == set()


def test_the_server_is_listed_as_it_is_and_its_annotations_change_nothing(gated: GatedServer) -> None:
    async def list_tools() -> list[str]:
        async with gated.client() as client:
            return [one.name for one in (await client.list_tools()).tools]

    with gated.serving("deny") as serving:
        assert asyncio.run(list_tools()) == ["look", "write", "wipe"]
        assert not gated.call("write")[0]
        (question,) = serving.questions.values()
    assert "mcp__files__write" in json.dumps(question)


def test_a_client_that_wants_progress_is_kept_waiting_and_told(gated: GatedServer) -> None:
    heard: list[float] = []

    async def run() -> Any:
        told = asyncio.Event()

        async def note(progress: float, total: float | None, message: str | None) -> None:
            heard.append(progress)
            told.set()

        async with gated.client() as client:
            call = asyncio.create_task(client.call_tool("write", {"name": "write"}, progress_callback=note))
            await asyncio.wait_for(told.wait(), PATIENCE)
            (question,) = await asyncio.to_thread(serving.get, "/v1/questions")
            said = {"answer": "once", "digest": question["digest"]}
            path = f"/v1/questions/{question['id']}/answer"
            (await asyncio.to_thread(serving.http.post, path, json=said)).raise_for_status()
            result = await asyncio.wait_for(call, PATIENCE)
            await asyncio.to_thread(wait_for, is_over)
            return result

    def is_over() -> bool:
        return not serving.get("/v1/calls")

    with gated.serving() as serving:
        result = asyncio.run(run())
    assert not result.is_error
    assert heard
    assert gated.files == {"write"}


def test_a_service_that_is_killed_while_a_call_waits_lets_nothing_run(gated: GatedServer) -> None:
    async def run() -> Any:
        async with gated.client() as client:
            call = asyncio.create_task(client.call_tool("write", {"name": "write"}))
            await asyncio.to_thread(wait_for, lambda: serving.questions)
            serving.service.send_signal(signal.SIGKILL)
            return await asyncio.wait_for(call, PATIENCE)

    with gated.serving() as serving:
        assert asyncio.run(run()).is_error
    assert gated.files == set()


def test_a_yes_after_the_client_gave_up_serves_the_same_call_made_again(gated: GatedServer) -> None:
    async def give_up() -> None:
        async with gated.client() as client:
            await client.list_tools()
            call = asyncio.create_task(client.call_tool("write", {"name": "write"}))
            await asyncio.to_thread(wait_for, lambda: serving.questions)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await client.list_tools()  # by then the gateway has let the call go
            assert gated.files == set()
            (question,) = serving.questions.values()
            said = {"answer": "once", "digest": question["digest"]}
            path = f"/v1/questions/{question['id']}/answer"
            (await asyncio.to_thread(serving.http.post, path, json=said)).raise_for_status()
            assert gated.files == set()
            again = await client.call_tool("write", {"name": "write"})
            assert not again.is_error

    with gated.serving() as serving:
        asyncio.run(give_up())
    assert gated.files == {"write"}
