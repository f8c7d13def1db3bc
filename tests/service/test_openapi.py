"""The description is true, and nothing made from it brings the service down or gets a call allowed."""

from __future__ import annotations

import asyncio
import json
import os
import re
from contextlib import suppress
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core import NotSet

import sayso
from sayso.gate.open import open_gate
from sayso.service.api.hooks import Payload
from sayso.service.app import DESCRIBED
from sayso.service.http.state import ServiceSettings
from sayso.service.openapi import build_document
from sayso.store.memory.store import MemoryStore
from tests.service.conftest import KEY, POLICY_READ
from tests.support.service import WRITE, Service

DOCUMENT = build_document(DESCRIBED)
EXAMPLES = 30 if os.environ.get("SAYSO_ALL") else 2
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
FOUND: list[Any] = [*SCHEMA.get_all_operations()]
OPERATIONS = {one.ok().label: one.ok() for one in FOUND}
ENDLESS = "GET /v1/events"
ROLES = ("agent", "host", "operator")


def test_every_endpoint_is_described_with_its_roles_and_problems(service: Service) -> None:
    told = service.told(None, "GET", "/openapi.json")
    assert told["openapi"] == "3.1.0"
    for one in DESCRIBED:
        operation = told["paths"][one.path][one.method.lower()]
        assert operation["x-roles"] == sorted(one.roles)
        assert operation["security"] == ([{"token": []}] if one.roles else [])
        assert ("requestBody" in operation) == (one.body is not None)
        named = {found["name"] for found in operation["parameters"] if found["in"] != "header"}
        assert named == {*re.findall(r"\{(\w+)\}", one.path), *one.query}
        problem = operation["responses"]["403"]["content"]["application/problem+json"]["schema"]
        assert problem == {"$ref": "#/components/schemas/Problem"}
    described = {(path, method) for path, each in told["paths"].items() for method in each}
    assert described == {(one.path, one.method.lower()) for one in DESCRIBED}


def test_the_description_names_no_other_version_than_the_package() -> None:
    assert DOCUMENT["info"]["version"] == sayso.__version__


def test_names_of_operations_are_unique_and_bodies_closed() -> None:
    names = [one["operationId"] for each in DOCUMENT["paths"].values() for one in each.values()]
    assert len(names) == len(set(names)) == len(DESCRIBED)
    for one in DESCRIBED:
        if one.body not in (None, Payload):  # a host's payload is the host's own
            schema = DOCUMENT["components"]["schemas"][one.body.__name__]
            closed = schema.get("additionalProperties") is False
            assert closed is not one.authzen, one.path


def test_answers_are_of_the_types_described(service: Service) -> None:
    service.asked()
    for one in DESCRIBED:
        if one.method == "GET" and "{" not in one.path and one.media == "application/json":
            response = service.get("operator", one.path)
            if response.status_code == 200:
                validate(one.path, response.json())


def validate(path: str, value: Any) -> None:
    import jsonschema_rs

    content = DOCUMENT["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema_rs.validate({**content, "components": DOCUMENT["components"]}, value)


@pytest.mark.parametrize("label", sorted(OPERATIONS))
def test_no_request_made_from_the_description_breaks_the_service_or_is_allowed(label: str) -> None:
    """Valid, invalid, and for things that do exist: always an answer, errors as problems, and no allow."""
    if label == ENDLESS:
        return
    with asyncio.Runner() as runner:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            explore(label, mode, runner)


def explore(label: str, mode: GenerationMode, runner: asyncio.Runner) -> None:
    """Make requests, and send each by every role to a service of its own."""
    stores = [MemoryStore() for _ in ROLES]
    free = ServiceSettings(rate=1e9)
    services = [Service(open_gate(POLICY_READ, store, key=KEY), runner, free) for store in stores]
    places = [(role, service, existing(service)) for role, service in zip(ROLES, services, strict=True)]

    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        derandomize="SAYSO_ALL" not in os.environ,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(OPERATIONS[label].as_strategy(generation_mode=mode))
    def try_it(case: Any) -> None:
        for role, service, real in places:
            for names in ({}, real):
                check_answer(label, role, runner.run(sent(service, role, case, names)))

    with suppress(Unsatisfiable):  # where nothing can be made wrong
        try_it()
    for store in stores:
        store.close()


def check_answer(label: str, role: str, response: httpx.Response) -> None:
    told = f"{role}: {response.text}"
    assert response.status_code < 500, told
    if response.status_code >= 400:
        assert response.headers["content-type"] == "application/problem+json", told
    if label.startswith("POST /v1/calls") and response.status_code < 300:
        assert response.json()["status"] != "allowed", told
    if label.startswith("POST /access") and response.status_code < 300:
        assert '"decision":true' not in response.text, told
        assert '"approved"' not in response.text, told


def existing(service: Service) -> dict[str, str]:
    """Things that do exist, by the name of the parameter that stands for them."""
    session = service.opened()
    asked = service.told("host", "POST", "/v1/calls", {**WRITE, "session": session})
    grant = service.told("operator", "POST", "/v1/grants", {"session": session, "operation": "git.commit"})
    task = service.told("agent", "POST", "/access/v1/requests", denied(service))["task"]["id"]
    names = {
        "task": task,
        "session": session,
        "call": asked["operation_id"],
        "question": asked["question"],
        "seq": "1",
    }
    return names | {"grant": grant["id"], "run": asked["operation_id"], "token": service.tokens["trusted"].id}


def denied(service: Service) -> dict[str, Any]:
    """An access request, ready to be sent by the agent."""
    body = {
        "subject": {"type": "user", "id": "alice"},
        "action": {"name": "git.commit"},
        "resource": {"type": "repository", "id": "here"},
    }
    told = service.told("agent", "POST", "/access/v1/evaluation", body)["context"]["access_request"]
    return {**body, "denial": {name: told[name] for name in ("expires_at", "binding_token")}}


async def sent(service: Service, role: str, case: Any, real: dict[str, str]) -> Any:
    path = re.sub(r"\{(\w+)\}", lambda found: real.get(found[1], "x"), case.path) if real else None
    query = {name: value for name, value in (case.query or {}).items() if not (real and name == "wait")}
    body: Any = {} if isinstance(case.body, NotSet) else {"content": _bytes(case.body)}
    headers = {
        name: str(value)
        for name, value in (case.headers or {}).items()
        if name.lower() not in ("authorization", "host", "content-length", "transfer-encoding")
    }
    if body and not any(name.lower() == "content-type" for name in headers):
        headers["Content-Type"] = "application/json"
    if "/access/" in case.path and real:
        headers.pop("X-Sayso-Session", None)
        headers |= {} if role == "agent" else {"X-Sayso-Session": real["session"]}
    try:
        return await service.ask(
            role, case.method, path or case.formatted_path, headers=headers, params=flat(query), **body
        )
    except UnicodeEncodeError:  # what no client can send
        return await service.ask(role, case.method, "/healthz" if case.method == "GET" else "/nowhere")


def _bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def flat(query: dict[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in query.items()}
