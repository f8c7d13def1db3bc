"""Access requests for more than was evaluated, or in the name of somebody else: they open nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.access import (
    ALICE,
    BOTH,
    COMMIT,
    PUSH,
    REQUESTS,
    WRITE,
    answered,
    asked,
    assert_refused,
    bound,
    evaluated,
    status,
    submitted,
)
from tests.support.service import Service

pytestmark = pytest.mark.each_store


def change(body: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**body, "denial": {**body["denial"], **more}}


@BOTH
def test_a_seal_that_is_forged_changed_or_missing_opens_no_question(
    service: Service, body: dict[str, Any]
) -> None:
    good = bound(service, body)
    seal: str = good["denial"]["binding_token"]
    expires, _, mac = seal.partition(".")
    later = f"{int(expires) + 1}.{mac}"
    forged = [
        "", ".", "x", "0.", f"{expires}.", f"{expires}.{'0' * 64}", seal[:-1], f"{seal}0", later,
        f" {seal}", f"{seal}\n", f"-{seal}", f"{'9' * 40}.{mac}", f"٣{seal}", "\u202e" + seal, "1" * 10_000,
    ]  # fmt: skip
    for one in (text for text in forged if text != seal):
        assert_refused(submitted(service, change(good, binding_token=one)), 400, "invalid_denial_binding")
    wrong_time = change(good, expires_at="2999-01-01T00:00:00Z")
    assert_refused(submitted(service, wrong_time), 400, "invalid_denial_binding")
    without = {**good, "denial": {"expires_at": good["denial"]["expires_at"], "evaluation_id": "ev_1"}}
    assert_refused(submitted(service, without), 400, "invalid_denial_binding")
    assert service.told("operator", "GET", "/v1/questions") == []


def test_a_denial_of_one_thing_asks_for_nothing_else(service: Service) -> None:
    operation, tool = bound(service), bound(service, WRITE)
    others = [
        {**operation, "action": {"name": "git.push"}},
        {**operation, "action": {"name": "git.commit"}},
        {**operation, "resource": {"type": "repository", "id": "other"}},
        {**operation, "resource": {"type": "Repository", "id": "garden"}},
        {**operation, "subject": {"type": "user", "id": "bob"}},
        {**operation, "subject": {**ALICE, "properties": {"role": "admin"}}},
        {**tool, "subject": {"type": "user", "id": "bob"}},
        {**tool, "action": {"name": "tools/call"}},
        {**tool, "resource": {**WRITE["resource"], "properties": {"path": "/etc/passwd"}}},
        {**tool, "resource": {**WRITE["resource"], "id": "push"}},
        {**tool, "denial": operation["denial"]},
    ]
    for other in others:
        assert_refused(submitted(service, other), 400, "invalid_denial_binding")
    assert service.told("operator", "GET", "/v1/questions") == []


def test_a_denial_of_one_caller_or_session_serves_no_other(service: Service) -> None:
    body = bound(service)
    assert_refused(submitted(service, body, who="other_agent"), 400, "invalid_denial_binding")
    one, two = service.opened(), service.opened()
    hosts = bound(service, who="host", session=one)
    moved = submitted(service, hosts, who="host", **{"X-Sayso-Session": two})
    assert_refused(moved, 400, "invalid_denial_binding")
    taken = submitted(service, hosts, who="operator", **{"X-Sayso-Session": one})
    assert_refused(taken, 400, "invalid_denial_binding")
    assert submitted(service, hosts, who="other_host", **{"X-Sayso-Session": one}).status_code == 404
    assert submitted(service, hosts, who="host", **{"X-Sayso-Session": one}).status_code == 202


def test_a_seal_sent_again_opens_nothing_that_a_new_evaluation_would_not(service: Service) -> None:
    body = bound(service)
    for number in range(5):
        submitted(service, body, f"k{number}")
    assert len(service.told("operator", "GET", "/v1/questions")) == 1
    answered(service, "once")
    task = asked_again = submitted(service, body, "k0").json()["task"]["id"]
    service.told("agent", "POST", f"/v1/calls/{task}/retry")
    again = submitted(service, body, "new")
    assert again.json()["task"]["status"] == "pending", "a second time is asked for a second time"
    assert again.json()["task"]["id"] != asked_again


@pytest.mark.parametrize("who", ["other_agent", "host", "other_host"])
def test_a_task_of_somebody_else_does_not_exist(service: Service, who: str) -> None:
    task = asked(service)
    real, none = service.get(who, f"{REQUESTS}/{task}"), service.get(who, f"{REQUESTS}/op_0")
    assert_refused(real, 404, "unknown_task")
    assert real.text == none.text
    assert service.post(who, f"/v1/calls/{task}/retry").status_code == 404


def test_a_call_that_is_no_access_request_is_no_task(service: Service) -> None:
    call = service.told("agent", "POST", "/v1/calls", {"tool": "write_file", "args": {}})["operation_id"]
    assert_refused(service.get("agent", f"{REQUESTS}/{call}"), 404, "unknown_task")


@pytest.mark.parametrize("who", ["agent", "other_agent"])
def test_the_id_of_an_approval_is_worth_nothing_by_itself(service: Service, who: str) -> None:
    task = asked(service)
    answered(service, "once")
    approval = status(service, task)["result"]["approval"]
    elsewhere = PUSH if who == "agent" else COMMIT
    told = evaluated(service, elsewhere, who, approval=approval, state=approval)
    assert (told["decision"], told["context"]["next_action"]) == (False, "request")
    blocked = {**COMMIT, "action": {"name": "files.wipe"}}
    told = evaluated(service, blocked, who, approval=approval)
    assert told["context"]["reason"] == "policy_denied"
    assert told["context"]["next_action"] == "none"
    assert "access_request" not in told["context"]


def test_a_revoked_approval_permits_nothing(service: Service) -> None:
    task = asked(service)
    answered(service, "once")
    approval = status(service, task)["result"]["approval"]
    for grant in service.told("operator", "GET", "/v1/grants"):
        service.told("operator", "DELETE", f"/v1/grants/{grant['id']}")
    assert evaluated(service, approval=approval)["decision"] is False
    assert service.told("agent", "POST", f"/v1/calls/{task}/retry")["status"] == "pending"


def test_neither_agents_nor_hosts_can_answer_what_they_asked_for(service: Service) -> None:
    asked(service)
    [question] = service.told("operator", "GET", "/v1/questions")
    for who in ("agent", "host"):
        refused = service.post(who, f"/v1/questions/{question['id']}/answer", {"answer": "once"})
        assert refused.status_code == 403
    assert evaluated(service)["decision"] is False
