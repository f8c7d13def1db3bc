"""The service as a process: its sockets, its log, how it ends, and who may start it."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import pytest

from sayso.doors.remote.connected import connect
from sayso.doors.remote.discovery import WrongService
from sayso.doors.remote.line import ServiceRequest, Unreachable
from sayso.gate.open import open_gate, open_to_look
from sayso.policy import load_preset
from sayso.service.serve import Address, open_sockets
from tests.support.repository import ROOT
from tests.support.service_process import PATIENCE, Home, Service, command, said


@pytest.fixture
def service(home: Home) -> Iterator[Service]:
    with home.serve("--log", "json") as running:
        yield running


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def a_question(service: Service, headers: dict[str, str]) -> str:
    """A call that an agent has to ask for; its id."""
    asked = httpx.post(f"{service.url}/v1/calls", json={"tool": "push"}, headers=headers).json()
    assert asked["status"] == "pending"
    return str(asked["operation_id"])


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_it_lets_go_whoever_waits_and_signs_the_trail(
    home: Home, service: Service, how: signal.Signals
) -> None:
    headers = bearer(home.token("agent"))
    call = a_question(service, headers)
    with ThreadPoolExecutor() as pool, httpx.Client(headers=headers, timeout=PATIENCE) as client:
        where = f"{service.url}/v1/calls/{call}"
        waiting = [pool.submit(client.get, where, params={"wait": "600"}) for _ in range(5)]
        until_waiting(service, headers, home, 5)
        assert service.stop(how) == 0
        for one in waiting:
            answer = one.result(PATIENCE)
            assert answer.status_code == 200
            assert (answer.json()["status"], answer.json()["answered"]) == ("pending", False)
    assert not home.socket.exists()
    assert not any("Cancel" in line or "Traceback" in line for line in service.log)
    assert signed_as_far_as_written(home)


def until_waiting(service: Service, headers: dict[str, str], home: Home, count: int) -> None:
    """Until the service says that so many wait."""
    operator = bearer(home.token("operator"))
    while True:
        text = httpx.get(f"{service.url}/metrics", headers=operator).text
        if f"sayso_open_waits {count}" in text.replace(".0", ""):
            return


def signed_as_far_as_written(home: Home) -> bool:
    gate = open_to_look(home.store)
    try:
        with gate.store.read() as tx:
            head, signed = tx.head("main"), tx.checkpoints()
        assert head is not None
        return bool(signed) and signed[0].size == head.seq
    finally:
        gate.store.close()


def test_an_open_page_does_not_hold_it_up(home: Home, service: Service) -> None:
    operator = bearer(home.token("operator"))
    with httpx.stream("GET", f"{service.url}/v1/events", headers=operator, timeout=PATIENCE) as events:
        lines = events.iter_lines()
        assert next(lines)
        assert service.stop() == 0
        for _ in lines:
            pass
    assert not any("Cancel" in line or "Traceback" in line for line in service.log)


def test_its_socket_and_folder_are_its_owners_alone(home: Home, service: Service) -> None:
    assert stat.S_IMODE(home.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.socket.parent.stat().st_mode) == 0o700


def test_answers_are_sent_at_once() -> None:
    """asyncio turns off the system's waiting for more only on sockets that name their protocol."""
    with ExitStack() as held:
        (tcp,) = open_sockets(Address(port=0), held)
        assert tcp.proto == socket.IPPROTO_TCP


def test_a_socket_left_by_one_that_died_is_taken_over(home: Home) -> None:
    with home.serve() as first:
        first.kill()
    assert home.socket.exists()
    with home.serve(), connect(home.socket, home.token("agent")) as agent:
        assert agent.questions() == []


def test_a_second_service_on_the_same_socket_or_port_is_refused(home: Home, service: Service) -> None:
    other = str(home.folder / "other.sock")
    for where, why in (
        (["--port", "0", "--socket", str(home.socket)], "runs already"),
        (["--port", str(service.port), "--socket", other], "cannot listen on"),
    ):
        code, text = said("serve", "--store", home.store, "--policy", str(home.policy), *where)
        assert code == 1
        assert why in text
        assert "hint:" in text
    with connect(home.socket, home.token("agent")) as agent:
        assert agent.questions() == []


def test_of_several_started_at_once_on_one_socket_one_stays(home: Home) -> None:
    open_gate(load_preset("balanced"), home.store).store.close()
    arguments = ("--store", home.store, "--policy", str(home.policy), "--port", "0")
    started = [command("serve", *arguments, "--socket", str(home.socket)) for _ in range(3)]
    lines = [one.stdout.readline() for one in started if one.stdout is not None]
    try:
        assert sorted(line.startswith("Sayso serves") for line in lines) == [False, False, True]
        with connect(home.socket, home.token("agent")) as agent:
            assert agent.questions() == []
    finally:
        for one in started:
            one.kill()
            one.communicate(timeout=PATIENCE)


def test_what_is_not_a_socket_is_left_alone(home: Home) -> None:
    home.socket.parent.mkdir()
    home.socket.write_text("mine")
    code, text = said("serve", "--store", home.store, "--port", "0", "--socket", str(home.socket))
    assert (code, "is not a socket" in text) == (1, True)
    assert home.socket.read_text() == "mine"


def test_a_folder_that_others_can_write_to_is_refused(home: Home) -> None:
    home.socket.parent.mkdir()
    home.socket.parent.chmod(0o777)
    code, text = said("serve", "--store", home.store, "--port", "0", "--socket", str(home.socket))
    assert (code, "others can write" in text) == (1, True)


def test_the_log_is_a_line_a_request_without_queries_or_secrets(home: Home, service: Service) -> None:
    token = home.token("agent")
    call = a_question(service, bearer(token))
    httpx.get(f"{service.url}/v1/calls/{call}?wait=0.001", headers=bearer(token))
    httpx.get(f"{service.url}/v1/no%1b[31msuch?token={token}", headers=bearer(token))
    service.stop()
    lines = [json.loads(line) for line in service.log]
    told = [(one["method"], one["path"], one["status"]) for one in lines if "path" in one]
    assert told == [
        ("POST", "/v1/calls", 200),
        ("GET", f"/v1/calls/{call}", 200),
        ("GET", "/v1/no\\x1b[31msuch", 404),
    ]
    assert all({"at", "level", "ms"} <= set(one) for one in lines if "path" in one)
    assert token not in "".join(service.log)
    assert "wait" not in "".join(service.log)


def test_a_log_form_that_is_none_is_a_usage_error(home: Home) -> None:
    code, text = said("serve", "--log", "xml")
    assert (code, "text, json" in text) == (2, True)


def test_it_says_where_it_is_and_shows_no_link_to_a_log(home: Home, service: Service) -> None:
    assert httpx.get(f"{service.url}/healthz").text == "ok"
    service.stop()
    assert service.process.stdout is not None
    assert "sign-in#" not in service.process.stdout.read() + "".join(service.log)


def test_the_link_is_shown_on_a_terminal_and_is_in_no_log(home: Home) -> None:
    master, slave = pty.openpty()
    arguments = ["serve", "--store", home.store, "--policy", str(home.policy), "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "sayso", *arguments, "--socket", str(home.socket), "--log", "json"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.close(slave)
        shown = ""
        while "Ctrl-C" not in shown:
            shown += os.read(master, 10_000).decode()
        process.send_signal(signal.SIGTERM)
        log = process.communicate(timeout=PATIENCE)[1]
    os.close(master)
    assert "/sign-in#" in shown
    assert "sign-in" not in log


def test_install_writes_a_unit_that_starts_the_same_service(home: Home) -> None:
    code, text = said("serve", "--install", "--store", home.store, "--policy", str(home.policy))
    assert code == 0
    unit = home.folder / ".config" / "systemd" / "user" / "sayso.service"
    assert str(unit) in text
    written = unit.read_text()
    assert f"ExecStart={sys.executable} -m sayso serve" in written
    assert f"--store {home.store}" in written
    analyze = shutil.which("systemd-analyze")
    if analyze is not None:
        checked = subprocess.run([analyze, "verify", "--user", str(unit)], capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr


def test_a_client_that_finds_no_service_starts_its_own(home: Home) -> None:
    store = home.folder / "XDG_DATA_HOME" / "sayso" / "sayso.db"
    open_gate(load_preset("balanced")).store.close()
    home.store = str(store)
    host = home.token("host")
    place = home.folder / "XDG_RUNTIME_DIR" / "sayso" / "sayso.sock"
    with ThreadPoolExecutor() as pool:
        gates = list(pool.map(lambda _: connect(None, host), range(3)))
        assert all(gate.open_session("helper").startswith("s_") for gate in gates)
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(place))
        found = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    os.kill(struct.unpack("3i", found)[0], signal.SIGTERM)
    for gate in gates:
        gate.close()


def test_where_the_service_has_a_user_of_its_own_no_client_starts_one(home: Home) -> None:
    recorded(home, os.getuid() + 1)
    with connect(None, "sayso_host_x") as gate, pytest.raises(Unreachable):
        gate.door.line.ask(ServiceRequest("GET", "/v1/grants"), away=0.0)
    assert not (home.folder / "XDG_RUNTIME_DIR" / "sayso").exists()


def test_a_listener_that_is_not_the_services_user_gets_nothing(home: Home, service: Service) -> None:
    recorded(home, os.getuid() + 1)
    with connect(home.socket, home.token("host")) as gate, pytest.raises(WrongService):
        gate.open_session("helper")
    service.stop()
    assert not any("/v1/" in line for line in service.log)


def recorded(home: Home, user: int) -> None:
    folder = home.folder / "XDG_CONFIG_HOME" / "sayso"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps({"service_uid": user}))
