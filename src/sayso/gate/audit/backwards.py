"""The audit trail backwards: the newest entries first, of all streams together, a page at a time.

With values to look for, only entries that have them are read, as far as the trail was added up; what is newer
is looked through. A search for anything else looks through all entries, a bounded number for each page.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from sayso.core.audit.entry import MAIN, AuditEntry, read_entry
from sayso.core.errors import MalformedRequest, SaysoError
from sayso.gate.gate import Gate
from sayso.gate.summaries.add_up import find_through
from sayso.gate.summaries.find import FoundValues, find_seqs
from sayso.gate.summaries.source import SourceSummaries
from sayso.store.contract import EntryRow, Reader

PAGE = 200
MOST_READ = 20_000
"""How many entries are looked at for one page: a search that finds little goes on with the next."""


EntryFilter = Callable[[Reader, EntryRow, AuditEntry | None], bool]


class EntryPage(msgspec.Struct, frozen=True):
    """Some entries, newest first. `before` is where to go on; None once there is nothing older."""

    entries: tuple[tuple[EntryRow, AuditEntry | None], ...]
    before: str | None


def find_newest_entries(
    gate: Gate,
    wanted: EntryFilter,
    *,
    before: str | None = None,
    limit: int = 50,
    events: frozenset[str] | None = None,
    most: int = MOST_READ,
    values: Sequence[FoundValues] = (),
) -> EntryPage:
    """The newest entries that are wanted, before a place; each with what it says, None if that was pruned.

    `values`: of each of these groups, an entry that is wanted has one.
    """
    found: list[tuple[EntryRow, AuditEntry | None]] = []
    with gate.store.read() as tx:
        places = _start_places(tx, before)
        for looked_at, row in enumerate(_merge_streams(tx, places, values)):
            if len(found) == limit or looked_at == most:
                return EntryPage(tuple(found), _format_places(places))
            places[row.stream] = row.seq
            if events is not None and row.event not in events:
                continue
            said = entry_of_row(row)
            if wanted(tx, row, said):
                found.append((row, said))
    return EntryPage(tuple(found), None)


def entry_of_row(row: EntryRow) -> AuditEntry | None:
    """Read the row's entry; None if it was pruned or cannot be read."""
    try:
        return None if row.body is None else read_entry(row.body)
    except SaysoError:  # it was tampered with, which `audit verify` reports
        return None


def _start_places(tx: Reader, before: str | None) -> dict[str, int]:
    """For each stream the number before which to read."""
    heads = (tx.head(stream) for stream in tx.streams())
    ends = {head.stream: head.seq + 1 for head in heads if head is not None}
    if before is None:
        return ends
    return {stream: min(seq, ends[stream]) for stream, seq in _parse_places(before).items() if stream in ends}


def _parse_places(before: str) -> dict[str, int]:
    """`main:120,worker:7`; a number alone is one of main."""
    places: dict[str, int] = {}
    for part in before.split(","):
        stream, _, number = part.rpartition(":")
        if not (number.isascii() and number.isdigit() and len(number) < 16):
            raise MalformedRequest(
                f"{before!r} is not a place in the trail", hint="use the one that the page before gave"
            )
        places[stream or MAIN] = int(number)
    return places


def _format_places(places: Mapping[str, int]) -> str:
    return ",".join(f"{stream}:{seq}" for stream, seq in places.items())


def _merge_streams(
    tx: Reader, places: Mapping[str, int], values: Sequence[FoundValues]
) -> Iterator[EntryRow]:
    return heapq.merge(
        *(_read_stream(tx, stream, seq, values) for stream, seq in places.items()), key=lambda row: -row.at
    )


def _read_stream(tx: Reader, stream: str, before: int, values: Sequence[FoundValues]) -> Iterator[EntryRow]:
    """The entries of one stream before this number that may have these values, the newest first."""
    if not values:
        yield from _read_backwards(tx, stream, before)
        return
    sums = SourceSummaries(stream, tx)
    through = find_through(sums).entry
    yield from _read_backwards(tx, stream, before, through)
    for seq in find_seqs(sums, values, min(before, through + 1)):
        yield from tx.entries(stream, after=seq - 1, limit=1)


def _read_backwards(tx: Reader, stream: str, before: int, last: int = 0) -> Iterator[EntryRow]:
    """The entries of one stream before this number and after `last`, the newest first."""
    while before > last + 1:
        after = max(before - 1 - PAGE, last)
        page: Sequence[EntryRow] = tx.entries(stream, after=after, limit=before - 1 - after)
        if not page:
            return
        yield from reversed(page)
        before = after + 1
