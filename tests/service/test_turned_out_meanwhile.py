"""Whoever is turned out while their request is on its way does nothing with it any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from typing import Any

import httpx
import msgspec
import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.people.browsers import BROWSER_LASTS, make_link, page_key, sign_out, use_link
from sayso.gate.people.tokens import list_tokens, revoke_token
from sayso.gate.questions.answer import answer_question
from sayso.gate.rows.sealed_store import MarkedStore
from sayso.policy import load_text
from sayso.service.http.auth import COOKIE, PAGE
from sayso.store.postgres.store import PostgresStore
from sayso.store.postgres.transaction import PostgresTransaction
from tests.service.conftest import POLICY
from tests.service.test_agents import until_awaited
from tests.support.gates import KEY, Clock
from tests.support.postgres_place import new_schema
from tests.support.round_trips import hook_allowed
from tests.support.service import HOST, READ, WRITE, Service

OPERATOR = {"role": "operator", "name": "evil"}


async def held_back(body: Any, first: Callable[[], object]) -> AsyncIterator[bytes]:
    """A body that comes only after this has happened."""
    await asyncio.to_thread(first)
    yield msgspec.json.encode(body)


def revoke(service: Service, who: str) -> Callable[[], object]:
    return lambda: revoke_token(service.gate, service.tokens[who].id, by="test")


def test_a_token_revoked_while_a_body_is_on_its_way_makes_no_other_token(service: Service) -> None:
    body = held_back(OPERATOR, revoke(service, "operator"))
    refused = service.post("operator", "/v1/tokens", content=body)
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
    assert "evil" not in {token.name for token in list_tokens(service.gate)}


def test_a_token_revoked_while_an_answer_is_on_its_way_allows_nothing(service: Service) -> None:
    question = service.asked()
    body = held_back({"answer": "always"}, revoke(service, "operator"))
    assert service.post("operator", f"/v1/questions/{question}/answer", content=body).status_code == 401
    assert service.post("agent", "/v1/calls", WRITE).json()["status"] == "pending"


def test_an_agents_retry_that_was_held_back_starts_nothing_once_its_token_is_revoked(
    service: Service,
) -> None:
    made = service.told("agent", "POST", "/v1/calls", WRITE)
    service.answer(made["question"], "once")
    body = held_back({}, revoke(service, "agent"))
    assert service.post("agent", f"/v1/calls/{made['operation_id']}/retry", content=body).status_code == 401
    told = service.told("operator", "GET", f"/v1/calls/{made['operation_id']}")
    assert told["status"] != "running"


def test_a_hook_that_was_held_back_starts_nothing_once_its_token_is_revoked(service: Service) -> None:
    asked = hook_allowed(service, "agent", "session-1", "one")
    before = service.told("operator", "GET", "/v1/calls")
    assert (
        service.post("agent", asked.path, content=held_back(asked.body, revoke(service, "agent"))).status_code
        == 401
    )
    assert service.told("operator", "GET", "/v1/calls") == before


def browser_headers(service: Service, browser: str) -> dict[str, str]:
    return {
        "Cookie": f"{COOKIE}={browser}",
        PAGE: page_key(service.gate, browser),
        "Origin": f"http://{HOST}",
    }


@pytest.mark.parametrize(
    ("path", "body"), [("/v1/tokens", OPERATOR), ("/v1/calls", READ), ("/v1/check", READ)]
)
def test_a_browser_signed_out_while_a_body_is_on_its_way_does_nothing(
    service: Service, path: str, body: dict[str, Any]
) -> None:
    session = {} if path == "/v1/tokens" else {"session": service.opened()}
    browser = use_link(service.gate, make_link(service.gate, "ann"))
    headers = browser_headers(service, browser)
    content = held_back({**body, **session}, lambda: sign_out(service.gate, browser))
    assert service.post(None, path, content=content, headers=headers).status_code == 401
    assert "evil" not in {token.name for token in list_tokens(service.gate)}


def leaves(service: Service, clock: Clock, browser: str) -> None:
    sign_out(service.gate, browser)


def stays_too_long(service: Service, clock: Clock, browser: str) -> None:
    """Its sign-in ends by itself, which no entry records."""
    clock.now += 60.0


def is_revived_elsewhere(service: Service, clock: Clock, browser: str) -> None:
    """Somebody of the same name signs in and stays: that is another browser."""
    use_link(service.gate, make_link(service.gate, "ann"))
    sign_out(service.gate, browser)


@pytest.mark.parametrize("way", [leaves, stays_too_long, is_revived_elsewhere])
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_browser_whose_sign_in_ends_while_it_waits_starts_and_reads_nothing(
    service: Service, clock: Clock, way: Callable[[Service, Clock, str], None], method: str
) -> None:
    browser = use_link(service.gate, make_link(service.gate, "ann"))
    clock.now += BROWSER_LASTS - 60.0
    made = service.told("agent", "POST", "/v1/calls", WRITE)
    path = f"/v1/calls/{made['operation_id']}{'/retry' if method == 'POST' else ''}?wait=600"

    async def play() -> httpx.Response:
        headers = browser_headers(service, browser)
        waiting = asyncio.create_task(service.ask(None, method, path, headers=headers, timeout=None))
        await asyncio.to_thread(until_awaited, service, made["question"])
        await asyncio.to_thread(way, service, clock, browser)
        await asyncio.to_thread(answer_question, service.gate, made["question"], "once", by="bob")
        return await asyncio.wait_for(waiting, 30)

    assert service.runner.run(play()).status_code == 401
    told = service.told("operator", "GET", f"/v1/calls/{made['operation_id']}")
    assert told["status"] == "pending"


@pytest.mark.each_store
def test_a_token_revoked_before_its_batch_begins_starts_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.told("agent", "POST", "/v1/calls", READ)  # from now on it is known who asks
    batch, acts = MarkedStore.batch, iter([revoke(service, "agent")])

    def later(store: MarkedStore) -> Any:
        next(acts, lambda: None)()
        return batch(store)

    monkeypatch.setattr(MarkedStore, "batch", later)
    assert service.post("agent", "/v1/calls", READ).status_code == 401


@pytest.fixture
def on_postgres(postgres_server: str) -> Iterator[Service]:
    with asyncio.Runner() as runner, closing(PostgresStore(new_schema(postgres_server))) as store:
        yield Service(open_gate(load_text(POLICY), store, key=KEY), runner)


def test_a_token_revoked_while_its_batch_waits_for_the_trail_starts_nothing(
    on_postgres: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = on_postgres
    service.told("agent", "POST", "/v1/calls", READ)
    read_ahead, looks = PostgresTransaction.read_ahead, iter([lambda: None, revoke(service, "agent")])

    def later(tx: PostgresTransaction, *args: Any) -> None:
        elsewhere(next(looks, lambda: None))
        read_ahead(tx, *args)

    monkeypatch.setattr(PostgresTransaction, "read_ahead", later)
    assert service.post("agent", "/v1/calls", READ).status_code == 401
    assert newest_events(service.gate)[-1] == "TOKEN_REVOKED"


def elsewhere(act: Callable[[], object]) -> None:
    """In a thread of its own, because this one has a batch under way."""
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def newest_events(gate: Gate) -> list[str]:
    with gate.store.read() as tx:
        return [row.event for row in tx.entries(gate.stream) if row.event in ("DECIDED", "TOKEN_REVOKED")]
