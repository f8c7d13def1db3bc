"""A wait over HTTP, or over a connection, ends when the question expires, and says that it did."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.service.programs import Tasks
from tests.support.gates import Clock
from tests.support.service import Service
from tests.support.service_process import PATIENCE, POLICY, Home

TWO_HOURS = 7_200
WRITE = {"tool": "write_file", "args": {"path": "a.txt", "text": "hello"}}


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_wait_for_an_answer_ends_when_nobody_can_answer_any_more(
    service: Service, clock: Clock, method: str
) -> None:
    call = service.told("agent", "POST", "/v1/calls", WRITE)["operation_id"]
    path = f"/v1/calls/{call}" if method == "GET" else f"/v1/calls/{call}/retry"

    async def play() -> Any:
        waiting = asyncio.create_task(service.ask("agent", method, f"{path}?wait=600"))
        while not service.running.asker.waiting:  # noqa: ASYNC110  nothing tells a test that somebody waits
            await asyncio.sleep(0)
        clock.now += TWO_HOURS
        return (await asyncio.wait_for(waiting, PATIENCE)).json()

    assert service.runner.run(play())["status"] == "expired"


def test_a_call_that_depends_on_the_world_is_told_to_be_tried_once_its_question_expired(
    service: Service, clock: Clock
) -> None:
    session = service.opened()
    body = {**WRITE, "session": session, "state": "v1"}
    call = service.told("host", "POST", "/v1/calls", body)["operation_id"]
    clock.now += TWO_HOURS
    assert service.told("host", "GET", f"/v1/calls/{call}")["answered"]
    assert service.told("host", "POST", f"/v1/calls/{call}/retry", {"state": "v1"})["status"] == "expired"


def test_a_connected_run_ends_when_its_question_expires(home: Home) -> None:
    home.policy.write_text(POLICY.replace("{safe: auto}", "{safe: auto, question_lasts: 1s}"))
    with home.serve() as served, served.connect(home.token("host")) as gate:
        tasks = Tasks(gate)
        result = gate.run("create_task", {"title": "x"}, wait=600)
        assert (result.status, result.reason) == ("error", "nobody answered in time")
        assert tasks.made == []
