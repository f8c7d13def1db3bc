"""Rows changed behind the service's back: an agent gets neither a new session nor a second run from them."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.json import decode, encode

from sayso.cli.views.audit import show_verification, verification_to_json
from sayso.core.audit import events
from sayso.core.audit.entry import format_timestamp
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.rows.journal import record
from sayso.gate.sessions.messages import record_message
from sayso.store.contract import MetaRow
from tests.support.service import READ, Service

pytestmark = pytest.mark.each_store


def own_session(service: Service) -> str:
    service.told("agent", "POST", "/v1/calls", READ)
    (session,) = service.told("agent", "GET", "/v1/sessions")
    return str(session["id"])


def reported(service: Service) -> int:
    with service.gate.store.read() as tx:
        return sum(row.event == "TAMPERED" for row in tx.entries("main", limit=10_000))


def kept_as(service: Service, prefix: str) -> list[MetaRow]:
    with service.gate.store.read() as tx:
        return [row for row in tx.every(MetaRow) if row.name.startswith(prefix)]


@pytest.mark.parametrize("way", ["its name emptied", "its name changed", "made to look ended"])
def test_an_agent_that_was_stopped_gets_no_new_session_by_hand(service: Service, way: str) -> None:
    session = own_session(service)
    record_message(service.gate, session, "stop")
    with service.gate.store.write() as tx:
        row = tx.session(session)
        assert row is not None
        (kept,) = (one for one in tx.every(MetaRow) if one.name.startswith("session-of/"))
        if way == "made to look ended":
            tx.put_session(msgspec.structs.replace(row, ended_at=tx.now))
        else:
            tx.set_meta(kept.name, "" if way == "its name emptied" else '"another"')
    response = service.post("agent", "/v1/calls", READ)
    assert response.status_code == 409
    assert response.json()["code"].startswith("tampered")
    assert reported(service) == 1


def test_a_trail_that_reports_tampering_is_not_said_to_be_of_a_store_nobody_changed(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert service.told("operator", "POST", "/v1/audit/verify", {})["tampering"] is None
    last = ""
    for number in range(1, 3):
        with service.gate.store.write() as tx:
            record(tx, events.TamperingFound(finding=f"a row of the {number}. day"))
            last = format_timestamp(tx.now)
        told = service.told("operator", "POST", "/v1/audit/verify", {})
        assert told["clean"]
        assert f"{number} report" in told["tampering"]
        assert last[:19] in told["tampering"]
    verified = verify_audit(service.gate)
    show_verification(verified)
    printed = capsys.readouterr().out
    assert "Nothing was changed" not in printed
    assert "2 reports of tampering" in printed
    assert last[:19] in printed
    assert decode(encode(verification_to_json(verified)))["tampering"]["entries"] == 2


def test_a_revoked_tokens_row_put_back_lets_nobody_in(service: Service) -> None:
    before = kept_as(service, "token/")
    tokens = service.told("operator", "GET", "/v1/tokens")
    for agent in (one["id"] for one in tokens if one["role"] == "agent"):
        service.told("operator", "DELETE", f"/v1/tokens/{agent}")
    with service.gate.store.write() as tx:
        for row in before:
            tx.set_meta(row.name, row.value)
    assert service.post("agent", "/v1/check", READ).status_code == 401
    assert reported(service) == 1


@pytest.mark.parametrize("state", ["waiting", "allowed", "running"])
def test_a_call_whose_state_was_written_by_hand_is_not_run_over_http(service: Service, state: str) -> None:
    question = service.asked()
    session = question.rpartition(".")[0]
    with service.gate.store.write() as tx:
        (row,) = (one for one in tx.calls(states=("pending",)) if one.session == session)
        tx.put_call(msgspec.structs.replace(row, state=state, question=None))
    response = service.post("agent", f"/v1/calls/{row.id}/retry", {})
    assert response.status_code == 409
    assert response.json()["code"] == "tampered_call"
    assert reported(service) >= 1
