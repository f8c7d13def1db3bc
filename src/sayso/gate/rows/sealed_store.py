"""The store as a gate uses it: every commit raises the mark, and what was tampered with is recorded.

- Versions noted in a transaction are raised in memory before it commits, while nobody else can write, and in
  the file once it is on the disk. Never before: a power failure might take what is marked.
- A transaction that only reads is held against the mark as it stood when it began.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

from sayso.core.audit import events
from sayso.core.audit.entry import MAIN
from sayso.core.errors import SaysoError
from sayso.gate.rows.journal import record
from sayso.gate.rows.tampering import Doubt, Doubts
from sayso.gate.rows.watermark import BURNED, Raised, Watermark, refuse_moved_watermark
from sayso.gate.telemetry import log_tampering
from sayso.store.contract import EntryRow, Reader, Store, StoreError, Writer

log = logging.getLogger("sayso")


class MarkedStore:
    """A store, its mark, and what is doubted in it. With `records` False nothing is written by itself."""

    def __init__(
        self, store: Store, mark: Watermark, doubts: Doubts, *, stream: str = MAIN, records: bool = True
    ) -> None:
        self.unmarked = store
        self.mark = mark
        self._doubts = doubts
        self._stream = stream
        self._records = records

    @property
    def bound(self) -> float:
        return self.unmarked.bound

    @contextmanager
    def read(self) -> Iterator[Reader]:
        try:
            with self.mark.reading(), self.unmarked.read() as tx:
                yield tx
        finally:
            if self._doubts:
                self._report_doubts()

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        newest, before = None, None
        raised = self.mark.begin_writing()
        try:
            with self.unmarked.write(durable=durable) as tx:
                yield tx
                refuse_moved_watermark(self.mark)  # by another process, since this gate was opened
                newest = tx.newest_own_entry(self._stream)
                if raised:
                    before = self.mark.promise(raised)
                    tx.after_commit = partial(self._mark_until_synced, raised)
            before = None  # committed: it stands, even if the file of the mark cannot be written
            self._raise(newest, raised, durable=tx.durable)
        except BaseException:
            if before is not None:
                self.mark.withdraw(before)
            raise
        finally:
            self.mark.end_writing()
            if self._doubts:
                self._report_doubts()

    def _mark_until_synced(self, raised: Raised) -> None:
        """While the disk is waited for, the mark says it already: even if this process is killed meanwhile.

        If that cannot be written, it is tried again, and told, when the disk has it.
        """
        with suppress(StoreError):
            self.mark.learn(raised)

    def _raise(self, newest: EntryRow | None, raised: Raised, *, durable: bool) -> None:
        """The transaction is committed."""
        if durable and (newest is not None or raised):
            self.mark.reach(newest, raised)
        elif raised:
            self.mark.learn(raised)

    def wait_for_change(self, seen: int, timeout: float) -> int:
        return self.unmarked.wait_for_change(seen, timeout)

    def close(self) -> None:
        self.unmarked.close()  # which syncs all that was committed
        self.mark.settle()

    def _report_doubts(self) -> None:
        for doubt in self._doubts.take():
            if not doubt.burns:  # what is refused as a session is told where it is refused
                log_tampering(doubt.session, doubt.finding)
            if self._records:
                self._record(doubt)

    def _record(self, doubt: Doubt) -> None:
        """In a transaction of its own. That it cannot be recorded must not hide what was refused."""
        try:
            with self.write() as tx:
                if doubt.burns:
                    self.mark.note("session", doubt.session, BURNED)
                found = events.TamperingFound(finding=doubt.finding)
                record(tx, found, session=doubt.session, stream=self._stream)
        except SaysoError as error:
            log.warning("tampering was not recorded: %s", error)
