"""What nothing declares is granted for its exact arguments only (SPEC 5).

The attack: a yes to a harmless call of a tool that the policy does not know, and then the same tool with
something else.
"""

from __future__ import annotations

from typing import Any

import pytest

from sayso import ConsentRequired, Sayso
from sayso.policy import preset_names
from tests.attack.opening import a_gate, a_service, answer_last, open_questions
from tests.support.rows import each_row

HARMLESS: dict[str, Any] = {"command": "ls"}
HARMFUL: list[dict[str, Any]] = [
    {"command": "git push --force"},
    {"command": "rm -rf ~"},
    {"command": "ls", "env": {"LD_PRELOAD": "x"}},
    {},
]
UNKNOWN = ("my_own_shell", "tools", "do-it", "mcp__x__run")
SHELLS = ("run_bash", "Bash", "execute_command", "shell", "run_shell_command", "terminal", "run_terminal_cmd")


def said_yes(gate: Sayso, session: Any, tool: str, answer: str) -> None:
    """The harmless call is asked about and answered, as wide as the question offers."""
    called = session.call(tool, HARMLESS)
    assert called.asked
    offered = {offer.answer for offer in open_questions(gate, session.id)[-1].offers}
    assert answer in offered or answer == "task"
    answer_last(gate, session.id, answer if answer in offered else "once")
    assert called.retry().allowed


@each_row("pins", ["exact", "operation"])
@each_row("answer", ["once", "task", "temporary", "always"])
@each_row("args", HARMFUL, ids=repr)
@each_row("tool", UNKNOWN)
def test_a_yes_to_one_call_of_an_unknown_tool_never_covers_another(
    tool: str, args: dict[str, Any], answer: str, pins: str
) -> None:
    with a_gate(f"extends: [chat]\nsettings: {{grant_pins: {pins}}}") as gate:
        session = gate.session(agent="a")
        session.hear("tidy up, please")
        said_yes(gate, session, tool, answer)
        assert not session.call(tool, args).allowed


@pytest.mark.parametrize("args", HARMFUL, ids=repr)
@pytest.mark.parametrize("tool", UNKNOWN)
def test_what_is_remembered_of_an_unknown_tool_never_covers_other_arguments(
    tool: str, args: dict[str, Any]
) -> None:
    with a_gate("extends: [trusting]") as gate:
        session = gate.session(agent="a")
        said_yes(gate, session, tool, "remember")
        assert session.call(tool, HARMLESS).rule == "remembered"
        assert not session.call(tool, args).allowed


READ_SHELL_LINES = ("balanced", "coding")
"""Presets where a command line that only reads runs unasked."""


@each_row("preset", preset_names())
@each_row("yes", ["yes", "go ahead", "yes, for this task"])
@each_row("tool", [*UNKNOWN, *SHELLS])
def test_a_yes_in_the_conversation_to_ls_never_lets_a_shell_tool_push(
    preset: str, yes: str, tool: str
) -> None:
    with a_gate(f"extends: [{preset}]") as gate:
        session = gate.session(agent="a")
        session.hear("have a look around")
        called = session.call(tool, HARMLESS)
        assert called.asked or (called.allowed and tool in SHELLS and preset in READ_SHELL_LINES)
        session.hear(yes)
        for args in HARMFUL:
            assert not session.call(tool, args).allowed


def test_a_declaration_over_a_connection_never_makes_consent_wider() -> None:
    body = {"tool": "danger", "args": {"n": 1}, "operations": [{"operation": "misc.run", "risk": "low"}]}
    with a_gate("extends: [gateway]") as gate, a_service(gate) as service:
        question = service.asked("agent", body)
        offers = service.told("operator", "GET", f"/v1/questions/{question}")["offers"]
        widest = next(one["answer"] for one in offers if one["answer"] == "always")
        service.told("operator", "POST", f"/v1/questions/{question}/answer", {"answer": widest})
        assert service.told("agent", "POST", "/v1/calls", body)["status"] == "allowed"
        other = {**body, "args": {"n": 2}}
        assert service.told("agent", "POST", "/v1/calls", other)["status"] == "pending"


def test_what_code_declares_can_be_granted_wider() -> None:
    """The limit is for what nobody declares: a decorated function keeps the grants its policy gives."""
    with a_gate("extends: [gateway]") as gate:

        @gate.requires_consent("notes.add", risk="moderate")
        def add(text: str) -> str:
            return text

        session = gate.session(agent="a")
        with session.active(), pytest.raises(ConsentRequired):
            add("one")
        answer_last(gate, session.id, "always")
        with session.active():
            assert add("two") == "two"
