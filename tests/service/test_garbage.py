"""Garbage on every endpoint: never a failure of ours, always a problem as RFC 9457 has it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from sayso.gate.open import open_gate
from sayso.policy import load_text
from sayso.service.app import DESCRIBED
from sayso.service.authzen.access_requests import PROBLEM
from sayso.service.http.endpoints import Endpoint
from sayso.store.sqlite.store import SqliteStore
from tests.service.conftest import KEY, POLICY
from tests.support.service import Service

BODIES = (
    b"",
    b"null",
    b"[]",
    b"{",
    b'{"tool": "a", "tool": "b"}',
    b'{"tool": NaN}',
    b'{"tool": 1e999}',
    b'{"tool": "\\ud800"}',
    b"\xff\xfe",
    b"[" * 5_000,
    b'{"a":' * 5_000,
    b'{"tool": 12345678901234567890123}',
    b'{"subject":{"type":"a","id":"\\ud800"},"action":{"name":"a.b"},"resource":{"type":"a","id":"b"}}',
    (
        b'{"subject":{"type":"a","id":"x"},"action":{"name":"a.b"},"resource":{"type":"a","id":"b"},'
        b'"denial": {"expires_at": "\\ud800", "binding_token": "1.\\ud800"}}'
    ),
    b'{"subject": {}, "evaluations": [null, 1, [], {}], "options": {"evaluations_semantic": 5}}',
    b'{"args": [], "tool": {}, "text": 5, "role": [], "plan": {}, "session": {}, "name": {}, "agent": []}',
)
NAMES = ("..", "%2e%2e", "%00", "%0a", "x" * 400, "%F0%9F%92%A5", "'; DROP TABLE calls; --", "{x}", "%ff")


def assert_problem(response: httpx.Response) -> None:
    assert response.status_code < 500, response.text
    if response.status_code < 400:
        return
    assert response.headers["content-type"] == "application/problem+json"
    told = response.json()
    assert told["status"] == response.status_code
    assert told["type"] in (f"urn:sayso:problem:{told['code']}", f"{PROBLEM}{told['code']}")
    assert told["title"]
    assert "Traceback" not in response.text


def name(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


def some(who: str) -> list[Endpoint]:
    return [one for one in DESCRIBED if (not one.roles or who in one.roles) and one.path != "/v1/events"]


@pytest.mark.parametrize("who", ["agent", "host", "operator"])
def test_no_body_brings_it_down(service: Service, who: str) -> None:
    session = service.opened()

    async def send(endpoint: Endpoint, body: bytes) -> httpx.Response:
        path = endpoint.path.replace("{session}", session)
        async with service.client() as client:
            return await client.request(
                endpoint.method,
                re.sub(r"\{\w+\}", "x", path),
                content=body,
                headers={**service.headers(who), "Content-Type": "application/json"},
            )

    for endpoint in some(who):
        for body in BODIES:
            assert_problem(service.runner.run(send(endpoint, body)))


@pytest.mark.parametrize("who", ["agent", "host", "operator"])
def test_no_name_in_a_path_or_query_brings_it_down(service: Service, who: str) -> None:
    for endpoint in some(who):
        for odd in NAMES:
            path = re.sub(r"\{\w+\}", lambda _, odd=odd: odd, endpoint.path)  # type: ignore[misc]
            assert_problem(service.request(who, endpoint.method, path))
            for parameter in endpoint.query:
                assert_problem(service.request(who, endpoint.method, f"{path}?{parameter}={odd}"))


def test_an_unknown_parameter_is_refused(service: Service) -> None:
    refused = service.get("agent", "/v1/questions?role=operator")
    assert (refused.status_code, refused.json()["code"]) == (400, "malformed")


def test_what_is_not_there_and_what_cannot_be_done_are_problems_too(service: Service) -> None:
    for method, path in (("GET", "/v2"), ("PUT", "/v1/calls"), ("DELETE", "/v1/calls"), ("PATCH", "/")):
        assert_problem(service.request("operator", method, path))


def test_an_error_inside_is_told_without_its_inside(runner: asyncio.Runner, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    service = Service(open_gate(load_text(POLICY), store, key=KEY), runner)
    store.close()
    refused = service.post("agent", "/v1/calls", {"tool": "read_file"})
    assert refused.status_code in (500, 503)
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json().get("code") in ("internal", "store")
    assert "sqlite" not in refused.text.lower()
