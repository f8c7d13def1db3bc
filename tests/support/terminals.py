"""A real terminal for tests: a pseudo-terminal, and somebody who reads its screen and types."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from sayso.gate.questions.surface import AskedQuestion, Reply
from sayso.surfaces.terminal.prompt import ANSWER_PROMPT
from sayso.surfaces.terminal.terminal import Terminal
from tests.support.questions import NOW

PATIENCE = 60.0
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A colour terminal in UTF-8 and no editor, whatever the tester has."""
    for name in ("NO_COLOR", "FORCE_COLOR", "LC_CTYPE", "LANG", "VISUAL", "EDITOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm-256color")


class Screen:
    """What was written to the terminal, and the keyboard in front of it."""

    def __init__(self, columns: int = 80) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.path = os.ttyname(self.slave)
        self._read = b""
        self._seen = 0

    @property
    def raw(self) -> str:
        return self._read.decode("utf-8", "replace")

    @property
    def text(self) -> str:
        """All of it, without colours."""
        return ANSI.sub("", self.raw).replace("\r\n", "\n")

    def wait_for(self, words: str) -> str:
        """Read until these words come after those waited for last; what came till then."""
        until = time.monotonic() + PATIENCE
        while (at := self.text.find(words, self._seen)) < 0:
            assert time.monotonic() < until, f"{words!r} did not come:\n{self.text}"
            self.read(0.5)
        since, self._seen = self._seen, at + len(words)
        return self.text[since : self._seen]

    def read(self, patience: float = 0.0) -> None:
        while self.master >= 0 and select.select([self.master], [], [], patience)[0]:
            try:
                self._read += os.read(self.master, 65536)
            except OSError:
                return
            patience = 0.0

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def type_ahead(self, keys: str) -> None:
        """Type, and wait until the line has come to the other side."""
        self.type(keys)
        assert select.select([self.slave], [], [], PATIENCE)[0]

    @property
    def modes(self) -> list[Any]:
        return termios.tcgetattr(self.slave)

    def hang_up(self) -> None:
        self.read()
        os.close(self.master)
        self.master = -1

    def close(self) -> None:
        for descriptor in (self.master, self.slave):
            if descriptor >= 0:
                os.close(descriptor)


class Asking:
    """A question put to a terminal, and a thread that fetches the answer, as the gate does.

    `seen` is what the reply says was shown whole; it is left out of the reply that tests compare.
    """

    def __init__(self, terminal: Terminal, asked: AskedQuestion, screen: Screen) -> None:
        self.seen: str | None = None
        self._screen, self._terminal, self._question = screen, terminal, asked.question.id
        self._replies: tuple[Reply, ...] = ()
        self._done = False
        terminal.show(asked, self._question)
        self._thread = threading.Thread(target=self._fetch, daemon=True)
        self._thread.start()

    def _fetch(self) -> None:
        """Fetch until there is a reply, or it is over."""
        while not (self._replies or self._done):
            self._replies = self._terminal.fetch(0.02)

    def answer(self, *lines: str) -> Reply | None:
        """Type each line at a prompt, and the reply that comes of it."""
        for line in lines:
            self._screen.wait_for(f"\n{ANSWER_PROMPT}")
            self._screen.type(f"{line}\n")
        return self.reply()

    def reply(self) -> Reply | None:
        until = time.monotonic() + PATIENCE
        while self._thread.is_alive():
            assert time.monotonic() < until, f"no reply:\n{self._screen.text}"
            self._screen.read(0.02)
        self._screen.read()
        for reply in self._replies:
            assert reply.question == self._question
            self.seen = reply.seen
            return msgspec.structs.replace(reply, seen=None, question="")
        return None

    def close(self, ending: str = "No longer asked here.") -> None:
        """Somebody answered elsewhere, or nobody waits any more."""
        self._terminal.close(None, self._question, self._question, ending)
        self._done = True

    def end(self) -> None:
        self.close()
        self.reply()


@contextmanager
def asking(asked: AskedQuestion, screen: Screen, **how: Any) -> Iterator[Asking]:
    """The question is open for the time of the block."""
    terminal = how.pop("terminal", None) or terminal_on(screen, **how)
    one = Asking(terminal, asked, screen)
    try:
        yield one
    finally:
        if screen.master >= 0:
            one.end()


def terminal_on(screen: Screen, **how: Any) -> Terminal:
    """A terminal that does not let the half second pass."""
    how = {"clock": lambda: NOW, "wait": lambda over, seconds: None} | how
    return Terminal("kim", device=screen.path, **how)
