"""`sayso link`: a link to sign in, at the address of the service that runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.opening import open_gate_to_act, show_or_json
from sayso.cli.options import JsonOption
from sayso.cli.policy_choice import print_note
from sayso.cli.short_ids import StoreOption

if TYPE_CHECKING:
    from sayso.gate.gate import Gate
    from sayso.gate.running_services import AnnouncedService

USUAL = "http://localhost:7333"
LOOKS = 1.0
ONLY_HERE = (
    "a phone cannot open this address, which is of this machine only: start the service with --origin, "
    "or name its address with --url"
)
NOT_RUNNING = "no service runs on this store here; `sayso serve` starts one"


def link(
    context: typer.Context,
    url: Annotated[
        str | None,
        typer.Option(
            "--url", metavar="URL", help="The address of the service's page, on this machine or another."
        ),
    ] = None,
    store: StoreOption = None,
    qr: Annotated[bool, typer.Option("--qr", help="Draw it as a QR code too, for a camera.")] = False,
    person: Annotated[
        str | None,
        typer.Option("--for", metavar="PERSON", help="Sign in as somebody else of your team: page:PERSON."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print a link that signs one browser in, once, within two minutes. Keep it to yourself.

    It points to the service on your store, or else to the only other one running, such as a demo's.
    """
    if url is not None and "://" not in url:
        url = f"http://{url}"
    if url is not None:
        note_if_refused(url)
    from sayso.cli.operator_name import operator_name
    from sayso.gate.people.browsers import make_link

    source = context.get_parameter_source("store")
    named = source is not None and source.name == "COMMANDLINE"
    with _open_for_sign_in(url, store, named=named) as (gate, page):
        code = make_link(gate, person or operator_name(), by=operator_name() if person else None)
    address = f"{page.rstrip('/')}/sign-in#{code}"
    if as_json:
        show_or_json(as_json, {"url": address}, [])
        return
    for line in [address, *(_draw(page, address) if qr else ())]:
        typer.echo(line)  # whole, however narrow the terminal is: a broken link cannot be copied


def _draw(page: str, address: str) -> list[str]:
    """The link as a QR code, with a note where no phone can open it."""
    import sys

    from sayso.cli.views.qr_code import draw_qr_code
    from sayso.reading.urls import LOOPBACK

    if _host_and_port(page)[0] in LOOPBACK:
        print_note(ONLY_HERE)
    return ["", *draw_qr_code(address, coloured=sys.stdout.isatty())]


@contextmanager
def _open_for_sign_in(url: str | None, store: str | None, *, named: bool) -> Iterator[tuple[Gate, str]]:
    """The store to make the link in, and where its service is: of the store or page named, else the only."""
    from sayso.gate.open import gate_data_folder
    from sayso.gate.running_services import list_running_services

    running = list_running_services(gate_data_folder(make=False))
    fitting = [] if named else [one for one in running if url is None or _is_at(one.page, url)]
    with ExitStack() as held:
        own = _open_own_store(held, store, needed=len(fitting) != 1)
        mine = [] if own is None else [one for one in running if one.name == _store_name(own)]
        elsewhere = [one for one in fitting if one not in mine] if len(fitting) == 1 or url is None else []
        if own is not None and (len(elsewhere) != 1 or (url is None and mine)):
            yield own, url or _page_address(mine)
            return
        print_note(f"for the service that runs at {elsewhere[0].page}")
        yield held.enter_context(_open_served(elsewhere[0])), elsewhere[0].page


def note_if_refused(url: str) -> None:
    """Say that nobody answers there; before the store is opened, which takes longer."""
    from sayso.core.words import visible

    if not _listens(url):
        print_note(f"nobody answers at {visible(url)} now; the link lasts two minutes")


def _is_at(page: str, url: str) -> bool:
    """Return whether both name the same port of this machine."""
    from sayso.reading.urls import LOOPBACK

    one, other = _host_and_port(page), _host_and_port(url)
    return one[1] == other[1] and {one[0], other[0]} <= {*LOOPBACK}


def _host_and_port(url: str) -> tuple[str, int]:
    from urllib.parse import urlsplit

    from sayso.core.errors import MalformedRequest

    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise MalformedRequest(f"{url!r} is not a URL", hint=f"it looks like {USUAL}") from error
    return parts.hostname or "", port


def _listens(url: str) -> bool:
    """Return whether anybody takes a connection there; of what is not on this machine, nothing is known."""
    import socket

    from sayso.reading.urls import LOOPBACK

    host, port = _host_and_port(url)
    if host not in LOOPBACK:
        return True
    try:
        with socket.create_connection((host, port), timeout=LOOKS):
            return True
    except OSError:
        return False


def _open_own_store(held: ExitStack, store: str | None, *, needed: bool) -> Gate | None:
    """The operator's own store, or the one named; None if there is none and it is not needed."""
    from sayso.gate.open import gate_data_folder

    file = store or str(gate_data_folder(make=False) / "sayso.db")
    if not needed and "://" not in file and not Path(file).exists():
        return None
    return held.enter_context(open_gate_to_act(store))


def _store_name(gate: Gate) -> str | None:
    with gate.store.read() as tx:
        return tx.meta("name")


def _page_address(mine: list[AnnouncedService]) -> str:
    if not mine:
        print_note(NOT_RUNNING)
        return USUAL
    if len(mine) > 1:
        print_note(f"{len(mine)} services run on this store; --url names another")
    return mine[0].page


@contextmanager
def _open_served(served: AnnouncedService) -> Iterator[Gate]:
    """The store of a service that runs elsewhere than on our own, with the key beside it."""
    from sayso.core.errors import SaysoError
    from sayso.gate.open import KEY_NAME, open_to_act
    from sayso.gate.rows.keys import load_key

    if served.path is None:
        raise SaysoError(f"the service at {served.page} is on a store elsewhere", hint="name it with --store")
    data = Path(served.data)
    gate = open_to_act(None, served.path, key=load_key(KEY_NAME, data / "gate.key"), marks=data)
    try:
        yield gate
    finally:
        gate.store.close()
