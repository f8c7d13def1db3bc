"""`sayso install mcp`, `sayso uninstall mcp`, `sayso doctor mcp`: MCP servers behind the gateway."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sayso.cli.agents.install import MCP, Asking, OtherService, revoke_hook_token, write_hook_text
from sayso.cli.policy_choice import print_note
from sayso.cli.views.wrapping import echo_line, echo_wrapped

if TYPE_CHECKING:
    from sayso.doors.agents.agent import Scope
    from sayso.doors.agents.doctor.canary import Diagnosis
    from sayso.doors.agents.mcp_servers.addresses import AddressServer
    from sayso.doors.agents.mcp_servers.found import StdioServer
    from sayso.doors.agents.mcp_servers.gating import GatedServer, ServerChange
    from sayso.doors.agents.mcp_servers.places import ServerFile

LONGEST_COMMAND = 60
BY_HOOK = "the hook of {title} asks before each tool of its servers"
SHARED = "This file belongs to the project: whoever shares it needs Sayso at the same place."


def gate_servers(
    scope: Scope, asking: Asking, *, wait: int | None = None, service: OtherService | None = None
) -> None:
    """Offer to put the gateway in front of the servers of every configuration of this scope."""
    files = []
    for file in find_server_files(scope):
        if is_asked_by_hook(file):
            print_note(f"{file.path} stays as it is: {BY_HOOK.format(title=file.title)}")
        else:
            files.append(file)
    seen = [gate_file(file, asking, wait=wait, service=service) for file in files]
    if not any(seen):
        typer.echo("No MCP server is left to gate here.")


def gate_file(
    file: ServerFile, asking: Asking, *, wait: int | None = None, service: OtherService | None = None
) -> bool:
    """Show what would change in this configuration, ask, and write it. False if there was nothing to do."""
    from sayso.core.errors import SaysoError
    from sayso.doors.agents.mcp_servers import gating, records
    from sayso.doors.agents.settings.changes import apply_changes

    try:
        plan = gating.plan_gating(file)
    except SaysoError as error:
        print_note(f"not gated: {error.message} ({error.hint})")
        return True
    if not plan.change.is_needed:
        return False
    _show(file, plan, asking)
    if not _is_confirmed(asking):
        print_note(f"{file.path} stays as it is")
        return True
    _save_gateway(wait, service or OtherService(), [str(plan.change.path)])
    records.save_gated([*records.load_gated(), *plan.gated])
    apply_changes([plan.change])
    echo_line(f"Gated. {file.title} starts these servers through Sayso once it is restarted.")
    return True


def release_servers(scope: Scope, asking: Asking) -> None:
    """Take the gateway away from the servers of every configuration of this scope."""
    from sayso.cli.commands.service.running import note_if_left_running
    from sayso.doors.agents.mcp_servers import records
    from sayso.doors.agents.settings.changes import apply_changes

    known = records.load_gated()
    needed = _plan_releases(scope, known)
    if not needed:
        typer.echo("No MCP server is gated here.")
        return
    for file, plan in needed:
        _show(file, plan, asking)
    if not _is_confirmed(asking):
        raise typer.Exit(1)
    apply_changes([plan.change for _, plan in needed])
    paths = {str(plan.change.path) for _, plan in needed}
    left = [one for one in known if one.path not in paths and Path(one.path).exists()]
    if left:
        records.save_gated(left)
    else:
        _forget_gateway()
    typer.echo("Their clients start these servers without Sayso once they are restarted.")
    note_if_left_running()


def _plan_releases(scope: Scope, known: Sequence[GatedServer]) -> list[tuple[ServerFile, ServerChange]]:
    """Return what has to change in which files. One that cannot be read keeps none of the others."""
    from sayso.core.errors import SaysoError
    from sayso.doors.agents.mcp_servers.gating import plan_release

    needed = []
    for file in find_server_files(scope):
        try:
            plan = plan_release(file, known)
        except SaysoError as error:
            print_note(f"{error.message} ({error.hint})")
            continue
        if plan.change.is_needed:
            needed.append((file, plan))
    return needed


def find_server_files(scope: Scope | None = None) -> list[ServerFile]:
    """Return the configurations that are there; of both scopes, if none is named."""
    from sayso.doors.agents.mcp_servers.places import list_places
    from sayso.doors.agents.settings.installed import find_place

    files = {file.path: file for file in list_places(find_place()) if file.path.is_file()}
    return [file for file in files.values() if scope is None or file.shared == (scope == "project")]


def is_asked_by_hook(file: ServerFile) -> bool:
    """Return whether its client is a coding agent that is gated by a hook already."""
    from sayso.cli.agents.doctor import is_gated
    from sayso.doors.agents import AGENTS

    agent = AGENTS.get(file.agent)
    return agent is not None and (is_gated(agent, "user") or (file.shared and is_gated(agent, "project")))


def examine_servers(only: Collection[tuple[str, tuple[str, ...]]] | None = None) -> list[Diagnosis]:
    """Return what is found about every server, or only these, with a canary through each gateway."""
    from sayso.core.errors import SaysoError
    from sayso.doors.agents.doctor.canary import Diagnosis
    from sayso.doors.agents.mcp_servers.gating import read_servers
    from sayso.doors.agents.settings.changes import resolve_link

    found = []
    for file in find_server_files():
        path = str(resolve_link(file.path))
        if only is not None and path not in {known for known, _ in only}:
            continue
        try:
            servers = read_servers(file)
        except SaysoError as error:
            found.append(Diagnosis("file", good=False, text=error.message))
            continue
        wanted = (one for one in servers.gateable if only is None or (path, one.where) in only)
        found += [_examine_server(file, one) for one in wanted]
    return found


def _examine_server(file: ServerFile, server: StdioServer | AddressServer) -> Diagnosis:
    from sayso.doors.agents.doctor.canary import Diagnosis
    from sayso.doors.agents.mcp_servers.canary import examine_server
    from sayso.doors.agents.mcp_servers.words import is_wrapped

    if not is_wrapped(server.words) and is_asked_by_hook(file):
        about = f"{server.name} in {file.path}"
        return Diagnosis(about, good=True, text=f"no gateway; {BY_HOOK.format(title=file.title)}")
    return examine_server(file, server)


def _show(file: ServerFile, plan: ServerChange, asking: Asking) -> None:
    from sayso.doors.agents.mcp_servers.words import (
        is_wrapped,
        unwrap_address,
        unwrap_words,
        wrap_words,
    )
    from sayso.doors.agents.settings.changes import show_changes

    if asking.diff:
        echo_wrapped(show_changes([plan.change]))
        return
    echo_line(f"{plan.change.path}: only the commands and addresses of these servers change")
    for one in plan.servers:
        address = unwrap_address(one.words)
        inner = unwrap_words(one.words) if address is None else (address,)
        echo_line(f"  {one.name:<16} {_shorten(inner or one.words)}")
    first = plan.servers[0]
    gateway = shlex.join(wrap_words("NAME", ["COMMAND"]))
    if not is_wrapped(first.words):
        echo_line(f"Each is then started by: {gateway}, or with --url ADDRESS instead of a command")
        if file.shared:
            print_note(SHARED)
    else:
        echo_line("Each is then started by its own command again, or at its address, as before.")


def _shorten(words: Sequence[str]) -> str:
    line = shlex.join(words)
    return line if len(line) <= LONGEST_COMMAND else f"{line[: LONGEST_COMMAND - 1]}…"


def _is_confirmed(asking: Asking) -> bool:
    return asking.yes or typer.confirm(asking.question, default=asking.default)


def _save_gateway(wait: int | None, service: OtherService, paths: Sequence[str]) -> None:
    """Write the file that gateways read, and note the configurations, which are guarded from now on."""
    from sayso.doors.agents.mcp_servers import records
    from sayso.doors.agents.settings import installed
    from sayso.doors.agents.settings.changes import InstalledFile

    file = records.gateway_file()
    earlier = installed.load_installation(file)
    seconds = wait or (records.WAIT if earlier is None else earlier.wait)
    token, text = write_hook_text(MCP, (), file, seconds, service)
    known = () if earlier is None else tuple(one.path for one in earlier.files)
    files = tuple(InstalledFile(path, None, "") for path in dict.fromkeys((*known, *paths)))
    one = installed.Installation(MCP, "user", "", seconds, token, files)
    installed.save_installation(file, text, one)


def _forget_gateway() -> None:
    from sayso.doors.agents.mcp_servers import records
    from sayso.doors.agents.settings import installed

    file = records.gateway_file()
    earlier = installed.load_installation(file)
    records.forget_gated()
    installed.forget_installation(file)
    if earlier is not None and earlier.token:
        revoke_hook_token(earlier.token)
