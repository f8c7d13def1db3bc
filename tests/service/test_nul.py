"""A NUL, which PostgreSQL cannot hold in a text, in every place of every endpoint that takes one.

Whoever sends it is told that it names nothing, or is malformed; never of the store, and on every store alike.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from msgspec import inspect

from sayso.gate.open import open_gate
from sayso.service.app import DESCRIBED
from sayso.service.http.endpoints import Endpoint
from sayso.store.postgres.store import PostgresStore
from tests.agents.hosts import HOSTS, Host
from tests.service.conftest import KEY, POLICY_READ
from tests.support.postgres_place import new_schema
from tests.support.service import Service

NUL = "x\x00y"
CALLERS = ("operator", "host", "agent")
STORE_WORDS = re.compile(r"postgres|psycopg|sqlite|database|store|0x00", re.IGNORECASE)


def fill(kind: Any, known: dict[str, Any], name: str = "") -> Any:
    """A value of this type, as good as can be made up."""
    match kind:
        case inspect.StructType():
            return {
                field.encode_name: fill(field.type, known, field.encode_name)
                for field in kind.fields
                if field.required or field.encode_name in known
            }
        case inspect.StrType():
            return known.get(name, "x")
        case inspect.LiteralType() | inspect.EnumType():
            return kind.values[0] if isinstance(kind, inspect.LiteralType) else next(iter(kind.cls)).value
        case inspect.UnionType():
            return fill(kind.types[0], known, name)
        case inspect.ListType() | inspect.VarTupleType() | inspect.CollectionType():
            return [fill(kind.item_type, known, name)]
        case inspect.IntType() | inspect.FloatType():
            return 1
        case inspect.BoolType():
            return True
        case inspect.DictType():
            return {}
        case _:
            return known.get(name)


def spoil(kind: Any, known: dict[str, Any], name: str = "") -> Iterator[Any]:
    """The same, again and again, each time with a NUL in another place that takes a text."""
    match kind:
        case inspect.StructType():
            good = fill(kind, known)
            for one in kind.fields:
                bad_ones = spoil(one.type, known, one.encode_name)
                yield from ({**good, one.encode_name: bad} for bad in bad_ones)
        case inspect.StrType():
            yield NUL
        case inspect.UnionType():
            yield from chain.from_iterable(spoil(one, known, name) for one in kind.types)
        case inspect.ListType() | inspect.VarTupleType() | inspect.CollectionType():
            yield from ([bad] for bad in spoil(kind.item_type, known, name))
        case inspect.DictType():
            yield {NUL: fill(kind.value_type, known)}
            yield from ({"path": bad} for bad in spoil(kind.value_type, known))
        case inspect.AnyType():
            yield from (NUL, {NUL: 1}, {"path": NUL}, [NUL])
        case _:
            pass


def expect_no_word_of_the_store(response: httpx.Response, sent: object) -> None:
    about = (str(response.request.url), sent, response.status_code, response.text)
    assert response.status_code < 500, about
    if response.status_code >= 400:
        assert not STORE_WORDS.search(response.json().get("detail", "")), about


@pytest.fixture
def on_postgres(postgres_server: str, runner: asyncio.Runner) -> Iterator[Service]:
    with closing(PostgresStore(new_schema(postgres_server))) as store:
        yield Service(open_gate(POLICY_READ, store, key=KEY), runner)


def endpoints_of(who: str) -> list[Endpoint]:
    return [one for one in DESCRIBED if (not one.roles or who in one.roles) and one.path != "/v1/events"]


@pytest.mark.parametrize("who", CALLERS)
def test_a_nul_in_a_body_is_never_told_as_a_fault_of_the_store(on_postgres: Service, who: str) -> None:
    service = on_postgres
    session = service.opened() if who == "host" else ""
    question = service.asked("agent")
    known: dict[str, Any] = {"tool": "write_file", "args": {"path": "a"}, "agent": "claude", "wait": 0}
    known |= {"session": session} if session else {}
    for endpoint in endpoints_of(who):
        if endpoint.body is None:
            continue
        path = endpoint.path.replace("{session}", session or "x").replace("{question}", question)
        path = re.sub(r"\{\w+\}", "x", path)
        for body in spoil(inspect.type_info(endpoint.body), known):
            sent = msgspec.json.encode(body)
            headers = {"Content-Type": "application/json"}
            told = service.request(who, endpoint.method, path, content=sent, headers=headers)
            expect_no_word_of_the_store(told, sent)


@pytest.mark.parametrize("who", CALLERS)
def test_a_nul_in_an_address_or_a_header_names_nothing(on_postgres: Service, who: str) -> None:
    service = on_postgres
    for endpoint in endpoints_of(who):
        good = re.sub(r"\{\w+\}", "x", endpoint.path)
        for name in re.findall(r"\{\w+\}", endpoint.path):
            odd = re.sub(r"\{\w+\}", "x", endpoint.path.replace(name, "x%00y"))
            expect_no_word_of_the_store(service.request(who, endpoint.method, odd), odd)
        for parameter in endpoint.query:
            odd = f"{good}?{parameter}=x%00y"
            expect_no_word_of_the_store(service.request(who, endpoint.method, odd), odd)
        for header in ("Idempotency-Key", "X-Sayso-Session", "Last-Event-ID", "X-Request-ID"):
            told = service.request(who, endpoint.method, good, headers={header: b"x\x00y"})
            expect_no_word_of_the_store(told, header)


def spoil_members(value: Any) -> Iterator[Any]:
    """A payload again and again, each time with a NUL in another text of it."""
    match value:
        case str():
            yield f"{value}\x00"
        case dict():
            for name, member in value.items():
                yield from ({**value, name: bad} for bad in spoil_members(member))
        case list():
            for at, member in enumerate(value):
                yield from ([*value[:at], bad, *value[at + 1 :]] for bad in spoil_members(member))
        case _:
            pass


@pytest.mark.parametrize("host", HOSTS, ids=lambda one: one.name)
def test_a_nul_in_what_a_hook_sends_is_never_told_as_a_fault_of_the_store(
    on_postgres: Service, tmp_path: Path, host: Host
) -> None:
    tool, args = host.arguments("write", "a.txt")
    payloads = [
        (host.before, host.call("s1", tmp_path, tool, args, "c1")),
        (host.after, host.ended("s1", tmp_path, tool, args, "c1")),
    ]
    if host.prompt is not None and host.message is not None:
        payloads.append((host.prompt, host.message("s1", tmp_path, "stop")))
    for event, payload in payloads:
        for bad in spoil_members(payload):
            told = on_postgres.post("agent", f"/v1/hooks/{host.name}/{event}?wait=0", bad)
            assert told.status_code < 500, (event, bad, told.text)
            assert not STORE_WORDS.search(told.text), (event, bad, told.text)


def test_what_people_write_arrives_with_a_nul_in_it(on_postgres: Service) -> None:
    """A deny and a stop count, whatever stands beside them."""
    question = on_postgres.asked("agent")
    said = {"answer": "deny", "reason": NUL}
    denied = on_postgres.told("operator", "POST", f"/v1/questions/{question}/answer", said)
    assert denied["state"] == "answered"
    session = on_postgres.opened()
    heard = on_postgres.told("host", "POST", f"/v1/sessions/{session}/messages", {"text": "stop\x00"})
    assert heard["kind"] == "stop"
