"""The gateway's events at the service, on every store: a call that is asked about again, and its schema."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.doors.mcp.gateway.dialect import DIALECT
from sayso.store.contract import CallRow
from tests.support.service import Service

ID = "a" * 32


@pytest.fixture
def gateway(service: Service) -> Service:
    service.running.agents = {**service.running.agents, DIALECT.name: DIALECT}
    return service


def send(service: Service, event: str, id_: str = ID, schema: str = "", **more: Any) -> str:
    """Return the service's answer to an event about a call that has to be asked for."""
    body = {
        "session": "s", "folder": "/", "server": "files", "tool": "write", "id": id_, "schema": schema,
        "arguments": {"text": "two words"}, **more,
    }  # fmt: skip
    response = service.post("agent", f"/v1/hooks/mcp/{event}?wait=0", body)
    return response.text if response.status_code == 200 else f"{response.status_code}"


def approve(service: Service) -> None:
    (question,) = service.told("operator", "GET", "/v1/questions")
    said = {"answer": "once", "digest": question["digest"]}
    service.told("operator", "POST", f"/v1/questions/{question['id']}/answer", said)


def is_allowed(answer: str, id_: str = ID) -> bool:
    return answer.endswith(f"\nallow {id_}")


def test_a_client_that_comes_back_finds_the_question_it_left_and_its_answer_once(gateway: Service) -> None:
    assert not is_allowed(send(gateway, "call"))
    assert not is_allowed(send(gateway, "call"))
    approve(gateway)
    assert is_allowed(send(gateway, "call"))
    assert "sayso-hook 0" in send(gateway, "end", ok=True)
    assert not is_allowed(send(gateway, "call", "b" * 32), "b" * 32)


def test_an_approval_is_for_the_schema_it_was_asked_for(gateway: Service) -> None:
    assert not is_allowed(send(gateway, "call", schema="1" * 64))
    approve(gateway)
    assert not is_allowed(send(gateway, "call", "b" * 32, schema="2" * 64), "b" * 32)
    assert is_allowed(send(gateway, "call", "c" * 32, schema="1" * 64), "c" * 32)


@pytest.mark.parametrize("schema", ["x", "1" * 63, "1" * 65, "G" * 64, 7, None, ["1" * 64]])
def test_a_schema_that_is_no_digest_is_refused(gateway: Service, schema: Any) -> None:
    assert send(gateway, "call", schema=schema) == "400"


@pytest.mark.parametrize(
    ("ok", "state"), [(True, "succeeded"), (False, "failed"), (None, "ambiguous"), (1, "failed")]
)
def test_a_call_ends_as_the_gateway_saw_it(gateway: Service, ok: object, state: str) -> None:
    assert not is_allowed(send(gateway, "call"))
    approve(gateway)
    assert is_allowed(send(gateway, "call"))
    send(gateway, "end", ok=ok)
    with gateway.gate.store.read() as tx:
        assert [row.state for row in tx.every(CallRow)] == [state]
