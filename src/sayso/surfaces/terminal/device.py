"""The terminal itself: its modes while a question is open, and lines read from it that can be called off.

The kernel edits the line, so the terminal is never raw. Only two things change for the time of a question:
Ctrl-C raises no signal (it would go to the main thread and end the program) but ends the line, where it is
read as a no; and keys are not echoed before an answer is wanted. The modes are restored in every case: when
the question is over, when the program ends, and when it is told to stop (SIGTERM, if nobody else minds it).
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

try:
    import termios
except ImportError:  # a system without them, where questions are put on other surfaces
    termios = None  # type: ignore[assignment]

CTRL_C = b"\x03"
LOOKS_UP_EVERY = 0.1
LONGEST_LINE = 4095  # what the kernel keeps of a line; the rest is lost without a word
LOCAL_FLAGS, CONTROL_CHARACTERS = 3, 6  # places in the list that tcgetattr gives


class NoTerminal(Exception):
    """Nobody can be asked here, and why."""


class QuestionOver(Exception):
    """The question was answered elsewhere, or is gone."""


class PromptEnded(Exception):
    """The person ended the question without an answer, or the terminal has gone: that is a no."""


INTERRUPTED = "Ctrl-C at the terminal"
CLOSED = "the terminal was closed"

_changed: dict[int, tuple[int, list[Any]]] = {}
"""Terminals whose modes are changed now: by descriptor, which process did it and the modes to go back to."""


class Device:
    """An open terminal. Its modes are its own again after `restore`."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._own = termios.tcgetattr(descriptor)
        self.keeps_signals = False
        """Whether Ctrl-C goes on being a signal while a question is open, instead of a no."""

    @property
    def columns(self) -> int:
        try:
            return os.get_terminal_size(self.descriptor).columns
        except OSError:
            return 0

    def write(self, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        try:
            while data:
                data = data[os.write(self.descriptor, data) :]
        except OSError as error:
            raise PromptEnded(CLOSED) from error

    def listen(self, echo: bool) -> None:
        """Take lines from now on, and forget what was typed before."""
        modes = [*self._own[:CONTROL_CHARACTERS], list(self._own[CONTROL_CHARACTERS])]
        modes[0] |= termios.ICRNL
        modes[1] |= termios.OPOST | termios.ONLCR
        modes[LOCAL_FLAGS] |= termios.ICANON | termios.ECHO | termios.ECHOE | termios.ECHOK
        hidden = (0 if self.keeps_signals else termios.ISIG) | (0 if echo else termios.ECHO)
        modes[LOCAL_FLAGS] &= ~hidden
        modes[CONTROL_CHARACTERS][termios.VEOL] = CTRL_C
        _changed[self.descriptor] = os.getpid(), self._own
        self._set(modes)

    def restore(self) -> None:
        with suppress(PromptEnded):
            self._set(self._own)
        _changed.pop(self.descriptor, None)

    def line(self, look_up: Callable[[], None]) -> str:
        """The next line typed. `look_up` is called whenever nothing comes, and may call it off by raising."""
        typed = b""
        while not typed.endswith(b"\n"):
            more = self._more()
            if not more:
                look_up()
            typed += more
            if CTRL_C in typed:
                raise PromptEnded(INTERRUPTED)
        return typed[:-1].decode("utf-8", "replace")

    def _more(self) -> bytes:
        """Return the bytes that have come, if any."""
        try:
            if not select.select([self.descriptor], [], [], LOOKS_UP_EVERY)[0]:
                return b""
            data = os.read(self.descriptor, LONGEST_LINE + 1)
        except OSError as error:
            raise PromptEnded(CLOSED) from error
        if not data:
            raise PromptEnded(CLOSED)
        return data

    def _set(self, modes: list[Any]) -> None:
        try:
            termios.tcsetattr(self.descriptor, termios.TCSAFLUSH, modes)
        except termios.error as error:
            raise PromptEnded(CLOSED) from error


@contextmanager
def open_device(path: str) -> Iterator[Device]:
    """The terminal at this path, with its own modes back at the end. NoTerminal if there is none for us."""
    if termios is None:
        raise NoTerminal("this system has no terminals that can be asked on")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise NoTerminal(f"there is no terminal ({error.strerror})") from error
    try:
        yield _make_device(descriptor)
    finally:
        os.close(descriptor)


def _make_device(descriptor: int) -> Device:
    try:
        device = Device(descriptor)
    except termios.error as error:
        raise NoTerminal("that is not a terminal") from error
    if not _in_front(descriptor):
        raise NoTerminal("the program runs in the background of its terminal")
    return device


def _in_front(descriptor: int) -> bool:
    """Return whether we may read the terminal: the system stops a background program that tries."""
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return True  # not our controlling terminal, so no business of job control


def restore_on_exit() -> None:
    """Put changed modes back when the program ends, by itself or by SIGTERM.

    A handler is installed only where the signal would end the program anyway, and it still does.
    """
    atexit.unregister(_restore_all)
    atexit.register(_restore_all)
    in_main = threading.current_thread() is threading.main_thread()  # only there a handler can be set
    if in_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _restore_and_stop)


def _restore_all() -> None:
    for descriptor, (process, modes) in list(_changed.items()):
        if process == os.getpid():  # a child that was forked off leaves its parent's terminal alone
            with suppress(termios.error):
                termios.tcsetattr(descriptor, termios.TCSANOW, modes)


def _restore_and_stop(number: int, _frame: object) -> None:
    _restore_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
