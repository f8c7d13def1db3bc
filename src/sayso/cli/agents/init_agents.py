"""The second half of `sayso init`: find coding agents and MCP configurations, and offer to gate each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from sayso.cli.policy_choice import print_note
from sayso.cli.views.wrapping import echo_line

if TYPE_CHECKING:
    from sayso.doors.agents import Agent
    from sayso.doors.agents.mcp_servers.found import FoundServers
    from sayso.doors.agents.mcp_servers.places import ServerFile

ASKED_ALREADY = "MCP servers of {titles}: the hook asks before their tools, as before any other."
NEXT = (
    "Next: let your agent work. Where it must ask, you answer on the page (`sayso link` signs you in) "
    "or in `sayso inbox`. `sayso serve --status` shows the service that runs behind both."
)
NO_COMMAND = (
    "{names} in {path}: no gateway can stand in front of these (a sign-in, the older SSE, the extra mcp is "
    "missing, or a spelling that is not understood), so their tools run unasked"
)


def find_agents_here() -> list[Agent]:
    """Return the coding agents that seem to be used on this machine."""
    from sayso.cli.agents.doctor import is_here
    from sayso.doors.agents import AGENTS

    return [one for one in AGENTS.values() if is_here(one)]


def gate_agents(agents: list[Agent], *, yes: bool) -> None:
    """Show for each agent what would change, offer to gate it, and prove the result.

    Exits with 1 if `sayso doctor` finds something wrong, or if an agent that was to be gated is not.
    """
    from sayso.cli.agents.doctor import examine_gates

    if not agents:
        typer.echo("No coding agent found here. `sayso install AGENT` gates one later.")
    tried = {agent.name: _gate_agent(agent, yes=yes) for agent in agents}
    gated, failed = [one for one in agents if tried[one.name]], None in tried.values()
    if gate_mcp_servers(gated, yes=yes) or gated or failed:
        typer.echo("")
        try:
            examine_gates(None)
        finally:
            if gated or not failed:
                echo_line("")
                echo_line(NEXT)
    if failed:
        raise typer.Exit(1)


def _gate_agent(agent: Agent, *, yes: bool) -> bool | None:
    """Return whether the agent is gated now. Returns None if it could not be gated."""
    from sayso.cli.agents.install import Asking, install_found
    from sayso.core.errors import SaysoError

    typer.echo(f"\n{agent.title}")
    try:
        install_found(agent, "user", Asking(f"Gate {agent.title}?", default=True, yes=yes, brief=True))
    except SaysoError as error:
        print_note(f"{agent.title} is not gated: {error.message}")
        return None
    except typer.Exit:
        print_note(f"{agent.title} is not gated: nothing was written")
        return None if yes else False
    return True


def gate_mcp_servers(gated: list[Agent], *, yes: bool) -> bool:
    """Offer to gate the MCP servers of every configuration whose client does not ask by itself.

    Return whether one is behind the gateway now.
    """
    from sayso.cli.agents.install import Asking
    from sayso.cli.agents.mcp_servers import find_server_files, gate_file
    from sayso.doors.agents.mcp_servers.records import load_gated

    asks = {agent.name: agent.title for agent in gated}
    files = [(file, _names_servers(file)) for file in find_server_files()]
    for file, found in files:
        if found.gateable and file.agent not in asks:
            echo_line(f"\nMCP servers of {file.title}")
            # A file of the project is shared with others: without somebody to ask it stays as it is.
            asking = Asking("Put them behind Sayso?", default=not file.shared, yes=yes and not file.shared)
            if not (yes and file.shared):
                gate_file(file, asking)
        if found.others and file.agent not in asks:
            print_note(NO_COMMAND.format(names=", ".join(found.others), path=file.path))
    told = dict.fromkeys(asks[file.agent] for file, found in files if found.gateable and file.agent in asks)
    if told:
        echo_line("")
        echo_line(ASKED_ALREADY.format(titles=" and ".join(told)))
    return bool(load_gated())


def _names_servers(file: ServerFile) -> FoundServers:
    """Return the servers of the file. Of one that cannot be read it is said that it was left alone."""
    from sayso.core.errors import SaysoError
    from sayso.doors.agents.mcp_servers.found import FoundServers
    from sayso.doors.agents.mcp_servers.gating import read_servers

    try:
        return read_servers(file)
    except SaysoError as error:
        print_note(f"{error.message} ({error.hint})")
        return FoundServers()
