"""`sayso demo`: the service, its page, and an agent at work that needs your say-so."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from sayso.gate.gate import Gate
    from sayso.service.serve import Address

WHO = "you"
COLOURS = {"agent": "bold", "asked": "yellow", "ran": "green", "not run": "red", "failed": "red"}


def demo(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 0,
) -> None:
    """Start the service on a store of its own, show the page, and let an agent work in a scratch repository.

    What it may not do unasked, you are asked for: in the browser, or here if there is none. Without anybody
    there it goes on without, says so, and ends.
    """
    from tempfile import TemporaryDirectory

    from rich.console import Console

    from sayso.cli.demo_agent import make_repository, needs
    from sayso.core.errors import SaysoError
    from sayso.core.extras import needs_extra

    with needs_extra("service", "the demo"):
        import sayso.service.serve  # noqa: F401  before anything is made
    if needs():
        raise SaysoError("the demo works in a git repository, and there is no git here", hint="install git")
    out = Console(highlight=False)
    with TemporaryDirectory(prefix="sayso-demo-") as folder:
        place = Path(folder)
        _run(out, place, make_repository(place), port, patient=sys.stdin.isatty() and sys.stdout.isatty())


def _run(out: Console, folder: Path, project: Path, port: int, *, patient: bool) -> None:
    from sayso.gate.open import open_gate
    from sayso.gate.signing import make_key
    from sayso.policy import load_preset
    from sayso.service.serve import Address, serve

    gate = open_gate(load_preset("coding"), folder / "sayso.db", key=make_key("demo"), marks=folder)
    try:
        address = Address("127.0.0.1", port)
        serve(gate, address, started=lambda real: _begin(out, gate, real, project, patient=patient))
    finally:
        gate.store.close()


def _begin(out: Console, gate: Gate, address: Address, project: Path, *, patient: bool) -> None:
    from sayso.gate.signin import make_link

    url = address.url.replace("127.0.0.1", "localhost")
    out.print(f"Sayso serves on {url}, on a store of its own that goes away with it.\n")
    shown = patient and _show_page(out, f"{url}/sign-in#{make_link(gate, WHO)}")
    args = (out, gate, address, project, patient, patient and not shown)
    threading.Thread(target=_agent, name="demo-agent", args=args, daemon=True).start()


def _show_page(out: Console, link: str) -> bool:
    """Open the page, signed in, where there is a browser; else say how to go on."""
    import webbrowser

    out.print("The page where you answer (this link signs you in, once, within two minutes):")
    out.print(f"  {link}\n", soft_wrap=True)
    if _has_screen() and webbrowser.open(link):
        return True
    out.print("No browser could be opened here. Open that link yourself, or answer here in the terminal.\n")
    return False


def _has_screen() -> bool:
    named = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return sys.platform in ("darwin", "win32") or bool(named)


def _agent(out: Console, gate: Gate, address: Address, project: Path, patient: bool, here: bool) -> None:
    import httpx

    from sayso.cli.demo_agent import work
    from sayso.gate.tokens import issue_token

    token, _ = issue_token(gate, "host", "demo agent", by=WHO)
    headers = {"Authorization": f"Bearer {token}"}

    def tell(what: str, text: str) -> None:
        from rich.text import Text

        out.print(Text.assemble((f"{what:>8}  ", COLOURS.get(what, "")), text))

    try:
        with httpx.Client(base_url=address.url, headers=headers, timeout=60) as client:
            opened: dict[str, Any] = (
                client.post(
                    "/v1/sessions", json={"agent": "demo agent", "user": WHO, "workspace": str(project)}
                )
                .raise_for_status()
                .json()
            )
            asked = _asking_here(gate) if here else lambda question: None
            work(client, opened["id"], project, tell, asked, patient=patient)
    except httpx.HTTPError as error:
        tell("failed", f"the agent lost the service: {type(error).__name__}")
    out.print()
    if patient:
        out.print("That was all. The page stays: look at History, Grants and Audit. Ctrl-C ends the demo.")
    else:
        out.print("Nobody was here to ask, so nothing that needs your say-so was done. Run it in a terminal.")
        _end()


def _asking_here(gate: Gate) -> Callable[[str], object]:
    """A way to put questions on this terminal as well; whichever answer comes first stands."""
    from sayso.doors.python.embedded import EmbeddedDoor
    from sayso.doors.python.host import request_for
    from sayso.surfaces.terminal import Terminal

    door = EmbeddedDoor(gate, [Terminal()])

    def ask(name: str) -> None:
        question = door.question(name)
        call, session = question.request.call, question.request.session
        door.asker.show(question, lambda edited: request_for(door, session, call.tool, edited, None, 0.0))

    return ask


def _end() -> None:
    """Tell the service in the main thread to stop, as Ctrl-C would."""
    import signal

    os.kill(os.getpid(), signal.SIGINT)
