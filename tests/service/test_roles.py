"""Who may do what: every endpoint with every role, and nobody reaches what is somebody else's."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from sayso.gate.gate import Gate, load_open_session, select_live_rows
from sayso.service.app import DESCRIBED
from sayso.service.http.endpoints import Endpoint
from tests.support.service import PUSH, READ, WIPE, WRITE, Service

ROLES = ("agent", "host", "operator", "trusted")
MAY = {
    "everybody": {
        "GET /healthz",
        "GET /openapi.json",
        "GET /.well-known/authzen-configuration",
        "POST /v1/sign-in/options",
        "POST /v1/sign-in",
        "POST /trusted/v1/messages",  # a signature lets in, not a token
        "POST /surfaces/v1/{surface}",  # and there what each surface checks
        "POST /surfaces/v1/{surface}/questions",
    },
    "agent": {
        "POST /v1/check",
        "POST /v1/hooks/{agent}/{event}",
        "POST /v1/calls",
        "GET /v1/calls",
        "GET /v1/calls/{call}",
        "POST /v1/calls/{call}/retry",
        "POST /v1/calls/{call}/outcome",
        "GET /v1/questions",
        "GET /v1/questions/{question}",
        "GET /v1/questions/{question}/why",
        "GET /v1/grants",
        "GET /v1/sessions",
        "GET /v1/sessions/{session}",
        "GET /v1/runs",
        "GET /v1/runs/{run}",
        "GET /v1/events",
        "POST /access/v1/evaluation",
        "POST /access/v1/evaluations",
        "POST /access/v1/requests",
        "GET /access/v1/requests/{task}",
    },
    "host": {
        "POST /v1/calls/{call}/heartbeat",
        "POST /v1/calls/{call}/park",
        "POST /v1/calls/{call}/resume",
        "PUT /v1/calls/{call}/note",
        "POST /v1/calls/{call}/replay",
        "POST /v1/calls/{call}/resolve",
        "POST /v1/questions/{question}/show",
        "POST /v1/sessions",
        "DELETE /v1/sessions/{session}",
        "POST /v1/sessions/{session}/stop",
        "POST /v1/sessions/{session}/messages",
        "POST /v1/sessions/{session}/plans",
        "POST /v1/sessions/{session}/tasks",
        "DELETE /v1/sessions/{session}/tasks",
        "POST /v1/sessions/{session}/switch",
        "GET /v1/sessions/{session}/handoff",
        "GET /v1/sessions/{session}/handoff/offer",
        "POST /v1/sessions/{session}/handoff/save",
        "POST /v1/sessions/{session}/handoff/take",
    },
}
"""What each role may do beyond those above it. Hosts may do what agents may; operators almost everything."""
HOST_ALONE = {
    "POST /v1/hooks/{agent}/{event}",
    "POST /v1/questions/{question}/show",
    "POST /v1/sessions/{session}/messages",
    "POST /v1/sessions/{session}/plans",
    "GET /v1/sessions/{session}/handoff",
    "GET /v1/sessions/{session}/handoff/offer",
    "POST /v1/sessions/{session}/handoff/save",
    "POST /v1/sessions/{session}/handoff/take",
}
"""What the user said is told by the program that sees the keyboard, and by nobody else."""
BROWSER_ALONE = {"POST /v1/passkeys/options", "POST /v1/passkeys", "DELETE /v1/passkeys/{passkey}"}
"""Passkeys are a person's: no token adds or removes one."""


def name(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


def may(role: str, endpoint: Endpoint) -> bool:
    wanted = name(endpoint)
    if wanted in MAY["everybody"]:
        return True
    if role == "trusted":
        return False
    if role == "operator":
        return wanted not in HOST_ALONE | BROWSER_ALONE
    return wanted in MAY["agent"] or (role == "host" and wanted in MAY["host"])


def sent(service: Service, who: str | None, endpoint: Endpoint) -> int:
    """The status of a bare request to this endpoint, for things that do not exist."""
    path = re.sub(r"\{\w+\}", "nothing", endpoint.path)
    if endpoint.path != "/v1/events":
        return service.request(who, endpoint.method, path).status_code

    async def begun() -> int:
        async with service.streaming(who, path) as stream:
            return await asyncio.wait_for(stream.status, 10)

    return service.runner.run(begun())


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("endpoint", DESCRIBED, ids=name)
def test_each_role_reaches_what_the_table_says_and_nothing_else(
    service: Service, role: str, endpoint: Endpoint
) -> None:
    status = sent(service, role, endpoint)
    if name(endpoint) == "POST /v1/passkeys":  # what it takes is looked at first
        assert status == 400 if role == "operator" else status == 403
        return
    assert (status == 403) is not may(role, endpoint)
    assert status < 500


@pytest.mark.parametrize("endpoint", DESCRIBED, ids=name)
def test_nothing_but_health_the_description_and_signing_in_is_there_without_a_token(
    service: Service, endpoint: Endpoint
) -> None:
    status = sent(service, None, endpoint)
    bare = 400 if endpoint.body is not None else 404 if endpoint.raw else 200
    assert status == (bare if name(endpoint) in MAY["everybody"] else 401)


def test_a_revoked_token_lets_nobody_in(service: Service) -> None:
    service.told("operator", "DELETE", f"/v1/tokens/{service.tokens['agent'].id}")
    assert service.post("agent", "/v1/calls", READ).status_code == 401


@pytest.mark.parametrize("who", ["agent", "host", "other_agent", "other_host"])
def test_agents_and_hosts_cannot_answer(service: Service, who: str) -> None:
    question = service.asked()
    answered = service.post(who, f"/v1/questions/{question}/answer", {"answer": "once"})
    assert answered.status_code == 403
    assert service.told("operator", "GET", f"/v1/questions/{question}")["state"] == "open"


@pytest.mark.parametrize("who", ["other_agent", "other_host", "host"])
def test_a_question_of_somebody_else_does_not_exist(service: Service, who: str) -> None:
    question = service.asked()
    call = service.told("agent", "GET", "/v1/calls")[0]["operation_id"]
    session = question.rpartition(".")[0]
    assert service.told(who, "GET", "/v1/questions") == []
    assert service.told(who, "GET", "/v1/calls") == []
    assert service.told(who, "GET", "/v1/sessions") == []
    for path in (
        f"questions/{question}",
        f"questions/{question}/why",
        f"questions?session={session}",
        f"calls/{call}",
        f"calls?session={session}",
        f"grants?session={session}",
        f"runs?session={session}",
        f"sessions/{session}",
    ):
        real, none = service.get(who, f"/v1/{path}"), service.get(who, f"/v1/{path}".replace(session, "s_0"))
        assert real.status_code == none.status_code == 404, path
        if "op_" not in path:
            assert real.text.replace(session, "s_0") == none.text, "what is not theirs looks like nothing"


def test_an_agent_cannot_retry_or_use_what_is_anothers(service: Service) -> None:
    service.asked()
    call = service.told("agent", "GET", "/v1/calls")[0]["operation_id"]
    assert service.post("other_agent", f"/v1/calls/{call}/retry").status_code == 404
    session = service.told("agent", "GET", "/v1/sessions")[0]["id"]
    assert service.post("other_agent", "/v1/calls", {**WRITE, "session": session}).status_code == 404
    assert service.post("host", "/v1/calls", {**WRITE, "session": session}).status_code == 404
    assert service.post("host", f"/v1/sessions/{session}/messages", {"text": "yes"}).status_code == 404
    assert service.request("host", "DELETE", f"/v1/sessions/{session}").status_code == 404
    assert service.post("host", f"/v1/sessions/{session}/stop").status_code == 404


def test_a_child_session_can_only_be_opened_under_ones_own(service: Service) -> None:
    own = service.opened()
    assert service.post("other_host", "/v1/sessions", {"agent": "a", "parent": own}).status_code == 404
    child = service.opened(parent=own)
    assert service.told("host", "GET", f"/v1/sessions/{child}")["parent"] == own


@pytest.mark.parametrize(
    "claim",
    [
        {"origin": "user"},
        {"origin": "trusted_channel"},
        {"scope": {"user_initiated": "x"}},
        {"user_initiated": True},
        {"reducers": {"git.push": "low"}},
        {"risk": "low"},
        {"reading": "low"},
        {"operations": ["files.read"]},
        {"nested": True},
        {"agent": "operator"},
        {"owner": "t_0"},
        {"parent": "op_1"},
        {"outer": {}},
        {"assured": True},
        {"role": "operator"},
    ],
    ids=lambda claim: next(iter(claim)),
)
@pytest.mark.parametrize("path", ["/v1/calls", "/v1/check"])
def test_a_call_that_claims_authority_is_refused(service: Service, path: str, claim: dict[str, Any]) -> None:
    refused = service.post("agent", path, {**PUSH, **claim})
    assert refused.status_code == 422
    assert refused.json()["code"] == "malformed"


@pytest.mark.parametrize(
    "claim",
    [
        {"workflow": "daily"},
        {"run": "op_1"},
        {"individual": True},
        {"ungated": True},
        {"state": "fine"},
        {"effect_key": "push"},
        {"folder": "/"},
    ],
    ids=lambda claim: next(iter(claim)),
)
@pytest.mark.parametrize("path", ["/v1/calls", "/v1/check"])
def test_what_is_a_hosts_to_say_of_a_call_is_refused_from_an_agent(
    service: Service, path: str, claim: dict[str, Any]
) -> None:
    refused = service.post("agent", path, {**PUSH, **claim})
    assert refused.status_code == 403
    assert service.told("agent", "GET", "/v1/calls") == []
    call = service.told("agent", "POST", "/v1/calls", PUSH)["operation_id"]
    if claim.keys() & {"run", "individual", "state", "effect_key"}:
        assert service.post("agent", f"/v1/calls/{call}/retry", claim).status_code == 403


def test_an_agent_cannot_say_a_command_beside_what_its_tool_would_run(service: Service) -> None:
    """Standing consent is for a command: one that nothing runs must not stand for what does."""
    service.asked("agent", PUSH)
    session = service.told("agent", "GET", "/v1/sessions")[0]["id"]
    grant = {"session": session, "command": "git status", "risk": "high"}
    service.told("operator", "POST", "/v1/grants", grant)
    beside = {"tool": "push", "args": {"remote": "origin"}, "command": "git status"}
    for path in ("/v1/calls", "/v1/check"):
        assert service.post("agent", path, beside).status_code == 400
    held = {"tool": "push", "args": {"line": "git status"}, "command": "git status"}
    assert service.told("agent", "POST", "/v1/calls", held)["rule"] == "allowlist"


@pytest.mark.parametrize("confidence", [1.1, -0.1, "1", None, True, [1], 1e400])
def test_a_confidence_that_is_none_is_refused(service: Service, confidence: object) -> None:
    refused = service.request(
        "agent", "POST", "/v1/calls", {**WRITE, "confidence": confidence if confidence != 1e400 else "inf"}
    )
    assert refused.status_code in (400, 422)


def test_an_answer_cannot_say_who_gave_it(service: Service) -> None:
    question = service.asked()
    refused = service.post("operator", f"/v1/questions/{question}/answer", {"answer": "once", "by": "boss"})
    assert refused.status_code == 422
    told = service.told("operator", "POST", f"/v1/questions/{question}/answer", {"answer": "once"})
    assert told["by"] == "operator"


def test_a_blocked_call_is_denied_and_cannot_be_granted(service: Service, gate: Gate) -> None:
    assert service.told("agent", "POST", "/v1/calls", WIPE)["status"] == "blocked"
    session = service.told("agent", "GET", "/v1/sessions")[0]["id"]
    refused = service.post("operator", "/v1/grants", {"session": session, "operation": "files.wipe"})
    assert refused.status_code == 409


def started(service: Service, who: str, session: str | None = None, wanted: dict[str, Any] = WRITE) -> Any:
    """A call that a person allowed once, and that runs now."""
    body = wanted if session is None else {**wanted, "session": session}
    call = service.told(who, "POST", "/v1/calls", body)
    answer = {"answer": "once"}
    service.told("operator", "POST", f"/v1/questions/{call['question']}/answer", answer)
    return service.told(who, "POST", f"/v1/calls/{call['operation_id']}/retry")


def ended(service: Service, who: str, call: Any, state: str) -> Any:
    body = {"fence": call["fence"], "state": state}
    return service.told(who, "POST", f"/v1/calls/{call['operation_id']}/outcome", body)


@pytest.mark.parametrize("state", ["succeeded", "failed", "ambiguous"])
def test_an_agent_says_how_its_own_call_ended_and_once(service: Service, state: str) -> None:
    call = started(service, "agent")
    assert ended(service, "agent", call, state)["status"] == state
    path, body = f"/v1/calls/{call['operation_id']}/outcome", {"fence": call["fence"], "state": "failed"}
    assert service.post("agent", path, {**body, "fence": call["fence"] + 1}).status_code == 409
    assert service.post("agent", path, body).status_code == (200 if state == "ambiguous" else 409)


def test_nobody_else_says_how_an_agents_call_ended(service: Service) -> None:
    call = started(service, "agent")
    body = {"fence": call["fence"], "state": "failed"}
    for who in ("other_agent", "host", "other_host"):
        assert service.post(who, f"/v1/calls/{call['operation_id']}/outcome", body).status_code == 404
    assert service.told("agent", "GET", f"/v1/calls/{call['operation_id']}")["status"] == "running"


def test_a_failure_that_an_agent_reports_lets_nothing_run_again_unasked(service: Service) -> None:
    session = service.opened()
    ended(service, "host", started(service, "host", session), "failed")
    assert service.told("host", "POST", "/v1/calls", {**WRITE, "session": session})["rule"] == "task_grant"
    told = ended(service, "agent", started(service, "agent"), "failed")
    assert "again" not in "".join(told["announced"]), "no retry is promised"
    again = service.told("agent", "POST", "/v1/calls", WRITE)
    assert (again["status"], again["rule"]) == ("pending", "ask")


def test_a_success_that_an_agent_reports_lifts_no_suspension(service: Service, gate: Gate) -> None:
    """A failure that was reported by somebody who is believed is followed by the agent's free retry."""
    ended(service, "operator", started(service, "agent"), "failed")
    again = service.told("agent", "POST", "/v1/calls", WRITE)
    assert (again["status"], again["rule"]) == ("allowed", "task_grant")
    ended(service, "agent", again, "succeeded")
    session = service.told("agent", "GET", "/v1/sessions")[0]["id"]
    with gate.store.read() as tx:
        assert "file-edit" in load_open_session(gate, tx, session, select_live_rows()).session.suspended


def test_what_an_agent_says_of_its_call_is_marked_as_its_own_word(service: Service, gate: Gate) -> None:
    ended(service, "agent", started(service, "agent"), "failed")
    with gate.store.read() as tx:
        rows = [row for row in tx.entries("main", limit=1_000) if row.event == "EXECUTED"]
    assert [b'"claimed":true' in (row.body or b"") for row in rows] == [True]
