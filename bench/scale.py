"""What one machine carries: N agents on M services, on SQLite and on PostgreSQL.

A call is two requests over HTTP: it is decided and started, and its end is reported. Each agent has a token,
a session and a connection of its own, and makes its next call as soon as the last one ended. Agents run in
processes of their own beside the services, on the same processors, so they do no more than they have to: one
loop waits for all of their connections, and reads and checks every answer. Before the clock starts every
agent has made a call.

`python -m bench.scale serve FOLDER STORE` and `… agents` are those processes. To measure 32 agents on one
service for 4 seconds: `python -m bench.scale file 32 1 4`. The whole series: `python -m bench --scale`.
"""

from __future__ import annotations

import os
import secrets
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Self

import msgspec

from bench.durable import DOMAINS, OPERATION, on_disk
from bench.world import make_world
from sayso.core.audit import events
from sayso.core.session import Session
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.people.tokens import Token, issue_token, secret_prefix
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import load_or_make_key
from sayso.gate.rows.sessions import new_session_row
from sayso.gate.sealed_values import secret_value_name, write_value
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
    """The work of one process of agents: for so many seconds, or so many calls of each agent."""

    ports: list[int]
    agents: list[Agent]
    seconds: float = 0.0
    calls: int = 0


class Service(msgspec.Struct, frozen=True):
    """A service that runs in a process of its own."""

    process: int
    port: int


class Figures(msgspec.Struct, frozen=True):
    """Calls a second, how long a call took and what the services needed for one (seconds); memory in MB."""

    agents: int
    services: int
    calls: int
    per_second: float
    p50: float
    p99: float
    cpu: float
    memory: float


def open_bench_gate(folder: Path, where: str) -> tuple[Store, Gate]:
    """The gate on the file in this folder, or on PostgreSQL with its key and mark in this folder."""
    if where == FILE:
        store: Store = SqliteStore(folder / "sayso.db", busy=60)
    else:
        from sayso.store.postgres.store import PostgresStore

        store = PostgresStore(where, busy=60)
    key = load_or_make_key("bench", folder / "gate.key")
    return store, open_gate(make_world(DOMAINS).policy, store, key=key, marks=folder)


def measure(folder: Path, where: str, *, agents: int, services: int, seconds: float) -> Figures:
    """So many agents on so many services, on a store that need not be empty."""
    who = add_agents(folder, where, agents)
    with running_services(folder, where, services) as running:
        return drive(running, who, seconds=seconds)


def add_agents(folder: Path, where: str, count: int) -> list[Agent]:
    """Agents with a token, a session and the operator's grant for a day each."""
    store, gate = open_bench_gate(folder, where)
    with closing(store):
        return [_new_agent(gate, number) for number in range(count)]


def _new_agent(gate: Gate, number: int) -> Agent:
    secret, token = issue_token(gate, "host", f"agent {number}", by="bench")
    session = open_session(gate, agent="agent", owner=token.id, workspace="/w")
    give_grant(gate, session, by="operator", operation=OPERATION, minutes=24 * 60)
    return Agent(secret, session)


def register_idle_agents(gate: Gate, count: int) -> None:
    """Agents with a token and an open session each that make no calls, all in one transaction."""
    with operator_act(gate) as tx:
        for number in range(count):
            token = Token(f"t_{secrets.token_hex(8)}", "host", f"idle {number}", tx.now)
            secret = f"{secret_prefix('host')}{secrets.token_urlsafe(32)}"
            write_value(gate, tx, secret_value_name("token", secret), token)
            record(tx, events.TokenIssued(token.id, "host", token.name, "bench", False, None))
            session = Session(id=f"s_{secrets.token_hex(12)}", agent="agent", workspace="/w")
            row = new_session_row(gate.sealer, session, owner=token.id, user="", parent=None, now=tx.now)
            tx.put_session(row)
            opened = events.SessionOpened(token.id, "", "/w", "")
            record(tx, opened, session=session.id, agent="agent")


@contextmanager
def running_services(folder: Path, where: str, count: int) -> Iterator[list[Service]]:
    with ExitStack() as held:
        yield [held.enter_context(_served(folder, where)) for _ in range(count)]


@contextmanager
def _served(folder: Path, where: str) -> Iterator[Service]:
    command = [sys.executable, "-m", "bench.scale", "serve", str(folder), where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  ourselves
        try:
            line = "" if process.stdout is None else process.stdout.readline()
            if not line.startswith("http://"):
                raise AssertionError("the service did not start")
            yield Service(process.pid, int(line.rpartition(":")[2]))
        finally:
            process.terminate()


def drive(
    running: Sequence[Service], who: Sequence[Agent], *, seconds: float = 0.0, calls: int = 0
) -> Figures:
    """Let the agents work for so many seconds, or make so many calls each."""
    groups = [group for group in (list(who[n::CLIENTS]) for n in range(CLIENTS)) if group]
    ports = [service.port for service in running]
    clients = []
    with ExitStack() as held:
        for number, group in enumerate(groups):
            client = held.enter_context(Client([sys.executable, "-m", "bench.scale", "agents"]))
            clients.append(client)
            turned = [*ports[number % len(ports) :], *ports[: number % len(ports)]]
            client.say(msgspec.json.encode(Load(turned, group, seconds, calls)).decode())
        for client in clients:
            if client.hear() != "ready\n":
                raise AssertionError("the agents did not start")
        before = [_processor_time(service.process) for service in running]
        for client in clients:
            client.say("go")
        answers = [msgspec.json.decode(client.hear(), type=Worked) for client in clients]
        after = [_processor_time(service.process) for service in running]
    for answer in answers:
        if answer.failed:
            raise AssertionError(answer.failed)
    took = sorted(value for answer in answers for value in answer.took)
    return Figures(
        agents=len(who),
        services=len(running),
        calls=len(took),
        per_second=len(took) / max(answer.elapsed for answer in answers),
        p50=statistics.median(took),
        p99=took[int(len(took) * 0.99)],
        cpu=(sum(after) - sum(before)) / len(took),
        memory=max(memory_of(service.process) for service in running),
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
    """Seconds that this process has spent on a processor."""
    parts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(process: int) -> float:
    """Megabytes of memory that this process holds."""
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
        self._received = b""

    def fileno(self) -> int:
        return self._socket.fileno()

    def post(self, path: str, body: bytes) -> None:
        self._socket.sendall(f"POST {path}{self._head}{len(body)}\r\n\r\n".encode() + body)

    def receive(self) -> tuple[int, bytes] | None:
        """Wait for more of the answer; return its status and body once all of it is here."""
        received = self._socket.recv(65_536)
        if not received:
            raise OSError("the service closed the connection")
        self._received += received
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end:
            return None
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return None
        self._received = b""
        return int(head[9:12]), body


class Worked(msgspec.Struct, frozen=True):
    """How long each call took, how long all of them together, in seconds; and what went wrong."""

    took: list[float]
    elapsed: float
    failed: list[str]


class Answer(msgspec.Struct, frozen=True):
    """What an agent reads of the state of its call."""

    operation_id: str
    status: str
    fence: int


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Answer).decode


class Caller:
    """One agent at work: its connection, the call it is making, and what it measured."""

    def __init__(self, agent: Agent, port: int) -> None:
        self.took: list[float] = []
        self.failed = ""
        self.connection = Connection(port, agent.token)
        self._session = agent.session
        self._number = 0
        self._began = 0.0
        self._ending = False

    def start(self) -> None:
        """Ask for the next call."""
        self._number += 1
        body = {
            "tool": "label",
            "args": {"number": self._number, "text": "to be read"},
            "session": self._session,
            "operations": [{"operation": OPERATION}],
            "beats": True,
        }
        self._began, self._ending = time.monotonic(), False
        self.connection.post("/v1/calls", _encode(body))

    def go_on(self) -> bool:
        """Read what came; if that is the start of the call, report its end. True once it has ended."""
        told = self.connection.receive()
        if told is None:
            return False
        status, answer = told
        if status != 200:
            raise AssertionError(f"{status} {answer[:300]!r}")
        call = _decode(answer)
        if self._ending:
            if call.status != "succeeded":
                raise AssertionError(f"not ended: {answer[:300]!r}")
            self.took.append(time.monotonic() - self._began)
            return True
        if call.status != "allowed":
            raise AssertionError(f"not allowed: {answer[:300]!r}")
        self._ending = True
        self.connection.post(
            f"/v1/calls/{call.operation_id}/outcome", _encode({"fence": call.fence, "state": "succeeded"})
        )
        return False

    def call(self) -> None:
        """Make one call, and wait for its end."""
        self.start()
        while not self.go_on():
            pass


def work(callers: Sequence[Caller], load: Load) -> None:
    """Let the agents make call after call, each its next one when the last has ended."""
    end = time.monotonic() + load.seconds
    with selectors.DefaultSelector() as answers:
        for caller in callers:
            caller.start()
            answers.register(caller.connection, selectors.EVENT_READ, caller)
        while answers.get_map():
            for key, _ in answers.select():
                caller = key.data
                try:
                    ended = caller.go_on()
                    if ended and (len(caller.took) < load.calls or time.monotonic() < end):
                        caller.start()
                        continue
                except (OSError, AssertionError, msgspec.MsgspecError) as error:
                    caller.failed, ended = str(error), True
                if ended:
                    answers.unregister(caller.connection)


def run_agents() -> None:
    """Read the load, warm up, wait for the word, work, and print what was measured."""
    load = msgspec.json.decode(sys.stdin.readline(), type=Load)
    callers = [Caller(agent, load.ports[n % len(load.ports)]) for n, agent in enumerate(load.agents)]
    for caller in callers:
        caller.call()
        caller.took.clear()
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.monotonic()
    work(callers, load)
    took = [one for caller in callers for one in caller.took]
    failed = [caller.failed for caller in callers if caller.failed]
    worked = Worked(took, time.monotonic() - began, failed[:2])
    print(_encode(worked).decode(), flush=True)


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
        with on_disk() as folder:
            figures = measure(folder, sys.argv[1], agents=agents, services=services, seconds=seconds)
            print(msgspec.json.encode(figures).decode())


if __name__ == "__main__":
    main()
