"""`sayso passkey …`: who has one, and which answers on the page have to be signed with one."""

from __future__ import annotations

from typing import Annotated

import typer

from sayso.cli.opening import open_gate_to_act, open_gate_to_look, show_or_json
from sayso.cli.options import JsonOption
from sayso.cli.short_ids import PasskeyId, StoreOption, expand_passkey_id

passkeys = typer.Typer(no_args_is_help=True, help="Operators' passkeys, and what must be signed with them.")
SIGNED = {
    "all": "every answer that allows something",
    "high": "answers that allow high risk",
    "never": "nothing",
    None: "answers that allow high risk, once there is a passkey (the default)",
}


@passkeys.command("list", short_help="List passkeys and what must be signed.")
def passkey_list(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List passkeys, and which answers on the page must be signed. Add passkeys on the page."""
    from sayso.cli.views.operator import format_moment
    from sayso.core.words import visible
    from sayso.gate.people.passkeys import list_passkeys, load_required_level

    with open_gate_to_look(store, sealed=True) as gate:
        found, level = list_passkeys(gate), load_required_level(gate)
    lines = [
        f"{one.id}  {visible(one.user)}: {visible(one.name)}, for {one.place}, "
        f"made {format_moment(one.made_at)}"
        for one in found
    ] or ["Nobody has a passkey."]
    told = {"passkeys": found, "require": level}
    show_or_json(as_json, told, [*lines, f"To be signed on the page: {SIGNED[level]}."])


@passkeys.command("remove", short_help="Remove a passkey.")
def passkey_remove(
    passkey: PasskeyId = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All of them, also those that cannot be read any more.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove one passkey, or with --all every one of every operator."""
    from sayso.cli.operator_name import operator_name
    from sayso.core.errors import MalformedRequest
    from sayso.core.words import visible
    from sayso.gate.people.passkeys import forget_passkeys, remove_passkey

    if (passkey is None) is not everything:
        raise MalformedRequest("name a passkey, or use --all", hint="sayso passkey list shows them")
    with open_gate_to_act(store) as gate:
        if passkey is None:
            count = forget_passkeys(gate, by=operator_name())
            show_or_json(as_json, {"removed": count}, [f"Removed: {count}."])
            return
        gone = remove_passkey(gate, expand_passkey_id(gate, passkey), by=operator_name())
    show_or_json(as_json, gone, [f"Removed: {gone.id}, {visible(gone.name)} of {visible(gone.user)}."])


@passkeys.command("require", short_help="Choose which answers must be signed.")
def passkey_require(
    level: Annotated[str, typer.Argument(metavar="LEVEL", help="high, all or never.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose which answers on the page must be signed: those that allow high risk, every yes, or none.

    The choice applies even if nobody has a passkey. Answers at a terminal are never signed; the audit
    records that.
    """
    from sayso.cli.operator_name import operator_name
    from sayso.core.errors import MalformedRequest
    from sayso.gate.people.passkeys import LEVELS, require_passkeys

    if level not in LEVELS:
        raise MalformedRequest(f"there is no level {level!r}", hint=f"use one of: {', '.join(LEVELS)}")
    chosen = next(one for one in LEVELS if one == level)
    with open_gate_to_act(store) as gate:
        require_passkeys(gate, chosen, by=operator_name())
    show_or_json(as_json, {"require": level}, [f"To be signed on the page: {SIGNED[level]}."])
