"""Spans of a stream, verified by themselves: many entries in a row in which everything is right.

- A span is right as a whole or not at all. One in which anything is wrong, missing or merely unusual is read
  again, entry by entry, by whoever joins the spans, and only there is anything said about it.
- Spans begin and end where tiles of the tree do, so that their tiles can be hashed here as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from sayso.core.audit import events
from sayso.core.audit.bulk import RawBody, SoundSpan, read_pruned_run, read_sound_run
from sayso.core.audit.commitments import SaltedValue, opens
from sayso.core.audit.merkle import WIDTH, subtree_root
from sayso.gate.audit.verifying.columns import find_differing_rows
from sayso.gate.audit.verifying.signatures import PASSKEY_EVENTS
from sayso.store.contract import EntryTuple, Reader, ReadOnlyStore

PAGE = 4 * WIDTH
BEFORE_ALL = -(2**63)
TELLING = frozenset({events.Erased.event, events.Joined.event}) | PASSKEY_EVENTS
"""The events whose entries say something about others."""
_NOTABLE = TELLING | {events.TamperingFound.event, events.Pruned.event}


class SpanTask(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Verify so many entries of a stream, from `first` on; `size` is a number of full tiles."""

    stream: str
    first: int
    size: int


def check_span(store: ReadOnlyStore, task: SpanTask) -> SoundSpan | None:
    """Verify one span; None unless all of its entries are there and nothing about them is wrong."""
    last, head, prev = task.first - 1, b"", b""
    leaves: list[bytes] = []
    tiles: list[bytes] = []
    notable: list[EntryTuple] = []
    pruned = pruned_through = 0
    while last < task.first - 1 + task.size:
        wanted = min(PAGE, task.first - 1 + task.size - last)
        with store.read() as tx:
            page = tx.entry_tuples(task.stream, after=last or BEFORE_ALL, limit=wanted)
            if len(page) != wanted:
                return None
            if not leaves:
                prev = head = page[0][2]
            for tile in range(0, wanted, WIDTH):
                run = page[tile : tile + WIDTH]
                checked = _check_run(run, task.stream, last, head)
                if checked is None:
                    return None
                hashes, told = checked
                last, head = last + WIDTH, hashes[-1]
                if told[0] is None:
                    pruned, pruned_through = pruned + WIDTH, last
                leaves += hashes
                tiles.append(subtree_root(hashes))
                notable += _find_notable(tx, task.stream, run, told)
    return SoundSpan(
        task.first, prev, b"".join(leaves), b"".join(tiles), pruned, pruned_through, tuple(notable)
    )


def _check_run(
    run: Sequence[EntryTuple], stream: str, last: int, head: bytes
) -> tuple[Sequence[bytes], Sequence[RawBody | None]] | None:
    """The hashes of these rows and what they say; None if anything is wrong, or only some are pruned."""
    sound = read_sound_run(run, stream, last, head)
    if sound is not None:
        return sound if next(find_differing_rows(run, sound[1]), None) is None else None
    hashes = read_pruned_run(run, last, head)
    return None if hashes is None else (hashes, [None] * len(run))


def _find_notable(
    tx: Reader, stream: str, run: Sequence[EntryTuple], told: Sequence[RawBody | None]
) -> list[EntryTuple]:
    """The rows of which more must be known: of their events, or because a value beside them is not right."""
    return [
        row
        for row, one in zip(run, told, strict=True)
        if row[5] in _NOTABLE
        or (one is not None and one.commitments and not _values_open(tx, stream, row[0], one.commitments))
    ]


def _values_open(tx: Reader, stream: str, seq: int, commitments: Mapping[str, str]) -> bool:
    """Return whether every value that this entry commits to is kept beside it, unchanged."""
    kept = {one.name: one for one in tx.secrets(stream, seq)}
    return all(
        name in kept and opens(SaltedValue(name, kept[name].value, kept[name].salt), committed)
        for name, committed in commitments.items()
    )
