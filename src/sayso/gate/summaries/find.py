"""Finding the entries of a stream by the values that its summaries lead to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sayso.gate.summaries.shapes import BLOCK, FOUND
from sayso.gate.summaries.source import SourceSummaries

FoundValues = tuple[str, ...]
"""Names of values, one of which an entry has."""
FIRST_READ, MOST_READ = 4, 256
"""How many blocks of a value are read at once: few at first, then more."""


def find_seqs(sums: SourceSummaries, values: Sequence[FoundValues], before: int) -> Iterator[int]:
    """The numbers below this one of the entries that have a value of each group, the highest first."""
    groups = [[_ValueBlocks(sums, name) for name in names] for names in values]
    block = max(before - 1, 0) // BLOCK
    while block >= 0:
        newest = [max((one.newest(block) for one in group), default=-1) for group in groups]
        if min(newest) < block:  # nothing here has them all
            block = min(newest)
            continue
        offsets = set.intersection(*(set().union(*(one.offsets(block) for one in g)) for g in groups))
        yield from (seq for one in sorted(offsets, reverse=True) if (seq := block * BLOCK + one) < before)
        block -= 1


class _ValueBlocks:
    """The blocks in which a value occurs, read from the newest on."""

    def __init__(self, sums: SourceSummaries, name: str) -> None:
        self._sums = sums
        self._name = name
        self._read: list[tuple[int, list[int]]] = []
        """Those that were read and are not passed yet, the newest first."""
        self._next = FIRST_READ

    def newest(self, block: int) -> int:
        """The newest block up to this one with the value; -1 if there is none. Asked for ever older ones."""
        while self._read and self._read[0][0] > block:
            del self._read[0]
        if not self._read:
            window = {"before": block + 1, "limit": self._next}
            found = self._sums.newest_first(FOUND, self._name, **window)
            self._read = [(place, one.offsets) for place, one in found]
            self._next = min(self._next * 2, MOST_READ)
        return self._read[0][0] if self._read else -1

    def offsets(self, block: int) -> set[int]:
        """The entries of this block that have it."""
        return set(self._read[0][1]) if self._read and self._read[0][0] == block else set()
