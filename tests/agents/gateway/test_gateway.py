"""`sayso mcp wrap` as a process: what passes, what is asked, and what reaches the server."""

from __future__ import annotations

import json
import os
import signal
from contextlib import ExitStack
from operator import itemgetter
from typing import Any

from tests.agents.gateway.place import (
    PATIENCE,
    GatewayPlace,
    allow,
    deny,
    hook_answer,
    is_denied,
    request,
    stay_silent,
    tool_call,
)

DONE = {"content": [{"type": "text", "text": "done"}], "isError": False}


def test_what_is_not_judged_passes_byte_for_byte(place: GatewayPlace) -> None:
    odd = b' { "method":"x/y", "jsonrpc" : "2.0","params":{"n":1.50,"t":"\\u00e9"}}  '
    with place.serving(deny) as service, place.gateway() as client:
        client.send(request(1, "initialize"), odd, request("a", "tools/list"))
        assert client.read_line() == json.dumps({"jsonrpc": "2.0", "id": 1, "result": DONE}).encode() + b"\n"
        assert client.read_answer("a")
        assert client.leave() == 0
    assert client.reached[1].encode() == odd
    assert service.heard.empty()


def test_an_allowed_call_reaches_the_server_and_its_end_is_reported(place: GatewayPlace) -> None:
    with place.serving(allow) as service, place.gateway() as client:
        client.send(tool_call(1))
        assert not is_denied(client.read_answer(1))
        asked, ended = service.next("call"), service.next("end")
        client.leave()
        closed = service.next("close")
    assert asked["server"] == "files"
    assert asked["tool"] == "touch"
    assert asked["arguments"] == {"path": "a"}
    assert asked["folder"] == str(place.folder)
    assert ended["id"] == asked["id"]
    assert ended["ok"] is True
    assert closed["session"] == asked["session"]
    assert [json.loads(line) for line in client.reached] == [tool_call(1)]


def test_a_denied_call_is_answered_as_an_error_that_says_why(place: GatewayPlace) -> None:
    with place.serving(deny), place.gateway() as client:
        client.send(tool_call(1))
        result = client.read_answer(1)["result"]
        client.settle()
    assert result == {"content": [{"type": "text", "text": "Sayso: you may not"}], "isError": True}
    assert [json.loads(line)["method"] for line in client.reached] == ["ping"]


def test_a_denied_call_that_wants_a_task_gets_an_error_and_no_result(place: GatewayPlace) -> None:
    with place.serving(deny), place.gateway() as client:
        client.send(tool_call(1, task={"ttl": 1}))
        assert "you may not" in client.read_answer(1)["error"]["message"]


def test_other_messages_pass_while_a_call_waits(place: GatewayPlace) -> None:
    with place.serving(stay_silent) as service, place.gateway() as client:
        client.send(tool_call(1))
        service.next("call")
        client.settle()
        client.send(tool_call(2, "other"))
        assert service.next("call")["tool"] == "other"
    assert [json.loads(line)["method"] for line in client.reached] == ["ping"]


def test_a_waiting_call_keeps_the_clients_clock_alive(place: GatewayPlace) -> None:
    with place.serving(stay_silent), place.gateway() as client:
        client.send(tool_call(1, _meta={"progressToken": "t"}))
        first, second = client.read(), client.read()
    assert first["method"] == second["method"] == "notifications/progress"
    assert first["params"]["progressToken"] == "t"
    assert first["params"]["progress"] < second["params"]["progress"] < 0


def test_a_cancelled_call_never_runs_and_its_server_does_not_hear_of_it(place: GatewayPlace) -> None:
    late: list[dict[str, Any]] = []

    def answer_late(event: str, payload: dict[str, Any]) -> bytes | None:
        if event == "call" and payload["tool"] == "touch":
            late.append(payload)
            return None
        for one in late:  # the answer to the first comes on the line of the second
            return allow("call", one)
        return hook_answer(0)

    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    with place.serving(answer_late) as service, place.gateway() as client:
        client.send(tool_call(1))
        service.next("call")
        client.send(cancel, tool_call(2, "other"))
        assert is_denied(client.read_answer(2))
        client.settle()
    assert [json.loads(line)["method"] for line in client.reached] == ["ping"]


def test_cancelling_a_call_that_runs_passes(place: GatewayPlace) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    with place.serving(allow) as service, place.gateway("deaf") as client:
        client.send(tool_call(1))
        service.next("call")
        while not client.reached:
            os.sched_yield()
        client.send(cancel)
        client.leave()
    assert json.loads(client.reached[-1]) == cancel


def test_an_id_that_is_under_way_is_refused(place: GatewayPlace) -> None:
    with place.serving(stay_silent) as service, place.gateway() as client:
        client.send(tool_call(1))
        service.next("call")
        client.send(tool_call(1, "other"), request(1, "ping"))
        assert client.read_answer(1)["error"]["code"] == client.read_answer(1)["error"]["code"] == -32600
        client.settle()
    assert service.heard.empty()
    assert [json.loads(line)["id"] for line in client.reached] == [999_999]


def test_the_number_and_the_text_are_two_ids(place: GatewayPlace) -> None:
    with place.serving(allow), place.gateway() as client:
        client.send(tool_call(1), tool_call("1"))
        answers = [client.read(), client.read()]  # in either order: each call is decided on its own
        client.settle()
    assert not any(is_denied(answer) for answer in answers)
    assert {answer["id"] for answer in answers} == {1, "1"}
    assert len(client.reached) == 3


def test_a_server_cannot_answer_a_call_that_it_was_not_given(place: GatewayPlace) -> None:
    with place.serving(stay_silent) as service, place.gateway("early") as client:
        client.send(tool_call(7))
        service.next("call")
        client.send(request(8, "ping"))
        assert client.read()["id"] == 8


def test_garbage_of_the_server_passes_and_the_call_is_still_seen_to_end(place: GatewayPlace) -> None:
    with place.serving(allow) as service, place.gateway("garbage") as client:
        client.send(tool_call(1))
        assert client.read_line() == b"this is no JSON\n"
        assert not is_denied(client.read_answer(1))
        assert service.next("end")["ok"] is True


def test_a_server_that_dies_ends_the_gateway_with_its_code_and_answers_what_waits(
    place: GatewayPlace,
) -> None:
    def decide(event: str, payload: dict[str, Any]) -> bytes | None:
        return None if payload.get("tool") == "waits" else allow(event, payload)

    with place.serving(decide) as service, place.gateway("dies") as client:
        client.send(tool_call(1, "waits"))
        service.next("call")
        client.send(tool_call(2))
        answers = [client.read(), client.read()]
        assert {one["id"] for one in answers} == {1, 2}
        assert all(is_denied(one) for one in answers)
        assert ["find out whether it ran" in str(one) for one in sorted(answers, key=itemgetter("id"))] == [
            False,
            True,
        ]
        assert client.process.wait(PATIENCE) == 3
        assert service.next("end")["ok"] is None


def test_a_client_that_leaves_takes_its_waiting_calls_with_it(place: GatewayPlace) -> None:
    with place.serving(stay_silent) as service, place.gateway() as client:
        client.send(tool_call(1))
        service.next("call")
        assert client.leave() == 0
    assert client.reached == []


def test_a_signal_ends_the_server_too(place: GatewayPlace) -> None:
    with place.serving(allow), place.gateway("deaf") as client:
        client.send(request(1, "ping"))
        while not client.reached:
            os.sched_yield()
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(PATIENCE) == 128 + signal.SIGTERM


def test_without_its_file_nothing_is_started(place: GatewayPlace) -> None:
    place.file.unlink()
    with place.gateway() as client:
        assert client.process.wait(PATIENCE) == 1
    assert not client.record.exists()


def test_a_program_that_is_not_there_is_named(place: GatewayPlace) -> None:
    with place.gateway("", "/no/such/server") as client:
        assert client.process.wait(PATIENCE) == 1


def test_no_service_is_started_for_a_goodbye(place: GatewayPlace) -> None:
    started, script = place.folder / "started", place.folder / "start"
    script.write_text(f"#!/bin/sh\necho > {started}\n")
    script.chmod(0o700)
    place.write_file(start=str(script))
    with ExitStack() as serving:
        service = serving.enter_context(place.serving(allow))  # first: a gateway that finds none starts one
        with place.gateway() as client:
            client.send(tool_call(1))
            assert not is_denied(client.read_answer(1))
            service.wait_until_answered("end")
            serving.close()
            assert client.leave() == 0
    assert not started.exists()
