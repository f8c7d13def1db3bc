"""`sayso surfaces …`: where else people are asked, and told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.opening import open_gate_to_act, show_or_json
from sayso.cli.options import JsonOption
from sayso.cli.policy_choice import choose_policy, print_note
from sayso.cli.short_ids import StoreOption

if TYPE_CHECKING:
    from sayso.surfaces.remote.settings_file import SurfaceSettings

app = typer.Typer(
    no_args_is_help=True, help="Surfaces: where else you are asked, besides the page and the terminal."
)
HIDDEN = "…"
WAIT = 120.0


@app.command("list", short_help="List the surfaces.")
def list_surfaces(as_json: JsonOption = False) -> None:
    """List the surfaces in file order. The first gets the notices, unless the policy names another."""
    from sayso.surfaces.remote.settings_file import load_surface_settings

    found = [_describe(one) for one in load_surface_settings()]
    lines = [f"{one.pop('name'):12} {one.pop('kind'):9} {_join(one)}" for one in map(dict, found)]
    show_or_json(as_json, found, lines or ["There is no surface yet: sayso surfaces add"])


@app.command("add", short_help="Add a surface.")
def add_one(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="telegram, slack, ntfy, mail, webhook, obsidian or desktop.")
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="What you call it.")],
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="Its settings; what is needed and missing is asked for."),
    ] = None,
) -> None:
    """Add a surface. Its secrets are kept in a file that only you can read; you are asked for them.

    The keys of each kind, those that are not needed in brackets:

    \b
    telegram  token chat approvers=ID,ID [detail=full]
    slack     token signing_secret channel approvers=ID,ID [detail=full]
    ntfy      topic answers=URL [server token detail=full]
    mail      host sender to [port security user password detail=full]
    webhook   url secret approvers=NAME,NAME [detail=masked]
    obsidian  secret approvers=NAME [detail=masked]
    desktop   nothing

    docs/surfaces.md says what they are.
    """
    from sayso.surfaces.remote.settings_file import KINDS, SurfacesRefused, add_surface, surfaces_path

    if kind not in KINDS:
        raise SurfacesRefused(f"{kind!r} is not a kind of surface", hint=f"use {', '.join(KINDS)}")
    given: dict[str, Any] = {"name": name, **_parse_values(values or [])}
    added = add_surface(kind, given | _ask_for_missing(kind, given))
    typer.echo(f"Added {name} to {surfaces_path()}.")
    if not getattr(added, "approvers", True):
        print_note("nobody may answer there yet: remove it, and add it with approvers=ID,ID")
    if not getattr(added, "answers", True):
        print_note("there are no buttons without answers=https://YOUR-SERVICE/surfaces/v1/" + name)
    print_note(f"restart the service, and try it: sayso surfaces test {name}")


@app.command("remove", short_help="Remove a surface.")
def remove_one(name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")]) -> None:
    """Remove a surface. Questions it still shows can no longer be answered there."""
    from sayso.surfaces.remote.settings_file import remove_surface

    remove_surface(name)
    typer.echo(f"Removed {name}.")
    print_note("restart the service")


@app.command("test", short_help="Send a harmless question, and wait for the answer.")
def try_one(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")],
    wait: Annotated[float, typer.Option("--wait", metavar="N", help="Seconds to wait for an answer.")] = WAIT,
    store: StoreOption = None,
) -> None:
    """Send a notice and a harmless question, and wait for the answer. Exit 1 if there is none."""
    from sayso.gate.deliveries.trial import try_surface
    from sayso.surfaces.remote.settings_file import SurfacesRefused, load_surface_settings, make_surfaces

    made = {one.name: one for one in make_surfaces(load_surface_settings())}
    if name not in made:
        raise SurfacesRefused(f"there is no surface {name!r}", hint="sayso surfaces list")
    with open_gate_to_act(store, choose_policy(None, None, None)) as gate:
        told = try_surface(gate, made[name], wait, said=typer.echo)
    typer.echo(told.text)
    if not told.answered:
        raise typer.Exit(1)


def _describe(one: SurfaceSettings) -> dict[str, Any]:
    import msgspec

    from sayso.surfaces.remote.settings_file import SECRET_KEYS

    told: dict[str, Any] = msgspec.to_builtins(one)
    return {key: HIDDEN if key in SECRET_KEYS and value else value for key, value in told.items()}


def _join(values: dict[str, Any]) -> str:
    shown = {key: ",".join(one) if isinstance(one, list | tuple) else one for key, one in values.items()}
    return "  ".join(f"{key}={value}" for key, value in shown.items() if value != "")


def _parse_values(values: list[str]) -> dict[str, Any]:
    from sayso.surfaces.remote.settings_file import SurfacesRefused

    given: dict[str, Any] = {}
    for one in values:
        key, sign, value = one.partition("=")
        if not sign:
            raise SurfacesRefused(f"{one!r} is not KEY=VALUE")
        people = [part.strip() for part in value.split(",")]
        given[key] = [one for one in people if one] if key == "approvers" else value
    return given


def _ask_for_missing(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """Ask for what this kind needs, and for a secret given as KEY=. What is secret is not shown."""
    import msgspec

    from sayso.surfaces.remote.settings_file import KINDS, SECRET_KEYS

    needed = [
        one.name for one in msgspec.structs.fields(KINDS[kind]) if one.required and one.name not in given
    ]
    left_open = [key for key, value in given.items() if key in SECRET_KEYS and value == ""]
    return {key: typer.prompt(key, hide_input=key in SECRET_KEYS) for key in (*needed, *left_open)}
