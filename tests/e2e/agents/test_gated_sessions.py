"""Sessions of real coding agents: what the user types, sub-agents, and a call that two hooks see."""

from __future__ import annotations

import pytest

from tests.e2e.agents.gated import Gated
from tests.e2e.agents.model import PROMPT, ToolCall
from tests.e2e.agents.place import Place, Program
from tests.e2e.agents.programs.claude_code import ClaudeCode
from tests.e2e.agents.programs.codex import LEADING_AGENT, CodexInJavaScript
from tests.e2e.agents.programs.every import DRIVEN

FOR_SUBAGENT = "Look after the second file."


def test_a_stop_that_the_user_types_makes_every_call_ask(program: Program, place: Place) -> None:
    gated = Gated(program, place, "autonomous")
    with gated.scripted("--wait", "1") as model, gated.serving() as serving:
        gated.run(model, f"Stop. {PROMPT}")
    assert not place.made.exists()
    assert len(serving.questions) == 1


# What starts a sub-agent, what the sub-agent's conversation opens with, and what waits for its end.
SPAWNING: dict[str, tuple[ToolCall, str, list[ToolCall]]] = {
    "ClaudeCode": (
        ToolCall("Agent", {"description": "Two", "prompt": FOR_SUBAGENT, "subagent_type": "general-purpose"}),
        FOR_SUBAGENT,
        [],
    ),
    "CodexInJavaScript": (
        ToolCall("collaboration.spawn_agent", {"task_name": "two", "message": "x", "fork_turns": "none"}),
        f"Task name: {LEADING_AGENT}/two",
        [ToolCall("collaboration.wait_agent", {"timeout_ms": 60000})],
    ),
    "OpenCode": (
        ToolCall("task", {"description": "Two", "prompt": FOR_SUBAGENT, "subagent_type": "general"}),
        FOR_SUBAGENT,
        [],
    ),
}
IN_PROJECTS = [program for program in DRIVEN if isinstance(program, ClaudeCode | CodexInJavaScript)]
PARENTS = [program for program in DRIVEN if type(program).__name__ in SPAWNING]


@pytest.mark.parametrize("program", PARENTS, ids=lambda program: type(program).__name__)
@pytest.mark.parametrize("answer", ["once", "deny"])
def test_a_subagent_is_judged_like_its_parent_and_named(program: Program, place: Place, answer: str) -> None:
    spawn, opening, wait = SPAWNING[type(program).__name__]
    script = {opening: [program.shell_call(place.writing)], PROMPT: [spawn, *wait]}
    gated = Gated(program, place, "requires_approval")
    gated.allow_tools(spawn.tool.replace(".", ""), *(one.tool.replace(".", "") for one in wait))
    with gated.scripted(script=script) as model, gated.serving(answer) as serving:
        gated.run(model)
    assert place.made.exists() is (answer == "once")
    assert ["sub-agent" in question["agent"] for question in serving.questions.values()] == [True]


@pytest.mark.parametrize("program", IN_PROJECTS, ids=lambda program: type(program).__name__)
def test_a_call_that_two_hooks_see_is_asked_once(program: Program, place: Place) -> None:
    gated = Gated(program, place, "requires_approval")
    with gated.scripted() as model:
        gated.install("--project")
        program.accept_hooks(place)
        with gated.serving("once") as serving:
            gated.run(model)
    assert place.made.read_text() == "made\n"
    assert len(serving.questions) == 1
