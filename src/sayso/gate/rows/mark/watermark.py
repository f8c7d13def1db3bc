"""The mark: how far a store had come, kept beside the key, so that whatever goes back shows.

- The head of the file names the newest entry of `main`, and records in its log that of each other stream. A
  store that does not reach one of them, or has another entry there, was restored or rewritten: a new epoch
  begins, and no grant of the old one counts. From then on the mark follows the store as it is.
- A stream that another service writes is marked at each checkpoint. So a store that lost what another service
  had done, on another machine and with another mark, is noticed too.
- Behind the head follows a log of versions: sessions, reviews, tokens, passkeys, effect keys and the like
  each have one, which only grows. A row whose version is below its mark is an older copy.
- Both are raised after every durable commit. That of a single one is in the log by then: it is settled there
  with its entry (`MarkLog.settle`), and the head need not be raised.
- A row above its mark is fine: a process died between the commit and the mark, or another service with a mark
  of its own wrote it.
- Between a commit and its mark nobody believes a row that was put back: on this machine whoever writes next
  waits for the mark (`hold`), on a server the versions were promised in it before (`announce`).
- What somebody has seen cannot be taken back: whoever reads a row above its mark marks it.
- A commit that is not synced is marked for as long as this machine runs, and for good with the next one that
  is, or when the store closes. After a power failure it may be gone, and its mark then counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from sayso.core.audit.entry import MAIN
from sayso.gate import words
from sayso.gate.rows.mark.file import Added, MarkFile, MarkLocked, MarkReplaced
from sayso.gate.rows.mark.log import MarkLog
from sayso.gate.rows.mark.stream_heads import StreamHeads, holds_heads, read_heads, stream_id
from sayso.gate.rows.mark.under_way import Under, UnderOfThread
from sayso.gate.rows.mark.unsettled import boot_number
from sayso.gate.rows.mark.versions import BURNED, FLOOR, Raised, Versions, join_newest, version_key
from sayso.gate.rows.moves import StoreMoved
from sayso.store.contract import EntryRow, Reader, StoreBusy, StoreError

EPOCH = ("fact", "epoch")
EPOCH_ROW = "epoch"
_EPOCH_KEY = version_key(*EPOCH)
MOVED = ("fact", "moved")
"""Its version is odd while the store is sealed because it moves or has moved."""
_MOVED_KEY = version_key(*MOVED)


class MarkedEntries(msgspec.Struct, frozen=True):
    """The newest entries by a mark: that of `main`, and those of the other streams."""

    main: tuple[int, bytes] | None = None
    others: StreamHeads = {}


def parse_epoch(text: str | None) -> int:
    """Return the stored epoch; 0 if it is not a number, or one that no store reaches."""
    if text is None:
        return 1
    return int(text) if text.isascii() and text.isdecimal() and len(text) < len(str(BURNED)) else 0


def _newest_of_streams(entries: Iterable[EntryRow]) -> dict[str, EntryRow]:
    return {one.stream: one for one in sorted(entries, key=lambda one: one.seq)}


class Watermark:
    """The mark of one store. Without a path it lives in memory, as long as the store or one gate on it."""

    def __init__(self, path: Path | None = None, *, of_store: bool = False) -> None:
        self._path = path
        self.outlasts_gate = of_store or path is not None
        """Whether what it knows is known to the next gate on the same store, too."""
        self._threads = UnderOfThread()
        self._versions = Versions()
        self._log = None if path is None else MarkLog(path, self._versions)
        self.passing: dict[bytes, int] = {} if self._log is None else self._log.passing
        """What others have marked until this machine starts again."""
        self._unsynced: Raised = {}
        self._missed: dict[str, EntryRow] = {}
        """The newest entry of each stream that could not be marked."""
        self._seen: Raised = {}
        """Rows above their marks that somebody has read: marked for good with the next commit."""
        self._to_mark: Raised = {}
        """Those of them that are not in the file yet."""
        self._follow: Sequence[EntryRow] | None = None
        self.lost = False
        """There is no such mark though others of the same store exist, or another is in use as well."""
        self.rivals: tuple[Watermark, ...] = ()
        """The other marks of the same store that nobody has retired."""

    @property
    def exists(self) -> bool:
        return self._path is not None and self._path.exists()

    def is_at(self, path: Path) -> bool:
        return self._path == path

    @property
    def is_retired(self) -> bool:
        """Return whether the store moved away from this mark, or the mark was given up."""
        own = self._threads.under
        if own.looks and self._log is not None:
            self._look(own)
        return self._versions.known.get(_MOVED_KEY, 0) % 2 == 1

    @property
    def epoch(self) -> int:
        """The epoch of the store, as of the last look."""
        return self._versions.known.get(_EPOCH_KEY, 0)

    @property
    def marks_unsynced(self) -> bool:
        """Return whether it can mark a commit until the machine starts again."""
        return self._path is None or boot_number() != 0

    # --- what a transaction may know ---

    def version(self, kind: str, name: str, *, row: int = 0) -> int:
        """The version this row has at least. In a reading transaction: had when that began.

        `row`: the version that it has, if it is known; what was promised up to it need not be asked about.
        """
        place, own = version_key(kind, name), self._threads.under
        promised = 0 if self._log is None else self._use(own, self._log, place, row)
        if own.reading is not None:
            return max(promised, self._versions.version_at(place, own.reading))
        return self._versions.known.get(place, 0)

    def committed_version(self, kind: str, name: str) -> int:
        """The version that this row has at least when it is read after this.

        On a server others write beside us. What they are about to commit does not count yet, and what they
        have committed once the row was read is newer than the row.
        """
        place, own = version_key(kind, name), self._threads.under
        if own.reading is None:
            self._look(own)  # nobody holds it: others may have changed it since the last look
        known = self.version(kind, name)
        return known if own.reading is not None else self._versions.committed_version(place)

    def _look(self, own: Under) -> None:
        """Read what others have added to the file: in a transaction that is alone, once."""
        if own.looks and self._log is not None:
            own.looks = not own.alone
            self._log.catch_up()

    def _use(self, own: Under, log: MarkLog, place: bytes, row: int) -> int:
        """See to it that this version is known; return what was promised and is committed, as below.

        The file is read once in a transaction for each: whoever has read a row in it holds it until it is
        over.
        """
        used = own.used
        new = used is None or place not in used
        if new and own.looks and own.reading is None:
            self._look(own)
        promised = self._learn_promised(log, place, row) if place in log.promises else 0
        if new and used is not None:
            used[place] = self._versions.committed_version(place)
        return promised

    def _learn_promised(self, log: MarkLog, place: bytes, row: int) -> int:
        """Return the highest version, above this row, that was promised and is committed; 0 if there is none.

        Committed before what the transaction under way reads. What was undone is promised no more.
        """
        own, highest = self._threads.under, 0
        tick = self._versions.tick if own.reading is None else own.reading
        above = max(row, self._versions.version_at(place, tick))
        with self._versions.guard:
            made = [one for one in log.promises.get(place, {}).items() if one[1] > above]
        for number, version in made:
            committed = True if own.was_committed is None else own.was_committed(number)
            if committed:
                highest = max(highest, version)
            elif committed is False:
                with suppress(OSError):
                    log.take_promise_back(place, version, number)
        if highest:
            self._versions.learn({place: (highest, 0)})
        return highest

    def go_by(self, kind: str, name: str, version: int) -> None:
        """A row of this version passed for the newest. In a batch nothing newer may be marked meanwhile."""
        own = self._threads.under
        if own.used is not None:
            place = version_key(kind, name)
            if not own.in_batch or place not in own.promised:
                own.used[place] = version

    def may_pass(self, kind: str, name: str, version: int) -> bool:
        """Return whether others have marked this version, and may have died before it was for good."""
        return self.passing.get(version_key(kind, name)) == version

    def note(self, kind: str, name: str, version: int, *, until: float = 0.0) -> None:
        """Raise this version once the transaction under way is committed; what was read is, already.

        Whoever committed that has not marked it: they may have died before. What seems to be gathered while
        somebody reads is left of a transaction that was interrupted.
        """
        own, place = self._threads.under, version_key(kind, name)
        raised = own.raised
        if own.reading is not None:
            if own.committed:
                self._mark_seen({place: (version, int(until))})
        elif raised is not None and version > raised.get(place, (0, 0))[0]:
            raised[place] = (version, int(until))

    def _mark_seen(self, seen: Raised) -> None:
        """Somebody reads these: mark them until this machine starts again, for good with the next commit."""
        if self._log is None:
            self._versions.learn(seen)
            return
        with self._versions.guard:
            self._versions.learn(seen)
            self._seen.update(seen)
            for place in seen:
                self.passing.pop(place, None)
            self._to_mark.update(seen)
            self._write_seen()

    def _write_seen(self) -> None:
        """Mark them, unless somebody who may be about to do so holds the file. Then the next look tries."""
        if self._log is not None:
            with self._versions.guard, suppress(OSError):
                if self._log.write_at_once(self._to_mark):
                    self._to_mark = {}

    def missing(self, kind: str, there: set[str]) -> int:
        """Count the names of this kind that live here (or did when reading began) and are not among these."""
        reading = self._threads.under.reading
        if reading is None:
            self._catch_up()
        return self._versions.count_missing(kind, there, at=reading)

    def outdate(self, kinds: bytes, until: float) -> None:
        """All of these kinds are void from now on, so that they need not be kept for ever.

        Passkeys are: that there were some is why answers have to be signed.
        """
        noted = self._threads.under.raised
        if noted is not None:
            noted.update(self._versions.outdate(kinds, until))

    @property
    def floor(self) -> int:
        """Sessions that were opened before this time and are not known have ended, and were dropped."""
        return self._versions.known.get(FLOOR, 0)

    def burn(self, kind: str, but: set[str], *, before: int) -> int:
        """Raise every version of this kind that was known then, except those of `but`; return how many.

        Whatever is restored afterwards is behind its mark.
        """
        burned = self._versions.burn(kind, but, before=before)
        if burned:
            self._threads.under.covered = {}  # no sync was waited for
            self.reach(raised=burned)
        return len(burned)

    @property
    def tick(self) -> int:
        """The number of times anything was raised, as far as this process knows."""
        self._catch_up()
        return self._versions.tick

    @contextmanager
    def reading(self, *, committed: bool = True) -> Iterator[None]:
        """A transaction that reads what was there when it began: later marks do not concern it.

        One inside another reads the same moment. If not all it reads is `committed`, nothing is learned from
        it.
        """
        own = self._threads.under
        before = own.reading
        if before is None:
            self._catch_up()
            if self._to_mark:
                self._write_seen()
        began = self._versions.begin_reading(before)
        own.reading, own.committed = began, committed
        try:
            yield
        finally:
            own.reading = before
            self._versions.end_reading(began)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Many transactions of one thread that are committed together: the file is read when they begin, and
        when it is said so (`look_again`), but not for each of them.

        What is above its mark is fine, so a mark that is a moment old refuses nothing that is right. And if
        one was raised in this moment above the row that they went by, none of them is kept.
        """
        self._catch_up()
        began = self._versions.begin_reading(None)  # so that no past is dropped that one of them may ask for
        own = self._threads.under
        own.used, own.used_since, own.promised = {}, began, set()
        own.in_batch, own.looks = True, False
        try:
            yield
        finally:
            own.used, own.in_batch, own.looks = None, False, True
            self._versions.end_reading(began)

    def look_again(self) -> None:
        """Read in the file what was added since the batch began. What it has used must not be among that.

        Also what another thread has read there before, and what lies beneath that which the batch raises
        itself: it may have raised an older row that was put back.
        """
        if self._log is not None:
            self._log.catch_up()
            self._check_used(self._log)

    def _check_used(self, log: MarkLog) -> None:
        """Refuse to go on if anything newer is marked, or promised and committed, than what was used."""
        own = self._threads.under
        if own.used_since == self._versions.tick and not log.promises:
            return
        for place, known in (own.used or {}).items():
            if place in log.promises:
                self._learn_promised(log, place, known)
            if self._versions.committed_version(place) > known:
                raise StoreBusy("others have just changed what this rests on", hint="try again")

    def hold(self) -> None:
        """Keep others from raising it until what is committed next is marked, or `let_go`.

        Whoever wrote before has marked it by now: so what was used is held against the file once more. If it
        cannot be written, the commit stands, and this is said after it. If others keep it locked, or it is
        not even open, nothing is committed.
        """
        if self._log is not None:
            own = self._threads.under
            own.holds = True
            try:
                self._log.hold(own)
            except MarkLocked as error:
                raise self._locked(error) from error
            except OSError as error:
                if not self._log.is_open:
                    raise self._unwritable(error) from error
            self._check_used(self._log)

    def let_go(self) -> None:
        """Let others write. Whoever is interrupted here can do this again."""
        own = self._threads.under
        if own.holds and self._log is not None:
            self._log.let_go(own)
            own.holds = False

    def announce(self, raised: Raised, number: int) -> None:
        """Promise these to all, just before the transaction of this number commits them.

        If that cannot be written, nothing is committed.
        """
        try:
            if self._log is not None:
                self._log.write_promises(raised, number)
        except MarkLocked as error:
            raise self._locked(error) from error
        except OSError as error:
            raise self._unwritable(error) from error

    def _locked(self, error: MarkLocked) -> StoreBusy:
        return StoreBusy(f"the mark {self._path} is busy: {error.strerror}", hint="try again")

    def _unwritable(self, error: OSError) -> StoreError:
        """The error to raise before a commit."""
        return StoreError(
            f"the mark {self._path} cannot be written: {error.strerror}",
            hint="free some space; nothing was recorded",
        )

    def ask_with(self, was_committed: Callable[[int], bool | None] | None) -> None:
        """From now on, ask so what became of another transaction; None once the one under way is over."""
        self._threads.under.was_committed = was_committed

    def begin_batch_read(self) -> None:
        """A read in a batch begins: from what it finds nothing is learned, as it may not be committed."""
        own = self._threads.under
        own.reading, own.committed = self._versions.tick, False

    def end_batch_read(self) -> None:
        self._threads.under.reading = None

    def begin_writing(self, *, alone: bool = False) -> Raised:
        """A transaction that writes begins; what it notes is gathered here.

        `alone`: nobody else writes until it is over.
        """
        own, raised = self._threads.under, Raised()
        own.before = (own.raised, own.used, own.used_since, own.looks, own.alone, own.before)
        own.raised = raised
        if self._log is not None and not own.in_batch:
            own.used, own.used_since, own.looks, own.alone = {}, self._versions.tick, True, alone
        return raised

    def end_writing(self) -> None:
        """Back to the transaction around it: the store refuses one in another, but that one goes on.

        What it held is let go, unless it is a part of a batch.
        """
        own = self._threads.under
        if not own.in_batch:
            own.was_committed = None
            if own.holds:
                self.let_go()
        own.raised, own.used, own.used_since, own.looks, own.alone, own.before = own.before

    @contextmanager
    def writing(self) -> Iterator[Raised]:
        """The same for as long as this lasts."""
        try:
            yield self.begin_writing()
        finally:
            self.end_writing()

    def promise(self, raised: Raised) -> Mapping[bytes, int]:
        """Raise these in memory while nobody else can write, just before the commit; how they were."""
        own = self._threads.under
        if own.in_batch:
            own.promised.update(raised)
        return self._versions.promise(raised)

    def withdraw(self, before: Mapping[bytes, int]) -> None:
        """The commit failed: they are as before."""
        self._versions.withdraw(before)

    # --- raising it ---

    def follow(self, entries: Sequence[EntryRow]) -> None:
        """With the next commit, forget how far the store was, and go on from these newest entries of it."""
        self._follow = entries

    def reach(self, *entries: EntryRow, raised: Raised | None = None) -> None:
        """Raise the mark to these entries and versions, unless another process has raised it further."""
        raised = {} if raised is None else raised
        if self._log is None:
            return self._reach_in_memory(raised)
        own = self._threads.under
        added, covered = own.added, own.covered
        own.added = own.covered = None
        with self._versions.guard:
            unsynced, self._unsynced = self._split_unsynced(covered)
            try:
                if self._seen:
                    unsynced, self._seen = join_newest(self._seen, unsynced), {}
                if unsynced != raised:  # otherwise they were learned when they were committed
                    raised = self._learn_with(unsynced, raised)
                elif added is not None and added[0] is raised and self._settles(self._log, added[1], entries):
                    return None
                return self._write_to(self._log, entries, raised)
            except BaseException as error:  # to be written with the next
                self._unsynced = join_newest(join_newest(self._unsynced, unsynced), raised)
                self._missed = _newest_of_streams((*self._missed.values(), *entries))
                if isinstance(error, OSError):
                    raise self._unwritten(error) from error
                raise

    def _settles(self, log: MarkLog, added: Added, entries: Sequence[EntryRow]) -> bool:
        """Return whether all there was to write has been added before, and counts for good now."""
        more = self._missed or self._follow is not None or log.lacks or len(entries) != 1
        return not more and log.settle(added, entries[0])

    def _split_unsynced(self, covered: Raised | None) -> tuple[Raised, Raised]:
        """Return what is synced by now, and what others have committed since that sync may have begun."""
        unsynced = self._unsynced
        if covered is None or unsynced == covered:
            return unsynced, {}
        later = {place: one for place, one in unsynced.items() if covered.get(place) != one}
        return {place: one for place, one in unsynced.items() if place not in later}, later

    def _reach_in_memory(self, raised: Raised) -> None:
        """Learn what is new of these; most were when they were committed. Nothing has to be written."""
        committed = self._versions.committed_version
        new = {place: one for place, one in raised.items() if one[0] > committed(place)}
        if new:
            self._versions.learn(new)

    def _write_to(self, log: MarkLog, entries: Sequence[EntryRow], raised: Raised) -> None:
        if self._missed or self._follow is not None:
            both = (*(self._follow or ()), *self._missed.values(), *entries)
            entries = [*_newest_of_streams(both).values()]
        log.write(entries, raised, follow=self._follow is not None)
        self._missed = {}
        if self._follow is not None:
            self._follow = None
            log.clear_lacks()
        elif log.lacks:
            log.take_lack_back()

    def _learn_with(self, unsynced: Raised, raised: Raised) -> Raised:
        """Learn these, and return them with what was marked until this machine starts again."""
        version = self._versions.version
        unsynced = {place: one for place, one in unsynced.items() if one[0] >= version(place)}
        raised = join_newest(unsynced, raised)
        self._versions.learn(raised)
        return raised

    def seal(self, *, moved: bool) -> None:
        """Say whether the store has moved away."""
        version = self.version(*MOVED)
        if version % 2 != moved:
            self.reach(raised={_MOVED_KEY: (version + 1, 0)})

    def take_over(self, other: Watermark) -> None:
        """Know of effects, reviews and passkeys what the mark of the store knows that this copies."""
        other.version(*MOVED)
        self._versions.learn(other._versions.outlasting())

    def learn(self, raised: Raised, newest: Sequence[EntryRow] = ()) -> None:
        """Mark these until this machine starts again: they are committed, and not synced yet.

        `newest` are the newest entries that were committed with them.
        """
        if self._log is None:
            self._versions.learn(raised)
            return
        with self._versions.guard:
            self._unsynced.update(raised)
            self.note_covered()
            try:
                self._versions.learn(raised)
                if self.passing:
                    for place in raised:
                        self.passing.pop(place, None)
                entry = newest[0] if len(newest) == 1 and newest[0].stream == MAIN else None
                added = self._log.write_unsynced(raised, entry)
                self._threads.under.added = None if added is None else (raised, added)
            except BaseException as error:
                if isinstance(error, OSError):
                    raise self._unwritten(error) from error
                self._to_mark.update(raised)  # interrupted: whoever looks next writes it
                raise

    def note_covered(self) -> None:
        """This thread commits, and nobody else can now: what it waits for covers all that was before."""
        self._threads.under.covered = {**self._unsynced}

    def _unwritten(self, error: OSError) -> StoreError:
        """The error to raise after a commit.

        The file says that something is missing in it, until that is written or a new epoch begins.
        """
        if self._log is not None:
            with suppress(OSError):
                self._log.note_lack(wait=not isinstance(error, MarkLocked))
        return StoreError(
            f"the mark {self._path} cannot be written: {error.strerror}",
            hint="free some space; what was recorded stands, but the next start will void all grants, "
            "unless this program writes the mark before",
        )

    @property
    def lacks(self) -> bool:
        """Whether something could not be written to it, so that nobody knows what has been revoked since."""
        try:
            return self._path is not None and MarkFile(self._path, make=False).lacks
        except FileNotFoundError:
            return False

    def settle(self) -> None:
        """All that was committed is synced: mark it for good."""
        self._threads.under.covered = None
        if self._unsynced or self._missed:
            self.reach()

    def holds(self, tx: Reader, reached: MarkedEntries) -> bool:
        """Return whether the store has the entries that the mark named before this transaction began."""
        if reached.main is None:
            known = stream_id(MAIN) in reached.others or tx.head(MAIN) is None
        else:
            found = tx.entries(MAIN, after=reached.main[0] - 1, limit=1)
            known = bool(found) and (found[0].seq, found[0].hash) == reached.main
        return known and holds_heads(tx, reached.others)

    def reached(self) -> MarkedEntries:
        """The entries the mark was last raised to.

        What others have settled in the file is no news in it, so all of it is read.
        """
        if self._path is None:
            return MarkedEntries()
        self._catch_up()
        while True:
            try:
                file = MarkFile(self._path, make=False)
                return MarkedEntries(file.newest(), read_heads(file.news()))
            except FileNotFoundError:
                return MarkedEntries()
            except MarkReplaced:  # the log continues in another file
                continue

    def _catch_up(self) -> None:
        if self._log is not None and not self._threads.under.in_batch:
            self._log.catch_up()


def refuse_moved_watermark(mark: Watermark) -> None:
    """Refuse a store that has moved by its mark, whatever its rows say."""
    if mark.is_retired:
        raise StoreMoved(
            words.SEAL_REMOVED,
            hint="use the place it was moved to, and look at the audit",
        )
