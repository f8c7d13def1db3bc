"""`requestState` of the stateless era: a call that was decided goes on as that one, once, and as no other."""

from __future__ import annotations

import base64
import json
import os
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sayso.doors.mcp.gateway.messages import VERSION, ToolCall, read_client_line
from sayso.doors.mcp.gateway.pump import Gateway, GatewaySettings
from sayso.doors.mcp.gateway.service import Service, ServiceFile
from sayso.doors.mcp.gateway.states import States
from tests.agents.gateway.place import (
    PATIENCE,
    Client,
    Decide,
    GatewayPlace,
    allow,
    deny,
    is_denied,
    stay_silent,
    tool_call,
)
from tests.support.rows import each_row

A_MOMENT = 0.1
ERA = {"_meta": {VERSION: "2026-07-28"}}


def stateless(id_: int, tool: str = "touch", **more: Any) -> dict[str, Any]:
    return tool_call(id_, tool, **ERA, **more)


def ask_first(client: Client) -> str:
    """Return the state with which the server wants the call back."""
    client.send(stateless(1))
    result = client.read_answer(1)["result"]
    assert result["resultType"] == "input_required"
    state = result["requestState"]
    assert isinstance(state, str)
    return state


def test_a_call_that_its_server_asks_about_goes_on_as_the_call_that_was_decided(place: GatewayPlace) -> None:
    with place.serving(allow) as service, place.gateway("asks") as client:
        state = ask_first(client)
        asked = service.next("call")
        client.send(stateless(2, requestState=state, inputResponses={"x": {"action": "accept"}}))
        assert not is_denied(client.read_answer(2))
        assert service.next("end") == {**asked, "ok": True}
    assert service.heard.empty() or service.heard.get_nowait()[0] != "call"
    sent = json.loads(client.reached[-1])["params"]
    assert sent["requestState"] == "of the server"
    assert sent["inputResponses"] == {"x": {"action": "accept"}}


def test_a_state_is_good_for_one_call_and_once(place: GatewayPlace) -> None:
    with place.serving(allow), place.gateway("asks") as client:
        state = ask_first(client)
        for number, (tool, given) in enumerate(
            [("wipe", state), ("touch", state[:-4] + "AAAA"), ("touch", "x")]
        ):
            client.send(stateless(10 + number, tool, requestState=given))
            assert client.read_answer(10 + number)["error"]["code"] == -32602
        other = stateless(20, requestState=state)
        other["params"]["arguments"] = {"path": "b"}
        client.send(other)
        assert client.read_answer(20)["error"]["code"] == -32602
        client.send(stateless(21, requestState=state))
        assert not is_denied(client.read_answer(21))
        client.send(stateless(22, requestState=state))
        assert client.read_answer(22)["error"]["code"] == -32602
        client.settle()
    ran = [json.loads(line) for line in client.reached if "tools/call" in line]
    assert [one["id"] for one in ran] == [1, 21]


def test_the_state_of_another_gateway_is_refused(place: GatewayPlace) -> None:
    with place.serving(allow):
        with place.gateway("asks") as client:
            state = ask_first(client)
        with place.gateway("asks") as client:
            client.send(stateless(2, requestState=state))
            assert client.read_answer(2)["error"]["code"] == -32602


REFUSED = {
    "answers without a state": stateless(5, inputResponses={}),
    "no text": stateless(5, requestState=7),
    "null": stateless(5, requestState=None),
    "of the era with a handshake": tool_call(5, requestState="x"),
}


@each_row("message", REFUSED.values(), ids=REFUSED.keys())
def test_a_state_that_cannot_be_one_is_refused(message: dict[str, Any]) -> None:
    assert not isinstance(read_client_line(json.dumps(message).encode()), ToolCall)


def test_a_server_whose_state_is_none_is_passed_on_and_cannot_be_gone_on_with(place: GatewayPlace) -> None:
    with place.serving(allow), place.gateway("asks oddly") as client:
        client.send(stateless(1))
        assert client.read_answer(1)["result"]["requestState"] == 7
        client.send(stateless(2, requestState="7"))
        assert client.read_answer(2)["error"]["code"] == -32602


def test_a_call_that_nobody_comes_back_for_is_ambiguous(place: GatewayPlace) -> None:
    with place.serving(allow) as service, place.gateway("asks") as client:
        ask_first(client)
        client.leave()
        assert service.next("end")["ok"] is None


def test_any_changed_letter_voids_a_state() -> None:
    call = read_client_line(json.dumps(stateless(1)).encode())
    assert isinstance(call, ToolCall)
    states = States()
    sealed = states.seal("server", "name", call, "inner")
    assert states.open(sealed, call) is not None
    raw = base64.urlsafe_b64decode(sealed)
    for place in range(len(raw)):
        changed = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
        assert states.open(base64.urlsafe_b64encode(changed).decode(), call) is None
    assert States().open(sealed, call) is None


class Ends:
    """The client's end of a gateway that runs in a thread, and what reaches its server."""

    def __init__(self, write: int, read: int, server: int) -> None:
        self._write = write
        self.answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self.reached: queue.Queue[dict[str, Any]] = queue.Queue()
        self.threads = [
            threading.Thread(target=self._read, args=pair, daemon=True)
            for pair in ((read, self.answers), (server, self.reached))
        ]
        for thread in self.threads:
            thread.start()

    def send(self, message: dict[str, Any]) -> None:
        os.write(self._write, json.dumps(message).encode() + b"\n")

    def next_answer(self) -> dict[str, Any]:
        """The answer to the client, which comes back as often as it is sent away."""
        while True:
            answer = self.answers.get(timeout=PATIENCE)
            if answer.get("result", {}).get("resultType") != "input_required":
                return answer
            self.come_back(answer)

    def next_reached(self) -> dict[str, Any]:
        """What reaches the server next; until then the client comes back as often as it is sent away."""
        for _ in range(int(PATIENCE / A_MOMENT)):
            with suppress(queue.Empty):
                return self.reached.get(timeout=A_MOMENT)
            with suppress(queue.Empty):
                self.come_back(self.answers.get_nowait())
        raise AssertionError("nothing reached the server")

    def come_back(self, answer: dict[str, Any]) -> None:
        self.send(stateless(2, requestState=answer["result"]["requestState"]))

    @staticmethod
    def _read(fd: int, found: queue.Queue[dict[str, Any]]) -> None:
        with os.fdopen(fd, "rb") as lines:
            for line in lines:
                found.put(json.loads(line))


@contextmanager
def a_gateway(place: GatewayPlace) -> Iterator[Ends]:
    """A gateway whose client of the stateless era is sent away, to come back, after a moment."""
    (ours, write), (read, out), (server, to_server), (back, server_out) = (os.pipe() for _ in range(4))
    settings = GatewaySettings("files", str(place.folder), wait=60, hand_back=0.05)
    service = Service(ServiceFile.load(place.file))
    gateway = Gateway((ours, out), (back, to_server), service, settings)
    running = threading.Thread(target=gateway.run, daemon=True)
    running.start()
    ends = Ends(write, read, server)
    try:
        yield ends
    finally:
        os.close(write)
        running.join(PATIENCE)
        service.close()
        for fd in (out, to_server, ours, back, server_out):
            os.close(fd)
        for thread in ends.threads:
            thread.join(PATIENCE)


@contextmanager
def coming_back(place: GatewayPlace, decide: Decide) -> Iterator[Ends]:
    """A client was sent away while a person is asked about its call, and comes back once that is decided."""
    with place.serving(stay_silent) as service, a_gateway(place) as ends:
        ends.send(stateless(1))
        first = ends.answers.get(timeout=PATIENCE)
        assert first["result"]["resultType"] == "input_required"
        asked = service.next("call")
        service.decide = decide
        ends.come_back(first)
        assert service.next("call")["id"] == asked["id"]
        yield ends


def test_a_client_of_the_stateless_era_comes_back_for_a_call_that_waits_for_a_person(
    place: GatewayPlace,
) -> None:
    with coming_back(place, allow) as ends:
        sent = ends.next_reached()
    assert sent == stateless(2), "and the server hears nothing of a state that is not its own"


def test_a_person_who_says_no_meanwhile_is_heard_when_the_client_comes_back(place: GatewayPlace) -> None:
    with coming_back(place, deny) as ends:
        assert is_denied(ends.next_answer())
    assert ends.reached.empty()
