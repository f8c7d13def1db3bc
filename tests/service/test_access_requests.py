"""Access requests (ARAP): a denial that a person can lift, from the evaluation to the call that runs once."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.gate.gate import Gate
from sayso.policy import load_text
from tests.service.access import (
    BOTH,
    COMMIT,
    PUSH,
    WRITE,
    answered,
    asked,
    assert_refused,
    bound,
    evaluated,
    status,
    submitted,
)
from tests.service.conftest import POLICY
from tests.support.gates import Clock
from tests.support.service import Service

pytestmark = pytest.mark.each_store

# From the denial to the call


def test_a_denial_says_how_it_can_be_lifted_and_for_how_long(service: Service, clock: Clock) -> None:
    told = evaluated(service)
    assert told["decision"] is False
    assert told["context"]["reason"] == "approval_required"
    offered = told["context"]["access_request"]
    assert set(offered) == {"endpoint", "template", "expires_at", "binding_token"}
    found = service.told(None, "GET", "/.well-known/authzen-configuration")
    assert offered["endpoint"] == found["access_request_endpoint"]


@BOTH
def test_what_is_approved_is_permitted_when_it_is_evaluated_again(
    service: Service, body: dict[str, Any]
) -> None:
    told = submitted(service, bound(service, body), "k1")
    assert told.status_code == 202
    task = told.json()["task"]
    assert (task["status"], set(told.json())) == ("pending", {"task"})
    assert service.told("agent", "GET", task["status_endpoint"]) == {"task": task}
    answered(service, "once")
    after = service.told("agent", "GET", task["status_endpoint"])
    assert after["task"]["status"] == "approved"
    assert after["result"]["mode"] == "reevaluate"
    approval = after["result"]["approval"]
    assert approval["approved_at"] < approval["approved_until"]
    again = evaluated(service, body, approval=approval)
    assert again["decision"] is True
    assert again["context"]["approval"]["approved_until"] == approval["approved_until"]


@BOTH
def test_an_approved_task_is_run_by_its_id_once(service: Service, body: dict[str, Any]) -> None:
    task = asked(service, body)
    assert service.told("agent", "POST", f"/v1/calls/{task}/retry")["status"] == "pending"
    answered(service, "once")
    started = service.told("agent", "POST", f"/v1/calls/{task}/retry")
    assert started["status"] == "allowed"
    wanted = body["resource"]["properties"] if body is WRITE else body["resource"]["id"]
    args = started["call"]["args"]
    assert (args if body is WRITE else args["resource"]["id"]) == wanted
    assert service.told("agent", "POST", f"/v1/calls/{task}/retry")["status"] == "running"
    assert evaluated(service, body)["decision"] is False, "the approval is used up"
    assert status(service, task)["task"]["status"] == "approved", "what was answered stays answered"


def test_the_approval_of_a_tools_call_serves_the_task_and_no_call_without_its_subject(
    service: Service,
) -> None:
    task = asked(service, WRITE)
    answered(service, "once")
    call = {"tool": "write_file", "args": WRITE["resource"]["properties"]}
    assert service.told("agent", "POST", "/v1/calls", call)["status"] == "pending"
    assert evaluated(service, WRITE)["decision"] is True
    assert service.told("agent", "POST", f"/v1/calls/{task}/retry")["status"] == "allowed"
    assert evaluated(service, WRITE)["decision"] is False


def test_the_approval_of_a_plain_call_permits_its_evaluation_until_it_runs(service: Service) -> None:
    call = {"tool": "write_file", "args": WRITE["resource"]["properties"]}
    service.told("agent", "POST", "/v1/calls", call)
    answered(service, "once")
    assert evaluated(service, WRITE)["decision"] is True
    assert evaluated(service, {**WRITE, "resource": {**WRITE["resource"], "id": "push"}})["decision"] is False
    assert service.told("agent", "POST", "/v1/calls", call)["status"] == "allowed"
    assert evaluated(service, WRITE)["decision"] is False


def test_what_a_person_denied_as_a_plain_call_is_denied_when_it_is_evaluated(service: Service) -> None:
    call = {"tool": "write_file", "args": WRITE["resource"]["properties"]}
    service.told("agent", "POST", "/v1/calls", call)
    answered(service, "deny")
    told = evaluated(service, WRITE, ticket="T-1")
    assert (told["decision"], told["context"]["reason"]) == (False, "denied_call")


@pytest.mark.parametrize(
    ("answer", "after"), [("deny", "denied"), ("once", "approved"), ("always", "approved")]
)
def test_an_answer_ends_the_task_for_good(service: Service, clock: Clock, answer: str, after: str) -> None:
    task = asked(service)
    answered(service, answer)
    assert status(service, task)["task"]["status"] == after
    assert ("result" in status(service, task)) == (after == "approved")
    clock.now += 100_000
    assert status(service, task)["task"]["status"] == after


def test_a_task_that_nobody_answers_expires_and_one_that_is_stopped_is_cancelled(
    service: Service, clock: Clock
) -> None:
    late = asked(service)
    clock.now += 7_200
    assert status(service, late)["task"]["status"] == "expired"
    own = service.opened()
    headers = {"X-Sayso-Session": own}
    told = submitted(service, bound(service, who="host", session=own), who="host", **headers).json()["task"]
    service.told("host", "POST", f"/v1/sessions/{own}/stop")
    assert status(service, told["id"], "host")["task"]["status"] == "cancelled"


def test_an_approval_ends_by_itself_and_can_be_asked_for_again(service: Service, clock: Clock) -> None:
    task = asked(service)
    answered(service, "once")
    approval = status(service, task)["result"]["approval"]
    clock.now += 15 * 60
    told = evaluated(service, approval=approval)
    assert (told["decision"], told["context"]["next_action"]) == (False, "request")
    assert "access_request" in told["context"]


def test_what_a_person_made_of_a_call_is_not_what_was_asked_for(service: Service) -> None:
    task = asked(service, WRITE)
    answered(service, "edit", edited={"path": "b.txt", "text": "bye"})
    told = status(service, task)
    assert told["task"]["status"] == "denied"
    assert "result" not in told
    assert evaluated(service, WRITE)["decision"] is False
    started = service.told("agent", "POST", f"/v1/calls/{task}/retry")
    assert (started["status"], started["call"]["args"]["path"]) == ("allowed", "b.txt")


def test_an_operation_that_others_carry_out_cannot_be_edited_here(service: Service) -> None:
    asked(service)
    [question] = service.told("operator", "GET", "/v1/questions")
    given = {"answer": "edit", "edited": {"resource": {"type": "repository", "id": "other"}}}
    assert service.post("operator", f"/v1/questions/{question['id']}/answer", given).status_code == 409
    assert service.told("operator", "GET", f"/v1/questions/{question['id']}")["state"] == "open"


def test_people_see_who_would_do_what_to_what(service: Service) -> None:
    asked(service)
    [question] = service.told("operator", "GET", "/v1/questions")
    assert question["arguments"]["subject"]["id"] == "alice"
    assert question["arguments"]["action"]["properties"] == {"message": "tidy"}
    assert question["arguments"]["resource"]["id"] == "garden"
    assert question["agent"] == "agent", "who asks is the token's, whoever the subject is"


def test_an_approval_in_one_context_is_none_in_another(service: Service) -> None:
    body = bound(service, branch="dev")
    elsewhere = submitted(service, {**body, "context": {"branch": "main"}})
    assert_refused(elsewhere, 400, "invalid_denial_binding")
    assert submitted(service, body).status_code == 202
    answered(service, "once")
    assert evaluated(service, branch="dev")["decision"] is True
    assert evaluated(service, branch="main")["decision"] is False
    assert evaluated(service)["decision"] is False


# The same again


def test_the_same_key_and_body_give_the_same_task_and_one_question(service: Service, clock: Clock) -> None:
    body = bound(service)
    first = submitted(service, body, "k1")
    assert submitted(service, body, "k1").json() == first.json()
    assert submitted(service, {**body, "unknown": 1}, "k1").json() == first.json()
    answered(service, "once")
    clock.now += 700
    late = submitted(service, body, "k1")
    assert late.json()["task"]["id"] == first.json()["task"]["id"], "also when the denial has grown old"
    assert late.json()["task"]["status"] == "approved"


def test_another_body_under_the_same_key_is_refused(service: Service) -> None:
    first = bound(service)
    assert submitted(service, first, "k1").status_code == 202
    others = [
        bound(service, PUSH),
        bound(service, WRITE),
        bound(service, {**COMMIT, "subject": {"type": "user", "id": "bob"}}),
        bound(service, COMMIT, why="because"),
    ]
    for other in others:
        assert_refused(submitted(service, other, "k1"), 409, "duplicate_request")
    assert len(service.told("operator", "GET", "/v1/questions")) == 1


def test_a_key_is_its_callers_own(service: Service) -> None:
    first = submitted(service, bound(service), "k1").json()["task"]["id"]
    other = submitted(service, bound(service, PUSH, who="other_agent"), "k1", who="other_agent")
    assert other.status_code == 202
    assert other.json()["task"]["id"] != first


def test_without_a_key_each_is_a_task_of_its_own_about_one_question(service: Service) -> None:
    body = bound(service)
    tasks = {submitted(service, body).json()["task"]["id"] for _ in range(3)}
    assert len(tasks) == 3
    assert len(service.told("operator", "GET", "/v1/questions")) == 1


# What cannot be asked for


@pytest.mark.parametrize("name", ["files.wipe", "wipe"])
def test_what_is_blocked_cannot_be_asked_for(service: Service, gate: Gate, name: str) -> None:
    tool = {"type": "tool", "id": "wipe"}
    body = {**WRITE, "resource": tool} if name == "wipe" else {**COMMIT, "action": {"name": name}}
    told = evaluated(service, body)
    assert (told["decision"], told["context"]["reason"]) == (False, "blocked")
    assert "access_request" not in told["context"]
    denial = bound(service)["denial"]
    assert_refused(submitted(service, {**body, "denial": denial}), 400, "invalid_denial_binding")
    assert service.told("operator", "GET", "/v1/questions") == []


@pytest.mark.parametrize(
    "tightened",
    [
        POLICY.replace(
            "requires_approval: [commit, push], blocked: []", "requires_approval: [push], blocked: [commit]"
        ),
        POLICY.replace("push], blocked: []", "push], blocked: [], trusted_channel_required: [commit]"),
    ],
    ids=["blocked", "trusted channel"],
)
def test_what_nobody_may_allow_any_more_cannot_be_asked_for_and_the_try_is_recorded(
    service: Service, tightened: str
) -> None:
    body, running = bound(service), service.running
    running.gate = msgspec.structs.replace(running.gate, live=None, policy=load_text(tightened))
    assert "access_request" not in evaluated(service)["context"]
    assert_refused(submitted(service, body), 400, "not_requestable")
    assert service.told("operator", "GET", "/v1/questions") == []
    assert service.told("operator", "GET", "/v1/history")[0]["verdict"] == "deny"


def test_what_a_person_just_denied_is_not_asked_again(service: Service) -> None:
    body = bound(service)
    submitted(service, body)
    answered(service, "deny")
    told = evaluated(service)
    assert "access_request" not in told["context"]
    assert told["context"]["reason"] == "denied_call"
    assert_refused(submitted(service, body), 400, "not_requestable")
    assert service.told("operator", "GET", "/v1/questions") == []


def test_what_is_allowed_by_now_is_not_asked_and_not_used_up(service: Service) -> None:
    body = bound(service)
    submitted(service, body)
    answered(service, "once")
    assert_refused(submitted(service, body, "k2"), 400, "not_requestable")
    assert evaluated(service)["decision"] is True


def test_an_old_denial_is_not_taken(service: Service, clock: Clock) -> None:
    body = bound(service)
    clock.now += 601
    assert_refused(submitted(service, body), 410, "expired_denial")
    assert service.told("operator", "GET", "/v1/questions") == []


def test_a_flood_of_requests_ends_in_a_refusal(service: Service) -> None:
    for number in range(20):
        asked(service, {**COMMIT, "resource": {"type": "repository", "id": str(number)}})
    refused = submitted(service, bound(service))
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0
