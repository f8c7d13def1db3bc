"""A request that came whole is read at once and answered in one go: nobody can tell the difference."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
from collections.abc import Iterator
from typing import cast

import pytest
from starlette.types import Receive, Scope, Send

from sayso.service.http.connections import JoiningTransport
from sayso.service.http.endpoints import HttpRequest, JsonAnswer
from sayso.service.http.guard import HEADERS, Guard
from tests.support.parsers import PARSERS, served_with

HOST = "sayso.test"
at_once: list[bool] = []
"""For each request, whether its body was there at once."""


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Tells the body and the path, and with the path /more one header more."""
    request = HttpRequest(scope, receive, {})
    whole = request.take_body()
    at_once.append(whole is not None)
    body = whole if whole is not None else b"".join([part async for part in request.parts()])
    answer = JsonAnswer({"path": request.path, "body": body.decode()}, 201)
    if request.path == "/more":
        answer.headers["x-more"] = "more"
    await answer(scope, receive, send)


@pytest.fixture(params=PARSERS)
def parser(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def line(parser: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    at_once.clear()
    with (
        served_with(Guard(echo, (HOST,)), parser, monkeypatch) as address,
        socket.create_connection(address, timeout=30) as connected,
    ):
        yield connected


def request_of(path: str, body: bytes, *more: str, method: str = "POST") -> bytes:
    head = (f"{method} {path} HTTP/1.1", f"Host: {HOST}", f"Content-Length: {len(body)}", *more, "", "")
    return "\r\n".join(head).encode() + body


class Answers:
    """The answers that come on a connection, one after another."""

    def __init__(self, line: socket.socket) -> None:
        self._line, self._come = line, b""

    def next(self, *, body: bool = True) -> tuple[int, dict[str, str], bytes]:
        while b"\r\n\r\n" not in self._come:
            self._more()
        head, _, self._come = self._come.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        headers = dict(re.split(": ?", one.lower(), maxsplit=1) for one in lines)
        size = int(headers.get("content-length", "0")) if body else 0
        while len(self._come) < size:
            self._more()
        told, self._come = self._come[:size], self._come[size:]
        return int(status.split()[1]), headers, told

    def _more(self) -> None:
        received = self._line.recv(65_536)
        assert received, "closed too soon"
        self._come += received


def told(answer: tuple[int, dict[str, str], bytes]) -> tuple[str, str]:
    status, headers, body = answer
    assert status == 201
    assert headers["content-type"] == "application/json"
    assert headers["cache-control"] == "no-store"
    assert all(headers[name.decode()] == value.decode().lower() for name, value in HEADERS)
    found = json.loads(body)
    return found["path"], found["body"]


def test_requests_in_one_piece_are_answered_on_one_connection(line: socket.socket, parser: str) -> None:
    answers = Answers(line)
    for number in range(3):
        line.sendall(request_of(f"/{number}", b"whole"))
        assert told(answers.next()) == (f"/{number}", "whole")
    assert at_once == [parser == "httptools"] * 3


def test_a_body_that_comes_later_is_waited_for(line: socket.socket) -> None:
    answers = Answers(line)
    sent = request_of("/later", b"in two pieces")
    line.sendall(sent[:-6])
    time.sleep(0.1)
    line.sendall(sent[-6:])
    assert told(answers.next()) == ("/later", "in two pieces")
    line.sendall(request_of("/next", b"and whole"))
    assert told(answers.next()) == ("/next", "and whole")
    assert at_once[0] is False


def test_requests_that_come_together_are_answered_in_their_order(line: socket.socket) -> None:
    answers = Answers(line)
    line.sendall(b"".join(request_of(f"/{number}", f"body {number}".encode()) for number in range(5)))
    assert [told(answers.next()) for _ in range(5)] == [(f"/{n}", f"body {n}") for n in range(5)]


def test_the_answer_is_the_same_as_one_that_the_framework_sends(line: socket.socket) -> None:
    """With a header of its own, and where the connection is closed afterwards, it goes through that."""
    answers = Answers(line)
    line.sendall(request_of("/same", b"body"))
    quick = answers.next()
    line.sendall(request_of("/more", b"body"))
    slow = answers.next()
    line.sendall(request_of("/same", b"body", "Connection: close"))
    last = answers.next()
    assert slow[1].pop("x-more") == "more"
    assert last[1].pop("connection") == "close"
    assert quick == last
    assert quick[:2] == slow[:2]
    assert line.recv(1) == b""


def test_the_answer_to_head_has_no_body(line: socket.socket) -> None:
    answers = Answers(line)
    line.sendall(request_of("/head", b"", method="HEAD"))
    status, headers, _ = answers.next(body=False)
    assert (status, headers["content-length"]) == (201, str(len(b'{"path":"/head","body":""}')))
    line.sendall(request_of("/after", b""))
    assert told(answers.next()) == ("/after", "")


def test_whoever_asks_first_whether_to_send_is_told_to_go_on(line: socket.socket) -> None:
    answers = Answers(line)
    sent = request_of("/expected", b"body", "Expect: 100-continue")
    line.sendall(sent[:-4])
    assert answers.next()[0] == 100
    line.sendall(sent[-4:])
    assert told(answers.next()) == ("/expected", "body")


def test_whoever_asks_and_sends_at_once_is_answered(line: socket.socket) -> None:
    answers = Answers(line)
    line.sendall(request_of("/expected", b"body", "Expect: 100-continue"))
    answer = answers.next()
    if answer[0] == 100:
        answer = answers.next()
    assert told(answer) == ("/expected", "body")


class Left:
    """A connection that is closed, as a loop has it that fails at whatever is sent there."""

    def is_closing(self) -> bool:
        return True

    def write(self, _data: bytes) -> None:
        raise RuntimeError("the handler is closed")

    writelines = write

    def close(self) -> None:
        """It is."""


def test_what_is_for_somebody_who_has_left_is_dropped() -> None:
    """Somebody who sent several requests at once and left filled the log with an error for each."""

    async def answer() -> None:
        failed = list[object]()
        asyncio.get_running_loop().set_exception_handler(lambda _, about: failed.append(about))
        line = JoiningTransport(cast("asyncio.Transport", Left()))
        for _ in range(3):
            line.write(b"a part")
        line.write_at_once(b"all of it")
        line.write(b"the last")
        await asyncio.sleep(0)
        line.close()
        assert not failed

    asyncio.run(answer())
