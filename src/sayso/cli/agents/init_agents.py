"""The second half of `sayso init`: find coding agents and MCP configurations, and offer to gate each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sayso.cli.policy_choice import print_note

if TYPE_CHECKING:
    from sayso.doors.agents import Agent

MCP_FILES = (
    ".claude.json",
    ".mcp.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".gemini/settings.json",
    ".codeium/windsurf/mcp_config.json",
    ".config/Claude/claude_desktop_config.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
)
"""Where hosts keep the MCP servers they start, in the home folder or in a project."""


def find_agents_here() -> list[Agent]:
    """Return the coding agents that seem to be used on this machine."""
    from sayso.cli.agents.doctor import is_here
    from sayso.doors.agents import AGENTS

    return [one for one in AGENTS.values() if is_here(one)]


def gate_agents(agents: list[Agent], *, yes: bool) -> None:
    """Offer to gate each agent, name the MCP configurations, and prove the result."""
    from sayso.cli.agents.doctor import examine_gates
    from sayso.cli.agents.install import install_found
    from sayso.core.errors import SaysoError

    if not agents:
        typer.echo("No coding agent found here. `sayso install AGENT` gates one later.")
    gated = 0
    for agent in agents:
        if not yes and not typer.confirm(f"Gate {agent.title}?", default=True):
            continue
        try:
            install_found(agent, "user", yes=yes)
            gated += 1
        except SaysoError as error:
            print_note(f"{agent.title} is not gated: {error.message}")
        except typer.Exit:
            print_note(f"{agent.title} is not gated: nothing was written")
    for path in find_mcp_files(Path.home(), Path.cwd()):
        print_note(f"{path} names MCP servers: an agent that is gated asks for their tools, too")
    if gated:
        examine_gates(None)


def find_mcp_files(home: Path, project: Path) -> list[Path]:
    """Return the configurations that name MCP servers."""
    here = [folder / name for folder in dict.fromkeys((home, project)) for name in MCP_FILES]
    return [path for path in here if _names_servers(path)]


def _names_servers(path: Path) -> bool:
    from sayso.core.errors import SaysoError
    from sayso.doors.agents.settings.json_edit import load_value, parse_text

    try:
        value = load_value(parse_text(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, SaysoError):
        return False
    return isinstance(value, dict) and bool(value.get("mcpServers") or value.get("servers"))
