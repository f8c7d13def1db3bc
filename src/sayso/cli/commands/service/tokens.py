"""`sayso token …`: who may speak to the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.opening import open_gate_to_act, open_gate_to_look, show_or_json
from sayso.cli.options import JsonOption
from sayso.cli.policy_choice import print_note
from sayso.cli.short_ids import StoreOption, TokenId, expand_token_id

if TYPE_CHECKING:
    from sayso.gate.people.tokens import Token

tokens = typer.Typer(no_args_is_help=True, help="Tokens for agents, hosts and operators.")


@tokens.command("new", short_help="Create a token; it is shown only once.")
def token_new(
    role: Annotated[str, typer.Argument(metavar="ROLE", help="agent, host or operator.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The holder's name.")],
    assured: Annotated[
        bool, typer.Option("--assured", help="For a host: the agent's user cannot read this token.")
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate", metavar="N", help="Calls a second it may make; by default the service's limit."
        ),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a token for an agent, a host or an operator.

    Messages from a host count as claimed: they can tighten at once, and before they loosen anything you are
    asked. With --assured you vouch that no agent can read the token, and its messages count at once.
    """
    from sayso.cli.operator_name import operator_name, terminal_identity
    from sayso.gate.people.tokens import issue_token

    with open_gate_to_act(store) as gate:
        secret, token = issue_token(
            gate,
            role,  # type: ignore[arg-type]  # checked there
            name,
            by=operator_name(),
            assured=assured,
            rate=rate,
            issuer=terminal_identity(),
        )
    told = {
        "token": secret,
        "id": token.id,
        "role": token.role,
        "name": token.name,
        "assured": token.assured,
        "rate": token.rate,
    }
    show_or_json(as_json, told, [secret])
    print_note(f"{token.id}: keep it where only {name} can read it; it is not shown again")


@tokens.command("list", short_help="List tokens.")
def token_list(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List tokens by id, role and name. The tokens themselves are not kept."""
    from sayso.gate.people.tokens import list_tokens

    with open_gate_to_look(store, sealed=True) as gate:
        found = list_tokens(gate)
    lines = [_describe_token(one) for one in found]
    show_or_json(as_json, found, lines or ["Nobody has a token."])


def _describe_token(token: Token) -> str:
    assured = ", assured" if token.assured else ""
    rate = "" if token.rate is None else f", {token.rate:g} calls a second"
    return f"{token.id}  {token.role:9} {token.name}{assured}{rate}"


@tokens.command("revoke", short_help="Revoke a token.")
def token_revoke(
    token: TokenId,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a token: from the next request on, its holder is refused."""
    from sayso.cli.operator_name import operator_name
    from sayso.gate.people.tokens import revoke_token

    with open_gate_to_act(store) as gate:
        ended = revoke_token(gate, expand_token_id(gate, token), by=operator_name())
    show_or_json(as_json, ended, [f"Revoked: {ended.id} ({ended.name})."])
