"""A program that holds a call and is not heard from is not at work, and its end is not its activity."""

from __future__ import annotations

from typing import Any

from sayso.gate.ledger.recovery import recover_calls
from tests.support.gates import Clock
from tests.support.service import READ, Service


def seen(service: Service, session: str) -> tuple[str, float]:
    found: dict[str, Any] = service.told("operator", "GET", f"/v1/sessions/{session}")
    return found["presence"], found["last_seen"]


def test_a_killed_program_is_silent_after_thirty_seconds_and_never_active_again(
    service: Service, clock: Clock
) -> None:
    session = service.opened()
    told = service.told("host", "POST", "/v1/calls", {**READ, "session": session, "beats": True})
    clock.now += 20
    service.told("host", "POST", f"/v1/calls/{told['operation_id']}/heartbeat", {"fence": told["fence"]})
    died = clock.now
    clock.now = died + 30
    assert seen(service, session) == ("working", died)
    clock.now = died + 31
    assert seen(service, session) == ("silent", died)
    clock.now = died + 130
    assert recover_calls(service.gate) == [told["operation_id"]]
    assert seen(service, session) == ("unknown", died)
    service.told("operator", "POST", f"/v1/calls/{told['operation_id']}/resolve", {"state": "succeeded"})
    assert seen(service, session) == ("unknown", died)
