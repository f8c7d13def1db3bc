"""`sayso doctor [AGENT]`: whether coding agents are really gated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.agents.install import MCP, ProjectOption, complete_agents, find_agent
from sayso.cli.options import JsonOption

if TYPE_CHECKING:
    from sayso.doors.agents.agent import Agent, Scope
    from sayso.doors.agents.doctor.canary import Diagnosis

OPEN_OR_STOP = "`sayso link` signs you in, `sayso serve --stop` stops it"


def examine_gates(
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="[AGENT]",
            help="One agent; by default all that are found.",
            autocompletion=complete_agents,
        ),
    ] = None,
    project: ProjectOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check that coding agents are gated, with a call that must be blocked. Exit 1 if something is wrong."""
    from sayso.cli.opening import show_or_json
    from sayso.doors.agents.doctor.examine import find_level
    from sayso.doors.agents.settings.installed import installed_socket

    scope: Scope = "project" if project else "user"
    if agent == MCP:
        _examine_servers(as_json=as_json)
        return
    here = _agents_here(scope)
    gated = [find_agent(agent)] if agent else [one for one in here if is_gated(one, scope)]
    free = [] if agent else [one for one in here if one not in gated]
    found = {one.name: examine(one, scope) for one in gated}
    servers = [] if agent else _gated_servers()
    gates = {**found, **({MCP: servers} if servers else {})}
    level = find_level(installed_socket(), gates)
    providers = [] if agent else _examine_sign_in()
    service = _examine_service()
    told = {**gates, "level": [level], **({"sign_in": providers} if providers else {})}
    told |= {"service": service} if service else {}
    behind = ["MCP servers behind the gateway", *map(_line, servers)] if servers else []
    sign_in = ["signing in with a provider", *map(_line, providers)] if providers else []
    together = ["all together", *map(_line, (level, *service))]
    lines = [*_lines(found), *map(_free_line, free), *behind, *sign_in, *together]
    show_or_json(as_json, {**told, "not_gated": [one.name for one in free]}, lines)
    if (free and not gated) or not all(one.good for findings in told.values() for one in findings):
        raise typer.Exit(1)


def _examine_service() -> list[Diagnosis]:
    """Return where the service runs, and how; nothing if it does not, or if it is another user's."""
    from sayso.cli.commands.service.running import find_running, find_trouble_of
    from sayso.doors.agents.doctor.canary import Diagnosis

    found = [(one, find_trouble_of(one)) for one in find_running(None)[0]]
    return [
        Diagnosis("service", not trouble, f"runs at {one.page}; {trouble or OPEN_OR_STOP}")
        for one, trouble in found
    ]


def _examine_sign_in() -> list[Diagnosis]:
    """Return whether people can sign in with the providers that are set up; nothing if none is."""
    from sayso.core.errors import SaysoError
    from sayso.core.extras import needs_extra
    from sayso.core.team import NO_TEAM
    from sayso.gate.open import gate_data_folder
    from sayso.gate.settings import load_own_policy
    from sayso.service.providers.settings_file import FILE_NAME

    if not (gate_data_folder(make=False) / FILE_NAME).exists():
        return []
    with needs_extra("service", "signing in with a provider"):
        from sayso.cli.views.providers import diagnose_providers
    try:
        own = load_own_policy()
    except SaysoError:  # the service says what is wrong with it
        own = None
    return diagnose_providers(NO_TEAM if own is None else own.policy.team)


def _examine_servers(*, as_json: bool) -> None:
    """Look at the MCP servers alone; here one without a gateway is wrong, whoever may ask before it."""
    from sayso.cli.agents.mcp_servers import examine_servers
    from sayso.cli.opening import show_or_json

    found = examine_servers()
    lines = ["MCP servers", *map(_line, found)] if found else ["No MCP server is configured here."]
    show_or_json(as_json, {MCP: found}, lines)
    if not all(one.good for one in found):
        raise typer.Exit(1)


def examine(agent: Agent, scope: Scope) -> list[Diagnosis]:
    from sayso.doors.agents.doctor import examine as doctor
    from sayso.doors.agents.settings import installed

    place = installed.find_place()
    one = installed.load_installation(installed.hook_file(agent, scope, place.project))
    return doctor.examine_agent(agent, place, scope, one)


def _gated_servers() -> list[Diagnosis]:
    """Examine the MCP servers, if any was put behind the gateway."""
    from sayso.cli.agents.mcp_servers import examine_servers
    from sayso.doors.agents.mcp_servers.records import load_gated

    gated = {(one.path, one.where) for one in load_gated()}
    return examine_servers(gated) if gated else []


def _agents_here(scope: Scope) -> list[Agent]:
    """Return the agents that are installed on this machine, or gated."""
    from sayso.doors.agents import AGENTS

    return [one for one in AGENTS.values() if is_here(one) or is_gated(one, scope)]


def is_gated(agent: Agent, scope: Scope) -> bool:
    """Return whether the hook was installed. Of an agent that nobody wanted gated nothing is wrong."""
    from sayso.doors.agents.settings import installed

    file = installed.hook_file(agent, scope, installed.find_place().project)
    return file.exists() or installed.load_installation(file) is not None


def is_here(agent: Agent) -> bool:
    """Return whether this agent seems to be used on this machine: its command is there, or its folder."""
    import shutil

    from sayso.doors.agents.settings.installed import find_place, wanted_files

    place = find_place()
    if shutil.which(agent.program) is not None:
        return True
    files = wanted_files(agent, place, "user", agent.wait)
    return any(one.path.parents[agent.levels - 1].is_dir() for one in files)


def _lines(found: dict[str, list[Diagnosis]]) -> list[str]:
    if not found:
        return ["No coding agent is gated. `sayso install AGENT` gates one."]
    return [line for name, findings in found.items() for line in (name, *map(_line, findings))]


def _free_line(agent: Agent) -> str:
    return f"{agent.name}\n  --   not gated: every call runs; sayso install {agent.name}"


def _line(one: Diagnosis) -> str:
    return f"  {'ok ' if one.good else 'BAD'}  {one.about}: {one.text}"
