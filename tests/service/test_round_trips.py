"""On PostgreSQL every word to the server and back costs: a call has three, however it starts and ends.

So has a batch of calls, whatever is in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count, cycle, islice
from typing import Any

import pytest

from sayso.gate.open import open_gate
from sayso.policy import load_text
from sayso.service.http.endpoints import SOON_READ
from sayso.store.postgres.pipeline import Statement, StatementAnswer, TalkingConnection
from sayso.store.postgres.store import PostgresStore
from tests.support import round_trips
from tests.support.gates import KEY
from tests.support.postgres_place import new_schema
from tests.support.round_trips import (
    BEATS,
    ENDS,
    HOOK_ENDS,
    HOOK_STARTS,
    HOST_STARTS,
    RUNNING,
    STARTS,
    Asked,
    Prepare,
    check,
    end_after,
)
from tests.support.service import READ, Service

MOST = 3
TOGETHER = 32
KINDS: dict[str, tuple[str, Prepare]] = (
    {
        f"{who}: {name}": (who, prepare)
        for who, starts in (("agent", STARTS), ("host", STARTS | HOST_STARTS))
        for name, prepare in starts.items()
    }
    | {f"agent: {name}": ("agent", prepare) for name, prepare in (HOOK_STARTS | HOOK_ENDS).items()}
    | {f"host: {name}": ("host", prepare) for name, prepare in BEATS.items()}
    | {
        f"{who}: {name}, {state}": (who, end_after(start, end))
        for who, starts in (("agent", RUNNING), ("host", RUNNING | HOST_STARTS))
        for name, start in starts.items()
        for state, end in ENDS.items()
        if name in RUNNING or name in ("with_effect", "ungated")
    }
)
names = count()


@pytest.fixture
def service(postgres_server: str) -> Iterator[Service]:
    with asyncio.Runner() as runner, closing(PostgresStore(new_schema(postgres_server))) as store:
        service = Service(open_gate(load_text(round_trips.POLICY), store, key=KEY), runner)
        for who, session in (("agent", ""), ("host", service.opened())):  # the first finds out who asks
            first = round_trips.plain(service, who, session, "first")
            check(first, runner.run(round_trips.send(service, first)))
        yield service


@pytest.fixture
def trips(service: Service, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each word to the server."""
    said: list[str] = []
    for name in ("ask", "execute"):
        before = getattr(TalkingConnection, name)

        def counted(*args: Any, name: str = name, before: Any = before) -> Any:
            said.append(name)
            return before(*args)

        monkeypatch.setattr(TalkingConnection, name, counted)
    return said


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The statements that lock sessions."""
    found: list[bytes] = []
    before = TalkingConnection.ask

    def ask(self: TalkingConnection, said: Sequence[Statement]) -> list[StatementAnswer]:
        found.extend(text for text, _ in said if b"pg_advisory_xact_lock(hashtextextended('session/" in text)
        return before(self, said)

    monkeypatch.setattr(TalkingConnection, "ask", ask)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_start_and_end_takes_three_round_trips(
    service: Service, trips: list[str], kind: str
) -> None:
    session = service.opened()
    asked = made(service, session, kind)
    trips.clear()
    answer = service.runner.run(round_trips.send(service, asked))
    assert 0 < len(trips) <= MOST
    check(asked, answer)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_one_kind_takes_no_more(service: Service, trips: list[str], kind: str) -> None:
    session = service.opened()
    count_together(service, trips, [made(service, session, kind) for _ in range(4)])


@pytest.mark.parametrize("part", range(0, len(KINDS), TOGETHER // 2))
def test_a_batch_of_all_kinds_takes_no_more(service: Service, trips: list[str], part: int) -> None:
    session = service.opened()
    kinds = islice(cycle(KINDS), part, part + TOGETHER)
    count_together(service, trips, [made(service, session, kind) for kind in kinds])


def test_ends_of_what_another_service_has_started_take_no_more(service: Service, trips: list[str]) -> None:
    session = service.opened()
    asked = [made(service, session, f"host: plain, {state}") for state in (*ENDS, *ENDS)]
    other = Service(
        open_gate(service.gate.policy, service.gate.marked_store.unmarked, key=KEY), service.runner
    )
    other.secrets = service.secrets
    other.told("host", "GET", f"/v1/sessions/{session}")  # the first finds out who asks
    count_together(other, trips, asked)


def test_a_batch_of_ends_of_what_is_no_call_takes_no_more(service: Service, trips: list[str]) -> None:
    asked = [
        Asked("host", f"/v1/calls/op_{number}/outcome", {"fence": 1, "state": "failed"}, 404)
        for number in range(TOGETHER)
    ]
    count_together(service, trips, asked)


def test_sessions_of_a_batch_are_locked_in_one_order_also_for_what_was_read_before_it(
    service: Service, locks: list[bytes]
) -> None:
    asked = [round_trips.plain(service, "agent", "", "small")]
    large = round_trips.plain(service, "host", service.opened(), "large")
    asked.append(large._replace(body={**large.body, "args": {"text": "x" * SOON_READ}}))
    retried = round_trips.retried_when_approved(service, "host", service.opened(), "retried")
    other = Service(
        open_gate(service.gate.policy, service.gate.marked_store.unmarked, key=KEY), service.runner
    )
    other.secrets = service.secrets  # and it has read none of these calls yet
    for who in ("agent", "host"):  # the first finds out who asks
        other.told(who, "POST", "/v1/check", READ if who == "agent" else large.body)
    locks.clear()
    for one, answer in zip(asked, round_trips.send_together(other, [*asked, retried]), strict=False):
        check(one, answer)
    assert len(locks) == 1


def made(service: Service, session: str, kind: str) -> Asked:
    """A request of this kind that nobody has made yet, with all that goes before it."""
    who, prepare = KINDS[kind]
    return prepare(service, who, session, f"name{next(names)}")


def count_together(service: Service, trips: list[str], asked: list[Asked]) -> None:
    trips.clear()
    answers = round_trips.send_together(service, asked)
    assert 0 < len(trips) <= MOST
    for one, answer in zip(asked, answers, strict=True):
        check(one, answer)
