"""`sayso allowlist …` and `sayso sessions …`: what stands, and how the operator changes it."""

from __future__ import annotations

from typing import Annotated

import typer

from sayso.cli.commands.operator import acting, in_session, looking, show_or_json
from sayso.cli.policy_choice import Approval, Json, PolicyFile, Preset, chosen
from sayso.cli.short_ids import InSession, SessionId, StoreFile, whole_session

allowlist = typer.Typer(
    help="The commands that have standing consent, word for word, session by session.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
sessions = typer.Typer(
    help="The sessions that are open: who runs in them, where, on what task.",
    invoke_without_command=True,
    rich_markup_mode=None,
)

Command = Annotated[str, typer.Argument(metavar="COMMAND", help="A command line, word for word, in quotes.")]


@allowlist.callback()
def list_commands(
    context: typer.Context, session: InSession = None, store: StoreFile = None, as_json: Json = False
) -> None:
    if goes_on(context):
        return
    from sayso.cli.views import grants
    from sayso.gate.sessions.operator_grants import list_grants

    with looking(store, sealed=True) as gate:
        found = [one for one in list_grants(gate, in_session(gate, session)) if one.kind == "command"]
    show_or_json(as_json, found, grants.allowlist_lines(found))


@allowlist.command("add", short_help="Give a command standing consent.")
def add(
    session: SessionId,
    command: Command,
    store: StoreFile = None,
    policy: PolicyFile = None,
    preset: Preset = None,
    approval: Approval = None,
    as_json: Json = False,
) -> None:
    """Give a command standing consent, word for word, while the session lasts and at most 24 hours.

    Example: sayso allowlist add s_4f "git push"
    """
    from sayso.cli.views import grants, operator
    from sayso.gate.sessions.allowance import LONGEST_MINUTES
    from sayso.gate.sessions.operator_grants import give_grant, list_grants

    with acting(store, chosen(policy, preset, approval)) as gate:
        session = whole_session(gate, session)
        give_grant(gate, session, by=operator.operator(), command=command, minutes=LONGEST_MINUTES)
        listed = [one for one in list_grants(gate, session) if one.kind == "command"]
    show_or_json(as_json, listed, grants.allowlist_lines(listed))


@allowlist.command("remove", short_help="Take it back from a command.")
def remove(session: SessionId, command: Command, store: StoreFile = None, as_json: Json = False) -> None:
    """Take standing consent back from a command."""
    _clear(session, command, store, as_json)


@allowlist.command("clear", short_help="Take it back from all of a session.")
def clear(session: SessionId, store: StoreFile = None, as_json: Json = False) -> None:
    """Take standing consent back from all commands of a session. Other grants stay."""
    _clear(session, None, store, as_json)


@sessions.callback()
def list_open(context: typer.Context, store: StoreFile = None, as_json: Json = False) -> None:
    if goes_on(context):
        return
    from sayso.cli.views import operator

    with looking(store, sealed=True) as gate:
        found = operator.open_sessions(gate)
    show_or_json(as_json, found, operator.session_lines(found))


@sessions.command("end", short_help="End a session and all consent in it.")
def end(session: SessionId, store: StoreFile = None, as_json: Json = False) -> None:
    """End a session for good: everything granted in it ends, and nothing is decided in it any more."""
    from sayso.cli.views.operator import operator
    from sayso.gate.sessions.sessions import end_session

    with acting(store) as gate:
        session = whole_session(gate, session)
        end_session(gate, session, by=operator())
    show_or_json(as_json, {"session": session, "ended": True}, [f"Ended: {session}"])


def goes_on(context: typer.Context) -> bool:
    """Whether a command of the group follows. Options before it would not reach it, so they are refused."""
    from sayso.core.errors import MalformedRequest

    if context.invoked_subcommand is None:
        return False
    sources = [context.get_parameter_source(name) for name in context.params]
    if any(source is not None and source.name == "COMMANDLINE" for source in sources):
        raise MalformedRequest(f"options stand after {context.invoked_subcommand}, not before it")
    return True


def _clear(session: str, command: str | None, store: str | None, as_json: bool) -> None:
    from sayso.cli.views import grants, operator
    from sayso.gate.sessions.operator_grants import clear_allowlist

    with acting(store) as gate:
        ended = clear_allowlist(gate, whole_session(gate, session), operator.operator(), command)
    show_or_json(as_json, ended, grants.ended_lines(ended) if ended else ["The allowlist was empty."])
