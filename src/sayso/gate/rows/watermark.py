"""The mark: how far a store had come, kept beside the key, so that whatever goes back shows.

- The head of the file names the newest entry. A store that does not reach it, or has another entry there, was
  restored or rewritten: a new epoch begins, and no grant of the old one counts.
- Behind the head follows a log of versions: sessions, reviews, tokens, passkeys, effect keys and the like
  each have one, which only grows. A row whose version is below its mark is an older copy.
- Both are raised after every durable commit. A row above its mark is fine: a process died between the commit
  and the mark, or another service with a mark of its own wrote it.
- A commit that is not synced is marked for as long as this machine runs, and for good with the next one that
  is, or when the store closes. After a power failure it may be gone, and its mark then counts for nothing.
"""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

from sayso.core.durations import DAY
from sayso.gate import words
from sayso.gate.rows.moves import PLACE, StoreMoved
from sayso.gate.rows.watermark_file import MarkFile, MarkReplaced, Record
from sayso.reading.paths.own_places import guard_keys
from sayso.store.contract import EntryRow, Reader, StoreError

OPENED_AGAIN = 64
"""After how many times of being raised it is opened again, so that one that was deleted is there again."""
LOOKED_AGAIN = 256
"""After how many looks it is seen to that the file looked at is the one that is there."""
MOST_LATE = 200_000
BOOT = Path("/proc/sys/kernel/random/boot_id")
FORGOTTEN_AFTER = 8 * DAY
"""So long after its end a session is kept in the mark; then it counts as ended because it is so old."""
MOVED = ("fact", "moved")
"""Its version is odd while the store is sealed because it moves or has moved."""
_PLAIN = re.compile(r"[\w-]+")
_PENDING = 2**63
BURNED = 2**62
"""A version that nothing ever reaches."""

Raised = dict[bytes, tuple[int, int]]
"""By name: the version, and after which time it may be forgotten (0: never)."""


_forks = 0  # how many forks lie between the first process and this one


def _count_fork() -> None:
    global _forks  # noqa: PLW0603  a process is a fact about the whole program
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def load_watermark(tx: Reader, folder: Path, name: str) -> Watermark:
    """The mark of the store of this name. A copy has another one than the store it was made of.

    Which one is said by a row that anybody can write who can write the store. A copy has its mark before it
    can be opened, and from then on the mark of its source says that the store has moved. So where there is
    none, beside others of the same name, or another one is in use as well, it is `lost`: it learns from the
    others what has to be known for ever, all else is void, and the others are retired for good.
    """
    mark = watermark_at(folder, name, tx.meta(PLACE))
    if mark.exists and mark.is_retired:
        return mark  # of a store that has moved: it can be read, and nothing is written to it
    others = [Watermark(path) for path in sorted(folder.glob(f"{name}*.mark")) if not mark.is_at(path)]
    mark.rivals = tuple(other for other in others if not other.is_retired)
    mark.lost = bool(mark.rivals) or (bool(others) and not mark.exists)
    if mark.lost:
        for other in others:
            mark.take_over(other)
    return mark


def watermark_at(folder: Path, name: str, place: str | None) -> Watermark:
    file = f"{name}-{place}" if place else name
    if not _PLAIN.fullmatch(file):
        raise StoreError(words.changed_outside("the name of the store"), hint="restore an intact backup")
    path = folder / f"{file}.mark"
    guard_keys(path)
    return Watermark(path)


def refuse_moved_watermark(mark: Watermark) -> None:
    """Refuse a store that has moved by its mark, whatever its rows say."""
    if mark.is_retired:
        raise StoreMoved(
            words.SEAL_REMOVED,
            hint="use the place it was moved to, and look at the audit",
        )


def version_key(kind: str, name: str) -> bytes:
    """Return the name under which a version is stored: it shows its kind; the rest is a hash."""
    return kind[:1].encode() + blake2b(f"{kind}/{name}".encode(), digest_size=15).digest()


def unsynced_key(place: bytes) -> bytes:
    """The name under which a version stands that counts until this machine starts again."""
    return place[:1].upper() + place[1:]


@cache
def boot_number() -> int:
    """Which start of this machine this is, as far as the system tells; 0 if it does not."""
    try:
        told = BOOT.read_bytes()
    except OSError:
        return 0
    return int.from_bytes(blake2b(told, digest_size=8).digest(), "big") if told.strip() else 0


def _as_counts_now(record: Record) -> Record:
    """The record; one of an unsynced commit counts if the machine has not started again since."""
    place, version, until = record
    if not place[:1].isupper():
        return record
    return (place[:1].lower() + place[1:], version if until == boot_number() else 0, 0)


_FLOOR = version_key("fact", "floor")
_PASSKEYS = version_key("value", "passkeys")


class Watermark:
    """The mark of one store. Without a path it lives in memory, as long as the gate does."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._own = threading.local()
        self._known: dict[bytes, int] = {}
        self._until: dict[bytes, int] = {}
        self._past: dict[bytes, list[tuple[int, int]]] = {}
        """For transactions that read: when a version was raised lately, and from which."""
        self._unsynced: Raised = {}
        self._tick = 0
        self.lost = False
        """There is no such mark though others of the same store exist, or another is in use as well."""
        self.rivals: tuple[Watermark, ...] = ()
        """The other marks of the same store that nobody has retired."""
        self._begin()

    def _begin(self) -> None:
        self._forks = _forks
        self._guard = threading.RLock()
        self._readers: Counter[int] = Counter()
        self._file: MarkFile | None = None
        self._left = OPENED_AGAIN
        self._looks = LOOKED_AGAIN

    @property
    def exists(self) -> bool:
        return self._path is not None and self._path.exists()

    def is_at(self, path: Path) -> bool:
        return self._path == path

    @property
    def is_retired(self) -> bool:
        """Return whether the store moved away from this mark, or the mark was given up."""
        return self.version(*MOVED) % 2 == 1

    @property
    def marks_unsynced(self) -> bool:
        """Return whether it can mark a commit until the machine starts again."""
        return self._path is None or boot_number() != 0

    # --- what a transaction may know ---

    def version(self, kind: str, name: str) -> int:
        """The version this row has at least. In a reading transaction: had when that began."""
        place = version_key(kind, name)
        reading: int | None = getattr(self._own, "reading", None)
        if reading is not None:
            return self._version_at(place, reading)
        self._catch_up_on(place)
        return self._known.get(place, 0)

    def _version_at(self, place: bytes, tick: int) -> int:
        """The version as it was known then."""
        with self._guard:
            later = (before for raised_at, before in self._past.get(place, ()) if raised_at > tick)
            return next(later, self._known.get(place, 0))

    def note(self, kind: str, name: str, version: int, *, until: float = 0.0) -> None:
        """Raise this version once the transaction under way is committed; what was read is, already."""
        raised: Raised | None = getattr(self._own, "raised", None)
        place = version_key(kind, name)
        if raised is None:
            if getattr(self._own, "reading", None) is not None and self._own.committed:
                self._learn({place: (version, int(until))})
        elif version > raised.get(place, (0, 0))[0]:
            raised[place] = (version, int(until))

    def missing(self, kind: str, there: set[str]) -> int:
        """Count the names of this kind that live here (or did when reading began) and are not among these."""
        reading: int | None = getattr(self._own, "reading", None)
        if reading is None:
            self._catch_up()
        found = {version_key(kind, name) for name in there}
        with self._guard:
            mine = [place for place in self._known if place[:1] == kind[:1].encode() and place not in found]
            return sum(
                not self._until.get(place)
                and self._known[place] < BURNED
                and (reading is None or self._version_at(place, reading) > 0)
                for place in mine
            )

    def outdate(self, kinds: bytes, until: float) -> None:
        """All of these kinds are void from now on, so that they need not be kept for ever.

        Passkeys are: that there were some is why answers have to be signed.
        """
        with self._guard:
            raised = {
                place: (version, int(until))
                for place, version in self._known.items()
                if place[:1] in kinds and not self._until.get(place) and place != _PASSKEYS
            }
        noted: Raised | None = getattr(self._own, "raised", None)
        if noted is not None:
            noted.update(raised)

    @property
    def floor(self) -> int:
        """Sessions that were opened before this time and are not known have ended, and were dropped."""
        return self._known.get(_FLOOR, 0)

    def burn(self, kind: str, but: set[str], *, before: int) -> int:
        """Raise every version of this kind that was known then, except those of `but`; return how many.

        Whatever is restored afterwards is behind its mark.
        """
        spared = {version_key(kind, name) for name in but}
        with self._guard:
            places = [
                place
                for place in self._known
                if place[:1] == kind[:1].encode()
                and place not in spared
                and self._known[place] < BURNED
                and not self._until.get(place)
                and self._version_at(place, before) > 0
            ]
            burned = dict.fromkeys(places, (BURNED, 0))
        if burned:
            self.reach(None, burned)
        return len(burned)

    @property
    def tick(self) -> int:
        """The number of times anything was raised, as far as this process knows."""
        self._catch_up()
        return self._tick

    @contextmanager
    def reading(self, *, committed: bool = True) -> Iterator[None]:
        """A transaction that reads what was there when it began: later marks do not concern it.

        One inside another reads the same moment. If not all it reads is `committed`, nothing is learned from
        it.
        """
        before = getattr(self._own, "reading", None)
        if before is None:
            self._catch_up()
        with self._guard:
            began = self._tick if before is None else before
            self._own.reading, self._own.committed = began, committed
            self._readers[began] += 1
        try:
            yield
        finally:
            self._own.reading = before
            with self._guard:
                self._readers[began] -= 1
                if self._readers[began] <= 0:
                    del self._readers[began]

    def begin_writing(self) -> Raised:
        """A transaction that writes begins; what it notes is gathered here."""
        own, raised = self._own, Raised()
        own.before = (getattr(own, "raised", None), getattr(own, "seen", None), getattr(own, "before", None))
        own.raised, own.seen = raised, set()
        return raised

    def end_writing(self) -> None:
        """Back to the transaction around it: the store refuses one in another, but that one goes on."""
        self._own.raised, self._own.seen, self._own.before = self._own.before

    @contextmanager
    def writing(self) -> Iterator[Raised]:
        """The same for as long as this lasts."""
        try:
            yield self.begin_writing()
        finally:
            self.end_writing()

    def promise(self, raised: Raised) -> Mapping[bytes, int]:
        """Raise these in memory while nobody else can write, just before the commit; how they stood."""
        with self._guard:
            before = {place: self._known.get(place, 0) for place in raised}
            for place, (version, until) in raised.items():
                self._set(place, version, until, _PENDING)
        return before

    def withdraw(self, before: Mapping[bytes, int]) -> None:
        """The commit failed: they stand as before."""
        with self._guard:
            for place, version in before.items():
                self._known[place] = version
                past = self._past.get(place)
                if past and past[-1] == (_PENDING, version):
                    past.pop()

    # --- raising it ---

    def reach(self, entry: EntryRow | None, raised: Raised | None = None) -> None:
        """Raise the mark to this entry and these versions, unless another process has raised it further."""
        with self._guard:
            unsynced, self._unsynced = self._unsynced, {}
        known = {place: one for place, one in unsynced.items() if one[0] >= self._known.get(place, 0)}
        raised = {**known, **(raised or {})}
        self._learn(raised)
        try:
            self._write(entry, raised)
        except OSError as error:
            with self._guard:
                self._unsynced = {**raised, **self._unsynced}  # to be written with the next
            raise self._unwritten(error) from error

    def seal(self, *, moved: bool) -> None:
        """Say whether the store has moved away."""
        version = self.version(*MOVED)
        if version % 2 != moved:
            self.reach(None, {version_key(*MOVED): (version + 1, 0)})

    def take_over(self, other: Watermark) -> None:
        """Know of effects, reviews and passkeys what the mark of the store knows that this copies."""
        other.version(*MOVED)
        places = {
            place: (version, 0)
            for place, version in other._known.items()
            if place[:1] in b"er" or place == _PASSKEYS
        }
        self._learn(places)

    def learn(self, raised: Raised) -> None:
        """Mark these until this machine starts again: they are committed, and not synced yet."""
        self._learn(raised)
        with self._guard:
            self._unsynced.update(raised)
        boot = boot_number()
        if not boot or not raised:
            return
        try:
            self._write(None, {unsynced_key(place): (one[0], boot) for place, one in raised.items()})
        except OSError as error:
            raise self._unwritten(error) from error

    def _unwritten(self, error: OSError) -> StoreError:
        """The error to raise. The file says that something is missing in it, until a new epoch begins."""
        if self._path is not None:
            with suppress(OSError):
                MarkFile(self._path, make=True).note_lack()
        return StoreError(
            f"the mark {self._path} cannot be written: {error.strerror}",
            hint="free some space; what was recorded stands, but the next start will void all grants",
        )

    @property
    def lacks(self) -> bool:
        """Whether something could not be written to it, so that nobody knows what has been revoked since."""
        try:
            return self._path is not None and MarkFile(self._path, make=False).lacks
        except FileNotFoundError:
            return False

    def complete(self) -> None:
        """A new epoch has begun: whatever is missing counts for nothing."""
        if self._path is not None and self.lacks:
            MarkFile(self._path, make=False).note_lack(missing=False)

    def settle(self) -> None:
        """All that was committed is synced: mark it for good."""
        if self._unsynced:
            self.reach(None)

    def holds(self, tx: Reader, stream: str, newest: tuple[int, bytes] | None) -> bool:
        """Return whether the store has the entry that the mark named before this transaction began."""
        if newest is None:
            return tx.head(stream) is None
        found = tx.entries(stream, after=newest[0] - 1, limit=1)
        return bool(found) and found[0].seq == newest[0] and found[0].hash == newest[1]

    def newest(self) -> tuple[int, bytes] | None:
        """The number and hash of the entry the mark was last raised to."""
        if self._path is None:
            return None
        try:
            file = MarkFile(self._path, make=False)
        except FileNotFoundError:
            return None
        return file.newest()

    def _learn(self, raised: Raised) -> None:
        with self._guard:
            self._tick += 1
            for place, (version, until) in raised.items():
                self._set(place, version, until, self._tick)
            if len(self._past) > MOST_LATE:
                self._forget_past()

    def _set(self, place: bytes, version: int, until: int, tick: int) -> None:
        old = self._known.get(place, 0)
        if version < old:
            return
        past = self._past.get(place, [])
        pending = bool(past) and past[-1][0] == _PENDING
        if pending and tick != _PENDING:
            past[-1] = (tick, past[-1][1])  # what was promised is committed
        elif version > old and not pending:
            oldest = min(self._readers, default=self._tick)
            self._past[place] = [*(one for one in past if one[0] > oldest), (tick, old)]
        self._known[place] = version
        if until:
            self._until[place] = until
        else:
            self._until.pop(place, None)

    def _forget_past(self) -> None:
        """Drop what no transaction under way can ask for."""
        oldest = min(self._readers, default=self._tick)
        kept = ((place, [one for one in past if one[0] > oldest]) for place, past in self._past.items())
        self._past = {place: past for place, past in kept if past}

    def _write(self, entry: EntryRow | None, raised: Raised) -> None:
        if self._path is None:
            return
        if self._forks != _forks:
            self._begin()
        with self._guard:
            while not self._try_write(self._path, entry, raised):
                self._file = None

    def _try_write(self, path: Path, entry: EntryRow | None, raised: Raised) -> bool:
        """False if the log continues in another file."""
        try:
            self._write_to(self._open_file(path), entry, raised)
        except MarkReplaced:
            return False
        return True

    def _write_to(self, file: MarkFile, entry: EntryRow | None, raised: Raised) -> None:
        file.lock()  # without a context manager, as this is done for every commit
        try:
            self._take(file)
            file.write(entry, [(place, *one) for place, one in raised.items()])
            if entry is not None and file.long_for(len(self._known)):  # an entry says what time it is
                self._shorten(file, entry.at)
        finally:
            file.unlock()

    def _open_file(self, path: Path) -> MarkFile:
        """Return the file, reopened now and then. A deleted file is made again, with all we know."""
        self._left -= 1
        if self._file is not None and self._left >= 0:
            return self._file
        file = MarkFile(path, make=True)
        self._left = OPENED_AGAIN
        if self._file is not None and self._file.same_as(file):
            return self._file
        self._file = file
        with file.hold_lock():
            found = {place: version for place, version, _ in self._take(file)}
            lost = [
                (place, version, self._until.get(place, 0))
                for place, version in self._known.items()
                if version > found.get(place, 0)
            ]
            file.write(None, lost)
        return file

    def _catch_up_on(self, place: bytes) -> None:
        """Read the news once a transaction: whoever has read a row in it holds it until it is over."""
        seen: set[bytes] | None = getattr(self._own, "seen", None)
        if seen is None:
            self._catch_up()
        elif place not in seen:
            self._catch_up()
            seen.add(place)

    def _catch_up(self) -> None:
        """Read what other processes have added."""
        if self._path is None:
            return
        if self._forks != _forks:
            self._begin()
        with self._guard:
            if self._file is None and not self._path.exists():
                return
            self._looks -= 1
            if self._looks < 0:
                self._looks = LOOKED_AGAIN
                if self._file is not None and not self._file.is_at(self._path):
                    self._file = None
            while not self._try_read(self._path):
                self._file = None

    def _try_read(self, path: Path) -> bool:
        """False if the log continues in another file."""
        if self._file is None:
            self._file = MarkFile(path, make=False)
        try:
            self._take(self._file)
        except MarkReplaced:
            return False
        return True

    def _take(self, file: MarkFile) -> list[Record]:
        news = [one for one in map(_as_counts_now, file.news()) if one[1]]
        if news:
            first = self._tick == 0
            self._tick += 1
            for place, version, until in news:
                self._set(place, version, until, 0 if first else self._tick)
        return news

    def _shorten(self, file: MarkFile, now: float) -> None:
        """Write the log again with what is alive. Sessions that ended long ago are too old to come back."""
        gone = {place for place, until in self._until.items() if until < now}
        for place in gone:
            del self._known[place], self._until[place]
        if gone:
            self._known[_FLOOR] = max(self.floor, int(now - FORGOTTEN_AFTER))
        kept = [(place, version, self._until.get(place, 0)) for place, version in self._known.items()]
        file.replace(kept)
        self._file = None
