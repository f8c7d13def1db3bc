"""AuthZEN 1.0 as its certification scenario has it: two people, two records, and a good deal of form.

Passing this is no certificate: the scenario is prose, and this is our reading of it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import httpx
import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.policy import load_text
from sayso.service.http.state import ServiceSettings
from sayso.store.memory.store import MemoryStore
from tests.service.conftest import KEY
from tests.support.service import HOST, Service

FIXTURE = """
sayso: 1
domains:
  record:
    trust_level: high
    autonomous: [read, change, override, trash]
    requires_approval: [write]
    blocked: [delete]
tools:
  - tool: record.write
    operation: record.override
    when: >-
      has(args.subject.properties.role) && args.subject.properties.role == 'admin'
      && has(args.resource.properties.status) && args.resource.properties.status == 'archived'
  - tool: record.write
    operation: record.change
    when: >-
      args.subject.id == 'alice'
      && !(has(args.resource.properties.status) && args.resource.properties.status == 'archived')
  - tool: record.delete
    operation: record.trash
    when: has(args.action.properties.soft) && args.action.properties.soft == true
"""
ALICE = {"type": "user", "id": "alice"}
BOB = {"type": "user", "id": "bob"}
ADMIN = {**BOB, "properties": {"role": "admin"}}
ONE = {"type": "record", "id": "record-1"}
TWO = {"type": "record", "id": "record-2", "properties": {"status": "archived"}}
READ, WRITE = {"name": "read"}, {"name": "write"}
SOFT, HARD = ({"name": "delete", "properties": {"soft": soft}} for soft in (True, False))
GOOD: dict[str, Any] = {"subject": ALICE, "action": READ, "resource": ONE}
DECISIONS: tuple[tuple[Any, Any, Any, bool], ...] = (
    (ALICE, READ, ONE, True),
    (ALICE, WRITE, ONE, True),
    (BOB, READ, ONE, True),
    (BOB, WRITE, ONE, False),
    (ALICE, WRITE, TWO, False),
    (ADMIN, WRITE, TWO, True),
    (ALICE, SOFT, ONE, True),
    (ALICE, HARD, ONE, False),
)
WRONG: tuple[tuple[str, Any], ...] = (
    *product(("subject", "action", "resource"), ("x", 1, [], None)),
    *product(("subject.id", "action.name", "resource.type"), (1, "", None)),
    *product(("subject.properties", "context"), ("x", [], None)),
)
ONE_EVALUATION, MANY = "/access/v1/evaluation", "/access/v1/evaluations"


@pytest.fixture(scope="module")
def pdp() -> Iterator[Service]:
    store = MemoryStore()
    with asyncio.Runner() as runner:
        gate = open_gate(load_text(FIXTURE), store, key=KEY)
        yield Service(gate, runner, ServiceSettings(rate=1e9, origins=(f"https://{HOST}",)))
    store.close()


def without(path: str) -> dict[str, Any]:
    """The good request without this field."""
    body = json.loads(json.dumps(GOOD))
    *outer, last = path.split(".")
    inside = body[outer[0]] if outer else body
    del inside[last]
    return dict(body)


def with_field(path: str, value: object) -> dict[str, Any]:
    body = json.loads(json.dumps(GOOD))
    *outer, last = path.split(".")
    (body[outer[0]] if outer else body)[last] = value
    return dict(body)


def raw(pdp: Service, path: str, body: bytes, **headers: str) -> httpx.Response:
    return pdp.post("agent", path, content=body, headers=headers)


# One evaluation


@pytest.mark.parametrize(("subject", "action", "resource", "permit"), DECISIONS)
@pytest.mark.parametrize("context", [None, {"time": "2025-06-27T18:03-07:00", "ip": "192.168.1.1"}])
def test_the_fixture_is_decided_as_mandated_with_and_without_context_however_often(
    pdp: Service, subject: Any, action: Any, resource: Any, permit: bool, context: Any
) -> None:
    body = {"subject": subject, "action": action, "resource": resource}
    body |= {} if context is None else {"context": context}
    for _ in range(3):
        told = pdp.told("agent", "POST", ONE_EVALUATION, body)
        assert told["decision"] is permit
        assert isinstance(told["context"], dict)


@pytest.mark.parametrize(
    "more",
    [
        {"foo": "bar", "futureField": {"nested": True}},
        {"subject": {**ALICE, "properties": {"department": "Sales", "role": "manager"}, "new": 1}},
        {"action": {**READ, "properties": {"method": "GET"}, "new": []}},
        {"resource": {**ONE, "properties": {"status": "active", "owner": "bob"}, "new": None}},
    ],
)
def test_what_is_not_known_is_ignored(pdp: Service, more: dict[str, Any]) -> None:
    assert pdp.told("agent", "POST", ONE_EVALUATION, {**GOOD, **more})["decision"] is True


@pytest.mark.parametrize("path", [ONE_EVALUATION, MANY])
@pytest.mark.parametrize(
    "body",
    [
        *map(without, ("subject", "action", "resource")),
        *map(without, ("subject.type", "subject.id", "action.name", "resource.type", "resource.id")),
        *(with_field(name, wrong) for name, wrong in WRONG),
        with_field("resource.properties", 5),
        [GOOD],
        "alice",
        None,
    ],
)
def test_a_request_that_lacks_something_or_has_it_of_another_type_is_a_400(
    pdp: Service, path: str, body: Any
) -> None:
    refused = raw(pdp, path, json.dumps(body).encode(), **{"Content-Type": "application/json"})
    assert refused.status_code == 400, refused.text
    assert refused.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", [ONE_EVALUATION, MANY])
@pytest.mark.parametrize("body", [b"", b"{", b"not json", b'{"subject": NaN}', b'{"a": 1, "a": 2}', b"\xff"])
def test_a_body_that_is_no_json_is_a_400(pdp: Service, path: str, body: bytes) -> None:
    assert raw(pdp, path, body, **{"Content-Type": "application/json"}).status_code == 400


@pytest.mark.parametrize("media", ["text/plain", "application/xml", "application/x-www-form-urlencoded", ""])
def test_another_content_type_is_a_400(pdp: Service, media: str) -> None:
    assert raw(pdp, ONE_EVALUATION, json.dumps(GOOD).encode(), **{"Content-Type": media}).status_code == 400


@pytest.mark.parametrize("media", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
def test_json_is_json_however_it_is_spelled(pdp: Service, media: str) -> None:
    told = raw(pdp, ONE_EVALUATION, json.dumps(GOOD).encode(), **{"Content-Type": media})
    assert (told.status_code, told.headers["content-type"]) == (200, "application/json")


@pytest.mark.parametrize("who", ["agent", None, "trusted"])
@pytest.mark.parametrize("body", [GOOD, {}])
def test_the_id_of_a_request_comes_back_whatever_becomes_of_it(
    pdp: Service, who: str | None, body: dict[str, Any]
) -> None:
    told = pdp.post(who, ONE_EVALUATION, body, headers={"X-Request-ID": "req-42"})
    assert told.headers["x-request-id"] == "req-42"
    assert "x-request-id" not in pdp.post(who, ONE_EVALUATION, body).headers


def test_without_a_token_it_is_a_401_and_with_one_that_may_not_a_403(pdp: Service) -> None:
    assert pdp.post(None, ONE_EVALUATION, GOOD).status_code == 401
    assert pdp.post("trusted", ONE_EVALUATION, GOOD).status_code == 403


# Many


def decisions(told: Any) -> list[bool]:
    return [one["decision"] for one in told["evaluations"]]


BATCHES: tuple[tuple[Any, list[bool]], ...] = (
    ({"subject": BOB, "resource": ONE, "evaluations": [{"action": READ}, {"action": WRITE}]}, [True, False]),
    ({**GOOD, "action": WRITE, "evaluations": [{"resource": ONE}, {"resource": TWO}]}, [True, False]),
    (
        {"action": WRITE, "resource": TWO, "evaluations": [{"subject": ALICE}, {"subject": ADMIN}]},
        [False, True],
    ),
    ({"evaluations": [GOOD, {"subject": BOB, "action": WRITE, "resource": ONE}]}, [True, False]),
    (
        {**GOOD, "context": {"a": 1}, "evaluations": [{}, {"context": {"b": 2}}]},
        [True, True],
    ),
)


@pytest.mark.parametrize(("body", "expected"), BATCHES)
def test_defaults_hold_for_what_does_not_say_otherwise_and_are_replaced_whole(
    pdp: Service, body: Any, expected: list[bool]
) -> None:
    told = pdp.told("agent", "POST", MANY, body)
    assert decisions(told) == expected
    assert "decision" not in told


def test_a_default_lends_nothing_to_what_replaces_it(pdp: Service) -> None:
    """Bob as an item is not the admin that the default was, and a resource without a type has none."""
    body = {"subject": ADMIN, "action": WRITE, "resource": TWO}
    told = pdp.told("agent", "POST", MANY, {**body, "evaluations": [{}, {"subject": BOB}]})
    assert decisions(told) == [True, False]
    told = pdp.told("agent", "POST", MANY, {**GOOD, "evaluations": [{"resource": {"id": "record-1"}}, {}]})
    assert decisions(told) == [False, True]


@pytest.mark.parametrize(
    "bad",
    [
        {"resource": None},
        {"resource": {}},
        {"action": {"name": 5}},
        {"subject": "alice"},
        {"action": {"name": "Record.read"}},
        {"action": {"name": "no such\u200bname.x"}},
        {"subject": {"type": "user", "id": "\ud800"}},
        {"context": {"n": 2**70 + 1}},
        {"context": []},
        5,
        None,
        [],
        "x",
    ],
    ids=repr,
)
def test_one_that_says_nothing_clear_is_denied_and_the_others_are_decided(pdp: Service, bad: Any) -> None:
    content = json.dumps({**GOOD, "evaluations": [{}, bad, {}]}).encode()
    told = raw(pdp, MANY, content, **{"Content-Type": "application/json"})
    assert told.status_code == 200, told.text
    assert decisions(told.json()) == [True, False, True]


@pytest.mark.parametrize(
    ("semantic", "expected"),
    [
        ("execute_all", [True, False, True, False]),
        ("deny_on_first_deny", [True, False]),
        ("permit_on_first_permit", [True]),
    ],
)
def test_each_semantics_stops_where_it_says(pdp: Service, semantic: str, expected: list[bool]) -> None:
    items = [{"action": READ}, {"action": WRITE}, {"action": READ}, {"action": HARD}]
    body = {"subject": BOB, "resource": ONE, "evaluations": items}
    told = pdp.told("agent", "POST", MANY, {**body, "options": {"evaluations_semantic": semantic, "new": 1}})
    assert decisions(told) == expected
    if semantic == "execute_all":
        assert decisions(pdp.told("agent", "POST", MANY, body)) == expected, "it is the one without a word"
    if semantic == "permit_on_first_permit":
        body["evaluations"] = [{"action": WRITE}, {"action": HARD}, {"action": READ}, {"action": READ}]
        options = {"evaluations_semantic": semantic}
        assert decisions(pdp.told("agent", "POST", MANY, {**body, "options": options})) == [
            False,
            False,
            True,
        ]


@pytest.mark.parametrize(
    "options", [{"evaluations_semantic": "allow_all"}, {"evaluations_semantic": 1}, "x", None]
)
def test_semantics_nobody_knows_are_a_400(pdp: Service, options: Any) -> None:
    assert pdp.post("agent", MANY, {**GOOD, "evaluations": [{}], "options": options}).status_code == 400


@pytest.mark.parametrize("more", [{}, {"evaluations": []}])
def test_none_listed_is_one_evaluation(pdp: Service, more: dict[str, Any]) -> None:
    told = pdp.told("agent", "POST", MANY, {**GOOD, **more})
    assert told["decision"] is True
    assert "evaluations" not in told


def test_many_keep_their_order_and_number_and_too_many_are_refused(pdp: Service) -> None:
    items = [{"subject": ALICE if number % 3 else BOB} for number in range(100)]
    body = {"action": WRITE, "resource": ONE, "evaluations": items}
    assert decisions(pdp.told("agent", "POST", MANY, body)) == [bool(number % 3) for number in range(100)]
    assert pdp.post("agent", MANY, {**body, "evaluations": [*items, {}]}).status_code == 400


def test_each_of_many_counts_against_the_limit_of_its_token(gate: Gate, runner: asyncio.Runner) -> None:
    service = Service(gate, runner, ServiceSettings(rate=1e-9, burst=10))
    assert service.post("agent", MANY, {**GOOD, "evaluations": [{}] * 11}).status_code == 429


# Discovery


def test_it_can_be_found_without_a_token_under_the_name_it_was_asked_by(pdp: Service) -> None:
    told = pdp.get(None, "/.well-known/authzen-configuration", headers={"X-Request-ID": "r"})
    assert (told.status_code, told.headers["content-type"]) == (200, "application/json")
    assert told.headers["x-request-id"] == "r"
    found = told.json()
    assert found == {
        "policy_decision_point": f"https://{HOST}",
        "access_evaluation_endpoint": f"https://{HOST}{ONE_EVALUATION}",
        "access_evaluations_endpoint": f"https://{HOST}{MANY}",
        "access_request_endpoint": f"https://{HOST}/access/v1/requests",
        "capabilities": ["urn:openid:authzen:capability:access-request"],
    }


def test_it_does_not_answer_to_a_name_that_is_not_its_own(pdp: Service) -> None:
    told = pdp.get(None, "/.well-known/authzen-configuration", headers={"Host": "evil.example"})
    assert told.status_code == 421
    assert "evil.example" not in told.text


def test_where_nobody_speaks_tls_for_it_it_says_so(service: Service) -> None:
    found = service.told(None, "GET", "/.well-known/authzen-configuration")
    assert found["policy_decision_point"] == f"http://{HOST}"


@pytest.mark.parametrize("what", ["subject", "resource", "action"])
def test_there_is_no_search(pdp: Service, what: str) -> None:
    assert pdp.post("agent", f"/access/v1/search/{what}", GOOD).status_code == 404
