"""The terminal as a surface: questions one after the other, on the terminal the program was started from."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from sayso.core.audit.notices import Notice
from sayso.core.words import visible
from sayso.gate.questions.surface import AskedQuestion, Reply
from sayso.gate.telemetry import describe_error
from sayso.surfaces.terminal.device import (
    Device,
    NoTerminal,
    PromptEnded,
    QuestionOver,
    open_device,
    restore_on_exit,
)
from sayso.surfaces.terminal.queue import TerminalQueue, Ticket

if TYPE_CHECKING:
    from sayso.surfaces.terminal.layout import Screen
    from sayso.surfaces.terminal.prompt import TerminalPrompt

CONTROLLING = "/dev/tty"
IGNORES_KEYS_FOR = 0.5

log = logging.getLogger("sayso.terminal")

_queues: dict[str, TerminalQueue] = {}
"""One line for each terminal, however many surfaces a program makes on it."""


class Terminal:
    """Asks on the controlling terminal, whatever stdin and stdout are; with none it asks nobody and says so.

    Make it in the main thread: then the terminal's modes are restored even if the program is told to stop.
    With `ctrl_c_ends_program`, Ctrl-C is not an answer but ends the program, as if nothing were asked.
    `wait` lets the half second pass in which keys are ignored; it ends early once the event is set.
    """

    name = "terminal"
    polls = True

    def __init__(
        self,
        who: str | None = None,
        *,
        device: str = CONTROLLING,
        clock: Callable[[], float] = time.time,
        wait: Callable[[threading.Event, float], object] = threading.Event.wait,
        ctrl_c_ends_program: bool = False,
    ) -> None:
        self.who = who or _account_name()
        self._path, self._clock, self._wait = device, clock, wait
        self._line = _queues.setdefault(device, TerminalQueue())
        self._said_so = False
        self._keeps_signals = ctrl_c_ends_program
        restore_on_exit()

    @property
    def by(self) -> str:
        return f"{self.who} at the terminal"

    def able(self) -> bool:
        """Return whether there is a terminal to ask on."""
        try:
            with open_device(self._path):
                return True
        except NoTerminal as why:
            self._cannot_ask(why)
            return False

    def show(self, shown: AskedQuestion, key: str) -> str:
        """Put the question in line. It is on the screen once it is its turn."""
        self._line.join(self, shown)
        return key

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        """Take the question out of the line, or off the screen with how it ended."""
        self._line.end(self, question, ending)

    def fetch(self, seconds: float) -> tuple[Reply, ...]:
        """Ask the next question; the person's answer, and a no if they press Ctrl-C or the terminal goes."""
        with self._line.turn(self, seconds, self._write) as ticket:
            reply = None if ticket is None else self._ask(ticket)
        return () if reply is None else (reply,)

    def _ask(self, ticket: Ticket) -> Reply | None:
        """Return the person's answer; None if it cannot be asked, or is over."""
        try:
            with open_device(self._path) as device:
                device.keeps_signals = self._keeps_signals
                reply = self._ask_and_close(device, ticket)
                return msgspec.structs.replace(reply, question=ticket.asked.question.id)
        except QuestionOver:
            return None
        except NoTerminal as why:
            self._cannot_ask(why)
            return None
        except Exception as error:  # noqa: BLE001  whatever is wrong with a question or a terminal, it is not an answer
            log.warning("the question could not be shown on the terminal: %s", describe_error(error))
            return None

    def confirm(self, asked: AskedQuestion, answer: str) -> bool | None:
        """Show the whole question; whether the person typed `allow` to give this answer to it.

        None where there is no terminal to show it on.
        """
        own = object()  # nobody else takes this turn
        self._line.join(own, asked)
        try:
            with self._line.turn(own, None, self._write) as ticket, open_device(self._path) as device:
                return ticket is not None and self._confirmed(device, asked, answer, ticket.over)
        except NoTerminal:
            return None
        except PromptEnded:
            return False

    def tell(self, notice: Notice, key: str) -> None:
        """A line at once, or as soon as the open question lets it through."""
        self._line.tell(notice.text, self._write)

    def _ask_and_close(self, device: Device, ticket: Ticket) -> Reply:
        """One question, from its card to the line that says how it ended."""
        from sayso.surfaces.terminal.card import answer_word

        try:
            _look_up(ticket.over)
            reply = self._converse(device, ticket.asked, ticket.over)
            ending = f"You answered: {answer_word(reply.answer)}.\n"
        except QuestionOver:
            with suppress(PromptEnded):
                device.write(f"\n{ticket.ending}\n")
            raise
        except PromptEnded as end:
            reply = Reply("deny", self.by, reason=str(end))
            ending = f"\nDenied: {end}.\n"
        finally:
            device.restore()
        with suppress(PromptEnded):
            device.write(ending)
        return reply

    def _converse(self, device: Device, asked: AskedQuestion, over: threading.Event) -> Reply:
        prompt = self._prompt(device, asked, over)
        self._let_read(device, lambda: prompt.show(self._line.waiting), over)
        return prompt.answer()

    def _confirmed(self, device: Device, asked: AskedQuestion, answer: str, over: threading.Event) -> bool:
        prompt = self._prompt(device, asked, over)
        try:
            self._let_read(device, lambda: prompt.show_whole(answer), over)
            return prompt.confirm()
        finally:
            device.restore()

    def _let_read(self, device: Device, show: Callable[[], None], over: threading.Event) -> None:
        """Show something, and forget what was typed before a person could read it."""
        device.listen(echo=False)
        show()
        self._wait(over, IGNORES_KEYS_FOR)
        _look_up(over)
        device.listen(echo=True)

    def _prompt(self, device: Device, asked: AskedQuestion, over: threading.Event) -> TerminalPrompt:
        from sayso.surfaces.terminal.layout import detect_screen
        from sayso.surfaces.terminal.prompt import TerminalPrompt

        known, look = self._line.waiting, detect_screen(device.columns, os.environ)

        def read(words: str) -> str:
            device.write(words)
            line = device.line(lambda: between(words))
            _look_up(over)
            return line

        def between(words: str) -> None:
            nonlocal known
            _look_up(over)
            news, waiting = self._line.notices(), self._line.waiting
            if waiting > known:
                news.append(f"{waiting} more {'question waits' if waiting == 1 else 'questions wait'}.")
            known = waiting
            if news:
                # What was typed so far is forgotten with its line, so that what is seen is what counts.
                device.listen(echo=True)
                device.write("\n" + _format_notices(news, look) + words)

        return TerminalPrompt(asked, self.by, device, look, self._clock(), read, lambda: _look_up(over))

    def _write(self, notices: list[str]) -> None:
        """Notices on the terminal; in the log if that cannot be."""
        from sayso.surfaces.terminal.layout import detect_screen

        try:
            with open_device(self._path) as device:
                device.write(_format_notices(notices, detect_screen(device.columns, os.environ)))
        except (NoTerminal, PromptEnded):
            for notice in notices:
                log.warning("%s", visible(notice))

    def _cannot_ask(self, why: NoTerminal) -> None:
        if not self._said_so:
            self._said_so = True
            log.warning("nobody can be asked on the terminal: %s", why)


def _look_up(over: threading.Event) -> None:
    if over.is_set():
        raise QuestionOver


def _format_notices(notices: list[str], look: Screen) -> str:
    from sayso.surfaces.terminal.card import render_remark

    return "".join(render_remark(f"sayso: {visible(notice)}", look) for notice in notices)


def _account_name() -> str:
    """The account's name as the system has it: the environment could be anybody's."""
    try:
        import pwd
    except ImportError:
        import getpass

        return getpass.getuser()
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
