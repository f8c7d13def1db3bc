"""`sayso install AGENT`, `sayso uninstall AGENT`, `sayso hook AGENT EVENT`: gate a coding agent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.policy_choice import choose_policy, print_note

if TYPE_CHECKING:
    from sayso.doors.agents import Agent
    from sayso.doors.agents.agent import Scope
    from sayso.doors.agents.changes import Change
    from sayso.doors.agents.installed import Installation
    from sayso.gate.gate import Gate


def complete_agents(incomplete: str) -> list[str]:
    from sayso.doors.agents import AGENTS

    return [name for name in AGENTS if name.startswith(incomplete)]


AgentArg = Annotated[
    str,
    typer.Argument(
        metavar="AGENT",
        help="claude, codex, gemini, cursor, copilot, opencode, cline or openclaw.",
        autocompletion=complete_agents,
    ),
]
ProjectOption = Annotated[
    bool, typer.Option("--project", help="Only for the project in this folder, not for all you do.")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether to write the change.")]


def install_agent(
    agent: AgentArg,
    project: ProjectOption = False,
    wait: Annotated[
        int | None,
        typer.Option("--wait", metavar="SECONDS", min=1, help="How long a call waits for your answer."),
    ] = None,
    yes: YesOption = False,
) -> None:
    """Gate a coding agent: from now on it asks Sayso before every tool call.

    Shows the change to the agent's settings first, and asks. Everything else in the file stays as it is, and
    `sayso uninstall` restores it. Example: sayso install claude
    """
    found = find_agent(agent)
    install_found(found, "project" if project else "user", wait=wait, yes=yes)


def uninstall_agent(agent: AgentArg, project: ProjectOption = False, yes: YesOption = False) -> None:
    """Undo `sayso install`: the agent's settings are as they were before, and its token is revoked."""
    from sayso.doors.agents import changes, installed

    found = find_agent(agent)
    scope: Scope = "project" if project else "user"
    place = installed.find_place()
    file = installed.hook_file(found, scope, place.project)
    earlier = installed.load_installation(file)
    wanted = installed.wanted_files(found, place, scope, found.wait)
    planned = changes.plan_uninstall(wanted, () if earlier is None else earlier.files)
    if earlier is None and not any(one.is_needed for one in planned):
        typer.echo(f"{found.title} is not gated here.")
        return
    _show_and_confirm(planned, yes=yes)
    changes.apply_changes(planned)
    secret = installed.read_token(file)
    installed.forget_installation(file)
    if earlier is not None and secret not in installed.read_tokens(found, file):
        _revoke(earlier.token)
    typer.echo(f"{found.title} no longer asks Sayso.")


def run_hook(
    agent: AgentArg,
    event: Annotated[str, typer.Argument(metavar="EVENT", help="The event, as the agent names it.")],
    project: ProjectOption = False,
) -> None:
    """Answer one event of a coding agent: its payload on stdin, the answer on stdout. Agents start this."""
    import os

    from sayso.doors.agents import installed, registration

    found = find_agent(agent)
    file = installed.hook_file(found, "project" if project else "user", installed.find_place().project)
    words = registration.hook_words(found, event, file)
    os.execv(words[0], words)  # noqa: S606  our own hook, with arguments of our own


def install_found(agent: Agent, scope: Scope, *, wait: int | None = None, yes: bool = False) -> None:
    """Install the hook of this agent."""
    from sayso.core.errors import MalformedRequest
    from sayso.doors.agents import changes, installed

    if scope not in agent.scopes:
        raise MalformedRequest(f"{agent.title} has hooks for all projects only", hint="leave out --project")
    place = installed.find_place()
    file = installed.hook_file(agent, scope, place.project)
    earlier = installed.load_installation(file)
    seconds = _wait_of(agent, wait, earlier)
    wanted = installed.wanted_files(agent, place, scope, seconds)
    planned = changes.plan_install(wanted, place.project if scope == "project" else None)
    with open_or_make_gate() as gate:
        token, text = _hook_text(gate, agent, file, seconds)
        same = file.exists() and file.read_text(encoding="utf-8") == text
        if same and not any(one.is_needed for one in planned):
            typer.echo(f"{agent.title} is gated already; nothing to change.")
            return
        _show_and_confirm(planned, yes=yes)
        kept = installed.note_files(planned, earlier)
        one = installed.Installation(agent.name, scope, str(place.project), seconds, token, kept)
        installed.save_installation(file, text, one)
        changes.apply_changes(planned)
    typer.echo(f"{agent.title} asks Sayso before every tool call. Try it: sayso doctor {agent.name}")
    for line in agent.advice:
        print_note(line)


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
        gate = open_gate(choose_policy(None, None, None))
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


def _hook_text(gate: Gate, agent: Agent, file: Path, wait: int) -> tuple[str, str]:
    """Return the id of the hook's token, and the file it reads. A token that still serves is kept."""
    import os
    import sys

    from sayso.cli.operator_name import operator_name
    from sayso.core.errors import SaysoError
    from sayso.doors.agents import installed, registration
    from sayso.gate.people.tokens import find_token, issue_token
    from sayso.gate.settings import service_user, socket_path

    path, user = socket_path(), service_user()
    if path is None:
        raise SaysoError("this system has no Unix sockets, which hooks need")
    with gate.store.read() as tx:
        known = [(one, find_token(gate, tx, one)) for one in installed.read_tokens(agent, file)]
    secret, token = next(((one, found) for one, found in known if found is not None), ("", None))
    if token is None:
        secret, token = issue_token(gate, "agent", agent.name, by=operator_name())
    own = user is None or user == os.getuid()
    settings = registration.HookSettings(
        socket=path,
        uid=os.getuid() if user is None else user,
        token=secret,
        wait=wait,
        start=sys.executable if own else None,
        variables=registration.kept_variables(os.environ),
    )
    return token.id, registration.write_settings_text(agent, settings)


def _show_and_confirm(planned: Sequence[Change], *, yes: bool) -> None:
    from sayso.doors.agents.changes import show_changes

    for line in show_changes(planned):
        typer.echo(line)
    if not yes and not typer.confirm("Write this?"):
        raise typer.Exit(1)


def _revoke(token: str) -> None:
    """Revoke the hook's token; one that is gone already is."""
    from sayso.cli.operator_name import operator_name
    from sayso.core.errors import SaysoError
    from sayso.gate.people.tokens import revoke_token

    try:
        with open_or_make_gate() as gate:
            revoke_token(gate, token, by=operator_name())
    except SaysoError as error:
        print_note(f"the hook's token was not revoked: {error.message}")
