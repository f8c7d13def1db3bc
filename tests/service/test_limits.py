"""Too much, too big, too slow: refused with a problem that says so, and nothing is done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from sayso.doors.python.embedded import EmbeddedDoor
from sayso.gate.gate import Gate
from sayso.service.limits import MOST_KNOWN, Limits
from sayso.service.problems import Refused
from sayso.service.running import Settings
from tests.gate.conftest import Clock
from tests.service.calling import READ, Service


def test_a_token_that_asks_too_often_is_told_when_to_come_back(gate: Gate, runner: asyncio.Runner) -> None:
    service = Service(EmbeddedDoor(gate, ()), runner, Settings(rate=0.001, burst=2))
    assert [service.post("agent", "/v1/check", READ).status_code for _ in range(3)] == [200, 200, 429]
    refused = service.post("agent", "/v1/check", READ)
    assert refused.json()["code"] == "too_many"
    assert int(refused.headers["retry-after"]) == 1_000
    assert service.post("other_agent", "/v1/check", READ).status_code == 200, "others are not kept waiting"


def test_refused_requests_count_as_well(gate: Gate, runner: asyncio.Runner) -> None:
    service = Service(EmbeddedDoor(gate, ()), runner, Settings(rate=0.001, burst=2))
    assert [service.get("agent", "/v1/tokens").status_code for _ in range(3)] == [403, 403, 429]


def test_a_bucket_fills_again_and_not_beyond_its_brim() -> None:
    clock = Clock()
    limits = Limits(rate=2.0, burst=3, waits=1, clock=clock)
    for _ in range(3):
        limits.take("t")
    with pytest.raises(Refused) as refused:
        limits.take("t")
    assert (refused.value.status, refused.value.after) == (429, 1)
    clock.now += 0.5
    limits.take("t")
    clock.now += 1_000
    for _ in range(3):
        limits.take("t")
    with pytest.raises(Refused):
        limits.take("t")


def test_what_is_known_of_tokens_stays_small() -> None:
    limits = Limits(rate=1.0, burst=1, waits=1)
    for number in range(MOST_KNOWN + 10):
        limits.take(f"t{number}")
    assert len(vars(limits)["_buckets"]) <= MOST_KNOWN


def test_a_body_of_more_than_a_mebibyte_is_refused(service: Service) -> None:
    big = {"tool": "push", "args": {"text": "x" * 1024 * 1024}}
    refused = service.post("agent", "/v1/calls", big)
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
    assert service.told("operator", "GET", "/v1/history") == []


def test_a_body_without_end_is_not_read_to_its_end(service: Service) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b"x" * 65_536

    async def send() -> int:
        async with service.client() as client:
            response = await client.post("/v1/calls", content=endless(), headers=service.headers("agent"))
            return response.status_code

    assert service.runner.run(send()) == 413
    assert sent <= 17


def test_a_body_that_does_not_come_is_given_up(gate: Gate, runner: asyncio.Runner) -> None:
    service = Service(EmbeddedDoor(gate, ()), runner, Settings(slowest_body=0.01))

    async def stuck() -> AsyncIterator[bytes]:
        yield b'{"tool":'
        await asyncio.Event().wait()

    async def send() -> int:
        async with service.client() as client:
            response = await client.post("/v1/calls", content=stuck(), headers=service.headers("agent"))
            return response.status_code

    assert runner.run(send()) == 408


def test_who_has_no_token_sends_no_body(service: Service) -> None:
    """The token is asked for first: nobody's bytes are kept for somebody unknown."""

    async def never() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    async def send() -> int:
        async with service.client() as client:
            return (await client.post("/v1/calls", content=never())).status_code

    assert service.runner.run(send()) == 401


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_that_is_none_is_refused(service: Service, key: str) -> None:
    refused = service.post("agent", "/v1/calls", READ, headers={"Idempotency-Key": key})
    assert (refused.status_code, refused.json()["code"]) == (400, "malformed")


def test_health_tells_nothing_but_that_it_lives(service: Service) -> None:
    answer = service.get(None, "/healthz")
    assert (answer.status_code, answer.text) == (200, "ok")


def test_metrics_are_open_only_where_the_service_was_told_so(gate: Gate, runner: asyncio.Runner) -> None:
    service = Service(EmbeddedDoor(gate, ()), runner, Settings(open_metrics=True))
    assert "sayso_open_questions 0" in service.get(None, "/metrics").text
