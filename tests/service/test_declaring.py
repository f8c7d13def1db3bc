"""What a caller declares of its call can add and raise; nothing it says makes the decision looser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.service import PUSH, READ, WRITE, Service

HARMLESS = [{"operation": "files.read", "risk": "low"}]
UNKNOWN = {"tool": "format_disk", "args": {}}


def checked(service: Service, who: str, call: Mapping[str, Any], **more: Any) -> Any:
    own = {"session": service.opened()} if who == "host" else {}
    return service.told(who, "POST", "/v1/check", {**call, **own, **more})


def named(told: Mapping[str, Any]) -> set[str]:
    return {one["operation"] for one in told["operations"]}


@pytest.mark.parametrize("who", ["agent", "host"])
@pytest.mark.parametrize("call", [WRITE, PUSH])
def test_a_tool_the_policy_knows_is_what_the_policy_reads_in_it(
    service: Service, who: str, call: Mapping[str, Any]
) -> None:
    bare, dressed = checked(service, who, call), checked(service, who, call, operations=HARMLESS)
    assert named(dressed) == named(bare) | {"files.read"}
    assert (dressed["verdict"], dressed["risk"]) == (bare["verdict"], bare["risk"])


def test_an_agent_cannot_give_an_unknown_tool_the_name_of_a_harmless_one(service: Service) -> None:
    told = checked(service, "agent", UNKNOWN, operations=HARMLESS)
    assert named(told) == {"tools.format_disk", "files.read"}
    assert told["verdict"] == "ask"


def test_a_host_names_the_operations_of_a_tool_the_policy_does_not_know(service: Service) -> None:
    told = checked(service, "host", UNKNOWN, operations=[{"operation": "files.write"}])
    assert named(told) == {"files.write"}
    blocked = checked(service, "host", UNKNOWN, operations=[{"operation": "files.wipe"}])
    assert blocked["verdict"] == "deny"


@pytest.mark.parametrize("who", ["agent", "host"])
def test_what_is_declared_blocked_is_blocked_whatever_else_it_is(service: Service, who: str) -> None:
    told = checked(service, who, READ, operations=[{"operation": "files.wipe"}])
    assert (told["verdict"], told["rule"]) == ("deny", "blocked")


@pytest.mark.parametrize("who", ["agent", "host"])
def test_that_something_unlisted_is_low_is_not_believed(service: Service, who: str) -> None:
    low = [{"operation": "lights.switch", "risk": "low"}]
    assert checked(service, who, UNKNOWN, operations=low)["verdict"] == "ask"


def test_a_declared_risk_raises(service: Service) -> None:
    high = [{"operation": "files.read", "risk": "high"}]
    assert checked(service, "host", READ)["verdict"] == "allow"
    assert checked(service, "host", READ, operations=high)["verdict"] == "ask"


def test_a_host_that_declares_nothing_gets_a_tool_nobody_listed(service: Service) -> None:
    assert named(checked(service, "host", UNKNOWN, operations=[])) == {"tools.format_disk"}


@pytest.mark.parametrize(
    "more",
    [
        {"operations": [{"operation": "files"}]},
        {"operations": [{"operation": "files.read", "risk": "none"}]},
        {"operations": [{"operation": "files.read", "reading": "low"}]},
        {"operations": [{"operation": "files.read"}] * 101},
        {"schema": "x" * 201},
        {"attempt": "a\nb"},
        {"attempt": ""},
        {"origin": "user"},
        {"parent_call": "op_1"},
        {"user_initiated": "files.write"},
    ],
)
def test_what_cannot_be_meant_is_refused(service: Service, more: Mapping[str, Any]) -> None:
    response = service.post("agent", "/v1/calls", {**READ, **more})
    assert response.status_code in (400, 422), response.text


def test_the_folder_of_a_call_is_not_an_agents_to_say(service: Service) -> None:
    assert service.post("agent", "/v1/calls", {**READ, "folder": "/etc"}).status_code == 403


def test_only_the_attempt_that_started_a_call_is_given_its_number_again(service: Service) -> None:
    headers = {"Idempotency-Key": "k"}

    def send(**more: Any) -> Any:
        return service.post("agent", "/v1/calls", {**READ, **more}, headers=headers).json()

    first = send(attempt="one")
    assert (first["status"], first["fence"]) == ("allowed", 1)
    assert send(attempt="one")["fence"] == 1
    for other in (send(attempt="two"), send()):
        assert (other["status"], other["fence"], other["call"]) == ("running", 0, None)


def test_a_retry_sent_again_is_the_same_start_and_no_other_retry_is(service: Service) -> None:
    asked = service.told("agent", "POST", "/v1/calls", WRITE)
    path = f"/v1/calls/{asked['operation_id']}/retry"
    service.told("operator", "POST", f"/v1/questions/{asked['question']}/answer", {"answer": "once"})
    first, again = (service.told("agent", "POST", f"{path}?attempt=a") for _ in range(2))
    assert (first["status"], first["fence"]) == (again["status"], again["fence"]) == ("allowed", 1)
    assert service.told("agent", "POST", f"{path}?attempt=b")["status"] == "running"
    assert service.told("agent", "POST", path)["status"] == "running"


def test_a_retry_sent_again_after_a_stop_is_not_told_to_run(service: Service) -> None:
    asked = service.told("agent", "POST", "/v1/calls", WRITE)
    path = f"/v1/calls/{asked['operation_id']}/retry?attempt=a"
    service.told("operator", "POST", f"/v1/questions/{asked['question']}/answer", {"answer": "once"})
    assert service.told("agent", "POST", path)["status"] == "allowed"
    service.told("operator", "POST", "/v1/sessions/stop")
    again = service.told("agent", "POST", path)
    assert (again["status"], again["fence"], again["call"]) == ("denied", 1, None)
    assert "stopped" in again["reason"]


def test_a_question_that_is_closed_is_told_to_whoever_waits(service: Service) -> None:
    asked = service.told("agent", "POST", "/v1/calls", WRITE)
    assert not asked["answered"]
    assert {"once", "deny"} <= {offer["answer"] for offer in asked["offers"]}
    service.told("operator", "POST", f"/v1/questions/{asked['question']}/answer", {"answer": "deny"})
    assert service.told("agent", "GET", f"/v1/calls/{asked['operation_id']}")["answered"]


@pytest.mark.parametrize("who", ["agent", "host"])
@pytest.mark.parametrize("paths", [["keys/id_rsa", "a.txt"], ["a.txt", "keys/id_rsa"]])
def test_a_secret_among_several_paths_is_not_hidden_by_the_one_after_it(
    service: Service, who: str, paths: list[str]
) -> None:
    told = checked(service, who, {"tool": "read_files", "args": {"paths": paths}})
    assert (told["verdict"], told["risk"]) == ("ask", "high")
