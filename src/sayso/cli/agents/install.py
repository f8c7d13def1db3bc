"""`sayso install AGENT`, `sayso uninstall AGENT`, `sayso hook AGENT EVENT`: gate a coding agent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from sayso.cli.policy_choice import choose_policy, print_note
from sayso.cli.views.wrapping import echo_line

if TYPE_CHECKING:
    from sayso.doors.agents import Agent
    from sayso.doors.agents.agent import HookEvent, Scope, Wanted
    from sayso.doors.agents.settings.changes import Change
    from sayso.doors.agents.settings.installed import Installation
    from sayso.gate.gate import Gate


def complete_agents(incomplete: str) -> list[str]:
    from sayso.doors.agents import AGENTS

    return [name for name in (*AGENTS, MCP) if name.startswith(incomplete)]


CODING_AGENTS = "claude, codex, gemini, cursor, copilot, opencode, cline or openclaw"
AgentArg = Annotated[
    str,
    typer.Argument(
        metavar="AGENT", help=f"{CODING_AGENTS}; or mcp, for MCP servers.", autocompletion=complete_agents
    ),
]
ProjectOption = Annotated[bool, typer.Option("--project", help="Only for the project in this folder.")]

WRITE = "Write this?"
BRIEF_COMMAND = "Sayso's hook (every letter: sayso install {agent} --diff)"
MCP = "mcp"
"""In the place of an agent: the MCP servers that clients start."""


class OtherService(NamedTuple):
    """A service somewhere else than usual: its socket, and a file with a token for it."""

    socket: Path | None = None
    token_file: Path | None = None


YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether to write the change.")]
DiffOption = Annotated[bool, typer.Option("--diff", help="Show the change line by line.")]


class Asking(NamedTuple):
    """How the person is shown a change and asked for their yes. Just Enter leaves the agent gated."""

    question: str
    default: bool
    yes: bool = False
    diff: bool = False
    brief: bool = False
    """Without what is the same for every agent: the hook's command, and how to try it."""


def install_agent(
    agent: AgentArg,
    project: ProjectOption = False,
    wait: Annotated[
        int | None,
        typer.Option("--wait", metavar="SECONDS", min=1, help="How long a call waits for your answer."),
    ] = None,
    socket: Annotated[
        Path | None,
        typer.Option("--socket", metavar="FILE", help="The service's socket, if not the usual one."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="A token of the role agent, if the service is another user's.",
        ),
    ] = None,
    yes: YesOption = False,
    diff: DiffOption = False,
) -> None:
    """Gate a coding agent: from now on it asks Sayso before every tool call.

    Shows the change to the agent's settings first (--diff: line by line), and asks. Everything else in the
    file stays as it is, and `sayso uninstall` restores it. Example: sayso install claude
    """
    service = OtherService(socket, token_file)
    asking = Asking(WRITE, default=True, yes=yes, diff=diff)
    if agent == MCP:
        from sayso.cli.agents.mcp_servers import gate_servers

        gate_servers("project" if project else "user", asking, wait=wait, service=service)
        return
    found = find_agent(agent)
    install_found(found, "project" if project else "user", asking, wait=wait, service=service)


def uninstall_agent(
    agent: AgentArg, project: ProjectOption = False, yes: YesOption = False, diff: DiffOption = False
) -> None:
    """Undo `sayso install`: the agent's settings are as they were before, and its token is revoked."""
    from sayso.cli.commands.service.running import note_if_left_running
    from sayso.doors.agents.settings import changes, installed

    scope: Scope = "project" if project else "user"
    if agent == MCP:
        from sayso.cli.agents.mcp_servers import release_servers

        release_servers(scope, Asking(WRITE, default=False, yes=yes, diff=diff))
        return
    found = find_agent(agent)
    place = installed.find_place()
    file = installed.hook_file(found, scope, place.project)
    earlier = installed.load_installation(file)
    files = () if earlier is None else earlier.files
    wanted = changes.add_earlier_places(installed.wanted_files(found, place, scope, found.wait), files)
    planned = changes.plan_uninstall(wanted, files)
    if earlier is None and not any(one.is_needed for one in planned):
        typer.echo(f"{found.title} is not gated here.")
        return
    _show_and_confirm(found, file, wanted, planned, Asking(WRITE, default=False, yes=yes, diff=diff))
    changes.apply_changes(planned)
    secret = installed.read_token(file)
    installed.forget_installation(file)
    if earlier is not None and earlier.token and secret not in installed.list_hook_tokens(found.name, file):
        revoke_hook_token(earlier.token)
    typer.echo(f"{found.title} no longer asks Sayso.")
    note_if_left_running()


def run_hook(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help=f"{CODING_AGENTS}.")],
    event: Annotated[str, typer.Argument(metavar="EVENT", help="The event, as the agent names it.")],
    project: ProjectOption = False,
) -> None:
    """Answer one event of a coding agent: its payload on stdin, the answer on stdout. Agents start this."""
    import os

    from sayso.doors.agents.settings import installed, registration

    found = find_agent(agent)
    file = installed.hook_file(found, "project" if project else "user", installed.find_place().project)
    words = registration.hook_words(found, event, file)
    os.execv(words[0], words)  # noqa: S606  our own hook, with arguments of our own


def install_found(
    agent: Agent,
    scope: Scope,
    asking: Asking,
    *,
    wait: int | None = None,
    service: OtherService | None = None,
) -> None:
    """Install the hook of this agent."""
    from sayso.core.errors import MalformedRequest
    from sayso.doors.agents.settings import changes, installed

    if scope not in agent.scopes:
        raise MalformedRequest(f"{agent.title} has hooks for all projects only", hint="leave out --project")
    place = installed.find_place()
    file = installed.hook_file(agent, scope, place.project)
    earlier = installed.load_installation(file)
    seconds = _wait_of(agent, wait, earlier)
    wanted = installed.wanted_files(agent, place, scope, seconds)
    planned = changes.plan_install(wanted, place.project if scope == "project" else None)
    token, text = write_hook_text(agent.name, agent.events, file, seconds, service or OtherService())
    same = file.exists() and file.read_text(encoding="utf-8") == text
    if same and not any(one.is_needed for one in planned):
        echo_line(f"{agent.title} is registered already; nothing to change. {_promise(agent)}.")
        return
    _show_and_confirm(agent, file, wanted, planned, asking)
    kept = installed.note_files(planned, earlier)
    one = installed.Installation(agent.name, scope, str(place.project), seconds, token, kept)
    installed.save_installation(file, text, one)
    changes.apply_changes(planned)
    trying = "" if asking.brief else f" Try it: sayso doctor {agent.name}"
    echo_line(f"The hook is registered. {_promise(agent)}.{trying}")
    for line in agent.advice:
        print_note(line)


def _promise(agent: Agent) -> str:
    once = f", once {agent.condition}" if agent.condition else ""
    return f"{agent.title} asks Sayso before every tool call{once}"


def find_agent(name: str) -> Agent:
    from sayso.core.errors import MalformedRequest
    from sayso.doors.agents import AGENTS

    if name not in AGENTS:
        raise MalformedRequest(f"there is no agent {name!r}", hint=f"use one of: {', '.join(AGENTS)}")
    return AGENTS[name]


@contextmanager
def open_or_make_gate() -> Iterator[Gate]:
    """Open the operator's gate; on a machine that has none yet, make it."""
    from sayso.gate.open import NoStore, open_gate, open_to_act

    try:
        gate = open_to_act()
    except NoStore:
        gate = open_gate(choose_policy(None, None, None), decides=False)
    try:
        yield gate
    finally:
        gate.store.close()


def _wait_of(agent: Agent, wanted: int | None, earlier: Installation | None) -> int:
    from sayso.core.errors import MalformedRequest

    if wanted is None:
        return agent.wait if earlier is None else earlier.wait
    if wanted > agent.most_wait:
        raise MalformedRequest(f"{agent.title} waits {agent.most_wait} seconds for its hooks at most")
    return wanted


def write_hook_text(
    agent: str, events: Sequence[HookEvent], file: Path, wait: int, service: OtherService
) -> tuple[str, str]:
    """Return the id of the hook's token, and the text of the file it reads."""
    import os
    import sys

    from sayso.core.errors import SaysoError
    from sayso.doors.agents.settings import registration
    from sayso.gate.settings import service_user, socket_path

    path, user = service.socket or socket_path(), service_user()
    if path is None:
        raise SaysoError("this system has no Unix sockets, which hooks need")
    own = user is None or user == os.getuid()
    secret, token = _find_or_issue_token(agent, file) if own else _read_token(service.token_file)
    settings = registration.HookSettings(
        socket=path.absolute(),
        uid=os.getuid() if user is None else user,
        token=secret,
        wait=wait,
        start=sys.executable if own else None,
        variables=registration.kept_variables(os.environ),
    )
    return token, registration.write_settings_text(events, settings)


def _find_or_issue_token(agent: str, file: Path) -> tuple[str, str]:
    """Return the token of the hook and its id. One that still serves is kept."""
    from sayso.cli.operator_name import operator_name, terminal_identity
    from sayso.doors.agents.settings.installed import list_hook_tokens
    from sayso.gate.people.tokens import find_token, issue_token

    with open_or_make_gate() as gate:
        with gate.store.read() as tx:
            for secret in list_hook_tokens(agent, file):
                if (token := find_token(gate, tx, secret)) is not None:
                    return secret, token.id
        secret, token = issue_token(gate, "agent", agent, by=operator_name(), issuer=terminal_identity())
        return secret, token.id


def _read_token(file: Path | None) -> tuple[str, str]:
    """Return a token that the service's own user has made, and no id: it is theirs to revoke."""
    from sayso.core.errors import SaysoError

    hint = "as its user, `sayso token new agent NAME`; then --token-file FILE here"
    if file is None:
        raise SaysoError("the service runs as another user, who makes the hook's token", hint=hint)
    try:
        secret = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SaysoError(f"cannot read {file}: {error}", hint=hint) from error
    if not secret.startswith("sayso_agent_") or not secret.isascii() or len(secret.split()) != 1:
        raise SaysoError(f"{file} holds no token of an agent", hint=hint)
    return secret, ""


def _show_and_confirm(
    agent: Agent, file: Path, wanted: Sequence[Wanted], planned: Sequence[Change], asking: Asking
) -> None:
    """Show the change, and end here without a yes."""
    from sayso.cli.views.wrapping import echo_wrapped
    from sayso.doors.agents.settings.changes import show_changes
    from sayso.doors.agents.settings.registration import hook_command
    from sayso.doors.agents.settings.summary import summarize_changes

    if asking.diff:
        echo_wrapped(show_changes(planned))
    else:
        brief = BRIEF_COMMAND.format(agent=agent.name)
        command = brief if asking.brief else hook_command(agent, "EVENT", file)
        echo_wrapped(summarize_changes(agent.name, wanted, planned, command))
    if not asking.yes and not typer.confirm(asking.question, default=asking.default):
        raise typer.Exit(1)


def revoke_hook_token(token: str) -> None:
    """Revoke the hook's token; one that is gone already is."""
    from sayso.cli.operator_name import operator_name
    from sayso.core.errors import SaysoError
    from sayso.gate.people.tokens import revoke_token

    try:
        with open_or_make_gate() as gate:
            revoke_token(gate, token, by=operator_name())
    except SaysoError as error:
        print_note(f"the hook's token was not revoked: {error.message}")
