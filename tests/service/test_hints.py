"""No refusal of the service leaves open what to do."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.service import READ, Service


def refused(service: Service, who: str, method: str, path: str, body: Any = None) -> dict[str, Any]:
    response = service.get(who, path) if method == "GET" else service.post(who, path, body)
    told: dict[str, Any] = response.json()
    assert response.status_code >= 400
    assert told["hint"], told
    return told


def test_no_unknown_field_is_refused_without_the_fields_there_are(service: Service) -> None:
    hint = refused(service, "host", "POST", "/v1/calls", {**READ, "tol": "x"})["hint"]
    assert "tool" in hint
    assert "confidence" in hint


def test_no_missing_field_or_wrong_type_is_refused_without_a_hint(service: Service) -> None:
    assert "tool" in refused(service, "host", "POST", "/v1/calls", {})["hint"]
    assert refused(service, "host", "POST", "/v1/calls", {"tool": 7})["hint"]
    assert refused(service, "host", "POST", "/v1/calls", [])["hint"]


def test_no_wrong_state_is_refused_without_the_states_there_are(service: Service) -> None:
    session = service.opened()
    call = service.told("host", "POST", "/v1/calls", {**READ, "session": session})["operation_id"]
    body = {"fence": 1, "state": "finished"}
    hint = refused(service, "host", "POST", f"/v1/calls/{call}/outcome", body)["hint"]
    assert "succeeded" in hint
    assert "failed" in hint
    assert "open" in refused(service, "operator", "GET", "/v1/questions?state=closed")["hint"]


@pytest.mark.parametrize("who", ["agent", "host"])
def test_no_role_is_refused_without_the_one_that_may(service: Service, who: str) -> None:
    hint = refused(service, who, "POST", "/v1/sessions/stop")["hint"]
    assert "operator" in hint
    assert "sayso token new operator" in hint


def test_no_unknown_parameter_or_place_is_refused_without_a_hint(service: Service) -> None:
    assert "limit" in refused(service, "operator", "GET", "/v1/sessions?lmit=3")["hint"]
    refused(service, "operator", "GET", "/v1/nothing")
    refused(service, "operator", "GET", "/v1/sessions?limit=many")
    assert "sayso sessions" in refused(service, "operator", "GET", "/v1/sessions/s_zz")["hint"]
    assert "sayso inbox" in refused(service, "operator", "GET", "/v1/questions/q2")["hint"]


def test_no_bad_token_is_refused_without_the_way_to_a_good_one(service: Service) -> None:
    service.secrets["stranger"] = "sayso_wrong"
    assert "sayso token new" in refused(service, "stranger", "GET", "/v1/sessions")["hint"]
