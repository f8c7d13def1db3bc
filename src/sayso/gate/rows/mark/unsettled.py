"""Records of commits that are not settled: not synced yet, or only promised.

A commit that is not synced counts for as long as this machine runs. Its record names the start of the machine
in which it was made: after another start the commit may be gone with a power failure, and the record counts
for nothing.

- A record of this kind begins with a capital. Made small once the commit is synced, it counts for good.
- So nothing but one letter changes in it, and whoever reads it meanwhile reads one or the other.

Where several write at once, others can read what one of them has committed a moment before it is marked. So
its versions are promised before the commit, under the number of the transaction.

- Whoever finds a promise above what is marked, and above the row, asks the server what became of that
  transaction. Its answer is no row: nobody can put it back.
- Committed, the promise counts as marked: the row was put back. Undone, it is taken back, for all.
- What is not over does not count yet. Whoever holds a row came after all that changed it were over.
- The promise of a process that died counts no less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path

from sayso.gate.rows.mark.file import Record
from sayso.gate.rows.mark.versions import Raised

BOOT = Path("/proc/sys/kernel/random/boot_id")
_OF_BOOT = 1 << 63
"""Set in the number of a start: no time is as late."""
_PROMISED = 0x80
"""Added to the letter of a kind. Of one that is taken back, that is a capital."""
MANY = 1_000
"""From so many on, those that have come true are looked for now and then."""


# --- not synced ---


@cache
def boot_number() -> int:
    """Which start of this machine this is, as far as the system tells; 0 if it does not."""
    try:
        told = BOOT.read_bytes()
    except OSError:
        return 0
    return int.from_bytes(blake2b(told, digest_size=8).digest(), "big") if told.strip() else 0


def unsynced_records(raised: Raised, boot: int) -> list[Record]:
    """The records of versions that count until this machine starts again: their kind is a capital."""
    return [(_unsynced_place(place), version, boot | _OF_BOOT) for place, (version, _) in raised.items()]


@lru_cache(maxsize=256)
def _unsynced_place(place: bytes) -> bytes:
    return place[:1].upper() + place[1:]


def record_as_counts_now(record: Record) -> Record:
    """The record; one of an unsynced commit counts if the machine has not started again since."""
    place, version, until = record
    if not place[:1].isupper():
        return record if until < _OF_BOOT else (place, version, 0)
    counts = until | _OF_BOOT == boot_number() | _OF_BOOT
    return (place[:1].lower() + place[1:], version if counts else 0, 0)


def learn_passing(passing: dict[bytes, int], records: Iterable[Record]) -> None:
    """Learn which versions count now, but not once the machine has started again: in the order of the log.

    An older one may stand behind a newer one: whoever read it was slow to mark it.
    """
    for record in records:
        place, version, _ = record_as_counts_now(record)
        if version >= passing.get(place, 0):
            if place == record[0]:
                passing.pop(place, None)
            elif version:
                passing[place] = version


def with_unsynced(
    records: Iterable[Record], unsynced: Mapping[bytes, int], found: Iterable[Record]
) -> list[Record]:
    """Return these, and in the place of versions that are not synced what a log says of them.

    That is what it held for good before, if anything, and what counts until this machine starts again.
    """
    newest = {one[0]: one for one in sorted(found, key=lambda one: record_as_counts_now(one)[1])}
    kept: list[Record] = []
    for one in records:
        place = one[0]
        if unsynced.get(place) == one[1]:
            kept += [newest[name] for name in (place, _unsynced_place(place)) if name in newest]
        else:
            kept.append(one)
    return kept


# --- promised ---


def is_promise_record(record: Record) -> bool:
    return record[0][0] >= _PROMISED


def promise_record(place: bytes, version: int, number: int) -> Record:
    return bytes((place[0] | _PROMISED,)) + place[1:], version, number


def record_of_promise_taken_back(place: bytes, version: int, number: int) -> Record:
    return promise_record(place[:1].upper() + place[1:], version, number)


class Promises(dict[bytes, dict[int, int]]):
    """The promises of one mark that may not be marked yet: by name, and by the number of the transaction."""

    def __init__(self) -> None:
        super().__init__()
        self._many = MANY

    def learn_records(self, records: Iterable[Record]) -> None:
        """Take in what a log says, in its order."""
        for name, version, number in records:
            kind = bytes((name[0] & ~_PROMISED,))
            if kind.isupper():
                self.drop(kind.lower() + name[1:], number)
            else:
                self.setdefault(kind + name[1:], {})[number] = version

    def drop(self, place: bytes, number: int) -> None:
        made = self.get(place)
        if made is not None:
            made.pop(number, None)
            if not made:
                del self[place]

    def drop_kept(self, version_of: Callable[[bytes], int], *, all_of_them: bool = False) -> None:
        """Forget those that are marked by now: if there are many, or at once."""
        if len(self) < self._many and not all_of_them:
            return
        for place, made in list(self.items()):
            marked = version_of(place)
            for number in [number for number, version in made.items() if version <= marked]:
                self.drop(place, number)
        self._many = max(MANY, 2 * len(self))

    def records(self) -> list[Record]:
        return [
            promise_record(place, version, number)
            for place, made in self.items()
            for number, version in made.items()
        ]
