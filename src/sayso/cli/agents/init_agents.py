"""The second half of `sayso init`: find coding agents and MCP configurations, and offer to gate each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sayso.cli.policy_choice import print_note
from sayso.cli.views.wrapping import echo_line

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
MCP_TODAY = (
    "Sayso does not stand in front of these servers yet. A coding agent that is gated asks before it calls "
    "their tools (mcp__SERVER__TOOL), as before any other. A program without a hook, such as a desktop chat, "
    "calls them unasked: name only servers there that may act unasked."
)


def find_agents_here() -> list[Agent]:
    """Return the coding agents that seem to be used on this machine."""
    from sayso.cli.agents.doctor import is_here
    from sayso.doors.agents import AGENTS

    return [one for one in AGENTS.values() if is_here(one)]


def gate_agents(agents: list[Agent], *, yes: bool) -> None:
    """Show for each agent what would change, offer to gate it, and prove the result."""
    from sayso.cli.agents.doctor import examine_gates

    if not agents:
        typer.echo("No coding agent found here. `sayso install AGENT` gates one later.")
    gated = [agent for agent in agents if _gate_agent(agent, yes=yes)]
    tell_of_mcp_servers(find_mcp_files(Path.home(), Path.cwd()))
    if gated:
        typer.echo("")
        examine_gates(None)


def _gate_agent(agent: Agent, *, yes: bool) -> bool:
    """Return whether the agent is gated now."""
    from sayso.cli.agents.install import Asking, install_found
    from sayso.core.errors import SaysoError

    typer.echo(f"\n{agent.title}")
    try:
        install_found(agent, "user", Asking(f"Gate {agent.title}?", default=True, yes=yes))
    except SaysoError as error:
        print_note(f"{agent.title} is not gated: {error.message}")
        return False
    except typer.Exit:
        print_note(f"{agent.title} is not gated: nothing was written")
        return False
    return True


def tell_of_mcp_servers(files: list[Path]) -> None:
    """Say how far the tools of MCP servers are gated: by an agent's hook, and not in front of the server."""
    if not files:
        return
    echo_line("")
    echo_line("MCP servers are named in:")
    for path in files:
        echo_line(f"  {path}")
    echo_line(MCP_TODAY)


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
