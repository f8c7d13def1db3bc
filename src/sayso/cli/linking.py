"""`sayso link`: a link to sign in, at the address of the service that runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.choice import Json, remark
from sayso.cli.operate import acting, show_or_json
from sayso.cli.shortened import StoreFile

if TYPE_CHECKING:
    from sayso.gate.gate import Gate
    from sayso.gate.served import Served

USUAL = "http://localhost:7333"
LOOKED_FOR = 2.0
"""Seconds within which a service has to be found."""
HERE = ("localhost", "127.0.0.1", "::1")
NOT_RUNNING = "no service runs on this store here; `sayso serve` starts one"


def link(
    context: typer.Context,
    url: Annotated[
        str | None, typer.Option("--url", help="Where the service is reached, if not on this machine.")
    ] = None,
    store: StoreFile = None,
    as_json: Json = False,
) -> None:
    """A link that signs one browser in, once, within two minutes. Give it to nobody.

    It names the service that runs on your store; if none does, the only other one, such as a demo's.
    """
    from sayso.cli.operating import operator
    from sayso.core.words import visible
    from sayso.gate.signin import make_link

    source = context.get_parameter_source("store")
    named = source is not None and source.name == "COMMANDLINE"
    with _to_sign_in(url, store, any_service=url is None and not named) as (gate, page):
        code = make_link(gate, operator())
    if url is not None and not is_reached(url):
        remark(f"nobody answers at {visible(url)} now; the link lasts two minutes")
    address = f"{page.rstrip('/')}/sign-in#{code}"
    show_or_json(as_json, {"url": address}, [address])


def is_reached(url: str) -> bool:
    """Whether somebody listens at this address of this machine; an address elsewhere is not looked at."""
    import socket
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        if parts.hostname not in HERE:
            return True
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname, port), timeout=LOOKED_FOR):
            return True
    except (OSError, ValueError):
        return False


@contextmanager
def _to_sign_in(url: str | None, store: str | None, *, any_service: bool) -> Iterator[tuple[Gate, str]]:
    """The store to make the link in, and where its service is; with `any_service`, that of the only one."""
    from sayso.gate.open import data_folder
    from sayso.gate.served import running_services

    running = running_services(data_folder(make=False))
    others = running if any_service else []
    with ExitStack() as held:
        own = _own(held, store, needed=len(others) != 1)
        mine = [] if own is None else [one for one in running if one.name == _name(own)]
        if own is not None and (url is not None or mine or len(others) != 1):
            yield own, url or _page(mine)
            return
        remark(f"for the service that runs at {others[0].page}")
        yield held.enter_context(_opened(others[0])), others[0].page


def _own(held: ExitStack, store: str | None, *, needed: bool) -> Gate | None:
    """The operator's own store, or the one named; None if there is none and it is not needed."""
    from sayso.gate.open import data_folder

    file = store or str(data_folder(make=False) / "sayso.db")
    if not needed and "://" not in file and not Path(file).exists():
        return None
    return held.enter_context(acting(store))


def _name(gate: Gate) -> str | None:
    with gate.store.read() as tx:
        return tx.meta("name")


def _page(mine: list[Served]) -> str:
    if not mine:
        remark(NOT_RUNNING)
        return USUAL
    if len(mine) > 1:
        remark(f"{len(mine)} services run on this store; --url names another")
    return mine[0].page


@contextmanager
def _opened(served: Served) -> Iterator[Gate]:
    """The store of a service that runs elsewhere than on our own, with the key beside it."""
    from sayso.core.errors import SaysoError
    from sayso.gate.open import KEY_NAME, open_to_act
    from sayso.gate.signing import load_key

    if served.path is None:
        raise SaysoError(f"the service at {served.page} is on a store elsewhere", hint="name it with --store")
    data = Path(served.data)
    gate = open_to_act(None, served.path, key=load_key(KEY_NAME, data / "gate.key"), marks=data)
    try:
        yield gate
    finally:
        gate.store.close()
