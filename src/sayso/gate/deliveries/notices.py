"""Notices: what the trail says the operator is to be told, queued once, whichever process wrote the entry.

- One queue for all notices. Where one goes is settled when it is sent, so it never goes to two places.
- How far the trail was read is kept beside the queue, in the same transaction. What is read again after a
  crash is in the queue already.
- A queue that was just begun tells nothing of the past.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from sayso.core.audit.notices import Notice, notice_of
from sayso.gate.gate import Gate
from sayso.store.contract import DeliveryRow, Reader, Writer

QUEUE = "notices"
"""Under this name, which no surface may have, the queue is kept."""
_READ = "trail"
PAGE = 1_000
SAVE_AFTER = 10_000
"""So many entries without a notice are read before it is written down how far."""


class NoticeFeed:
    """Reads the trail for one process, and puts what is to be told into the queue."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._read: dict[str, int] = {}
        self._saved: dict[str, int] = {}
        self._begun = False

    def begin(self) -> None:
        """See to it that what happens from now on is told, whatever happens to this process."""
        with self._gate.store.read() as tx:
            begun = any(tx.delivery(_READ, stream) is not None for stream in tx.streams())
        if not begun:
            self.take_in()

    def take_in(self) -> int:
        """Queue what is new; how many notices that were."""
        queued = 0
        while True:
            with self._gate.store.read() as tx:
                self._begin(tx)
                found, read, more = self._look(tx)
            if found or any(read[one] - self._saved.get(one, 0) >= SAVE_AFTER for one in read):
                queued += self._queue(found, read)
            self._read = read  # not before it is in the queue
            if not more:
                return queued

    def _begin(self, tx: Reader) -> None:
        """Learn how far the trail was read: by anybody, or up to here if nobody ever did."""
        begun = self._begun or any(tx.delivery(_READ, stream) is not None for stream in tx.streams())
        for stream in tx.streams():
            if stream in self._read:
                continue
            kept, head = tx.delivery(_READ, stream), tx.head(stream)
            newest = 0 if head is None else head.seq
            self._read[stream] = int(kept.body) if kept is not None else (0 if begun else newest)
            self._saved[stream] = self._read[stream] if kept is not None else -SAVE_AFTER
        self._begun = True

    def _look(self, tx: Reader) -> tuple[list[Notice], dict[str, int], bool]:
        """One page of each stream: what is to be told, up to where it is read, whether there may be more."""
        found, read, more = [], dict(self._read), False
        for stream, after in self._read.items():
            page = tx.entry_tuples(stream, after=after, limit=PAGE)
            for seq, body, _prev, _hash, at, event, _session in page:
                notice = notice_of(stream, seq, at, event, body)
                if notice is not None:
                    found.append(notice)
            if page:
                read[stream] = page[-1][0]
            more = more or len(page) == PAGE
        return found, read, more

    def _queue(self, found: Iterable[Notice], read: Mapping[str, int]) -> int:
        with self._gate.store.write() as tx:
            queued = sum(_add(tx, notice) for notice in found)
            for stream, seq in read.items():
                _save_place(tx, stream, seq)
        self._saved = dict(read)
        return queued


def load_notice(tx: Reader, row: DeliveryRow) -> Notice | None:
    """Return the notice that a row of the queue stands for, as the trail has it; None if it has none.

    The row says only where: what people are told comes from the trail.
    """
    stream, _, seq = row.subject.rpartition(".")
    if not (seq.isascii() and seq.isdecimal()):
        return None
    for found, body, _prev, _hash, at, event, _session in tx.entry_tuples(
        stream, after=int(seq) - 1, limit=1
    ):
        return notice_of(stream, found, at, event, body) if found == int(seq) else None
    return None


def _add(tx: Writer, notice: Notice) -> bool:
    return tx.add_delivery(DeliveryRow(QUEUE, notice.id, "notice", "due", tx.now, at=notice.at))


def _save_place(tx: Writer, stream: str, seq: int) -> None:
    """Write down how far this stream was read, unless somebody else has read further."""
    place = DeliveryRow(_READ, stream, "notice", "shown", 0.0, body=str(seq).encode())
    kept = tx.delivery(_READ, stream)
    if kept is None:
        tx.add_delivery(place)
    elif int(kept.body) < seq:
        tx.move_delivery(msgspec.structs.replace(place, version=kept.version + 1), version=kept.version)
