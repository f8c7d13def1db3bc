"""The store as a gate uses it: every commit raises the mark, and what was tampered with is recorded.

- Versions noted in a transaction are raised in memory before anybody else of this process can write, and in
  the file once it is on the disk. Never for good before: a power failure might take what is marked.
- From just before the commit others are kept from believing what it changes: by the lock of the mark, or by
  what is promised in it.
- A transaction that only reads is held against the mark as it was when it began.
- A gate of an earlier epoch commits nothing more, as what it goes by is void. Whoever begins an epoch writes
  that to the store and to the mark, and either is enough: the row can be put back, and services on other
  machines have marks of their own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, cast

from sayso.core.audit import events
from sayso.core.audit.entry import MAIN
from sayso.core.errors import SaysoError
from sayso.gate import words
from sayso.gate.rows.journal import record
from sayso.gate.rows.mark.versions import BURNED, Raised
from sayso.gate.rows.mark.watermark import EPOCH_ROW, Watermark, parse_epoch, refuse_moved_watermark
from sayso.gate.rows.moves import check_goes_on
from sayso.gate.rows.tampering import Doubt, Doubts
from sayso.gate.telemetry import log_tampering
from sayso.store.contract import Ahead, Batch, EntryRow, Reader, Store, StoreError, StoreFault, Writer

log = logging.getLogger("sayso")

MANY_ENTRIES = 1_000
"""After how many entries of its stream a gate does what `MarkedStore.after_many` says."""


class _Kept(NamedTuple):
    """What a transaction that was kept means for the mark: how it rises, and how it was before."""

    newest: tuple[EntryRow, ...]
    raised: Raised
    before: Mapping[bytes, int]
    durable: bool


def _join(kept: Sequence[_Kept]) -> _Kept:
    """The same for several that are committed together."""
    newest = {entry.stream: entry for one in kept for entry in one.newest}
    raised = {place: version for one in kept for place, version in one.raised.items()}
    return _Kept((*newest.values(),), raised, {}, any(one.durable for one in kept))


class _OwnPlace:
    """Where a thread reads and writes: the store itself, or a batch of it."""

    def __init__(self, store: Store) -> None:
        self.place: Store | Batch | _Snapshot = store
        self.batch: Batch | None = None
        self.kept: list[_Kept] = []
        """What was kept in the batch under way."""
        self.later: list[Callable[[], object]] = []
        """What is to be done once the batch under way is committed."""
        self.unwritten: StoreError | None = None
        """Why the last commit is not marked until it is synced."""


class _PlaceOfThread(threading.local):
    """Each thread has its own, in a plain object: that is quicker to read."""

    def __init__(self, store: Store) -> None:
        self.own = _OwnPlace(store)


class _EnteredEpoch:
    """The epoch that a gate has entered, in a store with this mark."""

    def __init__(self, mark: Watermark, epoch: int) -> None:
        self._mark = mark
        self._epoch = epoch
        self._text: str | None = None
        """The row, as it was last found to be of no later epoch."""

    def check(self, tx: Reader) -> None:
        """Refuse to go on if another epoch has begun. Quick where the row is known."""
        text = tx.meta(EPOCH_ROW)
        if self._mark.epoch > self._epoch or (text != self._text and parse_epoch(text) > self._epoch):
            raise StoreError(words.EPOCH_OVER, hint=words.START_AGAIN)
        self._text = text


class _Snapshot:
    """One moment of the store. Whoever writes leaves it first."""

    def __init__(self, tx: Reader, store: Store, leave: Callable[[], None]) -> None:
        self._tx = tx
        self._store = store
        self._leave = leave

    def read(self) -> AbstractContextManager[Reader]:
        return nullcontext(self._tx)

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        self._leave()
        with self._store.write(durable=durable) as tx:
            yield tx


class _BatchRead:
    """A read in a batch. There are many of them, so it is not a generator."""

    __slots__ = ("_inside", "_store")

    def __init__(self, store: MarkedStore, inside: AbstractContextManager[Reader]) -> None:
        self._store, self._inside = store, inside

    def __enter__(self) -> Reader:
        tx = self._inside.__enter__()
        self._store.mark.begin_batch_read()
        return tx

    def __exit__(self, *error: Any) -> None:  # noqa: PYI036  passed on as they are
        self._store.mark.end_batch_read()
        self._inside.__exit__(*error)
        self._store.report_doubts()


class _MarkedWrite:
    """A transaction that writes. There are many of them, so it is not a generator."""

    __slots__ = ("_before", "_goes_on", "_inside", "_own", "_raised", "_store", "_tx")

    def __init__(
        self, store: MarkedStore, own: _OwnPlace, inside: AbstractContextManager[Writer], goes_on: str | None
    ) -> None:
        self._store, self._own, self._inside, self._goes_on = store, own, inside, goes_on
        self._before: Mapping[bytes, int] = {}

    def __enter__(self) -> Writer:
        store = self._store
        self._raised = store.mark.begin_writing(alone=store.local)
        try:
            self._tx = tx = self._inside.__enter__()
            if not store.local and self._own.batch is None:
                self._ask_with(tx)
        except BaseException:
            store.leave()
            raise
        return tx

    def _ask_with(self, tx: Writer) -> None:
        try:
            self._store.mark.ask_with(tx.was_committed)
        except BaseException as error:  # interrupted, and nobody else would end what has begun
            self._inside.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                self._inside.__exit__(kind, error, trace)
                return
            try:
                newest = self._store.newest_entries(self._tx)
                self._prepare_commit(newest)
            except BaseException as failure:
                self._inside.__exit__(type(failure), failure, failure.__traceback__)
                raise
            self._inside.__exit__(None, None, None)
            if self._own.batch is None:
                self._store.mark_kept(newest, self._raised, durable=self._tx.durable)
            else:
                self._own.kept.append(_Kept(newest, self._raised, self._before, self._tx.durable))
        finally:
            self._store.leave()
        if self._own.batch is None:
            self._store.count_entries(newest)

    def _prepare_commit(self, newest: Sequence[EntryRow]) -> None:
        """It is about to be committed, or to be kept in its batch: hold it against the mark.

        Where others write as well, what it raises counts for the threads of this process from now on.
        """
        tx, store, by_itself = self._tx, self._store, self._own.batch is None
        mark, alone, goes_on = store.mark, store.local, self._goes_on
        added = newest[-1].stream if newest else None
        if goes_on is not None and goes_on != added and tx.newest_own_entry(goes_on) is None:
            check_goes_on(tx, tx.head(goes_on))
        if self._raised:
            if not (alone and by_itself):
                self._before = mark.promise(self._raised)
            tx.if_lost = partial(store.withdraw, self._before)
            tx.after_commit = partial(store.mark_until_synced, self._raised, newest if tx.durable else ())
            if alone and by_itself:
                mark.hold()
        elif alone and by_itself:
            mark.note_covered()
        refuse_moved_watermark(mark)  # by another process, since this gate was opened
        if self._raised and by_itself:
            if store.epoch is not None:
                store.epoch.check(tx)
            if not alone:
                mark.announce(self._raised, tx.number)


class MarkedStore:
    """A store, its mark, and what is doubted in it. With `records` False nothing is written by itself."""

    def __init__(
        self, store: Store, mark: Watermark, doubts: Doubts, *, stream: str = MAIN, records: bool = True
    ) -> None:
        self.unmarked = store
        self.local = store.local
        self.mark = mark
        self._doubts = doubts
        self.stream = stream
        """Where tampering is recorded, and what is marked beside `main` when it is committed."""
        self._records = records
        self.epoch: _EnteredEpoch | None = None
        """None for a gate that has not entered one: it only looks."""
        self.after_many: Callable[[], object] | None = None
        """Done once many entries were added to the stream, after the commit that made them so many."""
        self._thousands: int | None = None
        self._threads = _PlaceOfThread(store)

    def enter(self, epoch: int) -> None:
        """Commit nothing in a later epoch than this one."""
        self.epoch = _EnteredEpoch(self.mark, epoch)

    def refuse_later_epoch(self, tx: Reader) -> None:
        """Refuse to go on if another gate has begun a new epoch, in which nothing of this one counts."""
        if self.epoch is not None:
            self.epoch.check(tx)

    @property
    def bound(self) -> float:
        return self.unmarked.bound

    @property
    def fault(self) -> StoreFault | None:
        return self.unmarked.fault

    def read(self) -> AbstractContextManager[Reader]:
        batch = self._threads.own.batch
        return self._read() if batch is None else _BatchRead(self, batch.read())

    @contextmanager
    def _read(self) -> Iterator[Reader]:
        try:
            with self.mark.reading(), self._threads.own.place.read() as tx:
                if not self.local:
                    self.mark.ask_with(tx.was_committed)
                yield tx
        finally:
            self.mark.ask_with(None)
            self.report_doubts()

    def write(self, *, durable: bool = True, goes_on: str | None = None) -> AbstractContextManager[Writer]:
        """One transaction. `goes_on`: the stream it belongs to; where that is sealed, nothing is written."""
        own = self._threads.own
        return _MarkedWrite(self, own, own.place.write(durable=durable), goes_on)

    def read_ahead(self, wanted: Ahead) -> None:
        """Read this at once, if this thread has a batch under way."""
        if self._threads.own.batch is not None:
            self._threads.own.batch.read_ahead(wanted)
            self.mark.look_again()

    def when_committed(self, call: Callable[[], object]) -> None:
        """Do this now, or once the batch that this thread has under way is committed; never if it is not."""
        if self._threads.own.batch is None:
            call()
        else:
            self._threads.own.later.append(call)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let this thread read one moment of the store, until this ends or the thread writes."""
        with ExitStack() as held:
            held.enter_context(self.mark.reading())
            tx = held.enter_context(self.unmarked.read())
            held.callback(self.mark.ask_with, None)
            self.mark.ask_with(tx.was_committed)
            held.callback(setattr, self._threads.own, "place", self.unmarked)
            self._threads.own.place = _Snapshot(tx, self.unmarked, held.close)
            yield

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        """Commit together what this thread reads and writes until it ends; nothing is kept before that.

        The mark is raised in memory with each transaction, and in the file once all of them are committed.
        """
        kept, own = list[_Kept](), self._threads.own
        try:
            with self.unmarked.batch() as batch, self.mark.batch():
                batch.if_lost = partial(self._withdraw_all, kept)
                try:
                    own.place, own.batch, own.kept = batch, batch, kept
                    self.mark.ask_with(batch.was_committed)
                    yield cast("Batch", self)
                    self._prepare_commit(batch, kept)
                finally:
                    own.place, own.batch, own.kept = self.unmarked, None, []
                    later, own.later = own.later, []
        finally:
            self.mark.let_go()
            self.mark.ask_with(None)
        if kept:
            newest, raised, _, durable = _join(kept)
            self.mark_kept(newest, raised, durable=durable)
        for call in later:
            call()

    def _prepare_commit(self, batch: Batch, kept: Sequence[_Kept]) -> None:
        """All of it is about to be committed: hold it against the mark, and see to it that others do."""
        raised, alone = _join(kept).raised, self.local
        batch.after_commit = partial(self.mark_until_synced, raised, ())
        if raised and alone:
            self.mark.hold()
        else:
            if alone:
                self.mark.note_covered()
            self.mark.look_again()
        if kept:
            refuse_moved_watermark(self.mark)
        if raised:
            with batch.read() as tx:
                self.refuse_later_epoch(tx)
        if raised and not alone:
            self.mark.announce(raised, batch.number)

    def _withdraw_all(self, kept: Sequence[_Kept]) -> None:
        for one in reversed(kept):
            self.mark.withdraw(one.before)
        self.mark.let_go()

    def withdraw(self, before: Mapping[bytes, int]) -> None:
        """A transaction is not committed: its versions are as before."""
        self.mark.withdraw(before)
        self.mark.let_go()

    def leave(self) -> None:
        """A transaction that wrote is over, kept or not."""
        self.mark.end_writing()
        if self._doubts:
            self.report_doubts()

    def newest_entries(self, tx: Writer) -> tuple[EntryRow, ...]:
        """The newest entries that this transaction added to `main` and to the gate's own stream."""
        own = tx.newest_own_entry(self.stream)
        main = None if self.stream == MAIN else tx.newest_own_entry(MAIN)
        found = () if own is None else (own,)
        return found if main is None else (main, *found)

    def mark_until_synced(self, raised: Raised, newest: Sequence[EntryRow]) -> None:
        """While the disk is waited for, the mark says it already: even if this process is killed meanwhile.

        If that cannot be written, it is tried again, and told, when the disk has it.
        """
        unwritten = None
        try:
            if raised:
                self.mark.learn(raised, newest)
        except StoreError as error:
            unwritten = error
        finally:
            self._threads.own.unwritten = unwritten
            self.mark.let_go()

    def mark_kept(self, newest: Sequence[EntryRow], raised: Raised, *, durable: bool) -> None:
        """This was kept, and is committed."""
        if durable and (newest or raised):
            self.mark.reach(*newest, raised=raised)
        elif raised and not self.local:
            self.mark.learn(raised)
        elif raised and self._threads.own.unwritten is not None:
            raise self._threads.own.unwritten

    def count_entries(self, newest: Sequence[EntryRow]) -> None:
        """These were committed. Others may add to the same stream: whoever passes the number acts."""
        if not newest or self.after_many is None or newest[-1].stream != self.stream:
            return
        thousands, before = newest[-1].seq // MANY_ENTRIES, self._thousands
        if thousands != before:
            self._thousands = thousands
            if before is not None or newest[-1].seq == thousands * MANY_ENTRIES:
                self.after_many()

    def wait_for_change(self, seen: int, timeout: float) -> int:
        return self.unmarked.wait_for_change(seen, timeout)

    def close(self) -> None:
        fault = self.unmarked.fault  # where it closed by itself, nobody knows what is on the disk
        self.unmarked.close()  # which syncs all that was committed
        if fault is None or not fault.closed:
            self.mark.settle()

    def report_doubts(self) -> None:
        """Tell and record what was found in a transaction that is over."""
        if not self._doubts:
            return
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
                record(tx, found, session=doubt.session, stream=self.stream)
        except SaysoError as error:
            log.warning("tampering was not recorded: %s", error)
