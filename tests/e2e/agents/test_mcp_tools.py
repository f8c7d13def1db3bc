"""Tools of an MCP server that a real coding agent calls: its hook gates them like its own.

The server's one tool writes a file. Where the file is, the tool ran.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.agents import mcp_server
from tests.e2e.agents.gated import Gated
from tests.e2e.agents.model import PROMPT, ToolCall
from tests.e2e.agents.place import Place, Program
from tests.e2e.agents.programs.codex import Codex, CodexInJavaScript
from tests.e2e.agents.programs.every import UNRULED

SERVER = [sys.executable, str(Path(mcp_server.__file__))]


def add_to_json(file: str) -> Callable[[Place], None]:
    def add(place: Place) -> None:
        path = place.home / file
        settings = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        servers = {"files": {"command": SERVER[0], "args": SERVER[1:]}}
        path.write_text(json.dumps({**settings, "mcpServers": servers}), encoding="utf-8")

    return add


def add_to_codex(place: Place) -> None:
    path = place.home / ".codex" / "config.toml"
    server = f'\n[mcp_servers.files]\ncommand = "{SERVER[0]}"\nargs = {json.dumps(SERVER[1:])}\n'
    path.write_text(path.read_text(encoding="utf-8") + server, encoding="utf-8")


def add_to_opencode(place: Place) -> None:
    path = place.config / "opencode" / "opencode.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    servers = {"files": {"type": "local", "command": SERVER, "enabled": True}}
    path.write_text(json.dumps({**settings, "mcp": servers}), encoding="utf-8")


ADD: dict[str, Callable[[Place], None]] = {
    "claude": add_to_json(".claude.json"),
    "codex": add_to_codex,
    "gemini": add_to_json(".gemini/settings.json"),
    "opencode": add_to_opencode,
}
TOOLS = {
    "claude": "mcp__files__touch",
    "codex": "mcp__files__touch",
    "gemini": "mcp_files_touch",
    "opencode": "files_touch",
}
"""What each program calls the tool, to its hook."""
TIERS = ("blocked", "autonomous")
CASES = [
    (program, tier)
    for program in UNRULED
    for tier in (TIERS[:1] if isinstance(program, CodexInJavaScript) else TIERS)
]


def call_tool(program: Program, path: Path) -> ToolCall:
    """What the model says to make the program call the tool."""
    if isinstance(program, CodexInJavaScript):
        args = json.dumps({"path": str(path)})
        return ToolCall("exec", {"input": f"text(JSON.stringify(await tools.mcp__files__touch({args})))"})
    named = "mcp__files.touch" if isinstance(program, Codex) else TOOLS[program.name]
    return ToolCall(named, {"path": str(path)})


@pytest.mark.parametrize(("program", "tier"), CASES, ids=lambda one: getattr(one, "name", one))
def test_a_tool_of_an_mcp_server_runs_only_if_the_policy_allows(
    program: Program, place: Place, tier: str
) -> None:
    gated = Gated(program, place, tier)
    with (
        gated.scripted(script={PROMPT: [call_tool(program, place.made)]}) as model,
        gated.serving(),
    ):
        ADD[program.name](place)
        gated.run(model)
        made = json.loads(gated.sayso("calls", "--all", "--json"))
    assert [call["tool"] for call in made if call["tool"].endswith("touch")] == [TOOLS[program.name]]
    assert place.made.exists() is (tier == "autonomous"), model.results()
    assert ("blocked" in model.results()[0]) is (tier == "blocked")
