"""The connected door's own HTTP: whole answers only, and known whether a request can have been taken."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from sayso.doors.remote.exchange import Answer, LineLost, NotReached, Sent, Server, Wire

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BROKEN = {
    "nothing": b"",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "half a body": b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nallowed",
    "half a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nall",
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk",
}


class Scripted:
    """A server that gives these answers, one for each request, and then closes the connection."""

    def __init__(self, *connections: list[bytes]) -> None:
        self.heads: list[bytes] = []
        self.closed = threading.Semaphore(0)
        self._connections = connections
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @contextmanager
    def serving(self) -> Iterator[Scripted]:
        self._thread.start()
        try:
            yield self
        finally:
            self._listening.shutdown(socket.SHUT_RDWR)  # which ends the wait for the next
            self._listening.close()
            self._thread.join(10)

    def _serve(self) -> None:
        for answers in self._connections:
            try:
                line, _ = self._listening.accept()
            except OSError:
                return
            with line:
                for answer in answers:
                    head = line.recv(65_536)
                    if not head:
                        break
                    self.heads.append(head)
                    line.sendall(answer)
            self.closed.release()


def sent(path: str = "/v1/calls", method: str = "GET", content: bytes = b"") -> Sent:
    headers = {"Authorization": "Bearer secret"}
    return Sent(method, path, {}, headers, content, connecting=5.0, reading=20.0)


def ask(scripted: Scripted, how: str, request: Sent) -> Answer:
    with closing(Server(f"http://127.0.0.1:{scripted.port}")) as server:
        return server.ask(request) if how == "thread" else asyncio.run(server.ask_later(request))


each_way = pytest.mark.parametrize("how", ["thread", "coroutine"])


@each_way
@pytest.mark.parametrize("what", BROKEN)
def test_an_answer_that_is_not_whole_is_none(how: str, what: str) -> None:
    with Scripted([BROKEN[what]]).serving() as scripted, pytest.raises(LineLost):
        ask(scripted, how, sent())


@each_way
def test_nobody_listening_is_told_as_not_reached(how: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    server = Server(f"http://127.0.0.1:{port}")
    with pytest.raises(NotReached, match=r"refused|failed"):
        server.ask(sent()) if how == "thread" else asyncio.run(server.ask_later(sent()))


@each_way
@pytest.mark.parametrize(
    "whole",
    [
        OK,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nok",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK,
    ],
)
def test_a_whole_answer_is_read_however_its_end_is_told(how: str, whole: bytes) -> None:
    with Scripted([whole]).serving() as scripted:
        assert ask(scripted, how, sent()).content == b"ok"


def test_a_connection_that_was_closed_meanwhile_is_not_used_again() -> None:
    with Scripted([OK], [OK]).serving() as scripted:
        server = Server(f"http://127.0.0.1:{scripted.port}")
        assert server.ask(sent("/first")).content == b"ok"
        assert scripted.closed.acquire(timeout=20)
        assert server.ask(sent("/second", "POST", b"{}")).content == b"ok"
        assert [head.split()[1] for head in scripted.heads] == [b"/first", b"/second"]
        server.close()


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_ones() -> None:
    forged = OK.replace(b"ok", b"!!")
    with (
        Scripted([OK + forged, forged], [OK]).serving() as scripted,
        closing(Server(f"http://127.0.0.1:{scripted.port}")) as server,
    ):
        assert [server.ask(sent()).content for _ in range(2)] == [b"ok", b"ok"]


def test_requests_that_follow_each_other_share_a_connection() -> None:
    with Scripted([OK, OK, OK]).serving() as scripted:
        server = Server(f"http://127.0.0.1:{scripted.port}")
        assert [server.ask(sent()).status for _ in range(3)] == [200, 200, 200]
        server.close()


@each_way
def test_a_redirect_is_not_followed_and_no_proxy_gets_the_token(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = Scripted([OK])
    moved = f"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:{elsewhere.port}/\r\nContent-Length: 0\r\n\r\n"
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{elsewhere.port}")
    with elsewhere.serving(), Scripted([moved.encode()]).serving() as scripted:
        assert ask(scripted, how, sent()).status == 307
    assert elsewhere.heads == []


def test_a_fork_does_not_speak_on_the_connections_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    with Scripted([OK, OK, OK]).serving() as scripted:
        server = Server(f"http://127.0.0.1:{scripted.port}")
        server.ask(sent())
        own = server.idle
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with pytest.raises((NotReached, LineLost)):  # nobody takes another connection here
            server.ask(Sent("GET", "/", {}, {}, b"", connecting=0.2, reading=0.2))
        assert len(scripted.heads) == 1
        for one in own:
            one.close()


@pytest.mark.parametrize(
    ("url", "path", "target", "host"),
    [
        ("http://h:7", "/v1/x", "/v1/x", "h:7"),
        ("http://h/p/", "/v1/x", "/p/v1/x", "h"),
        ("http://[::1]:7", "/v1/ä b\r\nX: y", "/v1/%C3%A4%20b%0D%0AX:%20y", "[::1]:7"),
        ("https://bücher.example", "/v1/a?b#c", "/v1/a%3Fb%23c", "xn--bcher-kva.example"),
    ],
)
def test_a_path_can_say_nothing_but_where(url: str, path: str, target: str, host: str) -> None:
    said = Server(url).write_request(Wire(), sent(path)).decode()
    assert said.startswith(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n")
    assert said.count("\r\n") == 4
