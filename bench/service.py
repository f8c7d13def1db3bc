"""The service over HTTP, in a process of its own: many open questions, and many who wait.

`python -m bench.service FOLDER` is that process: a gate on the store in the folder, served on a free port.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx

from bench.durable import DOMAINS, on_disk
from bench.measure import Row, Side, Watch, race
from bench.questions import FEW, MANY, ROUNDS_OF_LISTS, Crowd, in_turns, row
from bench.world import make_world
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.people.tokens import issue_token
from sayso.gate.rows.keys import load_or_make_key
from sayso.service.serve import Address, serve_gate
from sayso.store.sqlite.store import SqliteStore

PAGE = 50
WAITING = 1_000
TOKENS = 4
"""One token may ask only so often."""
MOST_MORE = 50.0
MB = 1024.0


class Served:
    """A gate here, and a service on the same store in another process."""

    def __init__(self, gate: Gate, process: subprocess.Popen[str]) -> None:
        self.gate = gate
        self.process = process
        line = "" if process.stdout is None else process.stdout.readline()
        self.url = line.strip()
        if not self.url.startswith("http://"):
            raise AssertionError("the service did not start")

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def token(self) -> str:
        return issue_token(self.gate, "operator", "bench", by="bench")[0]

    def client(self) -> httpx.Client:
        return httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {self.token()}"}, timeout=60
        )

    def memory(self) -> float:
        """Megabytes of memory that the service holds."""
        command = ["ps", "-o", "rss=", "-p", str(self.process.pid)]
        return int(subprocess.check_output(command, text=True)) / MB  # noqa: S603  the system's own


@contextmanager
def a_gate(folder: Path) -> Iterator[Gate]:
    """The gate of this folder, in whichever process: they share its key."""
    key = load_or_make_key("bench", folder / "gate.key")
    with closing(SqliteStore(folder / "sayso.db")) as store:
        yield open_gate(make_world(DOMAINS).policy, store, key=key, marks=folder)


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    folder.mkdir()
    with a_gate(folder) as gate:
        command = [sys.executable, "-m", "bench.service", str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  ourselves
            try:
                yield Served(gate, process)
            finally:
                process.terminate()


def many_questions_over_http(watch: Watch) -> list[Row]:
    """The first page of the inbox and one answer, with many open questions and with few."""
    with on_disk() as folder, ExitStack() as held:
        few, many = (held.enter_context(served(folder / name)) for name in ("few", "many"))
        crowds = Crowd(few.gate, FEW, watch), Crowd(many.gate, MANY, watch)
        clients = [held.enter_context(one.client()) for one in (few, many)]
        lists = race(
            "the inbox over HTTP", _listing(clients[1]), _listing(clients[0]), ROUNDS_OF_LISTS, watch
        )
        answers = in_turns(
            lambda: crowds[1].answer(lambda question: _answer(clients[1], question)),
            lambda: crowds[0].answer(lambda question: _answer(clients[0], question)),
            watch,
        )
        for crowd in crowds:
            crowd.check()
    return [
        row(f"HTTP: first {PAGE} of {MANY:,} questions", lists),
        row(f"HTTP: answer 1 of {MANY:,} questions", answers),
    ]


def many_waiting_connections(watch: Watch) -> list[Row]:
    """What a thousand connections that wait for an answer cost the service in memory."""
    with on_disk() as folder, served(folder / "waiting") as service, ExitStack() as held:
        client = held.enter_context(service.client())
        call = _asked(client)
        before = service.memory()
        tokens = [service.token() for _ in range(TOKENS)]
        for n in range(WAITING):
            _wait(held.enter_context(_connected(service)), service, call, tokens[n % TOKENS])
            watch(f"{WAITING:,} waiting connections", n + 1, WAITING)
        while _waits(client) < WAITING:
            pass
        after = service.memory()
    more = after - before
    return [
        Row(
            what=f"memory with {WAITING:,} waiting connections",
            against="the same service with none",
            ours=after,
            theirs=before,
            unit=" MB",
            ratio=after / before,
            aim=f"≤ {MOST_MORE:g} MB more",
            met=more <= MOST_MORE,
            spread=(0.0, 0.0),
        )
    ]


def _listing(client: httpx.Client) -> Side:
    def first_page(_: object) -> None:
        answer = client.get("/v1/questions", params={"limit": str(PAGE)})
        if answer.status_code != 200 or len(answer.json()) != PAGE:
            raise AssertionError(answer.text[:200])

    return Side(first_page, (None,))


def _answer(client: httpx.Client, question: str) -> None:
    answer = client.post(f"/v1/questions/{question}/answer", json={"answer": "once"})
    if answer.status_code != 200 or not answer.json()["yours"]:
        raise AssertionError(answer.text[:200])


def _asked(client: httpx.Client) -> str:
    """A call that waits for an answer."""
    session = client.post("/v1/sessions", json={"agent": "agent"}).json()["id"]
    body = {"tool": "label", "session": session, "operations": [{"operation": "domain0000.label"}]}
    told = client.post("/v1/calls", json=body).json()
    if told["status"] != "pending":
        raise AssertionError(told)
    return str(told["operation_id"])


def _connected(service: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port))


def _wait(connection: socket.socket, service: Served, call: str, token: str) -> None:
    lines = (
        f"GET /v1/calls/{call}?wait=600 HTTP/1.1",
        f"Host: 127.0.0.1:{service.port}",
        f"Authorization: Bearer {token}",
    )
    connection.sendall("\r\n".join((*lines, "", "")).encode())


def _waits(client: httpx.Client) -> int:
    """How many wait, as the service itself says."""
    line = next(
        line for line in client.get("/metrics").text.splitlines() if line.startswith("sayso_open_waits ")
    )
    return int(float(line.split()[1]))


def main() -> None:
    with a_gate(Path(sys.argv[1])) as gate:
        serve_gate(gate, Address(port=0), started=lambda real: print(real.url, flush=True))


if __name__ == "__main__":
    main()
