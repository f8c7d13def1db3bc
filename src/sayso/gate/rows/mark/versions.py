"""Versions as this process knows them: in memory, by name, with their past for whoever still reads it.

- A version only grows. One that was promised before a commit is withdrawn if the commit fails.
- Whenever anything is learned, the tick goes up by one. A transaction that reads has a tick, too: what was
  raised after it does not concern that transaction.
- One guard protects all of this and the log it is kept in. A process that was forked begins with a new one.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b

from sayso.core.durations import DAY
from sayso.gate.rows.mark.file import Record

MOST_LATE = 200_000
FORGOTTEN_AFTER = 8 * DAY
"""So long after its end a session is kept in the mark; then it counts as ended because it is so old."""
_PENDING = 2**63
BURNED = 2**62
"""A version that nothing ever reaches."""

Raised = dict[bytes, tuple[int, int]]
"""By name: the version, and after which time it may be forgotten (0: never)."""


@lru_cache(maxsize=4096)
def version_key(kind: str, name: str) -> bytes:
    """Return the name under which a version is stored: it shows its kind; the rest is a hash."""
    return kind[:1].encode() + blake2b(f"{kind}/{name}".encode(), digest_size=15).digest()


def join_newest(raised: Raised, more: Raised) -> Raised:
    """Return both, and of a name that is in both the newer version."""
    return raised | {place: one for place, one in more.items() if one[0] >= raised.get(place, one)[0]}


FLOOR = version_key("fact", "floor")
"""Its version is a time: sessions opened before it that are not known have ended, and were dropped."""
_PASSKEYS = version_key("value", "passkeys")


class Versions:
    """The versions of one store. Keys are those of `version_key`."""

    def __init__(self) -> None:
        self.known: dict[bytes, int] = {}
        """The version of each name, as it is or as it was promised here."""
        self._until: dict[bytes, int] = {}
        self._past: dict[bytes, list[tuple[int, int]]] = {}
        """For transactions that read: when a version was raised lately, and from which."""
        self.tick = 0
        """The number of times anything was raised."""
        self.begin_process()

    def begin_process(self) -> None:
        """Begin in a new process: nobody holds the guard, and nobody reads."""
        self.guard = threading.RLock()
        self._readers: Counter[int] = Counter()

    # --- what is known ---

    def version(self, place: bytes) -> int:
        return self.known.get(place, 0)

    def version_at(self, place: bytes, tick: int) -> int:
        """The version as it was known then."""
        with self.guard:
            for raised_at, before in self._past.get(place, ()):
                if raised_at > tick:
                    return before
            return self.known.get(place, 0)

    def committed_version(self, place: bytes) -> int:
        """The version as it is known now, without what is only promised here."""
        with self.guard:
            past = self._past.get(place)
            if past and past[-1][0] == _PENDING:
                return self.version_at(place, self.tick)
            return self.known.get(place, 0)

    def count_missing(self, kind: str, there: set[str], *, at: int | None) -> int:
        """Count the names of this kind that live now (or lived at this tick) and are not among these."""
        found = {version_key(kind, name) for name in there}
        with self.guard:
            mine = [place for place in self.known if place[:1] == kind[:1].encode() and place not in found]
            return sum(
                not self._until.get(place)
                and self.known[place] < BURNED
                and (at is None or self.version_at(place, at) > 0)
                for place in mine
            )

    def outdate(self, kinds: bytes, until: float) -> Raised:
        """Return all that live of these kinds, to be forgotten after this time.

        Passkeys are not: that there were some is why answers have to be signed.
        """
        with self.guard:
            return {
                place: (version, int(until))
                for place, version in self.known.items()
                if place[:1] in kinds and not self._until.get(place) and place != _PASSKEYS
            }

    def burn(self, kind: str, but: set[str], *, before: int) -> Raised:
        """Return all that live of this kind and were known then, except `but`, as versions never reached."""
        spared = {version_key(kind, name) for name in but}
        with self.guard:
            places = [
                place
                for place in self.known
                if place[:1] == kind[:1].encode()
                and place not in spared
                and self.known[place] < BURNED
                and not self._until.get(place)
                and self.version_at(place, before) > 0
            ]
            return dict.fromkeys(places, (BURNED, 0))

    def outlasting(self) -> Raised:
        """Return what a copy of the store has to know for ever: effects, reviews and passkeys."""
        return {
            place: (version, 0)
            for place, version in self.known.items()
            if place[:1] in b"er" or place == _PASSKEYS
        }

    def records(self) -> list[Record]:
        """Return the records of all that is committed."""
        with self.guard:
            all_of_them = [(place, self.committed_version(place)) for place in self.known]
            return [(place, version, self._until.get(place, 0)) for place, version in all_of_them if version]

    def records_beyond(self, found: Sequence[Record]) -> list[Record]:
        """Return the records of all versions that are higher than in these."""
        there = {place: version for place, version, _ in sorted(found, key=lambda one: one[1])}
        return [one for one in self.records() if one[1] > there.get(one[0], 0)]

    # --- transactions that read ---

    def begin_reading(self, began: int | None) -> int:
        """Return the tick of a transaction that reads: now, or that of the one it is in."""
        with self.guard:
            began = self.tick if began is None else began
            self._readers[began] += 1
            return began

    def end_reading(self, began: int) -> None:
        with self.guard:
            self._readers[began] -= 1
            if self._readers[began] <= 0:
                del self._readers[began]

    # --- raising them ---

    def promise(self, raised: Raised) -> Mapping[bytes, int]:
        """Raise these while nobody else can write, just before the commit; return how they were."""
        with self.guard:
            before = {place: self.known.get(place, 0) for place in raised}
            for place, (version, until) in raised.items():
                self._set(place, version, until, _PENDING)
        return before

    def withdraw(self, before: Mapping[bytes, int]) -> None:
        """The commit failed: they are as before, unless somebody else has come as far meanwhile."""
        with self.guard:
            for place in before:
                past = self._past.get(place, [])
                if past and past[-1][0] == _PENDING:
                    self.known[place] = past.pop()[1]

    def learn(self, raised: Raised) -> None:
        """Raise these: they are committed."""
        with self.guard:
            self.tick += 1
            for place, (version, until) in raised.items():
                self._set(place, version, until, self.tick)
            if len(self._past) > MOST_LATE:
                self._forget_past()

    def learn_records(self, news: Sequence[Record]) -> None:
        """Raise what a log has. What the first look finds was always so. Only under the guard."""
        first = self.tick == 0
        self.tick += 1
        for place, version, until in news:
            self._set(place, version, until, 0 if first else self.tick)

    def forget(self, now: float) -> None:
        """Drop what ended long ago: it is too old to come back."""
        gone = {place for place, until in self._until.items() if until < now}
        for place in gone:
            del self.known[place], self._until[place]
        if gone:
            self.known[FLOOR] = max(self.known.get(FLOOR, 0), int(now - FORGOTTEN_AFTER))

    def _set(self, place: bytes, version: int, until: int, tick: int) -> None:
        old = self.known.get(place, 0)
        past = self._past.get(place)
        if past and past[-1][0] == _PENDING:
            before = past[-1][1]
            if version < old:
                if version > before:  # another process has come further than what is promised on
                    past[-1:] = [(tick, before), (_PENDING, version)]
                return
            if tick != _PENDING:
                past[-1] = (tick, before)  # what was promised is committed
        elif version < old:
            return
        elif version > old:
            kept = self._still_asked_for(past) if past and self._readers else ()
            self._past[place] = [*kept, (tick, old)]
        self.known[place] = version
        if until:
            self._until[place] = until
        else:
            self._until.pop(place, None)

    def _forget_past(self) -> None:
        """Drop what no transaction under way can ask for."""
        kept = ((place, self._still_asked_for(past)) for place, past in self._past.items())
        self._past = {place: past for place, past in kept if past}

    def _still_asked_for(self, past: list[tuple[int, int]]) -> list[tuple[int, int]]:
        oldest = min(self._readers, default=self.tick)
        return [one for one in past if one[0] > oldest]
