"""Services on one PostgreSQL, added under load, killed with -9, their database put back from a backup.

Real processes. What each caller was told is held against what is stored.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sayso.gate.audit.checkpoints import sign_audit
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.gate import Gate
from sayso.gate.open import open_to_act, open_to_look
from sayso.gate.sessions.operator_grants import give_grant, revoke_all
from sayso.policy import load_text
from tests.support.by_hand import Hand
from tests.support.postgres_place import new_url
from tests.support.service_process import POLICY, Home, Service, a_home

CALLERS = 6
PATIENCE = 180.0
MOST_CALLS = 2_000
CREATE = {"tool": "create", "operations": [{"operation": "tasks.create"}]}


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, postgres_server: str) -> Home:
    folder = a_home(monkeypatch, tmp_path).folder
    return Home(folder, new_url(postgres_server))


class Team:
    """The services that run, and how to start and kill them."""

    def __init__(self, home: Home, held: ExitStack) -> None:
        self._home = home
        self._held = held
        self._started = 0
        self.running: list[Service] = []

    def start(self) -> Service:
        self._started += 1
        socket = self._home.folder / "run" / f"{self._started}.sock"
        service = self._held.enter_context(self._home.serve(socket=socket))
        self.running.append(service)
        return service

    def kill(self, service: Service) -> None:
        self.running.remove(service)
        service.kill()


class Caller:
    """An agent's host: it calls whichever service runs, and writes down what it was told of each call."""

    def __init__(self, number: int, team: Team, token: str) -> None:
        self.number = number
        self.told: dict[str, Any] = {}
        self.ended: dict[str, str] = {}
        self.session = ""
        self._token = token
        self._team = team
        self._port = 0
        self._connection: HTTPConnection | None = None

    def ask(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """The answer of one of the services; None if it was gone before it could say anything."""
        try:
            if self._connection is None:
                running = self._team.running
                self._port = running[(self.number + len(self.told)) % len(running)].port
                self._connection = HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
            self._connection.request("POST", path, json.dumps(body).encode(), headers)
            answer: dict[str, Any] = json.loads(self._connection.getresponse().read())
        except (OSError, HTTPException, ValueError):
            self.leave()
            return None
        if len(self.told) % 5 == 0:
            self.leave()  # to meet another service, old or new
        return answer

    def leave(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def call(self) -> None:
        name = f"call {len(self.told)}"
        answer = self.ask(
            "/v1/calls", {**CREATE, "args": {"n": name}, "session": self.session, "call_id": name}
        )
        self.told[name] = None if answer is None else answer.get("status")
        if answer is not None and answer.get("status") == "allowed":
            end = {"fence": answer["fence"], "state": "succeeded"}
            done = self.ask(f"/v1/calls/{answer['operation_id']}/outcome", end)
            self.ended[name] = "" if done is None else str(done.get("state", ""))


class Load:
    """Callers at work until told to stop; one of them has its grant revoked on the way."""

    def __init__(self, callers: list[Caller]) -> None:
        self.callers = callers
        self.over = threading.Event()
        self.made = threading.Semaphore(0)
        self.after_revoke: list[Any] = []
        self.revoked = threading.Event()

    def work(self, caller: Caller) -> None:
        for _ in range(MOST_CALLS):
            if self.over.is_set():
                return
            late = self.revoked.is_set()
            caller.call()
            if late and caller.number == 0:
                self.after_revoke.append([*caller.told.values()][-1])
            self.made.release()

    def wait_for(self, calls: int) -> None:
        for _ in range(calls):
            assert self.made.acquire(timeout=PATIENCE)

    @contextmanager
    def running(self) -> Iterator[None]:
        threads = [threading.Thread(target=self.work, args=(one,)) for one in self.callers]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.over.set()
            for thread in threads:
                thread.join(PATIENCE)
            for caller in self.callers:
                caller.leave()


def callers_of(home: Home, team: Team) -> list[Caller]:
    """Callers with a session and the operator's grant each."""
    callers = [Caller(number, team, home.token("host", f"host {number}")) for number in range(CALLERS)]
    for caller in callers:
        opened = caller.ask("/v1/sessions", {"agent": "agent"})
        assert opened is not None
        caller.session = opened["id"]
        caller.leave()
        act(home, granting(caller.session))
    return callers


def granting(session: str) -> Callable[[Gate], object]:
    return lambda gate: give_grant(gate, session, by="ana", operation="tasks.create")


def revoking(session: str) -> Callable[[Gate], object]:
    return lambda gate: revoke_all(gate, session, by="ana")


def act(home: Home, do: Callable[[Gate], object]) -> None:
    """As the operator does on the command line: in a process of its own as far as the services can tell."""
    gate = open_to_act(load_text(POLICY), home.store)
    with closing(gate.store):
        do(gate)


def check_stored(home: Home, callers: list[Caller]) -> None:
    """Nobody was told anything that is not stored."""
    gate = open_to_look(home.store)
    with closing(gate.store), gate.store.read() as tx:
        for caller in callers:
            for name, status in caller.told.items():
                row = tx.call_by_host(caller.session, name)
                if status == "allowed":
                    assert row is not None, (caller.number, name)
                    assert row.state in ("running", "succeeded"), row.state
                if caller.ended.get(name) == "succeeded":
                    assert row is not None
                    assert row.state == "succeeded"


def test_services_come_and_are_killed_under_load_and_nothing_is_lost_or_revived(home: Home) -> None:
    with ExitStack() as held:
        team = Team(home, held)
        first = team.start()
        load = Load(callers_of(home, team))
        with load.running():
            load.wait_for(2 * CALLERS)
            second, _ = team.start(), team.start()
            load.wait_for(5 * CALLERS)
            team.kill(second)
            load.wait_for(2 * CALLERS)
            act(home, revoking(load.callers[0].session))
            load.revoked.set()
            team.start()
            load.wait_for(4 * CALLERS)
            team.kill(first)
            load.wait_for(4 * CALLERS)
        assert load.after_revoke
        assert "allowed" not in load.after_revoke
        assert any(caller.ended for caller in load.callers[1:])
        check_stored(home, load.callers)
        verify_whole(home, {"main", "service-2", "service-3"})


def verify_whole(home: Home, streams: set[str]) -> None:
    """The trail is clean, and what the killed services left is signed with the rest."""

    def verify(gate: Gate) -> None:
        sign_audit(gate)
        verified = verify_audit(gate)
        assert verified.clean, [one.findings for one in verified.reports]
        found = {one.stream: (one.held_through, one.entries) for one in verified.reports}
        assert found.keys() == streams
        assert {through for through, entries in found.values() if through < entries - 1} == set()

    act(home, verify)


def test_a_backup_put_back_under_killed_services_revives_no_grant(home: Home) -> None:
    with ExitStack() as held:
        team = Team(home, held)
        services = [team.start(), team.start()]
        callers = callers_of(home, team)[:2]
        for caller in callers:
            caller.call()
            assert caller.told["call 0"] == "allowed"
        hand = Hand(lambda: psycopg.connect(home.store), "%s")
        backup = hand.copy()
        for caller in callers:
            act(home, revoking(caller.session))
        for service in services:
            team.kill(service)
        for caller in callers:
            caller.leave()
        hand.put_back(backup)
        team.start()
        team.start()
        for caller in callers:
            for _ in team.running:
                caller.call()
            assert "allowed" not in [*caller.told.values()][1:]
            assert None not in caller.told.values()
            caller.leave()
