"""Sessions of real coding agents behind Sayso: what the user types, sub-agents, and a call that two hooks see."""

from __future__ import annotations

import pytest

from tests.e2e.agents.gated import Gated
from tests.e2e.agents.model import PROMPT, ToolCall
from tests.e2e.agents.place import Place, Program
from tests.e2e.agents.programs.claude_code import ClaudeCode
from tests.e2e.agents.programs.codex import CodexInJavaScript
from tests.e2e.agents.programs.every import DRIVEN

FOR_SUBAGENT = "Look after the second file."


def test_a_stop_that_the_user_types_makes_every_call_ask(program: Program, place: Place) -> None:
    gated = Gated(program, place, "autonomous")
    with gated.scripted("--wait", "1") as model, gated.serving() as serving:
        gated.run(model, f"Stop. {PROMPT}")
    assert not place.made.exists()
    assert len(serving.questions) == 1


SCRIPTS = {
    "claude": (
        "Agent",
        {"description": "Second", "prompt": FOR_SUBAGENT, "subagent_type": "general-purpose"},
    ),
    "codex": ("collaboration.spawn_agent", {"task_name": "second", "message": "x", "fork_turns": "none"}),
    "opencode": ("task", {"description": "Second", "prompt": FOR_SUBAGENT, "subagent_type": "general"}),
}
OPENINGS = {"codex": "Task name: /root/second"}
WAITS = {"codex": [ToolCall("collaboration.wait_agent", {"timeout_ms": 60000})]}
SPAWNING = [
    program for program in DRIVEN if type(program).__name__ in ("CodexInJavaScript", "ClaudeCode", "OpenCode")
]


@pytest.mark.parametrize("program", SPAWNING, ids=lambda program: type(program).__name__)
@pytest.mark.parametrize("answer", ["once", "deny"])
def test_a_subagent_is_judged_like_its_parent_and_named(program: Program, place: Place, answer: str) -> None:
    spawn = ToolCall(*SCRIPTS[program.name])
    opening = OPENINGS.get(program.name, FOR_SUBAGENT)
    write = program.shell_call(place.writing)
    script = {opening: [write], PROMPT: [spawn, *WAITS.get(program.name, [])]}
    gated = Gated(program, place, "requires_approval")
    # What starts the sub-agent may run; what it does must be asked.
    policy = gated.policy.read_text(encoding="utf-8")
    shell = "{Bash,bash}"
    gated.policy.write_text(policy.replace('"*"', '"[Bb]ash"'), encoding="utf-8")
    with gated.scripted(script=script) as model, gated.serving(answer) as serving:
        gated.run(model)
    assert place.made.exists() is (answer == "once")
    asked = [question for question in serving.questions.values() if "made.txt" in str(question["arguments"])]
    assert ["sub-agent" in question["agent"] for question in asked] == [True]


TWICE = [program for program in DRIVEN if isinstance(program, ClaudeCode | CodexInJavaScript)]


@pytest.mark.parametrize("program", TWICE, ids=lambda program: type(program).__name__)
def test_a_call_that_two_hooks_see_is_asked_once(program: Program, place: Place) -> None:
    gated = Gated(program, place, "requires_approval")
    with gated.scripted() as model:
        gated.install("--project")
        program.accept_hooks(place)
        with gated.serving("once") as serving:
            gated.run(model)
    assert place.made.read_text() == "made\n"
    assert len(serving.questions) == 1
