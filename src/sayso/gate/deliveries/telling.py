"""Telling: every notice at one place, once, by a service or by a program with its own gate."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from sayso.core.audit.notices import Notice
from sayso.gate.deliveries.cards import fit_text
from sayso.gate.deliveries.notices import QUEUE, NoticeFeed, load_notice
from sayso.gate.deliveries.outbox import Outbox, delivery_key
from sayso.gate.gate import Gate, current_gate
from sayso.gate.questions.surface import LocalSurface
from sayso.store.contract import DeliveryRow

log = logging.getLogger("sayso.surfaces")
PAGE = 50
LOOK_AGAIN = 1.0
ENDS_WITHIN = 5.0
"""Seconds that a program waits at its end for what is still to be told."""
LONGEST_HERE = 100_000
"""Bytes of a notice on a surface of this process."""


class NoticePlace(Protocol):
    """A surface, as far as it is told notices."""

    @property
    def name(self) -> str: ...

    def tell(self, notice: Notice, key: str) -> None: ...


class NoticeTeller:
    """Queues what the trail says is to be told, and tells it where notices go."""

    def __init__(self, gate: Gate, outbox: Outbox, find_place: Callable[[], NoticePlace | None]) -> None:
        self._gate, self._outbox, self._find_place = gate, outbox, find_place
        self._feed = NoticeFeed(gate)

    def begin(self) -> None:
        """Begin the queue, if nobody has: before anything is decided that has to be told."""
        self._feed.begin()

    def send(self) -> bool:
        """Queue what is new, and tell what is due; whether there was anything."""
        queued = self._feed.take_in()
        place = self._find_place()
        if place is None:
            return False
        rests = self._outbox.rests
        with self._gate.store.read() as tx:
            now = tx.now
            due = list(tx.deliveries_due(QUEUE, by=now, limit=PAGE))
        for row in due:
            if rests.is_resting(place.name, now):
                return bool(queued)
            taken = self._outbox.take(row)
            if taken is not None:
                self._tell(place, taken)
        return bool(queued or due)

    def _tell(self, place: NoticePlace, row: DeliveryRow) -> None:
        try:
            with self._gate.store.read() as tx:
                notice = load_notice(tx, row)
            if notice is not None:  # else there is nothing to tell: no entry, or one that was pruned
                text = fit_text(notice.text, getattr(place, "longest", LONGEST_HERE))
                place.tell(msgspec.structs.replace(notice, text=text), delivery_key(row))
        except Exception as error:  # noqa: BLE001  a foreign surface: the others go on
            self._outbox.try_later(place.name, row, error)
        else:
            self._outbox.rests.end(place.name)
            self._outbox.note(row, state="over", ref=place.name, error=None)


class LocalTelling:
    """Tells notices on the surfaces of a program with its own gate, looking once a second until it ends."""

    def __init__(self, gate: Gate, surfaces: Sequence[LocalSurface]) -> None:
        self._gate = gate
        self._surfaces = {one.name: one for one in surfaces}
        self._teller = NoticeTeller(gate, Outbox(gate), self._find_place)
        self._over = threading.Event()
        self._tells_rest = True
        self._thread = threading.Thread(target=self._serve, name="sayso-notices", daemon=True)

    def start(self) -> None:
        """Begin. What happens from now on is told, whatever happens to this process: here, or elsewhere."""
        if self._gate.surfaces:
            self._teller.begin()
        if self._surfaces:
            self._thread.start()

    def stop(self, *, tell: bool = True) -> None:
        """End. What is left is told before, unless whoever ends is in no state to do so.

        A surface that hangs is not waited for: what it was to tell comes up again later.
        """
        self._tells_rest = tell
        self._over.set()
        if self._surfaces:
            self._thread.join(ENDS_WITHIN)

    def _serve(self) -> None:
        self._send()
        while not self._over.wait(LOOK_AGAIN):
            self._send()
        if self._tells_rest:
            self._send()

    def _send(self) -> None:
        try:
            while self._find_place() is not None and self._teller.send():
                pass
        except Exception:
            log.exception("telling notices failed")

    def _find_place(self) -> LocalSurface | None:
        return self._surfaces.get(current_gate(self._gate).notices_to or "")


def takes_notices(surface: LocalSurface) -> bool:
    """Return whether somebody there reads a notice, now."""
    return is_told_notices(surface) and surface.able()


def is_told_notices(surface: NoticePlace) -> bool:
    """Return whether notices are shown there at all."""
    return getattr(surface, "takes_notices", True)
