"""On PostgreSQL every word to the server and back costs: a call has three, however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from sayso.gate.open import open_gate
from sayso.policy import load_text
from sayso.store.postgres.store import PostgresStore
from sayso.store.postgres.transaction import PostgresTransaction
from tests.service.conftest import POLICY
from tests.support.gates import KEY
from tests.support.postgres_place import new_schema
from tests.support.service import READ, WRITE, Service

MOST = 3


@pytest.fixture
def service(postgres_server: str) -> Iterator[Service]:
    with asyncio.Runner() as runner, closing(PostgresStore(new_schema(postgres_server))) as store:
        yield Service(open_gate(load_text(POLICY), store, key=KEY), runner)


@pytest.fixture
def trips(service: Service, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each word to the server."""
    said: list[str] = []
    for kind, name in ((PostgresTransaction, "_send"), (PostgresStore, "_begin_on_one")):
        before = getattr(kind, name)

        def counted(*args: Any, name: str = name, before: Any = before) -> Any:
            said.append(name)
            return before(*args)

        monkeypatch.setattr(kind, name, counted)
    return said


@pytest.mark.parametrize("who", ["agent", "host"])
def test_a_call_and_its_end_take_three_round_trips_each(service: Service, trips: list[str], who: str) -> None:
    call = READ if who == "agent" else {**READ, "session": service.opened()}
    counted = [trips_of_a_call(service, trips, who, call) for _ in range(3)]  # the first finds out who asks
    started, ended = counted[-1]
    assert 0 < started <= MOST
    assert 0 < ended <= MOST


def trips_of_a_call(service: Service, trips: list[str], who: str, call: dict[str, Any]) -> tuple[int, int]:
    trips.clear()
    made = service.told(who, "POST", "/v1/calls", call)
    started = len(trips)
    end = {"fence": made["fence"], "state": "succeeded"}
    service.told(who, "POST", f"/v1/calls/{made['operation_id']}/outcome", end)
    return started, len(trips) - started


def test_a_question_takes_two_more(service: Service, trips: list[str]) -> None:
    service.told("agent", "POST", "/v1/calls", READ)
    trips.clear()
    assert service.told("agent", "POST", "/v1/calls", WRITE)["status"] == "pending"
    assert 0 < len(trips) <= MOST + 2
