"""A real service under load: whoever asks a lot, or comes with nothing, keeps no operator from acting."""

from __future__ import annotations

import contextlib
import http.client
import json
import resource
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sayso.gate.open import open_to_act
from sayso.gate.people.browsers import make_link
from tests.support.service_process import Home, Service

IN_TIME = 10.0
CONNECTIONS = 4_100
MORE_TOOLS = """  - {tool: read, operation: tasks.read}
  - {tool: create, operation: tasks.create}
  - {tool: wipe, operation: tasks.wipe}
"""
CREATE = {"tool": "create", "args": {"title": "x"}}


@pytest.fixture
def served(home: Home) -> Iterator[Service]:
    home.policy.write_text(home.policy.read_text() + MORE_TOOLS)
    with home.serve() as running:
        yield running


class Client(contextlib.AbstractContextManager["Client"]):
    """Somebody with a token, or with none, on one connection."""

    def __init__(self, service: Service, token: str | None = None, patience: float = 60.0) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=patience)
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, self._headers | headers)
        answer = self._connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith((b"{", b"[")) else text

    def told(self, method: str, path: str, body: Any = None) -> Any:
        status, told = self.send(method, path, body)
        assert status in (200, 201), told
        return told


def told(service: Service, token: str | None, method: str, path: str, body: Any = None) -> Any:
    """What comes of one request on a connection of its own, in time."""
    with Client(service, token, IN_TIME) as client:
        return client.told(method, path, body)


def size_of(home: Home) -> int:
    return sum(file.stat().st_size for file in Path(home.store).parent.glob("store.db*"))


def most_memory(service: Service) -> int:
    """The most the service ever held, in bytes."""
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def answered_and_stopped(home: Home, service: Service, question: str) -> None:
    """The operator's answer and stop arrive in time, on new connections."""
    operator = home.token("operator", "ana")
    path = f"/v1/questions/{question}/answer"
    assert told(service, operator, "POST", path, {"answer": "deny"})["yours"]
    assert told(service, operator, "POST", "/v1/sessions/stop")["settled"]


@pytest.mark.parametrize("tool", ["read", "create", "wipe"])
def test_three_hundred_calls_of_a_megabyte_fill_neither_memory_nor_the_store(
    home: Home, served: Service, tool: str
) -> None:
    token = home.token("agent")
    came: list[int] = []
    question = told(served, home.token("agent", "other"), "POST", "/v1/calls", CREATE)["question"]

    def send(number: int) -> None:
        with Client(served, token) as client:
            for each in range(30):
                body = {"tool": tool, "args": {"text": f"{number}.{each} " + "x" * 1_000_000}}
                came.append(client.send("POST", "/v1/calls", body)[0])

    with ThreadPoolExecutor(10) as pool:
        sending = [pool.submit(send, number) for number in range(10)]
        answered_and_stopped(home, served, question)
        for one in sending:
            one.result()
    assert set(came) <= {200, 429}
    assert len(came) == 300
    assert most_memory(served) < 400 * 2**20
    assert size_of(home) < 100 * 2**20


@pytest.fixture
def many_files() -> Iterator[None]:
    """Room for all these connections on this side as well."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < CONNECTIONS + 500:
        pytest.skip("this system grants too few files to one process")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, CONNECTIONS + 500), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


BEGUN = b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
SENT = {
    "nothing": b"",
    "half a head": BEGUN,
    "a head without its body": BEGUN + b"Content-Length: 900\r\n\r\n",
}


@pytest.mark.usefixtures("many_files")
@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
def test_thousands_of_idle_connections_without_a_token_keep_no_answer_and_no_stop_from_arriving(
    home: Home, served: Service, sent: bytes
) -> None:
    question = told(served, home.token("agent"), "POST", "/v1/calls", CREATE)["question"]
    with contextlib.ExitStack() as open_:
        for _ in range(CONNECTIONS):
            idle = socket.create_connection(("127.0.0.1", served.port), timeout=IN_TIME)
            open_.callback(idle.close)
            with contextlib.suppress(ConnectionError):
                idle.sendall(sent % served.port if b"%d" in sent else sent)
        answered_and_stopped(home, served, question)
        assert len(list(Path(f"/proc/{served.process.pid}/fd").iterdir())) < CONNECTIONS
    served.stop()
    assert not any("Traceback" in line for line in served.log), "nobody fills the log by hanging up"


def test_a_thousand_sign_ins_without_a_token_lock_nobody_out(home: Home, served: Service) -> None:
    question = told(served, home.token("agent"), "POST", "/v1/calls", CREATE)["question"]
    origin = {"Origin": served.url, "Host": f"127.0.0.1:{served.port}"}
    proof = {"credential": "x", "client_data": "x", "authenticator_data": "x", "signature": "x"}

    def try_in(number: int) -> None:
        with Client(served) as stranger:
            for each in range(50):
                stranger.send("POST", "/v1/sign-in/options")
                stranger.send("POST", "/v1/sign-in", proof)
                stranger.send("POST", "/sign-in", {"code": f"{number}-{each}"}, **origin)
                stranger.send("GET", "/v1/questions", Authorization=f"Bearer sayso_operator_{number}{each}")

    with ThreadPoolExecutor(10) as pool:
        trying = [pool.submit(try_in, number) for number in range(10)]
        answered_and_stopped(home, served, question)
        for one in trying:
            one.result()
    gate = open_to_act(None, home.store)
    code = make_link(gate, "ana")
    gate.store.close()
    with Client(served) as browser:
        status, signed_in = browser.send("POST", "/sign-in", {"code": code}, **origin)
        assert (status, signed_in["name"]) == (200, "ana")
        assert browser.send("POST", "/v1/sign-in/options")[0] == 200


def test_one_token_makes_hundreds_of_calls_a_second_and_reports_each(home: Home, served: Service) -> None:
    token = home.token("agent")

    def work(number: int) -> list[str]:
        states = []
        with Client(served, token) as client:
            for each in range(75):
                call = client.told("POST", "/v1/calls", {"tool": "read", "args": {"id": f"{number}.{each}"}})
                path = f"/v1/calls/{call['operation_id']}/outcome"
                body = {"fence": call["fence"], "state": "succeeded"}
                states.append(client.told("POST", path, body)["status"])
        return states

    with ThreadPoolExecutor(8) as pool:
        ended = [state for states in pool.map(work, range(8)) for state in states]
    assert ended == ["succeeded"] * 600
