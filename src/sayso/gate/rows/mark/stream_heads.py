"""The newest entries of streams, as records in the log of a mark. That of `main` is in its head as well.

- A record names the stream, the number of an entry and half of its hash. The last one of a stream counts.
- One that begins with a capital is of a commit that is not synced yet, and counts for nothing.
- Number 0 says that nothing is known of the stream any more: a new epoch has begun without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b

from sayso.gate.rows.mark.file import Record
from sayso.store.contract import EntryRow, Reader

_KIND, _UNSYNCED = b"h", b"H"
_WORD = 8
HASH_KEPT = 2 * _WORD
"""So many bytes of an entry's hash are kept."""

StreamHeads = dict[bytes, tuple[int, bytes]]
"""By the id of a stream: the number of its newest entry, and the beginning of that entry's hash."""


@lru_cache(maxsize=256)
def stream_id(stream: str) -> bytes:
    return _KIND + blake2b(f"stream/{stream}".encode(), digest_size=_WORD - 1).digest()


def is_head_record(record: Record) -> bool:
    return record[0][:1] == _KIND


def is_unsynced_head(record: Record) -> bool:
    return record[0][:1] == _UNSYNCED


def unsynced_head(entry: EntryRow) -> Record:
    """The record of an entry that is committed, and not synced yet."""
    place, seq, rest = head_record(stream_id(entry.stream), entry.seq, entry.hash)
    return _UNSYNCED + place[1:], seq, rest


def head_record(stream: bytes, seq: int, digest: bytes) -> Record:
    return stream + digest[:_WORD], seq, int.from_bytes(digest[_WORD:HASH_KEPT], "big")


def learn_head_records(heads: StreamHeads, records: Iterable[Record]) -> None:
    """Take in what a log says, in its order."""
    for place, seq, rest in records:
        stream, first = place[:_WORD], place[_WORD:]
        if seq:
            heads[stream] = (seq, first + rest.to_bytes(_WORD, "big"))
        else:
            heads.pop(stream, None)


def read_heads(records: Iterable[Record]) -> StreamHeads:
    """Return what a whole log says."""
    heads: StreamHeads = {}
    learn_head_records(heads, (one for one in records if is_head_record(one)))
    return heads


def records_of_heads(heads: StreamHeads) -> list[Record]:
    return [head_record(stream, seq, digest) for stream, (seq, digest) in heads.items()]


def records_to_raise(heads: StreamHeads, entries: Iterable[EntryRow]) -> list[Record]:
    """Return the records of the entries that are further than what is known of their streams."""
    new = (one for one in entries if one.seq > heads.get(stream_id(one.stream), (0, b""))[0])
    return [head_record(stream_id(one.stream), one.seq, one.hash) for one in new]


def records_to_follow(heads: StreamHeads, entries: Iterable[EntryRow]) -> list[Record]:
    """Return the records after which these entries are known, and nothing else."""
    found = {stream_id(one.stream): one for one in entries}
    gone = [head_record(stream, 0, bytes(HASH_KEPT)) for stream in heads if stream not in found]
    return [*gone, *(head_record(stream, one.seq, one.hash) for stream, one in found.items())]


def holds_heads(tx: Reader, heads: Mapping[bytes, tuple[int, bytes]]) -> bool:
    """Return whether the store has all these entries."""
    names = {stream_id(stream): stream for stream in tx.streams()} if heads else {}
    for stream, (seq, digest) in heads.items():
        found = tx.entries(names[stream], after=seq - 1, limit=1) if stream in names else ()
        if not found or found[0].seq != seq or found[0].hash[:HASH_KEPT] != digest:
            return False
    return True
