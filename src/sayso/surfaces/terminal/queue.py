"""Questions that wait in line for one terminal, and notices that wait for a moment between keys."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sayso.gate.questions.surface import AskedQuestion

Write = Callable[[list[str]], None]


class Ticket:
    """The place in line of one question, of one surface. `over` is set once it is not asked here any more."""

    def __init__(self, owner: object, asked: AskedQuestion) -> None:
        self.owner, self.asked = owner, asked
        self.over = threading.Event()
        self.ending = ""
        self.has_turn = False


class TerminalQueue:
    """One question has the terminal, in the order they came; the others wait, or leave when they are over."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tickets: list[Ticket] = []
        self._notices: list[str] = []

    @property
    def waiting(self) -> int:
        """Return the number that wait behind the one that has the terminal."""
        return max(0, len(self._tickets) - 1)

    def join(self, owner: object, asked: AskedQuestion) -> None:
        """Put this question at the end of the line."""
        with self._changed:
            self._tickets.append(Ticket(owner, asked))
            self._changed.notify_all()

    def end(self, owner: object, question: str, ending: str) -> None:
        """It is over: one that waits leaves at once, one that has the terminal is taken down."""
        with self._changed:
            for one in list(self._tickets):
                if one.owner is owner and one.asked.question.id == question:
                    one.ending = ending
                    one.over.set()
                    if not one.has_turn:
                        self._tickets.remove(one)
            self._changed.notify_all()

    @contextmanager
    def turn(self, owner: object, seconds: float | None, write: Write) -> Iterator[Ticket | None]:
        """The terminal for the owner's next question, once it is first in line; None if that takes too long.

        Notices still waiting are written when nobody comes after it.
        """
        ticket = self._wait(owner, seconds)
        if ticket is None:
            yield None
            return
        try:
            yield ticket
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

    def _wait(self, owner: object, seconds: float | None) -> Ticket | None:
        until = None if seconds is None else time.monotonic() + seconds
        with self._changed:
            while not (self._tickets and self._tickets[0].owner is owner):
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    return None
                self._changed.wait(left)
            self._tickets[0].has_turn = True
            return self._tickets[0]

    def _take_notices(self) -> list[str]:
        taken, self._notices = self._notices, []
        return taken
