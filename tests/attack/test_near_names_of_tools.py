"""A tool name that differs from a listed one only by case, white space or Unicode form is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sayso import Sayso
from sayso.core.errors import MalformedRequest
from sayso.core.model import Verdict
from tests.attack.opening import a_gate

POLICY = """
extends: [balanced]
domains:
  bank: {autonomous: [look], requires_approval: [], blocked: [wipe]}
tools:
  - {tool: wipe_all, operation: bank.wipe}
  - {tool: "rm_*", operation: bank.wipe}
  - {tool: Peek, operation: bank.look}
  - {tool: peek, operation: bank.look}
"""
NEAR = (
    "Wipe_All",
    "WIPE_ALL",
    "wipe_all ",
    " wipe_all",
    "wipe_\u200ball",
    "ｗipe_all",
    "wipe_ａll",
    "RM_x",
    "Rm_x",
    "ｒm_x",
)


@pytest.fixture
def gate() -> Iterator[Sayso]:
    with a_gate(POLICY) as opened:
        yield opened


@pytest.mark.parametrize("name", NEAR)
def test_no_near_name_of_a_blocked_tool_is_asked_or_run(gate: Sayso, name: str) -> None:
    with pytest.raises(MalformedRequest, match="exactly"):
        gate.session(agent="a").call(name, {})


@pytest.mark.parametrize("name", NEAR)
def test_no_function_of_a_near_name_runs_as_what_it_declares(gate: Sayso, name: str) -> None:
    ran = []

    def wipe() -> None:
        ran.append(name)

    wipe.__name__ = name
    gated = gate.requires_consent("bank.look", risk="low")(wipe)
    with pytest.raises(MalformedRequest), gate.session(agent="a").active():
        gated()
    assert not ran


def test_listed_names_that_look_alike_are_each_themselves(gate: Sayso) -> None:
    session = gate.session(agent="a")
    assert [session.call(name, {}).decision.verdict for name in ("Peek", "peek")] == [Verdict.ALLOW] * 2
    assert session.call("wipe_all", {}).decision.verdict is Verdict.DENY
    with pytest.raises(MalformedRequest):
        session.call("PEEK", {})
