"""The service that runs: `sayso serve --status | --stop | --restart | --background`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from sayso.gate.running_services import AnnouncedService

NOT_RUNNING = "No service runs on this store. `sayso serve` starts one"
OWN_RUNS = (
    "`sayso link` signs you in there, `sayso serve --stop` stops it, "
    "`sayso serve --restart` stops it and runs it here"
)
OTHER_RUNS = "it is on another store ({store}): name that one with --store, or another socket with --socket"
STARTED_BY_CALLS = "the next call of a gated agent starts it again"


def check_wish(*, status: bool, stop: bool, restart: bool, background: bool) -> None:
    """Refuse what cannot be done together."""
    from sayso.core.errors import MalformedRequest

    if status + stop + (restart or background) > 1:
        raise MalformedRequest("choose one of --status, --stop, and --restart with or without --background")


def show_running(store: str | None, *, as_json: bool) -> None:
    """Show the services on this store, and where others run. Exit 1 if none is, or one is in trouble."""
    from msgspec import to_builtins

    mine, others = find_running(store)
    found = [(one, find_trouble_of(one)) for one in mine]
    lines = [line for one, trouble in found for line in _describe(one, trouble)]
    lines = lines or [f"{NOT_RUNNING}{_or_a_call()}."]
    lines += [f"A service runs on another store: {one.page}" for one in others]
    _print([{**to_builtins(one), "trouble": trouble} for one, trouble in found], lines, as_json=as_json)
    if not mine or any(trouble for _, trouble in found):
        raise typer.Exit(1)


def find_trouble_of(one: AnnouncedService) -> str | None:
    """Return why a service cannot do its work, and what to do about it; None if it can."""
    from sayso.core.extras import needs_extra

    with needs_extra("service", "asking the service"):
        from sayso.doors.remote.health import find_trouble
        from sayso.doors.remote.line import ServiceAddress
    trouble = find_trouble(ServiceAddress(Path(one.socket) if one.socket else one.page, lambda: None))
    return None if trouble is None else str(trouble)


def stop_running(store: str | None, *, as_json: bool) -> None:
    """Stop the services on this store."""
    from sayso.doors.agents.settings.installed import list_installations

    mine, _ = find_running(store)
    _stop(mine)
    again = [f"Note that {STARTED_BY_CALLS}."] if mine and list_installations() else []
    lines = [f"Stopped: {one.page}" for one in mine] or [f"{NOT_RUNNING}."]
    _print(mine, [*lines, *again], as_json=as_json)


def make_room(socket: Path | None, store: str | None, *, restart: bool) -> None:
    """Stop the services on this store, or refuse to start where one has the socket already."""
    from sayso.core.errors import SaysoError

    mine, others = find_running(store)
    if restart:
        _stop(mine)
        mine = []
    taken = [one for one in (*mine, *others) if socket is not None and one.socket == str(socket.resolve())]
    if taken:
        raise SaysoError(
            f"Sayso runs already at {taken[0].page} (process {taken[0].process})",
            hint=OWN_RUNS if taken[0] in mine else OTHER_RUNS.format(store=taken[0].path or "on a server"),
        )


def note_if_left_running() -> None:
    """Say that the service still runs though no hook or gateway is left that would use it."""
    from sayso.cli.policy_choice import print_note
    from sayso.doors.agents.settings.installed import list_installations

    if not list_installations() and find_running(None)[0]:
        print_note("the service still runs; `sayso serve --stop` stops it")


def note_if_in_the_way(store: str | None) -> None:
    """Say that a unit cannot start the service while another process runs it."""
    from sayso.cli.policy_choice import print_note

    if find_running(store)[0]:
        print_note("a service runs already; `sayso serve --stop` stops it, so that the unit can start")


def start_in_background(socket: Path | None, store: str | None) -> None:
    """Start the service with the options of this command, and show it once it listens."""
    from sayso.core.errors import SaysoError
    from sayso.doors.remote.discovery import start_service
    from sayso.gate.open import gate_data_folder
    from sayso.gate.running_services import await_announcement

    if socket is None:
        raise SaysoError("this system has no Unix sockets, so nothing tells when the service listens")
    words = sys.argv[1:]
    words.remove("serve")
    start_service(socket, [word for word in words if word not in ("--background", "--restart")])
    await_announcement(socket.resolve(), gate_data_folder())
    show_running(store, as_json=False)


def _print(services: Sequence[object], lines: list[str], *, as_json: bool) -> None:
    from sayso.cli.opening import show_or_json
    from sayso.cli.views.wrapping import echo_line

    if as_json:
        show_or_json(True, services, [])
        return
    for line in lines:
        echo_line(line)


def find_running(store: str | None) -> tuple[list[AnnouncedService], list[AnnouncedService]]:
    """Return the services that run on this store, and those on others."""
    from sayso.gate.open import gate_data_folder
    from sayso.gate.running_services import list_running_services

    running = list_running_services(gate_data_folder(make=False))
    if not running:
        return [], []
    if store is not None and "://" in store:
        name = _name_of_store(store)
        mine = [one for one in running if one.name == name]
    else:
        file = str(Path(store or gate_data_folder(make=False) / "sayso.db").resolve())
        mine = [one for one in running if one.path == file]
    return mine, [one for one in running if one not in mine]


def _name_of_store(store: str) -> str | None:
    from sayso.cli.opening import open_gate_to_look

    with open_gate_to_look(store) as gate, gate.store.read() as tx:
        return tx.meta("name")


def _stop(services: list[AnnouncedService]) -> None:
    from sayso.core.errors import SaysoError
    from sayso.gate.open import gate_data_folder
    from sayso.gate.running_services import stop_service

    for one in services:
        if not stop_service(one, gate_data_folder()):
            raise SaysoError(
                f"the service at {one.page} did not stop", hint=f"check what process {one.process} is doing"
            )


def _describe(one: AnnouncedService, trouble: str | None) -> list[str]:
    from sayso.cli.views.operator import format_moment

    return [
        f"Sayso runs at {one.page}",
        f"  since    {format_moment(one.since)}, process {one.process}",
        f"  store    {one.path or 'on a server'}",
        f"  health   {trouble or 'ok'}",
        *([f"  socket   {one.socket}"] if one.socket else []),
        "  open     sayso link, which signs your browser in",
        "  stop     sayso serve --stop",
        "  restart  sayso serve --restart (--background: not in this terminal)",
    ]


def _or_a_call() -> str:
    from sayso.doors.agents.settings.installed import list_installations

    return ", and so does the next call of a gated agent" if list_installations() else ""
