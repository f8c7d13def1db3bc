"""Servers at an address that break a call off: who can say how it ended, and who cannot."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from tests.agents.gateway.place import PATIENCE, GatewayPlace, allow, tool_call
from tests.agents.gateway.test_states import stateless

Reply = Callable[[dict[str, Any]], bytes]
"""What is sent for a call, before the connection is closed."""


def with_body(status: str, kind: str, body: bytes, size: int | None = None) -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n"
    return f"{head}content-length: {len(body) if size is None else size}\r\n\r\n".encode() + body


def as_stream(*events: dict[str, Any]) -> bytes:
    """Return the beginning of a stream that has no end."""
    sent = "".join(f"event: message\r\ndata: {json.dumps(one)}\r\n\r\n" for one in events).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + (b"%x\r\n%s\r\n" % (len(sent), sent) if sent else b"")


def answer(call: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call["id"], **more}


def error(call: dict[str, Any]) -> dict[str, Any]:
    return answer(call, error={"code": -32000, "message": "no"})


DONE: dict[str, Any] = {"content": [{"type": "text", "text": "done"}], "isError": False}
PROGRESS = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
NOBODY_KNOWS: dict[str, Reply] = {
    "closed without a word": lambda call: b"",
    "closed in the head": lambda call: b"HTTP/1.1 200 OK\r\ncontent-ty",
    "closed in the answer": lambda call: with_body("200 OK", "application/json", b'{"jsonrpc"', 500),
    "closed in the stream": lambda call: as_stream(PROGRESS),
    "closed before the stream": lambda call: as_stream(),
    "a stream that ends": lambda call: as_stream(PROGRESS) + b"0\r\n\r\n",
    "a proxy's word": lambda call: with_body("504 Gateway Timeout", "text/html", b"<p>late"),
    "a broken server": lambda call: with_body("500 Oops", "application/json", b'{"detail": "x"}'),
    "taken, and no answer": lambda call: with_body("202 Accepted", "text/plain", b""),
    "no JSON": lambda call: with_body("200 OK", "application/json", b"{"),
    "no message": lambda call: with_body("200 OK", "application/json", b'{"a": 1}'),
    "a page": lambda call: with_body("200 OK", "text/html", b"<p>hello"),
}
THE_SERVER_SAYS_NO: dict[str, Reply] = {
    "an error": lambda call: with_body("200 OK", "application/json", json.dumps(error(call)).encode()),
    "an error and a status": lambda call: with_body(
        "500 No", "application/json", json.dumps(error(call)).encode()
    ),
    "an error in a stream": lambda call: as_stream(PROGRESS, error(call)),
    "a failed tool": lambda call: as_stream(answer(call, result={**DONE, "isError": True})),
    "not let in": lambda call: with_body("401 Unauthorized", "text/plain", b"no"),
    "a session that is over": lambda call: with_body("404 Not Found", "text/plain", b"no"),
    "elsewhere": lambda call: with_body("307 There", "text/plain", b"").replace(
        b"\r\n\r\n", b"\r\nlocation: http://localhost:1/\r\n\r\n"
    ),
}


def reply_well(call: dict[str, Any]) -> bytes:
    return as_stream(answer(call, result=DONE))


@contextmanager
def at_an_address(replies: dict[str, Reply]) -> Iterator[str]:
    """Serve on this machine: reply to a call of a tool with its bytes, and close."""

    def serve() -> None:
        with suppress(OSError):
            while True:
                line, _ = listener.accept()
                with line, suppress(OSError, ValueError), line.makefile("rb") as reader:
                    answer_one(line, reader)

    def answer_one(line: socket.socket, reader: Any) -> None:
        size = 0
        while (header := reader.readline().strip().lower()) != b"":
            if header.startswith(b"content-length:"):
                size = int(header.split(b":")[1])
        call = json.loads(reader.read(size))
        line.sendall(replies[call["params"]["name"]](call))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(PATIENCE)


def make_calls(
    place: GatewayPlace,
    url: str,
    tools: Iterable[str],
    call: Callable[[int, str], dict[str, Any]] = tool_call,
) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Call the tools one after the other; return how the gateway saw each end, and what was answered."""
    ends = {}
    with place.serving(allow) as service, place.gateway_to(url) as client:
        for number, tool in enumerate(tools):
            client.send(call(number, tool))
            answered = client.read_answer(number)
            ends[tool] = service.next("end")["ok"], answered
    return ends


@pytest.mark.parametrize("call", [tool_call, stateless], ids=["handshake", "stateless"])
def test_a_call_that_its_server_broke_off_is_ambiguous_and_others_go_on(
    place: GatewayPlace, call: Callable[[int, str], dict[str, Any]]
) -> None:
    with at_an_address({**NOBODY_KNOWS, "well": reply_well}) as url:
        ends = make_calls(place, url, [*NOBODY_KNOWS, "well"], call)
    assert ends.pop("well")[0] is True
    assert {what: ok for what, (ok, _) in ends.items()} == dict.fromkeys(NOBODY_KNOWS)
    for _, answered in ends.values():
        assert "find out whether it ran" in answered["error"]["message"]


def test_a_call_that_its_server_refused_has_failed(place: GatewayPlace) -> None:
    with at_an_address(THE_SERVER_SAYS_NO) as url:
        ends = make_calls(place, url, THE_SERVER_SAYS_NO)
    assert {what: ok for what, (ok, _) in ends.items()} == dict.fromkeys(THE_SERVER_SAYS_NO, False)
    assert "find out" not in json.dumps(list(ends.values()))


def test_a_call_that_reached_no_server_has_failed(place: GatewayPlace) -> None:
    with at_an_address({}) as url:
        pass
    assert make_calls(place, url, ["touch"])["touch"][0] is False


def test_a_call_that_was_answered_has_succeeded_though_the_connection_broke_then(place: GatewayPlace) -> None:
    with at_an_address({"well": reply_well}) as url:
        ok, answered = make_calls(place, url, ["well"])["well"]
    assert ok is True
    assert answered["result"]["content"] == DONE["content"]
