"""Faults in entries, checkpoints and summaries, and the check that must catch each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from sayso.store.contract import (
    CheckpointRow,
    EntryRow,
    EntryTuple,
    SummaryRow,
)
from sayso.store.memory.store import MemoryWriter


class FindsSummariesOfAnyKind(MemoryWriter):
    def summaries(self, source: str, kind: str, keys: Iterable[tuple[str, int]]) -> Sequence[SummaryRow]:
        wanted = set(keys)
        rows = (row for row in self.every(SummaryRow) if row.source == source)
        return [row for row in rows if (row.name, row.place) in wanted]


class ListsTheOldestSummariesFirst(MemoryWriter):
    def newest_summaries(
        self, source: str, kind: str, name: str, *, first: int = 0, before: int, limit: int = 1000
    ) -> Sequence[SummaryRow]:
        found = super().newest_summaries(source, kind, name, first=first, before=before)
        return found[::-1][:limit]


class KeepsTheFirstSummary(MemoryWriter):
    def put_summaries(self, rows: Iterable[SummaryRow]) -> None:
        for row in rows:
            if not self.summaries(row.source, row.kind, [(row.name, row.place)]):
                super().put_summaries([row])


class KeepsSummariesOfPrunedEntries(MemoryWriter):
    def prune_entries(self, stream: str, *, before: int) -> int:
        kept = [row for row in self.every(SummaryRow) if row.source == stream]
        pruned = super().prune_entries(stream, before=before)
        self.put_summaries(kept)
        return pruned


class DropsSummariesOfOthers(MemoryWriter):
    def drop_summaries(self, source: str) -> None:
        for one in {row.source for row in self.every(SummaryRow)}:
            super().drop_summaries(one)


class DropsAnEntry(MemoryWriter):
    def add_entry(self, row: EntryRow) -> None:
        if row.event != "REVOKED" and row.seq != 2:
            super().add_entry(row)


class LeavesGapsInTheChain(MemoryWriter):
    def add_entry(self, row: EntryRow) -> None:
        self._add(self._tables.entries, row.stream, row.seq, row)


class OverwritesEntries(MemoryWriter):
    def add_entry(self, row: EntryRow) -> None:
        self._changes.put(self._tables.entries, row.stream, row.seq, row)


class ForgetsItsOwnEntries(MemoryWriter):
    def head(self, stream: str) -> EntryRow | None:
        if not hasattr(self, "_first"):
            self._first = super().head(stream)
        return self._first


class ClaimsEntriesOfOthers(MemoryWriter):
    def newest_own_entry(self, stream: str) -> EntryRow | None:
        return self.head(stream)


class KnowsTheTimeOfMainAlone(MemoryWriter):
    def newest_time(self) -> float | None:
        newest = self.head("main")
        return None if newest is None else newest.at


class ReadsEntriesBackwards(MemoryWriter):
    def entries(self, stream: str, *, after: int = 0, limit: int = 1000) -> Sequence[EntryRow]:
        return super().entries(stream, after=after, limit=limit)[::-1]


class FilesTheHashBeforeForItsOwn(MemoryWriter):
    def entry_tuples(self, stream: str, *, after: int = 0, limit: int = 1000) -> Sequence[EntryTuple]:
        found = super().entry_tuples(stream, after=after, limit=limit)
        return [(seq, body, own, prev, *beside) for seq, body, prev, own, *beside in found]  # type: ignore[misc]


class NeverPassesOverCheckpoints(MemoryWriter):
    def checkpoints(self, *, limit: int = 1, skip: int = 0) -> Sequence[CheckpointRow]:
        return super().checkpoints(limit=limit)


class PrunesHashesToo(MemoryWriter):
    def prune_entries(self, stream: str, *, before: int) -> int:
        pruned = super().prune_entries(stream, before=before)
        for row in self.entries(stream, limit=before - 1):
            self._changes.put(self._tables.entries, stream, row.seq, replace(row, hash=b""))
        return pruned


CHAIN = "entries_are_read_in_the_order_of_the_chain"
PLACES = "a_place_in_the_chain_is_taken_once_and_without_gaps"

ENTRIES: dict[type[MemoryWriter], str] = {
    FindsSummariesOfAnyKind: "summaries_are_found_by_name_and_place",
    ListsTheOldestSummariesFirst: "the_newest_summaries_of_a_name_come_first",
    KeepsTheFirstSummary: "a_summary_takes_the_place_of_the_one_before",
    KeepsSummariesOfPrunedEntries: "summaries_go_with_the_bodies_they_were_made_from",
    DropsSummariesOfOthers: "summaries_go_with_the_bodies_they_were_made_from",
    DropsAnEntry: CHAIN,
    LeavesGapsInTheChain: PLACES,
    OverwritesEntries: PLACES,
    ForgetsItsOwnEntries: "the_head_is_the_newest_entry_at_every_moment_of_a_transaction",
    KnowsTheTimeOfMainAlone: "the_newest_time_is_the_highest_of_all_streams",
    ClaimsEntriesOfOthers: "a_transaction_says_which_entry_it_added_last",
    ReadsEntriesBackwards: CHAIN,
    FilesTheHashBeforeForItsOwn: CHAIN,
    NeverPassesOverCheckpoints: "checkpoints_come_newest_first",
    PrunesHashesToo: "pruning_drops_bodies_and_nothing_else",
}
