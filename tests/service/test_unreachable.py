"""A service that is not there: said in seconds, with what to do, and not tried for half a minute."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sayso import Sayso
from sayso.core.errors import SaysoError
from sayso.doors.remote.exchange import NotReached
from sayso.doors.remote.line import NEVER_THERE, ServiceAddress, ServiceRequest, Unreachable, _Tries
from tests.support.service_process import Home, Service

PATIENCE = 20.0
"""Half a minute would be too long, and a busy machine is not to blame."""


def in_time(work: threading.Thread) -> None:
    work.start()
    work.join(PATIENCE)
    assert not work.is_alive(), "it is still tried"


def failing(where: str | Path | list[str], found: list[BaseException]) -> None:
    with Sayso.connect(where, "sayso_host_x") as gate:
        try:
            gate.session(agent="helper")
        except BaseException as error:  # noqa: BLE001  shown to the test, in whose thread it counts
            found.append(error)


@pytest.fixture
def closed_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def black_hole() -> Iterator[int]:
    """A port whose queue is full: whoever connects hears nothing."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(8)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        yield int(port)
        for one in waiting:
            one.close()


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes every connection, and never says a word."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        yield int(listener.getsockname()[1])


def test_a_port_that_takes_the_connection_and_says_nothing_is_told_in_seconds(silent_port: int) -> None:
    found: list[BaseException] = []
    in_time(threading.Thread(target=failing, args=(f"http://127.0.0.1:{silent_port}", found), daemon=True))
    (error,) = found
    assert isinstance(error, Unreachable)
    assert "sayso serve" in str(error.hint)


def test_a_coroutine_does_not_wait_for_a_silent_port_either(silent_port: int) -> None:
    async def ask() -> None:
        with Sayso.connect(f"http://127.0.0.1:{silent_port}", "sayso_host_x") as gate:
            async with asyncio.timeout(PATIENCE):
                await gate.door.line.ask_later(ServiceRequest("GET", "/v1/calls"))

    with pytest.raises(Unreachable, match="sayso serve"):
        asyncio.run(ask())


def test_a_closed_port_is_told_in_seconds_with_what_to_do(closed_port: int) -> None:
    found: list[BaseException] = []
    in_time(threading.Thread(target=failing, args=(f"http://127.0.0.1:{closed_port}", found)))
    (error,) = found
    assert isinstance(error, Unreachable)
    assert f"127.0.0.1:{closed_port}" in error.message
    assert "sayso serve" in str(error.hint)


def test_an_address_that_swallows_everything_is_told_in_seconds(black_hole: int) -> None:
    found: list[BaseException] = []
    in_time(threading.Thread(target=failing, args=(f"http://127.0.0.1:{black_hole}", found)))
    assert isinstance(found[0], Unreachable)


def test_a_coroutine_is_told_as_soon(closed_port: int) -> None:
    async def ask() -> None:
        with Sayso.connect(f"http://127.0.0.1:{closed_port}", "sayso_host_x") as gate:
            await gate.door.line.ask_later(ServiceRequest("GET", "/v1/calls"))

    async def waited() -> None:
        async with asyncio.timeout(PATIENCE):
            await ask()

    with pytest.raises(Unreachable, match="sayso serve"):
        asyncio.run(waited())


def test_every_address_is_tried_before_it_is_given_up(
    home: Home, served: Service, black_hole: int, closed_port: int, silent_port: int
) -> None:
    places = [
        f"http://127.0.0.1:{silent_port}",
        f"http://127.0.0.1:{black_hole}",
        f"http://127.0.0.1:{closed_port}",
        served.url,
    ]
    with Sayso.connect(places, home.token("host")) as gate:
        assert gate.session(agent="helper").id.startswith("s_")


def test_a_refused_connection_is_not_paused_for_longer_than_what_is_left_of_two_seconds() -> None:
    place = ServiceAddress("http://127.0.0.1:9", lambda: None)
    assert NEVER_THERE < 2
    tries = _Tries(ServiceRequest("GET", "/v1/sessions"), 0.01, places=100, began=True)
    for _ in range(20):
        assert tries.pause(NotReached("refused"), place) <= 0.01


@pytest.mark.parametrize(
    ("where", "hint"),
    [
        ("127.0.0.1:7411", "http://127.0.0.1:7411"),
        ("localhost:7411/", "http://localhost:7411/"),
        ("[::1]:7411", "http://[::1]:7411"),
        ("ws://sayso.example.org:1", "http://sayso.example.org:1"),
        ("http://127.0.0.1:7411x", "http://"),
        ("https://", "http://"),
    ],
)
def test_what_is_no_url_is_not_taken_for_a_socket_and_says_what_to_write(where: str, hint: str) -> None:
    with pytest.raises(SaysoError) as told:
        Sayso.connect(where, "sayso_host_x")
    assert told.value.code == "no_address"
    assert hint in str(told.value.hint)


def test_a_service_without_tls_that_is_asked_with_it_is_said_to_be_one(served: Service) -> None:
    found: list[BaseException] = []
    failing(f"https://127.0.0.1:{served.port}", found)
    assert f"http://127.0.0.1:{served.port}" in str(getattr(found[0], "hint", ""))
