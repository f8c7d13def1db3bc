"""The service that runs: `sayso serve` finds it, shows it, stops it, and takes its place."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from sayso.doors.agents.settings.installed import Installation, save_installation
from sayso.gate.open import gate_data_folder
from sayso.gate.running_services import AnnouncedService, list_running_services, stop_service
from sayso.gate.settings import gate_config_folder
from sayso.service.serve import Address, CannotListen, open_sockets
from tests.support.service_process import PATIENCE, Home, Service, command, said


@pytest.fixture
def service(home: Home) -> Iterator[Service]:
    with home.serve() as running:
        yield running


def serve(home: Home, *more: str) -> tuple[int, str]:
    """A form of `sayso serve` that ends, on the store and the socket of this home; without line breaks."""
    where = ("--store", home.store, "--policy", str(home.policy), "--socket", str(home.socket))
    code, told = said("serve", *where, *more)
    return code, " ".join(told.split())


def running(home: Home) -> list[AnnouncedService]:
    return [one for one in list_running_services(gate_data_folder()) if one.path == home.store]


@pytest.fixture
def tidy(home: Home) -> Iterator[None]:
    """Ends whatever a test leaves in the background."""
    yield
    for one in list_running_services(gate_data_folder()):
        os.kill(one.process, signal.SIGKILL)


def test_its_status_names_the_page_and_how_to_open_and_stop_it(home: Home, service: Service) -> None:
    code, told = serve(home, "--status")
    assert code == 0
    for needed in (
        f"http://localhost:{service.port}",
        f"process {service.process.pid}",
        str(home.socket),
        home.store,
        "sayso link",
        "sayso serve --stop",
        "sayso serve --restart",
    ):
        assert needed in told
    (found,) = json.loads(serve(home, "--status", "--json")[1])
    assert (found["page"], found["process"]) == (f"http://localhost:{service.port}", service.process.pid)


def test_without_a_service_its_status_says_so_and_is_1(home: Home) -> None:
    code, told = serve(home, "--status")
    assert code == 1
    assert "No service runs" in told
    assert "`sayso serve` starts one" in told
    assert serve(home, "--status", "--json") == (1, "[]")


def test_stopped_it_ends_cleanly_and_stopped_again_there_is_none(home: Home, service: Service) -> None:
    code, told = serve(home, "--stop")
    assert code == 0
    assert f"Stopped: http://localhost:{service.port}" in told
    assert service.process.wait(PATIENCE) == 0
    assert running(home) == []
    assert not home.socket.exists()
    code, told = serve(home, "--stop")
    assert (code, "No service runs" in told) == (0, True)


def test_stopped_where_agents_are_gated_it_is_said_that_their_next_call_starts_it(
    home: Home, service: Service
) -> None:
    assert "starts it again" not in serve(home, "--status")[1]
    hook = Installation("claude", "user", "", 300, "", ())
    save_installation(gate_config_folder() / "hooks" / "claude", "", hook)
    assert "next call of a gated agent starts it again" in serve(home, "--stop")[1]


def test_a_service_of_another_store_is_shown_and_left_alone(home: Home, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with Home(tmp_path / "other").serve() as other:
        assert f"another store: http://localhost:{other.port}" in serve(home, "--status")[1]
        assert "No service runs" in serve(home, "--stop")[1]
        assert httpx.get(f"{other.url}/healthz").status_code == 200
        assert other.process.poll() is None


def test_a_socket_that_another_stores_service_has_is_not_said_to_be_ours_to_stop(
    home: Home, service: Service, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = Home(tmp_path / "other")
    other.socket = home.socket
    for more in ((), ("--restart",)):
        code, told = serve(other, *more)
        assert code == 1
        assert "another store" in told
        assert "--stop" not in told
    assert service.process.poll() is None


def test_a_second_one_says_which_runs_and_how_to_open_and_stop_it(home: Home, service: Service) -> None:
    code, told = serve(home)
    assert code == 1
    assert f"Sayso runs already at http://localhost:{service.port}" in told
    for needed in ("sayso link", "sayso serve --stop", "sayso serve --restart"):
        assert needed in told


def test_a_unit_is_written_with_a_word_about_the_service_in_its_way(home: Home, service: Service) -> None:
    code, told = serve(home, "--install")
    assert code == 0
    assert "a service runs already; `sayso serve --stop` stops it" in told


def test_restarted_the_new_one_takes_the_place_of_the_old(home: Home, service: Service) -> None:
    with home.serve("--restart") as new:
        assert service.process.wait(PATIENCE) == 0
        assert [one.process for one in running(home)] == [new.process.pid]


@pytest.mark.usefixtures("tidy")
def test_in_the_background_it_listens_before_the_command_ends(home: Home) -> None:
    code, told = serve(home, "--background", "--port", "0")
    (found,) = running(home)
    assert code == 0, told
    assert f"Sayso runs at {found.page}" in told
    assert httpx.get(f"{found.page}/sign-in").status_code == 200
    first = found.process
    code, told = serve(home, "--background", "--restart", "--port", "0")
    (found,) = running(home)
    assert (code, found.process != first) == (0, True)
    assert serve(home, "--stop")[0] == 0
    assert running(home) == []


def test_in_the_background_what_cannot_start_is_told(home: Home) -> None:
    home.policy.write_text("domains: 7")
    code, told = serve(home, "--background", "--port", "0")
    assert code == 1
    assert "could not be started" in told
    assert running(home) == []


def test_of_what_is_asked_of_it_only_one_thing_can_be_done(home: Home) -> None:
    code, told = serve(home, "--stop", "--status")
    assert (code, "one of" in told) == (2, True)
    assert serve(home, "--stop", "--background")[0] == 2


def test_a_port_that_is_only_the_usual_one_gives_way_and_one_that_was_named_does_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, ExitStack() as held:
        port = taken.getsockname()[1]
        (found,) = open_sockets(Address(port=port, any_port=True), held)
        assert found.getsockname()[1] not in (0, port)
        with pytest.raises(CannotListen):
            open_sockets(Address(port=port), held)


def test_whoever_finds_the_socket_taken_leaves_the_port_to_others(home: Home) -> None:
    """Of two that start at once, the one that stays must be the one with the usual port."""
    with ExitStack() as first, ExitStack() as second:
        tcp, _ = open_sockets(Address(port=0, path=home.socket), first)
        port = tcp.getsockname()[1]
        tcp.close()
        with pytest.raises(CannotListen, match="runs on"):
            open_sockets(Address(port=port, path=home.socket), second)
        socket.create_server(("127.0.0.1", port)).close()


def test_a_file_that_nobody_holds_stops_nobody(home: Home) -> None:
    with command("serve", "--help") as bystander:
        served = AnnouncedService("http://localhost:1", "name", "/nowhere", process=bystander.pid)
        assert stop_service(served, gate_data_folder()) is False
        assert bystander.wait(PATIENCE) == 0
