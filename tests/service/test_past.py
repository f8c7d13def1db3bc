"""A row of the history, opened; and when each operation was last used."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.core.audit.events import Decided
from sayso.gate.audit.prune import erase_value
from sayso.gate.figures.last_uses import load_last_uses
from sayso.gate.rows.journal import record
from tests.support.gates import Clock
from tests.support.service import READ, WIPE, WRITE, Service

pytestmark = pytest.mark.each_store
ALLOWED = Decided("digest", "tool", "agent", "allow", "rule", "reason", "low", (), "policy")


def answer(service: Service, question: str, given: str) -> None:
    service.told("operator", "POST", f"/v1/questions/{question}/answer", {"answer": given})


def decided(service: Service, query: str = "") -> Any:
    """The newest decision that fits, whole."""
    one = service.told("operator", "GET", f"/v1/history?{query}")[0]
    return service.told("operator", "GET", f"/v1/history/{one['seq']}?stream={one['stream']}")


def test_a_decision_opens_to_what_was_recorded_and_apart_from_it_to_what_would_be_decided_now(
    service: Service,
) -> None:
    answer(service, service.asked(), "once")
    whole = decided(service, "verdict=ask")
    assert [(one["operation"], one["verdict"], one["rule"]) for one in whole["operations"]] == [
        ("files.write", "ask", "ask")
    ]
    assert (whole["decision"]["verdict"], whole["decision"]["rule"]) == ("ask", "ask")
    assert (whole["decision"]["answer"], whole["decision"]["by"]) == ("once", "operator")
    again = whole["again"]
    assert (again["verdict"], again["rule"]) == ("allow", "approved_call")
    assert again["policy"] == whole["policy"]
    (trace,) = again["trace"]
    assert [check["rule"] for check in trace["checks"] if check["spoke"]] == ["approved_call"]


def test_deciding_again_uses_nothing_up_and_writes_nothing(service: Service) -> None:
    answer(service, service.asked(), "once")
    before = service.told("operator", "GET", "/v1/audit")["entries"]
    for _ in range(2):
        assert decided(service, "verdict=ask")["again"]["verdict"] == "allow"
    assert service.told("operator", "GET", "/v1/audit")["entries"] == before
    assert service.told("agent", "POST", "/v1/calls", WRITE)["status"] == "allowed"


def test_what_was_allowed_is_told_with_its_arguments_and_what_was_erased_is_not(service: Service) -> None:
    service.told("agent", "POST", "/v1/calls", READ)
    allowed = decided(service, "verdict=allow")
    assert allowed["decision"]["call"]["arguments"] == READ["args"]
    service.told("agent", "POST", "/v1/calls", WIPE)
    refused = decided(service, "verdict=deny")
    assert refused["decision"]["call"]["tool"] == "wipe"
    erase_value(service.gate, refused["decision"]["seq"], "call", by="ana")
    assert decided(service, "verdict=deny")["decision"]["call"] is None


def test_of_a_session_that_is_over_nothing_is_decided_again_and_it_says_why(service: Service) -> None:
    session = service.opened()
    service.told("host", "POST", "/v1/calls", {**READ, "session": session})
    service.told("host", "DELETE", f"/v1/sessions/{session}")
    whole = decided(service)
    assert (whole["again"], whole["again_not"]) == (None, "its session is over")
    assert [one["rule"] for one in whole["operations"]] == ["autonomous"]


def test_only_decisions_open_and_only_to_operators(service: Service) -> None:
    service.asked()
    seq = service.told("operator", "GET", "/v1/history")[0]["seq"]
    for who in ("agent", "host", "trusted"):
        assert service.get(who, f"/v1/history/{seq}").status_code == 403
    for none in ("0", "1", "99999", "x", "-1", f"{seq}?stream=gone"):
        assert service.get("operator", f"/v1/history/{none}").status_code == 404


def test_the_last_use_of_each_operation_is_told_with_the_policy(service: Service, clock: Clock) -> None:
    def uses() -> Any:
        return service.told("operator", "GET", "/v1/policy")["uses"]

    assert uses() == {}
    start = clock.now
    service.told("agent", "POST", "/v1/calls", READ)
    clock.now += 10
    question = service.asked()
    assert uses() == {
        "files.read": {"allowed_at": start, "asked_at": None, "refused_at": None},
        "files.write": {"allowed_at": None, "asked_at": start + 10, "refused_at": None},
    }
    clock.now += 10
    answer(service, question, "once")
    service.told("agent", "POST", "/v1/calls", WRITE)
    service.told("agent", "POST", "/v1/calls", WIPE)
    service.told("agent", "POST", "/v1/calls", {"tool": "unlisted", "args": {}})
    found = uses()
    assert found["files.read"]["allowed_at"] == start
    assert (found["files.write"]["allowed_at"], found["files.write"]["asked_at"]) == (start + 20, start + 10)
    assert found["files.wipe"] == {"allowed_at": None, "asked_at": None, "refused_at": start + 20}
    assert set(found) == {"files.read", "files.write", "files.wipe"}


def test_the_last_use_is_the_newest_of_all_streams(service: Service, clock: Clock) -> None:
    service.told("agent", "POST", "/v1/calls", READ)
    assert load_last_uses(service.gate)["files.read"].allowed_at == clock.now
    clock.now += 60
    with service.gate.store.write() as tx:
        record(tx, ALLOWED, operations=("files.read",), stream="another")
    assert load_last_uses(service.gate)["files.read"].allowed_at == clock.now


def test_a_use_whose_entry_was_pruned_is_not_known_any_more(service: Service) -> None:
    service.told("agent", "POST", "/v1/calls", READ)
    with service.gate.store.write() as tx:
        tx.prune_entries("main", before=10_000)
    assert "files.read" not in load_last_uses(service.gate)
