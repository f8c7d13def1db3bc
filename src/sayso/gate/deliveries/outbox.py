"""The outbox: deliveries in the store. Who works on one takes it by its version, for a while.

If they die, it comes up again. What cannot be sent is tried again, later each time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from sayso.gate.deliveries.remote_surface import SurfaceDown
from sayso.gate.deliveries.rests import Rests, pause_after
from sayso.gate.gate import TRIES, Gate
from sayso.store.contract import DeliveryRow

log = logging.getLogger("sayso.surfaces")
HELD_FOR = 60.0
"""Seconds for which a delivery is somebody's, once they have taken it."""
MOST_MESSAGES = 8
"""How many messages of one question are remembered, to be closed."""


class Outbox:
    """The deliveries of one store, as one process works on them."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.rests = Rests()

    def take_new(self, surface: str, question: str) -> DeliveryRow | None:
        with self._gate.store.write() as tx:
            row = DeliveryRow(surface, question, "question", "due", tx.now + HELD_FOR, attempts=1, at=tx.now)
            return row if tx.add_delivery(row) else None

    def take(self, row: DeliveryRow) -> DeliveryRow | None:
        with self._gate.store.write() as tx:
            return _move(
                tx.move_delivery,
                msgspec.structs.replace(row, due_at=tx.now + HELD_FOR, attempts=row.attempts + 1),
            )

    def note(self, row: DeliveryRow, *, due: float = 0.0, **how: object) -> DeliveryRow | None:
        """Write down how a delivery stands that this thread has taken."""
        with self._gate.store.write() as tx:
            return _move(tx.move_delivery, msgspec.structs.replace(row, due_at=tx.now + due, **how))

    def note_shown(self, row: DeliveryRow, ref: str | None) -> None:
        """Write down that it is shown, also if somebody else took it meanwhile: nothing stays open unseen."""
        joined = _join_refs(row.ref, ref)
        if self.note(row, state="shown", ref=joined, error=None) is None and ref is not None:
            note_message(self._gate, row.surface, row.subject, ref)

    def try_later(self, surface: str, row: DeliveryRow, error: Exception) -> None:
        if isinstance(error, OSError | SurfaceDown):
            with self._gate.store.read() as tx:
                pause = self.rests.begin(surface, tx.now, getattr(error, "wish", 0.0))
        else:  # what is wrong may be this one alone
            pause = pause_after(row.attempts - 1)
        why = f"{type(error).__name__}: {error}"[:500]
        log.warning("%s: %s, trying again in %.0f s", surface, why, pause)
        self.note(row, due=pause, error=why)


def delivery_key(row: DeliveryRow, about: str = "") -> str:
    """Return the key of a delivery: the same at every try, so that a receiver can take it once."""
    return f"{row.subject}.{row.kind}{about}"


def note_message(gate: Gate, surface: str, question: str, ref: str) -> None:
    """Note that this message shows the question too. It is closed with the others; at once if they are."""
    for _ in range(TRIES):
        with gate.store.write() as tx:
            row = tx.delivery(surface, question)
            if row is None or ref in refs_of(row):
                return
            wanted = {"state": "shown", "ref": _join_refs(row.ref, ref), "due_at": tx.now}
            if _move(tx.move_delivery, msgspec.structs.replace(row, **wanted)) is not None:
                return


def refs_of(row: DeliveryRow) -> Sequence[str | None]:
    """Return the surface's names for the messages that show it, oldest first; [None] if it has none."""
    return [None] if row.ref is None else row.ref.split("\n")


def _join_refs(known: str | None, ref: str | None) -> str | None:
    every = dict.fromkeys(one for text in (known, ref) if text is not None for one in text.split("\n"))
    return "\n".join([*every][-MOST_MESSAGES:]) if every else None


def _move(move: Callable[..., bool], row: DeliveryRow) -> DeliveryRow | None:
    after = msgspec.structs.replace(row, version=row.version + 1)
    return after if move(after, version=row.version) else None
