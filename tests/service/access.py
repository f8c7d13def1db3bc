"""Access requests as tests make them: evaluated, bound to their denial, submitted, answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from sayso.service.authzen.access_requests import PROBLEM
from tests.support.service import Service

EVALUATION, REQUESTS = "/access/v1/evaluation", "/access/v1/requests"
ALICE = {"type": "user", "id": "alice"}
COMMIT: dict[str, Any] = {
    "subject": ALICE,
    "action": {"name": "git.commit", "properties": {"message": "tidy"}},
    "resource": {"type": "repository", "id": "garden"},
}
WRITE: dict[str, Any] = {
    "subject": ALICE,
    "action": {"name": "call"},
    "resource": {"type": "tool", "id": "write_file", "properties": {"path": "a.txt", "text": "hello"}},
}
PUSH = {**COMMIT, "action": {"name": "git.push"}}
BOTH = pytest.mark.parametrize("body", [COMMIT, WRITE], ids=["operation", "tool"])


def evaluated(service: Service, body: Mapping[str, Any] = COMMIT, who: str = "agent", **context: Any) -> Any:
    headers = {"X-Sayso-Session": context.pop("session")} if "session" in context else {}
    asked = {**body, "context": context} if context else dict(body)
    return service.told(who, "POST", EVALUATION, asked, headers=headers)


def bound(service: Service, body: Mapping[str, Any] = COMMIT, **how: Any) -> dict[str, Any]:
    """The access request for what was just evaluated and denied."""
    offered = evaluated(service, body, **how)["context"]["access_request"]
    context = {name: value for name, value in how.items() if name not in ("session", "who")}
    same = {**body, "context": context} if context else dict(body)
    return {**same, "denial": {name: offered[name] for name in ("expires_at", "binding_token")}}


def submitted(
    service: Service, body: Mapping[str, Any], key: str | None = None, who: str = "agent", **headers: str
) -> httpx.Response:
    return service.post(
        who, REQUESTS, body, headers={**headers, **({} if key is None else {"Idempotency-Key": key})}
    )


def asked(service: Service, body: Mapping[str, Any] = COMMIT) -> str:
    """The id of the task that asking for this makes."""
    told = submitted(service, bound(service, body))
    assert told.status_code == 202, told.text
    name: str = told.json()["task"]["id"]
    return name


def status(service: Service, task: str, who: str = "agent") -> Any:
    return service.told(who, "GET", f"{REQUESTS}/{task}")


def answered(service: Service, answer: str, **more: Any) -> None:
    [question] = service.told("operator", "GET", "/v1/questions")
    given = {"answer": answer, "digest": question["digest"], **more}
    assert service.told("operator", "POST", f"/v1/questions/{question['id']}/answer", given)["yours"]


def assert_refused(response: httpx.Response, code: int, problem: str) -> None:
    assert (response.status_code, response.json().get("type")) == (code, f"{PROBLEM}{problem}"), response.text
    assert response.headers["content-type"] == "application/problem+json"
