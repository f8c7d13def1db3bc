"""`sayso allowlist …` and `sayso sessions …`: what stands, and how the operator changes it."""

from __future__ import annotations

from typing import Annotated

import typer

from sayso.cli.opening import open_gate_to_act, open_gate_to_look, optional_session_id, show_or_json
from sayso.cli.operator_name import operator_name
from sayso.cli.options import ApprovalOption, JsonOption, PolicyOption, PresetOption
from sayso.cli.policy_choice import choose_policy
from sayso.cli.short_ids import SessionId, SessionOption, StoreOption, expand_open_session_id

allowlist = typer.Typer(
    help="List the commands with standing consent, session by session.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
sessions = typer.Typer(
    help="List open sessions: agent, folder and task.",
    invoke_without_command=True,
    rich_markup_mode=None,
)

CommandArg = Annotated[
    str, typer.Argument(metavar="COMMAND", help="A command line, word for word, in quotes.")
]


@allowlist.callback()
def allowlist_list(
    context: typer.Context,
    session: SessionOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    if has_subcommand(context):
        return
    from sayso.cli.views import grants
    from sayso.gate.sessions.operator_grants import list_grants

    with open_gate_to_look(store, sealed=True) as gate:
        found = [
            one for one in list_grants(gate, optional_session_id(gate, session)) if one.kind == "command"
        ]
    show_or_json(as_json, found, grants.allowlist_lines(found))


@allowlist.command("add", short_help="Give a command standing consent.")
def allowlist_add(
    session: SessionId,
    command: CommandArg,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a command standing consent, word for word, while the session lasts and at most 24 hours.

    Example: sayso allowlist add s_4f "git push"
    """
    from sayso.cli.views import grants
    from sayso.gate.sessions.allowance import LONGEST_MINUTES
    from sayso.gate.sessions.operator_grants import give_grant, list_grants

    with open_gate_to_act(store, choose_policy(policy, preset, approval)) as gate:
        session = expand_open_session_id(gate, session)
        give_grant(gate, session, by=operator_name(), command=command, minutes=LONGEST_MINUTES)
        listed = [one for one in list_grants(gate, session) if one.kind == "command"]
    show_or_json(as_json, listed, grants.allowlist_lines(listed))


@allowlist.command("remove", short_help="Remove a command.")
def allowlist_remove(
    session: SessionId, command: CommandArg, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Remove a command's standing consent."""
    _clear_allowlist(session, command, store, as_json)


@allowlist.command("clear", short_help="Remove all commands of a session.")
def allowlist_clear(session: SessionId, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Remove the standing consent of all commands of a session. Other grants stay."""
    _clear_allowlist(session, None, store, as_json)


@sessions.callback()
def sessions_list(context: typer.Context, store: StoreOption = None, as_json: JsonOption = False) -> None:
    if has_subcommand(context):
        return
    from sayso.cli.views import operator

    with open_gate_to_look(store, sealed=True) as gate:
        found = operator.load_open_sessions(gate)
    show_or_json(as_json, found, operator.session_lines(found))


@sessions.command("end", short_help="End a session and all consent in it.")
def sessions_end(session: SessionId, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """End a session for good: all its grants end, and nothing more is decided in it."""
    from sayso.cli.operator_name import operator_name
    from sayso.gate.sessions.sessions import close_session

    with open_gate_to_act(store) as gate:
        session = expand_open_session_id(gate, session)
        close_session(gate, session, by=operator_name())
    show_or_json(as_json, {"session": session, "ended": True}, [f"Ended: {session}"])


def has_subcommand(context: typer.Context) -> bool:
    """Return whether a subcommand follows. Options before it would be lost, so they are refused."""
    from sayso.core.errors import MalformedRequest

    if context.invoked_subcommand is None:
        return False
    sources = [context.get_parameter_source(name) for name in context.params]
    if any(source is not None and source.name == "COMMANDLINE" for source in sources):
        raise MalformedRequest(f"options stand after {context.invoked_subcommand}, not before it")
    return True


def _clear_allowlist(session: str, command: str | None, store: str | None, as_json: bool) -> None:
    from sayso.cli.views import grants
    from sayso.gate.sessions.operator_grants import clear_allowlist

    with open_gate_to_act(store) as gate:
        ended = clear_allowlist(gate, expand_open_session_id(gate, session), operator_name(), command)
    show_or_json(as_json, ended, grants.revocation_lines(ended) if ended else ["The allowlist was empty."])
