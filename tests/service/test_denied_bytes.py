"""Large calls that are denied are kept as well: what they hold is bounded, however fast they may be sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sayso.gate.gate import Gate
from sayso.service.http.limits import Limits
from sayso.service.http.problems import RequestRefused
from sayso.service.http.state import ServiceSettings
from tests.support.service import Service

WIDE = ServiceSettings(body_rate=1e12, body_burst=10**12, held=100_000)


def blocked(text: str) -> dict[str, Any]:
    return {"tool": "wipe", "args": {"text": text}}


def test_denied_calls_hold_no_more_than_the_setting_says(gate: Gate, runner: asyncio.Runner) -> None:
    service = Service(gate, runner, WIDE)
    came = [service.post("agent", "/v1/calls", blocked(f"{n}" + "x" * 40_000)) for n in range(4)]
    assert [one.status_code for one in came] == [200, 200, 429, 429]
    told = came[-1].json()
    assert told["code"] == "too_much"
    assert "denied" in told["detail"]
    assert int(came[-1].headers["retry-after"]) > 0
    assert service.post("agent", "/v1/calls", blocked("small")).json()["status"] == "blocked"
    assert service.post("other_agent", "/v1/calls", blocked("x" * 40_000)).json()["status"] == "blocked"


def test_an_operator_is_never_limited_by_what_calls_hold(gate: Gate, runner: asyncio.Runner) -> None:
    service = Service(gate, runner, WIDE)
    mine = {"session": service.told("operator", "POST", "/v1/sessions", {"agent": "by hand"})["id"]}
    denied = [mine | blocked(f"{number}" + "x" * 40_000) for number in range(4)]
    assert [service.post("operator", "/v1/calls", one).json()["status"] for one in denied] == ["blocked"] * 4
    texts = [{"path": f"{number}.txt", "text": "x" * 40_000} for number in range(4)]
    asked = [mine | {"tool": "write_file", "args": one} for one in texts]
    assert [service.post("operator", "/v1/calls", one).status_code for one in asked] == [200] * 4


def test_what_was_denied_counts_for_an_hour() -> None:
    now = [0.0]
    limits = Limits(1, 1, 1, refused=3_600, clock=lambda: now[0])
    limits.note_refused("t", 3_000)
    with pytest.raises(RequestRefused) as refused:
        limits.check_refused("t", 1_000)
    assert refused.value.after == 400
    now[0] = 400
    limits.check_refused("t", 1_000)
