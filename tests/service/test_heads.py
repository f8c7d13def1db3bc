"""Requests as bytes on a socket: no head grows without end, whichever parser reads it."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from sayso.service.http.connections import LARGEST_HEAD
from tests.support.parsers import PARSERS, served_with

PIECE = b"x" * 8_192
PIECES = 10 * LARGEST_HEAD // len(PIECE)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads all of the request, and tells its size; fails if it hears of a header called X-Late."""
    size, more = 0, True
    while more:
        got = await receive()
        size, more = size + len(got.get("body", b"")), got.get("more_body", False)
    text = str(size).encode()
    await send(
        {
            "type": "http.response.start",
            "status": 500 if any(name == b"x-late" for name, _ in scope["headers"]) else 200,
            "headers": [(b"content-length", str(len(text)).encode())],
        }
    )
    await send({"type": "http.response.body", "body": text})


@pytest.fixture(params=PARSERS)
def address(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    with served_with(app, request.param, monkeypatch) as there:
        yield there


def send_until_closed(address: tuple[str, int], first: bytes, piece: bytes = PIECE) -> tuple[int, bytes]:
    """Send these, then the piece again and again; how many were taken, and what was answered."""
    with socket.create_connection(address, timeout=30) as line:
        line.sendall(first)
        line.settimeout(0.05)
        for sent in range(PIECES):
            try:
                answer = line.recv(1_000)
            except TimeoutError:
                line.settimeout(0.001)
            except OSError:
                return sent, b""
            else:
                return sent, answer
            try:
                line.sendall(piece)
            except OSError:
                return sent, b""
    return PIECES, b""


ENDLESS: dict[str, tuple[bytes, bytes]] = {
    "a path": (b"GET /", PIECE),
    "one header": (b"GET / HTTP/1.1\r\nHost: a\r\nX: ", PIECE),
    "many headers": (b"GET / HTTP/1.1\r\nHost: a\r\n", b"X: y\r\n" * 1_365),
    "the extension of a chunk": (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a=",
        PIECE,
    ),
    "a trailer": (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: ",
        PIECE,
    ),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_nothing_around_a_body_grows_without_end(address: tuple[str, int], what: str) -> None:
    taken, _ = send_until_closed(address, *ENDLESS[what])
    assert taken < PIECES


def ask(address: tuple[str, int], *parts: bytes) -> bytes:
    with socket.create_connection(address, timeout=30) as line:
        for part in parts:
            line.sendall(part)
            time.sleep(0.01)  # so that each comes by itself
        line.shutdown(socket.SHUT_WR)
        answer = b""
        while more := line.recv(65_536):
            answer += more
        return answer


def post(body: bytes, *headers: bytes) -> bytes:
    length = b"Content-Length: %d" % len(body)
    return b"\r\n".join([b"POST / HTTP/1.1", b"Host: a", length, *headers, b"", b""]) + body


def test_a_large_body_is_no_long_head(address: tuple[str, int]) -> None:
    body = b"y" * (20 * LARGEST_HEAD)
    whole = post(body, b"Connection: close")
    answer = ask(address, *(whole[at : at + 50_000] for at in range(0, len(whole), 50_000)))
    assert answer.endswith(str(len(body)).encode())


def test_many_requests_on_one_connection_are_no_long_head(address: tuple[str, int]) -> None:
    one = post(b"z" * 10, b"X-Long: " + b"h" * 30_000)
    answer = ask(address, *[one] * 5, post(b"", b"Connection: close"))
    assert answer.count(b"HTTP/1.1 200") == 6


def test_a_long_head_that_is_not_too_long_is_read(address: tuple[str, int]) -> None:
    answer: Any = ask(
        address, post(b"abc", b"X-Long: " + b"h" * (LARGEST_HEAD - 2_000), b"Connection: close")
    )
    assert answer.startswith(b"HTTP/1.1 200")


def test_what_follows_the_body_is_no_header_of_the_request(address: tuple[str, int]) -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = ask(address, head + b"1\r\na\r\n0\r\nX-Late: yes\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200")
    again = ask(address, head.replace(b"Host", b"X-Late: yes\r\nHost") + b"0\r\n\r\n")
    assert again.startswith(b"HTTP/1.1 500"), "a header of the request is heard"
