"""Every vector again, and each of its calls evaluated first, as AuthZEN asks: permitted if allowed, else not.

The rest of the vector then comes out as written, so the evaluations changed nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest

from tests.vectors.test_vectors import VECTORS, as_call, door_share, hold, in_mode, named
from tests.vectors.test_vectors_over_http import HttpPlayer, as_served, tool_of, why_beside
from tests.vectors.vector_files import Vector

EVALUATED = {"evaluated": 611, "command": 663, "beside": 99, "confidence": 38}
"""How many calls are evaluated, and why others are not: AuthZEN has no command line and no confidence."""

CHECKED = 43
"""How many checks are evaluated by the name of their operation."""


def why_not(call: Mapping[str, Any]) -> str:
    """Why a call cannot be said in AuthZEN's words; `evaluated` if it can."""
    if why_beside(call) is not None:
        return "beside"
    if call.get("command") is not None:
        return "command"
    return "confidence" if "confidence" in call else "evaluated"


def as_tool(call: Mapping[str, Any]) -> dict[str, Any]:
    """The call of a tool."""
    return {
        "subject": {"type": "agent", "id": "claude", "properties": {"role": "operator"}},
        "action": {"name": "call"},
        "resource": {"type": "tool", "id": tool_of(call), "properties": call.get("args", {})},
        "context": {"confidence": 1.0, "origin": "user"},
    }


def as_operation(call: Mapping[str, Any]) -> dict[str, Any]:
    """The operation by its name."""
    return {
        "subject": {"type": "agent", "id": "claude"},
        "action": {"name": call["operations"][0]},
        "resource": {"type": "thing", "id": "this"},
    }


class Evaluating(HttpPlayer):
    """Plays a script over HTTP, and evaluates every call before it is made."""

    def _over_http(self, call: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        if why_not(call) != "evaluated":
            return super()._over_http(call)
        self._declare(call)
        permitted = [self.evaluated(self.session, as_tool(call)) for _ in range(2)]
        decided, told = super()._over_http(call)
        assert permitted == [decided["verdict"] == "allow"] * 2
        return decided, told

    def checked(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """The check of a script, and the same by the operation's name, in sessions of their own."""
        told = self.check(call)
        if "error" in told or why_not(call) != "evaluated" or call.get("args"):
            return told
        tool = self.service.running.gate.policy.tools[0]
        self.declare_tool(msgspec.structs.replace(tool, tool=call["operations"][0]))
        assert self.evaluated(self.service.opened(), as_operation(call)) == (told["verdict"] == "allow")
        return told

    def evaluated(self, session: str, body: Mapping[str, Any]) -> bool:
        """Whether it is permitted; what is refused is not."""
        headers = {"X-Sayso-Session": session}
        response = self.service.post("host", "/access/v1/evaluation", body, headers=headers)
        assert response.status_code in (200, 400), response.text
        permitted = response.json().get("decision")
        assert permitted in ((True, False) if response.status_code == 200 else (None,))
        return permitted is True


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@named(door_share(2))
def test_an_evaluation_permits_what_is_allowed_and_changes_nothing(
    vector: Vector, runner: asyncio.Runner
) -> None:
    player = Evaluating(in_mode(vector), runner)
    for number, step in enumerate(vector.steps, 1):
        result = player.checked(as_call(step.value)) if step.kind == "check" else player.step(step)
        hold(vector, number, as_served(step), result)


def test_what_cannot_be_evaluated_is_counted() -> None:
    """One more has to say why here."""
    calls = [step.value for vector in VECTORS for step in vector.steps if step.kind == "call"]
    assert dict(Counter(map(why_not, calls))) == EVALUATED
    checks = [as_call(step.value) for vector in VECTORS for step in vector.steps if step.kind == "check"]
    assert sum(why_not(call) == "evaluated" and not call.get("args") for call in checks) == CHECKED
