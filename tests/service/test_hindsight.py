"""Replay and suggestions over HTTP: for operators alone, and nothing is applied by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.gate.hindsight import words
from tests.service.conftest import POLICY
from tests.support.service import PUSH, READ, WRITE, Service

FREE = POLICY.replace("[read], requires_approval: [write]", "[read, write], requires_approval: []")


def test_a_draft_is_replayed_over_what_was_decided(service: Service) -> None:
    service.asked()
    service.told("agent", "POST", "/v1/calls", READ)
    same = service.told("operator", "POST", "/v1/policy/replay", {})
    assert (same["loosened"], same["tightened"], same["not_replayed"]) == ([], [], {})
    found = service.told("operator", "POST", "/v1/policy/replay", {"text": FREE})
    assert [(one["operations"], one["before"], one["after"]) for one in found["loosened"]] == [
        (["files.write"], "ask", "allow")
    ]


def test_a_wished_grant_is_replayed(service: Service) -> None:
    service.asked()
    service.asked(call=PUSH)
    wish = {"kind": "operation", "value": "files.write"}
    found = service.told("operator", "POST", "/v1/policy/replay", {"grant": wish})
    assert [one["operations"] for one in found["loosened"]] == [["files.write"]]


@pytest.mark.parametrize(
    "body",
    [
        {"text": "nonsense: ["},
        {"grant": {"kind": "operation", "value": "no name"}},
        {"grant": {"kind": "call", "value": "x"}},
        {"seconds": -1},
        {"seconds": "all"},
        {"apply": True},
    ],
)
def test_what_is_no_replay_is_refused(service: Service, body: dict[str, object]) -> None:
    assert service.post("operator", "/v1/policy/replay", body).status_code in (400, 422)


@pytest.mark.parametrize("role", ["agent", "host"])
def test_agents_and_hosts_learn_nothing(service: Service, role: str) -> None:
    assert service.post(role, "/v1/policy/replay", {}).status_code == 403
    assert service.request(role, "GET", "/v1/policy/suggestions").status_code == 403
    assert service.post(role, "/v1/policy/suggestions/1/proposal", {}).status_code == 403


def test_suggestions_come_with_evidence_and_become_proposals(service: Service, tmp_path: Path) -> None:
    own = tmp_path / "config" / "sayso" / "policy.yaml"
    for number in range(3):
        question = service.asked(call={**WRITE, "args": {"path": f"{number}"}})
        service.told("operator", "POST", f"/v1/questions/{question}/answer", {"answer": "deny"})
    (one,) = service.told("operator", "GET", "/v1/policy/suggestions")
    assert (one["kind"], one["words"]) == ("often_refused", "denied 3 of 3 times in 30 days: files.write")
    assert (one["diff"], one["why_not"]) == (None, words.NO_OWN_FILE)
    assert service.post("operator", f"/v1/policy/suggestions/{one['id']}/proposal", {}).status_code == 409
    assert not own.exists()
    assert service.post("operator", "/v1/policy/suggestions/none/proposal", {}).status_code == 409
    assert service.told("operator", "GET", "/v1/proposals") == []
