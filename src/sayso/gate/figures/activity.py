"""When something last happened in each session: the trail, read once, and then only what is new in it."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from sayso.core.audit.events import EVENTS, Resolved
from sayso.gate.gate import Gate
from sayso.store.contract import Reader

FAR_BACK = 20_000
"""How many entries of each stream are looked at when a process first wants to know."""
PAGE = 1_000
BY_OTHERS = frozenset(name for name, kind in EVENTS.items() if not kind.sign_of_life)
"""Entries that are not a sign of life: a person, or time, caused them."""


class Activity:
    """The last signs of life of a store's sessions, as far as this process has read its trail."""

    def __init__(self) -> None:
        self._reading = threading.Lock()
        self._read: dict[str, int] = {}
        self._known: dict[str, float] = {}

    def load_last_times(self, gate: Gate) -> Mapping[str, float]:
        """For each session with a sign of life that is not too far back when that was."""
        with self._reading, gate.store.read() as tx:
            for stream in tx.streams():
                self._read_on(tx, stream)
            return dict(self._known)

    def note(self, session: str, at: float) -> None:
        """Remember a sign of life that the trail does not hold: a heartbeat."""
        with self._reading:
            self._known[session] = max(at, self._known.get(session, 0.0))

    def _read_on(self, tx: Reader, stream: str) -> None:
        newest = tx.head(stream)
        if newest is None:
            return
        after, before = self._read.get(stream, max(newest.seq - FAR_BACK, 0)), ""
        while page := tx.entries(stream, after=after, limit=PAGE):
            for row in page:
                told = before == Resolved.event  # how a call ended is then the operator's word
                if row.session and row.event not in BY_OTHERS and not told:
                    self._known[row.session] = max(row.at, self._known.get(row.session, 0.0))
                before = row.event
            after = page[-1].seq
        self._read[stream] = after
