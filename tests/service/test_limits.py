"""Too much, too big, too slow: refused with a problem that says so, and nothing is done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from sayso.core.errors import SaysoError
from sayso.gate.gate import Gate
from sayso.gate.people.tokens import Role, Token, issue_token
from sayso.service.http.limits import FOLLOW_UPS, FREE_BYTES, MOST_KNOWN, Buckets, Limits
from sayso.service.http.problems import RequestRefused
from sayso.service.http.state import ServiceSettings
from tests.support.gates import Clock
from tests.support.service import READ, WRITE, Service

TOKEN = Token("t", "agent", "bot", 0.0)


def test_a_token_that_asks_too_often_is_told_when_to_come_back(gate: Gate, runner: asyncio.Runner) -> None:
    service = Service(gate, runner, ServiceSettings(rate=0.001, burst=2))
    assert [service.post("agent", "/v1/check", READ).status_code for _ in range(3)] == [200, 200, 429]
    refused = service.post("agent", "/v1/check", READ)
    assert refused.json()["code"] == "too_many"
    assert int(refused.headers["retry-after"]) == 1_000
    assert service.post("other_agent", "/v1/check", READ).status_code == 200, "others are not kept waiting"


def test_refused_requests_count_as_well(gate: Gate, runner: asyncio.Runner) -> None:
    service = Service(gate, runner, ServiceSettings(rate=0.001, burst=2))
    assert [service.get("agent", "/v1/tokens").status_code for _ in range(3)] == [403, 403, 429]


def test_what_follows_a_call_does_not_use_up_the_calls(gate: Gate, runner: asyncio.Runner) -> None:
    service = Service(gate, runner, ServiceSettings(rate=0.001, burst=2))
    for _ in range(2):
        made = service.told("agent", "POST", "/v1/calls", READ)
        call, end = made["operation_id"], {"fence": made["fence"], "state": "succeeded"}
        ended = service.post("agent", f"/v1/calls/{call}/outcome", end)
        assert ended.status_code == 200, ended.text
        assert service.get("agent", f"/v1/calls/{call}").status_code == 200
    assert service.post("agent", "/v1/calls", READ).status_code == 429


def test_what_follows_calls_that_were_never_made_is_limited_as_well(
    gate: Gate, runner: asyncio.Runner
) -> None:
    service = Service(gate, runner, ServiceSettings(rate=0.001, burst=1))
    made_up = [
        service.post("agent", "/v1/calls/none/outcome", {"fence": 1, "state": "succeeded"}).status_code
        for _ in range(FOLLOW_UPS + 1)
    ]
    assert made_up == [404] * FOLLOW_UPS + [429]


def test_an_operator_is_never_told_to_come_back_later(gate: Gate, runner: asyncio.Runner) -> None:
    service = Service(gate, runner, ServiceSettings(rate=0.001, burst=1, body_rate=0.001, body_burst=1))
    assert {service.get("operator", "/v1/questions").status_code for _ in range(20)} == {200}
    session = service.opened()
    large = {"session": session, "tool": "read_file", "args": {"path": "x" * 20_000}}
    assert {service.post("operator", "/v1/check", large).status_code for _ in range(5)} == {200}


def test_a_token_has_the_limit_it_was_given_and_others_theirs(gate: Gate, runner: asyncio.Runner) -> None:
    service = Service(gate, runner, ServiceSettings(rate=2.0, burst=4))
    for name, rate in (("slow", 0.001), ("quick", 50.0)):
        service.secrets[name], _ = issue_token(gate, "agent", name, by="test", rate=rate)
    count = {
        who: [service.post(who, "/v1/check", READ).status_code for _ in range(20)].count(200)
        for who in ("slow", "agent", "quick")
    }
    assert count["slow"] == 1
    assert 4 <= count["agent"] < 20
    assert count["quick"] == 20


@pytest.mark.parametrize(
    ("role", "rate"), [("operator", 5.0), ("agent", 0.0), ("agent", -1.0), ("agent", 1e300)]
)
def test_a_limit_that_makes_no_sense_is_refused(gate: Gate, role: Role, rate: float) -> None:
    with pytest.raises(SaysoError, match="calls a second"):
        issue_token(gate, role, "x", by="test", rate=rate)


def test_a_bucket_fills_again_and_not_beyond_its_brim() -> None:
    clock = Clock()
    limits = Limits(rate=2.0, burst=3, waits=1, clock=clock)
    for _ in range(3):
        limits.take(TOKEN)
    with pytest.raises(RequestRefused) as refused:
        limits.take(TOKEN)
    assert (refused.value.status, refused.value.after) == (429, 1)
    clock.now += 0.5
    limits.take(TOKEN)
    clock.now += 1_000
    for _ in range(3):
        limits.take(TOKEN)
    with pytest.raises(RequestRefused):
        limits.take(TOKEN)


def test_one_token_may_make_and_end_three_hundred_calls_a_second_all_the_time() -> None:
    clock, settings, kib = Clock(), ServiceSettings(), 1024
    limits = Limits(
        settings.rate, settings.burst, settings.waits,
        bytes_rate=settings.body_rate, bytes_burst=settings.body_burst, clock=clock,
    )  # fmt: skip
    for _ in range(60):
        for _ in range(300):
            limits.take_bytes(TOKEN, 4 * kib)
            limits.take(TOKEN)
            limits.take(TOKEN, follows_call=True)
        clock.now += 1


def test_what_is_known_of_tokens_stays_small() -> None:
    buckets = Buckets(1.0, 1.0, Clock())
    for number in range(MOST_KNOWN + 10):
        buckets.take(f"t{number}")
    assert len(buckets) <= MOST_KNOWN


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
    service = Service(gate, runner, ServiceSettings(slowest_body=0.01))

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
    service = Service(gate, runner, ServiceSettings(open_metrics=True))
    assert "sayso_open_questions 0" in service.get(None, "/metrics").text


def test_a_token_that_sends_too_many_bytes_is_refused_before_they_are_read(
    gate: Gate, runner: asyncio.Runner
) -> None:
    service = Service(gate, runner, ServiceSettings(body_rate=1.0, body_burst=100_000))
    big = {"tool": "read_file", "args": {"path": "x" * 60_000}}
    assert service.post("agent", "/v1/check", big).status_code == 200
    refused = service.post("agent", "/v1/check", big)
    assert (refused.status_code, refused.json()["code"]) == (429, "too_much")
    assert int(refused.headers["retry-after"]) > 1
    assert service.post("agent", "/v1/check", READ).status_code == 200, "small calls go on"
    assert service.post("other_agent", "/v1/check", big).status_code == 200


def test_bytes_come_back_and_a_body_of_unknown_size_counts_as_the_largest() -> None:
    clock = Clock()
    limits = Limits(1.0, 1, 1, bytes_rate=10.0, bytes_burst=1_000, clock=clock)
    limits.take_bytes(TOKEN, FREE_BYTES + 1_000)
    limits.take_bytes(TOKEN, FREE_BYTES)
    with pytest.raises(RequestRefused) as refused:
        limits.take_bytes(TOKEN, FREE_BYTES + 500)
    assert refused.value.after == 50
    clock.now += 50
    limits.take_bytes(TOKEN, FREE_BYTES + 500)


def test_a_session_whose_calls_hold_too_much_gets_no_further_large_one(
    gate: Gate, runner: asyncio.Runner
) -> None:
    service = Service(gate, runner, ServiceSettings(held=100_000))

    def sent(number: int) -> int:
        body = {"tool": "write_file", "args": {"path": f"{number}.txt", "text": "x" * 40_000}}
        return service.post("agent", "/v1/calls", body).status_code

    assert [sent(number) for number in range(3)] == [200, 200, 429]
    assert service.post("agent", "/v1/calls", READ).status_code == 200
    for question in service.told("operator", "GET", "/v1/questions"):
        service.told("operator", "POST", f"/v1/questions/{question['id']}/answer", {"answer": "deny"})
    for call in service.told("agent", "GET", "/v1/calls"):
        service.post("agent", f"/v1/calls/{call['operation_id']}/retry")
    assert sent(4) == 200, "what was answered makes room"


def test_an_operator_is_never_refused_an_answer_or_a_stop_for_asking_too_often(
    gate: Gate, runner: asyncio.Runner
) -> None:
    service = Service(gate, runner, ServiceSettings(rate=1e-9, burst=1))
    assert [service.get("operator", "/v1/questions").status_code for _ in range(2)] == [200, 200]
    question = service.post("agent", "/v1/calls", WRITE).json()["question"]
    answered = service.post("operator", f"/v1/questions/{question}/answer", {"answer": "deny"})
    assert answered.status_code == 200
    for _ in range(3):
        assert service.post("operator", "/v1/sessions/stop").status_code == 200


def test_a_thousand_strangers_that_try_to_sign_in_lock_nobody_out(gate: Gate, runner: asyncio.Runner) -> None:
    service = Service(gate, runner, ServiceSettings(rate=1e-9, burst=2))
    made = [service.post(None, "/v1/sign-in/options").status_code for _ in range(1_000)]
    assert set(made) == {200}


def test_somebody_without_a_token_cannot_send_a_large_body(service: Service) -> None:
    proof = {"credential": "x" * 100_000, "client_data": "", "authenticator_data": "", "signature": ""}
    assert service.post(None, "/v1/sign-in", proof).status_code == 413


def test_everybodys_waits_together_leave_room_for_operators() -> None:
    limits = Limits(1.0, 1, waits=5, all_waits=2)
    with limits.waiting("a"), limits.waiting("b"):
        with pytest.raises(RequestRefused), limits.waiting("c"):
            pass
        with limits.waiting("o", operator=True):
            assert limits.waits == 3


def test_an_operator_waits_as_often_as_they_like() -> None:
    limits = Limits(1.0, 1, waits=1)
    with limits.waiting("o", operator=True), limits.waiting("o", operator=True), limits.waiting("a"):
        with pytest.raises(RequestRefused), limits.waiting("a"):
            pass
        assert limits.waits == 3
