"""A tool name that differs from a listed one only by case, white space or Unicode form is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sayso import Sayso
from sayso.core.errors import MalformedRequest
from sayso.core.model import Verdict
from tests.attack.opening import a_gate, a_service

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
@pytest.mark.parametrize("role", ["agent", "host"])
def test_no_near_name_gets_past_the_service(gate: Sayso, name: str, role: str) -> None:
    with a_service(gate) as service:
        body: dict[str, Any] = {"tool": name, "args": {}}
        if role == "host":
            body["session"] = service.told("host", "POST", "/v1/sessions", {"agent": "a"})["id"]
        for path in ("/v1/calls", "/v1/check"):
            assert service.post(role, path, body).status_code == 400


@pytest.mark.parametrize("name", NEAR)
@pytest.mark.parametrize("ungated", [False, True])
def test_no_host_declares_what_a_near_name_does(gate: Sayso, name: str, ungated: bool) -> None:
    declared = {"ungated": True} if ungated else {"operations": [{"operation": "bank.look", "risk": "low"}]}
    with a_service(gate) as service:
        session = service.told("host", "POST", "/v1/sessions", {"agent": "a"})["id"]
        body = {"tool": name, "args": {}, "session": session, **declared}
        for path in ("/v1/calls", "/v1/check"):
            assert service.post("host", path, body).status_code == 400


@pytest.mark.parametrize("name", ["Wipe_All", "PEEK", "ｗipe_all"])
def test_no_function_of_a_near_name_runs_as_what_its_code_declares(gate: Sayso, name: str) -> None:
    ran = []

    @gate.capability(name, operations=[])
    def near() -> None:
        ran.append(name)

    def function() -> None:
        ran.append(name)

    function.__name__ = function.__qualname__ = name
    looks = gate.requires_consent("bank.look", risk="low")(function)
    with gate.session(agent="a").active():
        with pytest.raises(MalformedRequest, match="exactly"):
            looks()
        assert gate.run(name, {}).status == "error"
    assert ran == []


def test_a_programs_own_function_may_be_called_as_a_preset_calls_anothers_in_small_letters(
    gate: Sayso,
) -> None:
    @gate.requires_consent("bank.look", risk="low")
    def read() -> str:
        return "read"

    with gate.session(agent="a").active():
        assert read() == "read"


@pytest.mark.parametrize("name", ["BASH", "Edit ", "ｅdit", "Ed\u200bit", "eDit", "Read_File", "read_file "])
def test_no_near_name_of_a_preset_is_weaker_than_the_tool_itself(name: str) -> None:
    with a_gate("extends: [coding]") as opened, pytest.raises(MalformedRequest):
        opened.session(agent="a").call(name, {"command": "ls"})


def test_small_letters_are_another_programs_tool_where_only_a_preset_lists_capitals() -> None:
    with a_gate("extends: [coding]") as opened:
        assert opened.session(agent="a").call("edit", {"path": "a.py"}).decision.verdict is Verdict.ASK


def test_listed_names_that_look_alike_are_each_themselves(gate: Sayso) -> None:
    session = gate.session(agent="a")
    assert [session.call(name, {}).decision.verdict for name in ("Peek", "peek")] == [Verdict.ALLOW] * 2
    assert session.call("wipe_all", {}).decision.verdict is Verdict.DENY
    with pytest.raises(MalformedRequest):
        session.call("PEEK", {})
