"""`sayso serve`: the resident service."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.options import ApprovalOption, JsonOption, PolicyOption, PresetOption
from sayso.cli.policy_choice import choose_policy, find_policy_source, print_note
from sayso.cli.short_ids import StoreOption

if TYPE_CHECKING:
    from sayso.gate.gate import Gate
    from sayso.service.serve import Address

HostOption = Annotated[
    str,
    typer.Option("--host", metavar="ADDRESS", help="The address to listen on; only this machine by default."),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="N",
        min=0,
        max=65535,
        help="The port, 0 for a free one; by default 7333, or a free one if that is taken.",
        show_default=False,
    ),
]
SocketOption = Annotated[Path | None, typer.Option("--socket", metavar="FILE", help="The Unix socket.")]

LIMITS_PANEL = "Limits (also in settings.json, under service)"


def _limit(flag: str, about: str) -> Any:
    return typer.Option(flag, metavar="N", min=1, help=about, rich_help_panel=LIMITS_PANEL)


RateOption = Annotated[float | None, _limit("--rate", "Calls a second that one token may make; 1000.")]
BurstOption = Annotated[int | None, _limit("--burst", "Calls it may make at once; 2000.")]
WaitsOption = Annotated[int | None, _limit("--waits", "Waits and event streams it may have open; 2000.")]
BodyRateOption = Annotated[float | None, _limit("--body-rate", "Bytes a second it may send; 262144.")]
BodyBurstOption = Annotated[int | None, _limit("--body-burst", "Bytes it may send at once; 8388608.")]
HeldOption = Annotated[
    int | None,
    _limit("--held", "Bytes that a session's open calls may hold, and a token's denied ones; 16777216."),
]
StrangersOption = Annotated[int | None, _limit("--strangers", "Connections that have shown no token; 1000.")]


def run_service(
    status: Annotated[
        bool, typer.Option("--status", help="Show the running service; exit 1 if none runs well.")
    ] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the running service.")] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Stop the running service, and start it here.")
    ] = False,
    background: Annotated[
        bool, typer.Option("--background", help="Start it in the background; return once it listens.")
    ] = False,
    host: HostOption = "127.0.0.1",
    port: PortOption = None,
    socket: SocketOption = None,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    origin: Annotated[
        str | None,
        typer.Option("--origin", metavar="URL", help="Where browsers find the page, behind a TLS proxy."),
    ] = None,
    open_socket: Annotated[
        bool,
        typer.Option("--open-socket", help="Let other users of this machine connect to the socket."),
    ] = False,
    install: Annotated[
        bool,
        typer.Option("--install", help="Write a unit for systemd or launchd, and print how to start it."),
    ] = False,
    as_json: JsonOption = False,
    log: Annotated[
        str, typer.Option("--log", metavar="FORM", help="The log on stderr: text for people, or json.")
    ] = "text",
    rate: RateOption = None,
    burst: BurstOption = None,
    waits: WaitsOption = None,
    body_rate: BodyRateOption = None,
    body_burst: BodyBurstOption = None,
    held: HeldOption = None,
    strangers: StrangersOption = None,
) -> None:
    """Run the service and its page until you stop it. It listens on this machine only by default.

    The first call of a gated agent starts it in the background, if it does not run. --status shows it,
    `sayso link` signs you in, --stop stops it, --restart runs it here instead.

    The limits are for tokens of agents and hosts; operators are never limited.
    """
    import msgspec

    from sayso.cli.commands.service import running
    from sayso.core.extras import needs_extra
    from sayso.gate.open import open_gate
    from sayso.gate.settings import socket_path
    from sayso.reading.urls import LOOPBACK

    running.check_wish(status=status, stop=stop, restart=restart, background=background)
    if status or stop:
        (running.show_running if status else running.stop_running)(store, as_json=as_json)
        return
    with needs_extra("service", "the service"):
        from sayso.doors.agents import AGENTS
        from sayso.doors.agents.settings.installed import guard_installed_files
        from sayso.doors.mcp.gateway.dialect import DIALECT
        from sayso.service.providers.settings_file import load_provider_settings
        from sayso.service.serve import PORT, Address
        from sayso.service.serve import serve_gate as run
        from sayso.service.settings import load_service_settings
        from sayso.surfaces.remote.settings_file import (
            check_notices,
            find_unknown_escalations,
            load_surface_settings,
            make_surfaces,
            notice_places,
        )

    place = socket or socket_path()
    chosen_port = PORT if port is None else port
    address = Address(host, chosen_port, place, check_origin(origin), open_socket, any_port=port is None)
    if install:
        from sayso.service.units import write_unit

        for line in write_unit(address, store, policy, preset):
            typer.echo(line)
        running.note_if_in_the_way(store)
        return
    running.make_room(place, store, restart=restart)
    if background:
        running.start_in_background(place, store)
        return
    limits = {"rate": rate, "burst": burst, "waits": waits, "body_rate": body_rate}
    sizes = {"body_burst": body_burst, "held": held, "strangers": strangers}
    settings = load_service_settings({**limits, **sizes})
    _log_as(log)
    chosen = choose_policy(policy, preset, approval)
    surfaces = make_surfaces(load_surface_settings())
    names = notice_places(surfaces)
    check_notices(chosen.settings.notices, names)  # before the file is in force
    providers = load_provider_settings()
    gate = open_gate(chosen, store, source=find_policy_source(policy, preset, approval))
    check_notices(gate.policy.settings.notices, names)
    gate = msgspec.structs.replace(gate, surfaces=names)
    if host not in LOOPBACK:
        print_note("this address can be reached from other machines, and what is sent there is not encrypted")
    if providers and not gate.policy.team.people:
        print_note("the policy names no people, so nobody can sign in with a provider (docs/team.md)")
    for name in find_unknown_escalations(gate.policy.team, [one.name for one in surfaces]):
        print_note(f"an escalation names {name}, which is not a surface (sayso surfaces list)")
    guard_installed_files()
    with ExitStack() as open_until_end:
        open_until_end.callback(gate.store.close)
        run(
            gate,
            address,
            settings=settings,
            agents={**AGENTS, DIALECT.name: DIALECT},
            surfaces=surfaces,
            providers=providers,
            started=lambda real: _print_started(gate, real, store, open_until_end),
        )


def check_origin(origin: str | None) -> str | None:
    """An origin as browsers spell it: https, a name, perhaps a port, and nothing after it."""
    from sayso.core.errors import MalformedRequest
    from sayso.gate.rows.webauthn import host_of

    if origin is not None and (host_of(origin) is None or origin != origin.lower()):
        raise MalformedRequest(
            f"{origin} is not an origin for the page", hint="write https://name, with no path"
        )
    return origin


def _log_as(form: str) -> None:
    from typing import cast, get_args

    from sayso.core.errors import MalformedRequest
    from sayso.service.logs import Form, log_to

    if form not in get_args(Form):
        raise MalformedRequest(
            f"there is no log form {form!r}", hint=f"use one of: {', '.join(get_args(Form))}"
        )
    log_to(form=cast("Form", form))


def announce(gate: Gate, address: Address, data: Path, file: Path | None, held: ExitStack) -> None:
    """Tell the operator's other commands where this service is, until `held` ends.

    `data` is the folder of the gate's key, `file` the store's, if it is one.
    """
    from sayso.gate.open import gate_data_folder
    from sayso.gate.running_services import AnnouncedService, announce_service

    with gate.store.read() as tx:
        name = tx.meta("name") or ""
    served = AnnouncedService(
        address.page,
        name,
        str(data),
        None if file is None else str(file.resolve()),
        None if address.path is None else str(address.path.resolve()),
        os.getpid(),
        time.time(),
    )
    held.enter_context(announce_service(served, gate_data_folder()))


def _print_started(gate: Gate, address: Address, store: str | None, held: ExitStack) -> None:
    """Say where it is; at a terminal also how to sign in, which is for the person there alone."""
    import sys

    from sayso.cli.operator_name import operator_name
    from sayso.cli.views.wrapping import echo_line
    from sayso.gate.open import gate_data_folder
    from sayso.gate.people.browsers import make_link
    from sayso.service.serve import PORT

    file = None if store is not None and "://" in store else Path(store or gate_data_folder() / "sayso.db")
    announce(gate, address, gate_data_folder(), file, held)

    if address.any_port and address.port != PORT:
        print_note(f"port {PORT} is taken by another program; --port N names a port of your choice")
    typer.echo(f"Sayso serves on {address.url}" + (f" and {address.path}" if address.path else ""))
    if sys.stdout.isatty():
        typer.echo("Sign in within two minutes:\n")
        typer.echo(f"  {address.page}/sign-in#{make_link(gate, operator_name())}\n")
    echo_line("`sayso link` makes a link to sign in. Ctrl-C or `sayso serve --stop` ends the service.")
