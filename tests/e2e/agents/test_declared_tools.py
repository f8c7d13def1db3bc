"""The tools that the real programs offer to their models: preset coding declares them."""

from __future__ import annotations

from sayso.policy import load_preset
from tests.e2e.agents.model import PROMPT, serve_model
from tests.e2e.agents.place import Place, Program, run_program

ASKED_EACH_TIME = {
    "DeferredToolPlaceholder",  # never called
    "ScheduleWakeup",
    "Workflow",
    "write_stdin",  # Codex calls no hook for it
}
IN_NAMESPACES = {"clock", "collaboration", "functions"}
"""What Codex offers where the model writes JavaScript: the tools are inside."""


def test_a_tool_on_offer_is_declared(program: Program, place: Place) -> None:
    coding = load_preset("coding")
    with serve_model(program.api, {PROMPT: [program.shell_call("true")]}) as model:
        program.configure(place, model.url)
        ended = run_program(program, place, model)
    offered = {tool for one in model.conversations for tool in one.tools}
    assert offered, ended
    known = {tool for tool in offered if coding.entries_for(tool)}
    assert offered - known <= ASKED_EACH_TIME | IN_NAMESPACES
