"""What one machine carries: N agents on M services, on SQLite and on PostgreSQL.

A call is two requests over HTTP: it is decided and started, and its end is reported. Each agent has a token,
a session and a connection of its own, and makes its next call as soon as the last one ended. Agents run in
processes of their own beside the services, on the same processors.

`python -m bench.scale serve FOLDER STORE` and `… agents` are those processes.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Self

import msgspec

from bench.durable import DOMAINS, OPERATION
from bench.world import make_world
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.people.tokens import issue_token
from sayso.gate.rows.keys import load_or_make_key
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from sayso.service.http.state import ServiceSettings
from sayso.service.serve import Address, serve_gate
from sayso.store.contract import Store
from sayso.store.sqlite.store import SqliteStore

FILE = "file"
CLIENTS = 2
"""Processes in which the agents run."""
UNLIMITED = ServiceSettings(rate=1e9, burst=10**9)


class Agent(msgspec.Struct, frozen=True):
    token: str
    session: str


class Load(msgspec.Struct, frozen=True):
    """What agents of one process are to do."""

    ports: list[int]
    agents: list[Agent]
    seconds: float


class Figures(msgspec.Struct, frozen=True):
    """Calls a second, how long a call took, and what the services needed for one, in seconds."""

    agents: int
    services: int
    calls: int
    per_second: float
    p50: float
    p99: float
    cpu: float
    memory: float


def open_bench_gate(folder: Path, where: str, *, stream: str | None = None) -> tuple[Store, Gate]:
    if where == FILE:
        store: Store = SqliteStore(folder / "sayso.db", busy=60)
    else:
        from sayso.store.postgres.store import PostgresStore

        store = PostgresStore(where, busy=60)
    key = load_or_make_key("bench", folder / "gate.key")
    more = {} if stream is None else {"stream": stream}
    return store, open_gate(make_world(DOMAINS).policy, store, key=key, marks=folder, **more)


def measure(folder: Path, where: str, *, agents: int, services: int, seconds: float) -> Figures:
    """So many agents on so many services, on a store that need not be empty."""
    store, gate = open_bench_gate(folder, where)
    with closing(store):
        who = [_new_agent(gate, number) for number in range(agents)]
    with ExitStack() as held:
        running = [held.enter_context(_served(folder, where)) for _ in range(services)]
        return _drive(running, who, seconds)


def _new_agent(gate: Gate, number: int) -> Agent:
    secret, token = issue_token(gate, "host", f"agent {number}", by="bench")
    session = open_session(gate, agent="agent", owner=token.id, workspace="/w")
    give_grant(gate, session, by="operator", operation=OPERATION, minutes=24 * 60)
    return Agent(secret, session)


@contextmanager
def _served(folder: Path, where: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "bench.scale", "serve", str(folder), where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  ourselves
        try:
            line = "" if process.stdout is None else process.stdout.readline()
            yield process, int(line.rpartition(":")[2])
        finally:
            process.terminate()


def _drive(
    running: Sequence[tuple[subprocess.Popen[str], int]], who: Sequence[Agent], seconds: float
) -> Figures:
    ports = [port for _, port in running]
    groups = [one for one in (list(who[n::CLIENTS]) for n in range(CLIENTS)) if one]
    clients = []
    with ExitStack() as held:
        for group in groups:
            command = [sys.executable, "-m", "bench.scale", "agents"]
            client = held.enter_context(Client(command))
            clients.append(client)
            client.say(msgspec.json.encode(Load(ports, group, seconds)).decode())
        for client in clients:
            if client.hear() != "ready\n":
                raise AssertionError("the agents did not start")
        before = [_processor_time(process.pid) for process, _ in running]
        for client in clients:
            client.say("go")
        told = [json.loads(client.hear()) for client in clients]
        after = [_processor_time(process.pid) for process, _ in running]
    for one in told:
        if one["failed"]:
            raise AssertionError(one["failed"])
    took = sorted(value for one in told for value in one["took"])
    return Figures(
        agents=len(who),
        services=len(running),
        calls=len(took),
        per_second=len(took) / seconds,
        p50=statistics.median(took),
        p99=took[int(len(took) * 0.99)],
        cpu=(sum(after) - sum(before)) / len(took),
        memory=max(_memory(process.pid) for process, _ in running),
    )


class Client:
    """A process of agents, which is spoken to in lines."""

    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)  # noqa: S603  ourselves

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.communicate()

    def say(self, line: str) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()

    def hear(self) -> str:
        return "" if self._process.stdout is None else self._process.stdout.readline()


def _processor_time(process: int) -> float:
    parts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def _memory(process: int) -> float:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


# --- the agents' process ---


class Connection:
    """A connection that is kept. It knows no more of HTTP than the service needs, so that it costs little."""

    def __init__(self, port: int, token: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = (
            f" HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        )

    def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        self._socket.sendall(f"POST {path}{self._head}{len(body)}\r\n\r\n".encode() + body)
        told = b""
        while b"\r\n\r\n" not in told:
            told += self._receive()
        head, _, rest = told.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        while len(rest) < length:
            rest += self._receive()
        return int(head[9:12]), rest

    def _receive(self) -> bytes:
        received = self._socket.recv(65_536)
        if not received:
            raise OSError("the service closed the connection")
        return received


def _make_calls(agent: Agent, port: int, end: float, took: list[float]) -> None:
    connection, number = Connection(port, agent.token), 0
    while (began := time.monotonic()) < end:
        number += 1
        body = {
            "tool": "label",
            "args": {"number": number, "text": "to be read"},
            "session": agent.session,
            "operations": [{"operation": OPERATION}],
            "beats": True,
        }
        status, told = connection.post("/v1/calls", json.dumps(body).encode())
        call = json.loads(told)
        if status != 200 or call["status"] != "allowed":
            raise AssertionError(f"{status} {told[:300]!r}")
        ended = json.dumps({"fence": call["fence"], "state": "succeeded"}).encode()
        status, told = connection.post(f"/v1/calls/{call['operation_id']}/outcome", ended)
        if status != 200:
            raise AssertionError(f"{status} {told[:300]!r}")
        took.append(time.monotonic() - began)


def run_agents() -> None:
    load = msgspec.json.decode(sys.stdin.readline(), type=Load)
    print("ready", flush=True)
    sys.stdin.readline()
    end = time.monotonic() + load.seconds
    took: list[list[float]] = [[] for _ in load.agents]
    failed: list[str] = []

    def work(number: int) -> None:
        try:
            _make_calls(load.agents[number], load.ports[number % len(load.ports)], end, took[number])
        except (OSError, AssertionError) as error:
            failed.append(str(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(load.agents))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"took": [one for each in took for one in each], "failed": failed[:2]}), flush=True)


def serve(folder: Path, where: str) -> None:
    store, gate = open_bench_gate(folder, where)
    with closing(store):
        started = lambda real: print(real.url, flush=True)  # noqa: E731
        serve_gate(gate, Address(port=0), settings=UNLIMITED, started=started)


def main() -> None:
    if sys.argv[1] == "serve":
        serve(Path(sys.argv[2]), sys.argv[3])
    elif sys.argv[1] == "agents":
        run_agents()
    else:
        agents, services, seconds = int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
        with tempfile.TemporaryDirectory(dir=".") as folder:
            told = measure(Path(folder), sys.argv[1], agents=agents, services=services, seconds=seconds)
            print(msgspec.json.encode(told).decode())


if __name__ == "__main__":
    main()
