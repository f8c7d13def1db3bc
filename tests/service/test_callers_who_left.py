"""A call is not started for a caller who has closed the connection: the person's yes stays good."""

from __future__ import annotations

import http.client
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.gateway_place import wait_for
from tests.support.service_process import PATIENCE, Home, Service, a_home

Ask = tuple[str, dict[str, Any]]
"""A path, and the body to send there."""


class Caller:
    """Somebody with a token, on connections of their own."""

    def __init__(self, service: Service, token: str) -> None:
        self._port, self._token = service.port, token

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)

    def send(self, line: http.client.HTTPConnection, ask: Ask, method: str = "POST") -> None:
        path, body = ask
        line.request(method, path, json.dumps(body), {"Authorization": f"Bearer {self._token}"})

    def hear(self, ask: Ask, method: str = "POST") -> str:
        with closing(self.connect()) as line:
            self.send(line, ask, method)
            return line.getresponse().read().decode()


class Place:
    """A service, an agent and an operator."""

    def __init__(self, home: Home, service: Service) -> None:
        self._store, self._service = home.store, service
        self.agent = Caller(service, home.token("agent", "agent"))
        self.operator = Caller(service, home.token("operator", "ana"))

    def approve(self) -> None:
        (question,) = json.loads(self.operator.hear(("/v1/questions", {}), "GET"))
        said = {"answer": "once", "digest": question["digest"]}
        self.operator.hear((f"/v1/questions/{question['id']}/answer", said))

    def send_and_leave(self, ask: Ask) -> None:
        """Make the call and leave, while nothing can be written. Return once the service is done with it."""
        before = len(self._service.log)
        with closing(sqlite3.connect(self._store, isolation_level=None, timeout=PATIENCE)) as store:
            store.execute("BEGIN IMMEDIATE")
            with closing(self.agent.connect()) as line:
                self.agent.send(line, ask)
                for _ in range(3):  # by then the call waits for its turn to write
                    self.agent.hear(("/v1/calls", {}), "GET")
            store.execute("ROLLBACK")
        path = ask[0].partition("?")[0]
        wait_for(lambda: any(f"POST {path} " in line for line in self._service.log[before:]))


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Place]:
    home = a_home(monkeypatch, tmp_path)
    with home.serve() as service:
        yield Place(home, service)


numbers = count()


def by_hook(place: Place) -> Ask:
    body = {"session": "s", "folder": "/", "server": "files", "tool": "write", "arguments": {}}
    return "/v1/hooks/mcp/call?wait=0", {**body, "id": f"{next(numbers):032}"}


def by_call(place: Place) -> Ask:
    return "/v1/calls", {"tool": "push", "args": {}}


def by_retry(place: Place) -> Ask:
    (call,) = json.loads(place.agent.hear(("/v1/calls", {}), "GET"))
    return f"/v1/calls/{call['operation_id']}/retry", {}


def is_started(answer: str) -> bool:
    return "\nallow " in answer or '"status":"allowed"' in answer


@pytest.mark.parametrize("make", [by_hook, by_call, by_retry])
def test_a_yes_is_not_used_up_for_a_caller_who_has_left(place: Place, make: Callable[[Place], Ask]) -> None:
    first = by_hook if make is by_hook else by_call
    assert not is_started(place.agent.hear(first(place)))
    place.approve()
    place.send_and_leave(make(place))
    assert is_started(place.agent.hear(first(place)))
    assert not is_started(place.agent.hear(first(place)))
