"""Questions that wait in line for one terminal, and notices that wait for a moment between keys."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sayso.surfaces.terminal.device import LOOKS_UP_EVERY, QuestionOver

Write = Callable[[list[str]], None]


class TerminalQueue:
    """One question has the terminal, in the order they came; the others wait, or leave when they are over."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tickets: list[object] = []
        self._notices: list[str] = []

    @property
    def waiting(self) -> int:
        """Return the number that wait behind the one that has the terminal."""
        return max(0, len(self._tickets) - 1)

    @contextmanager
    def turn(self, over: threading.Event, write: Write) -> Iterator[None]:
        """The terminal for one question. Notices still waiting are written when nobody comes after it."""
        ticket = object()
        with self._changed:
            self._tickets.append(ticket)
        try:
            self._wait(ticket, over)
            yield
        finally:
            with self._changed:
                self._tickets.remove(ticket)
                self._changed.notify_all()
                left = [] if self._tickets else self._take_notices()
            if left:
                write(left)

    def tell(self, notice: str, write: Write) -> None:
        """Write it now if no question has the terminal; else keep it for the one that has."""
        with self._changed:
            self._notices.append(notice)
            now = [] if self._tickets else self._take_notices()
        if now:
            write(now)

    def notices(self) -> list[str]:
        """Return the pending notices, each once."""
        with self._changed:
            return self._take_notices()

    def _wait(self, ticket: object, over: threading.Event) -> None:
        with self._changed:
            while self._tickets[0] is not ticket and not over.is_set():
                self._changed.wait(LOOKS_UP_EVERY)
        if over.is_set():
            raise QuestionOver

    def _take_notices(self) -> list[str]:
        taken, self._notices = self._notices, []
        return taken
