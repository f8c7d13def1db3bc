"""Rows that are not as this gate wrote them: refused where they are read, and recorded once that is over.

Whoever reads a row may be in a transaction that only reads, or in one that is about to fail. So what was
noticed is gathered here, and recorded in a transaction of its own after the one it was noticed in.
"""

from __future__ import annotations

import threading

import msgspec

from sayso.core.errors import SaysoError

MOST_TOLD = 10_000


class Tampered(SaysoError):
    """A row was tampered with. Nothing is done because of it."""

    code = "tampered"


class Doubt(msgspec.Struct, frozen=True):
    """A sign of tampering, and its session."""

    finding: str
    session: str = ""
    burns: bool = False
    """Whether the session may not be used any more, should its row be put right again."""


class Doubts:
    """The signs of tampering in the present transaction, per thread."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._told: set[Doubt] = set()

    def __bool__(self) -> bool:
        """Return whether anything was noticed in the transaction under way."""
        return bool(self._thread_doubts())

    def note(self, finding: str, session: str = "", *, burns: bool = False) -> None:
        """To be recorded whenever it is noticed: somebody tried to do something with it."""
        self._thread_doubts().append(Doubt(finding, session, burns))

    def note_once(self, finding: str, session: str = "") -> None:
        """To be recorded once by this process: for rows that are looked at again and again."""
        doubt = Doubt(finding, session)
        if doubt in self._told:
            return
        if len(self._told) >= MOST_TOLD:
            self._told.clear()
        self._told.add(doubt)
        self._thread_doubts().append(doubt)

    def take(self) -> list[Doubt]:
        """Return the signs gathered so far, and forget them."""
        found = list(dict.fromkeys(self._thread_doubts()))
        self._own.found = []
        return found

    def _thread_doubts(self) -> list[Doubt]:
        found: list[Doubt] | None = getattr(self._own, "found", None)
        if found is None:
            found = self._own.found = []
        return found
