"""`sayso demo`: the service, its page, and an agent at work that needs your say-so."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.policy_choice import in_flagged_mode

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from sayso.gate.gate import Gate
    from sayso.service.serve import Address

WHO = "you"
LINE_COLOURS = {"agent": "bold", "asked": "yellow", "ran": "green", "not run": "red", "failed": "red"}
TAKES_DOWN_WITHIN = 2.0


def demo(
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 0,
) -> None:
    """Start the service on a store of its own, show the page, and let an agent work in a scratch repository.

    It asks you where it needs consent: on the page, or here if no browser could be opened. If nobody answers,
    the demo continues without those steps and ends. Ctrl-C ends it at any time.
    """
    from tempfile import TemporaryDirectory

    from rich.console import Console

    from sayso.core.errors import SaysoError
    from sayso.core.extras import needs_extra

    with needs_extra("service", "the demo"):
        import sayso.service.serve  # noqa: F401  before anything is made
        from sayso.cli.playing.demo_agent import make_repository, missing_programs
    if missing_programs():
        raise SaysoError("the demo works in a git repository, and there is no git here", hint="install git")
    out = Console(highlight=False)
    patient = sys.stdin.isatty() and sys.stdout.isatty()
    try:
        with TemporaryDirectory(prefix="sayso-demo-") as folder:
            place = Path(folder)
            Demo(out, place, make_repository(place), patient=patient).run(port)
    except KeyboardInterrupt:
        out.print("\nThe demo is over.")


class Demo:
    """One demo: its store, its agent, and whoever watches. `patient`: there is somebody to wait for."""

    def __init__(self, out: Console, folder: Path, project: Path, *, patient: bool) -> None:
        self._out, self._folder, self._project, self._patient = out, folder, project, patient
        self._leaving = threading.Event()
        self._held = ExitStack()
        self._agent = threading.Thread(target=lambda: None)
        self._take_down: Callable[[], None] = lambda: None

    def run(self, port: int) -> None:
        """Serve, with the agent at work, until it is over or Ctrl-C is pressed."""
        from sayso.gate.open import KEY_NAME, open_gate
        from sayso.gate.rows.keys import load_or_make_key
        from sayso.policy import load_preset
        from sayso.service.serve import Address, serve_gate

        policy = in_flagged_mode(load_preset("coding"))
        key = load_or_make_key(KEY_NAME, self._folder / "gate.key")
        gate = open_gate(policy, self._folder / "sayso.db", key=key, marks=self._folder)
        with self._held:
            self._held.callback(gate.store.close)
            serve_gate(gate, Address("127.0.0.1", port), started=lambda real: self._begin(gate, real))
            self._leave()

    def _begin(self, gate: Gate, address: Address) -> None:
        from sayso.cli.commands.service.serve import announce
        from sayso.gate.people.browsers import make_link

        announce(gate, address, self._folder, self._folder / "sayso.db", self._held)
        self._end_on_ctrl_c()
        shown = False
        if self._patient:
            shown = self._show_page(f"{address.page}/sign-in#{make_link(gate, WHO)}")
        args = (gate, address, self._patient and not shown)
        self._agent = threading.Thread(target=self._work, name="demo-agent", args=args, daemon=True)
        self._agent.start()

    def _end_on_ctrl_c(self) -> None:
        """Say nothing more once Ctrl-C was pressed, and then let the service end as it does."""
        ends = signal.getsignal(signal.SIGINT)

        def leave(number: int, frame: Any) -> None:
            self._leaving.set()
            if callable(ends):
                ends(number, frame)

        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, leave)

    def _leave(self) -> None:
        """Take the prompt down, and see that nobody uses the store any more."""
        self._leaving.set()
        self._take_down()
        self._agent.join(TAKES_DOWN_WITHIN)
        if self._patient:
            self._out.print("\nThe demo is over.")

    def _show_page(self, link: str) -> bool:
        """Open the page, signed in, where there is a browser; else say how to go on."""
        import webbrowser

        out = self._out
        out.print("Sayso runs on a store of its own, which goes away with it. The page where you answer:\n")
        out.print(f"  {link}\n", soft_wrap=True)
        page = link.partition("/sign-in")[0].removeprefix("http://")
        out.print("The link signs you in, once, within two minutes. This prints another one:\n")
        out.print(f"  {_command()} link --url {page}\n", soft_wrap=True)
        if _has_screen() and webbrowser.open(link):
            out.print("It was opened in your browser. Ctrl-C ends the demo.\n")
            return True
        out.print("No browser could be opened here. Open the link yourself, or answer here in the terminal.")
        out.print("Ctrl-C ends the demo.\n")
        return False

    def _work(self, gate: Gate, address: Address, here: bool) -> None:
        from sayso.cli.playing.demo_agent import DemoWatch, do_jobs
        from sayso.core.errors import SaysoError
        from sayso.doors.remote.line import ServiceAddress, ServiceLine, ServiceRequest
        from sayso.gate.people.tokens import issue_token

        token, _ = issue_token(gate, "host", "demo agent", by=WHO)
        line = ServiceLine([ServiceAddress(address.url, lambda: None)], token)
        watch = DemoWatch(self._tell, self._asking(gate) if here else _not_here, self._leaving.is_set)
        try:
            body = {"agent": "demo agent", "user": WHO, "workspace": str(self._project)}
            opened: dict[str, Any] = line.ask(ServiceRequest("POST", "/v1/sessions", body, again=False))
            do_jobs(line, opened["id"], self._project, watch, patient=self._patient)
        except SaysoError as error:
            self._tell("failed", f"the agent lost the service: {error.message}")
        finally:
            line.close()
        if not self._leaving.is_set():
            self._say_that_was_all()

    def _say_that_was_all(self) -> None:
        if self._patient:
            told = "That was all. The page stays: look at History, Grants and Audit. Ctrl-C ends the demo."
            self._out.print(f"\n{told}")
            return
        told = "Nobody was here to ask, so nothing that needs your say-so was done. Run it in a terminal."
        self._out.print(f"\n{told}")
        os.kill(os.getpid(), signal.SIGINT)  # ends the service in the main thread, as Ctrl-C would

    def _tell(self, what: str, text: str) -> None:
        """A line about the agent; none once the demo is over, as it would tell what nobody decided."""
        from rich.text import Text

        if not self._leaving.is_set():
            self._out.print(Text.assemble((f"{what:>8}  ", LINE_COLOURS.get(what, "")), text))

    def _asking(self, gate: Gate) -> Callable[[str], Callable[[], None]]:
        """A way to put questions on this terminal as well; whichever answer comes first counts."""
        from sayso.gate.deciding.request import request_in_session
        from sayso.gate.questions.asker import Asker
        from sayso.gate.questions.read import find_question
        from sayso.surfaces.terminal.terminal import Terminal

        asker = Asker(gate, [Terminal(ctrl_c_ends_program=True)])

        def ask(name: str) -> Callable[[], None]:
            question = find_question(gate, name).question
            call, session = question.request.call, question.request.session
            over = asker.show(
                question, lambda edited: request_in_session(gate, session, call.tool, edited, None, 0.0)
            )

            def take_down() -> None:
                over.set()
                for thread in threading.enumerate():
                    if thread.name == "sayso-terminal":
                        thread.join(TAKES_DOWN_WITHIN)

            self._take_down = take_down
            return take_down

        return ask


def _not_here(question: str) -> Callable[[], None]:
    return lambda: None


def _command() -> str:
    """Sayso as the shell finds it: in a checkout, where it is on no path, by its place."""
    import shlex
    import shutil

    if shutil.which("sayso") is not None:
        return "sayso"
    called = Path(sys.argv[0])
    return shlex.quote(str(called)) if called.stem == "sayso" else f"{shlex.quote(sys.executable)} -m sayso"


def _has_screen() -> bool:
    named = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return sys.platform in ("darwin", "win32") or bool(named)
