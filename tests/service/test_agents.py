"""What an agent does over HTTP: check, request, wait, retry; each call once, and woken at once."""

from __future__ import annotations

import asyncio
import threading

import httpx
import pytest

from sayso.gate.figures.figures import compute_figures
from sayso.gate.questions.answer import answer_question
from sayso.service.http.state import ServiceSettings
from tests.support.gates import Clock
from tests.support.service import PUSH, READ, WIPE, WRITE, Service

pytestmark = pytest.mark.each_store


def until_awaited(service: Service, question: str) -> None:
    """Until somebody waits for this question."""
    while not service.running.asker.waiting:
        pass


def test_a_check_decides_without_asking_or_using_anything(service: Service) -> None:
    assert service.told("agent", "POST", "/v1/check", WRITE)["verdict"] == "ask"
    assert service.told("agent", "POST", "/v1/check", READ)["verdict"] == "allow"
    assert service.told("agent", "POST", "/v1/check", WIPE)["verdict"] == "deny"
    assert service.told("operator", "GET", "/v1/questions") == []
    assert compute_figures(service.gate).decisions == 0


def test_an_allowed_call_is_told_with_what_to_run(service: Service) -> None:
    told = service.told("agent", "POST", "/v1/calls", READ)
    assert (told["status"], told["rule"]) == ("allowed", "autonomous")
    assert told["call"] == {"tool": "read_file", "args": {"path": "a.txt"}, "command": None, "folder": ""}
    assert told["fence"] == 1


def test_what_is_not_allowed_is_told_with_nothing_to_run(service: Service) -> None:
    for call in (WRITE, PUSH, WIPE):
        told = service.told("agent", "POST", "/v1/calls", call)
        assert told["status"] in ("pending", "blocked")
        assert (told["call"], told["fence"]) == (None, 0)


def test_an_agent_has_one_session_however_many_requests_come_at_once(service: Service) -> None:
    async def race() -> list[httpx.Response]:
        return await asyncio.gather(*(service.ask("agent", "POST", "/v1/calls", READ) for _ in range(8)))

    assert {response.json()["status"] for response in service.runner.run(race())} == {"allowed"}
    assert len(service.told("agent", "GET", "/v1/sessions")) == 1


def test_an_agent_whose_session_was_ended_gets_a_new_one(service: Service) -> None:
    question = service.asked()
    session = question.rpartition(".")[0]
    service.told("operator", "DELETE", f"/v1/sessions/{session}")
    assert service.asked().rpartition(".")[0] != session


def test_the_same_key_gives_the_same_call_again(service: Service) -> None:
    key = {"Idempotency-Key": "k-1"}
    first = service.post("agent", "/v1/calls", READ, headers=key).json()
    again = service.post("agent", "/v1/calls", READ, headers=key).json()
    assert first["status"] == "allowed"
    assert again["operation_id"] == first["operation_id"]
    assert again["status"] == "running", "the second may not run it too"
    other = service.post("agent", "/v1/calls", {**READ, "args": {"path": "b.txt"}}, headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "key_reused")


def test_a_key_is_no_key_to_anothers_calls(service: Service) -> None:
    key = {"Idempotency-Key": "k-1"}
    first = service.post("agent", "/v1/calls", READ, headers=key).json()
    other = service.post("other_agent", "/v1/calls", READ, headers=key).json()
    assert other["operation_id"] != first["operation_id"]


def test_the_same_host_id_gives_the_recorded_decision(service: Service) -> None:
    first = service.told("agent", "POST", "/v1/calls", {**WRITE, "call_id": "c1"})
    again = service.told("agent", "POST", "/v1/calls", {**WRITE, "call_id": "c1"})
    assert again["operation_id"] == first["operation_id"]


@pytest.mark.parametrize("way", ["look", "retry"])
def test_a_waiting_agent_is_woken_by_the_answer(service: Service, way: str) -> None:
    """The request would wait for minutes; it ends because somebody answers, not because time is over."""
    question = service.asked()
    call = service.told("agent", "GET", "/v1/calls")[0]["operation_id"]
    asker = service.running.asker

    async def wait() -> httpx.Response:
        path = f"/v1/calls/{call}" + ("/retry" if way == "retry" else "")
        waiting = asyncio.create_task(
            service.ask("agent", "POST" if way == "retry" else "GET", f"{path}?wait=600", timeout=None)
        )
        await asyncio.to_thread(until_awaited, service, question)
        told = (await service.ask("operator", "GET", f"/v1/questions/{question}")).json()
        assert told["waiting"]
        await asyncio.to_thread(answer_question, service.gate, question, "once", by="somebody")
        return await asyncio.wait_for(waiting, 30)

    told = service.runner.run(wait()).json()
    assert told["status"] == ("allowed" if way == "retry" else "pending")
    assert asker.waiting == 0


def test_an_answer_of_another_process_wakes_as_well(service: Service) -> None:
    """A thread that knows nothing of the service answers through the store."""
    question = service.asked()
    call = service.told("agent", "GET", "/v1/calls")[0]["operation_id"]

    def elsewhere() -> None:
        until_awaited(service, question)
        answer_question(service.gate, question, "deny", by="somebody")

    other = threading.Thread(target=elsewhere)
    other.start()
    told = service.told("agent", "POST", f"/v1/calls/{call}/retry?wait=600", timeout=None)
    other.join()
    assert told["status"] == "denied"


def test_a_token_revoked_while_it_waits_starts_nothing(service: Service) -> None:
    question = service.asked()
    call = service.told("agent", "GET", "/v1/calls")[0]["operation_id"]

    async def play() -> httpx.Response:
        path = f"/v1/calls/{call}/retry?wait=600"
        waiting = asyncio.create_task(service.ask("agent", "POST", path, timeout=None))
        await asyncio.to_thread(until_awaited, service, question)
        await service.ask("operator", "DELETE", f"/v1/tokens/{service.tokens['agent'].id}")
        await service.ask("operator", "POST", f"/v1/questions/{question}/answer", {"answer": "once"})
        return await asyncio.wait_for(waiting, 30)

    assert service.runner.run(play()).status_code == 401
    assert service.told("operator", "GET", f"/v1/calls/{call}")["status"] == "pending"


@pytest.mark.parametrize("wait", ["601", "-1", "nan", "inf", "soon", "", "1e9"])
def test_a_wait_beyond_ten_minutes_or_of_no_length_is_refused(service: Service, wait: str) -> None:
    service.asked()
    call = service.told("agent", "GET", "/v1/calls")[0]["operation_id"]
    refused = service.post("agent", f"/v1/calls/{call}/retry?wait={wait}")
    assert (refused.status_code, refused.json()["code"]) == (400, "malformed")


def test_a_token_can_only_wait_so_often_at_a_time(service: Service, runner: asyncio.Runner) -> None:
    service = Service(service.gate, runner, ServiceSettings(waits=1))
    question = service.asked()
    call = service.told("agent", "GET", "/v1/calls")[0]["operation_id"]
    path = f"/v1/calls/{call}?wait=600"

    async def two() -> int:
        first = asyncio.create_task(service.ask("agent", "GET", path, timeout=None))
        await asyncio.to_thread(until_awaited, service, question)
        second = await service.ask("agent", "GET", path)
        assert "retry-after" in second.headers
        await asyncio.to_thread(answer_question, service.gate, question, "once", by="somebody")
        await asyncio.wait_for(first, 30)
        return second.status_code

    assert runner.run(two()) == 429
    assert service.get("agent", path).status_code == 200, "a wait that is over counts no more"


def test_an_approval_can_be_used_once_and_not_for_ever(service: Service, clock: Clock) -> None:
    question = service.asked()
    call = service.told("agent", "GET", "/v1/calls")[0]["operation_id"]
    service.told("operator", "POST", f"/v1/questions/{question}/answer", {"answer": "once"})
    clock.now += 16 * 60
    assert service.told("agent", "POST", f"/v1/calls/{call}/retry")["status"] == "pending"


def test_the_host_says_how_a_call_ended_and_its_result_is_kept(service: Service) -> None:
    session = service.opened()
    told = service.told("host", "POST", "/v1/calls", {**READ, "session": session})
    path = f"/v1/calls/{told['operation_id']}"
    wrong = service.post("host", f"{path}/outcome", {"fence": told["fence"] + 1, "state": "succeeded"})
    assert wrong.status_code == 409
    ended = {"fence": told["fence"], "state": "succeeded", "result": {"lines": 3}}
    assert service.told("host", "POST", f"{path}/outcome", ended)["status"] == "succeeded"
    assert service.told("host", "GET", path)["result"] == {"lines": 3}
