"""Reading many entries at once, for verifying: a run of rows in which everything is right, told quickly.

Nothing is explained here. A run in which anything at all is not as it should be is left to a slower look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from sayso.core.audit.entry import HASH_BYTES, TAG

StoredRow = tuple[int, bytes | None, bytes, bytes, *tuple[Any, ...]]
"""A `Row`, and whatever columns its store keeps beside it."""
FiledRow = tuple[int, bytes | None, bytes, bytes, float, str, str]
"""A `Row` with the columns beside it: time, event and session."""


class RawBody(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A body, read as far as verifying needs it. The fields are in canonical order."""

    agent: str
    at: str
    commitments: Mapping[str, str]
    details: msgspec.Raw
    event: str
    operations: msgspec.Raw
    seq: int
    session: str
    stream: str


class _DecodedBody(RawBody, frozen=True, gc=False, forbid_unknown_fields=True):
    """The same for the decoder, which takes a third longer for any other mapping than a dict."""

    commitments: dict[str, str]


class SoundSpan(msgspec.Struct, frozen=True):
    """Entries one after another that were verified by themselves, and what joining them to others needs."""

    first: int
    prev: bytes
    """The hash that the first of them follows; whoever joins spans must see that it is the one before."""
    leaves: bytes
    """Their hashes, one behind the other."""
    tiles: bytes
    """The roots of their full tiles, one behind the other."""
    pruned: int
    pruned_through: int
    notable: tuple[FiledRow, ...]
    """The rows of which more must be known than that they are right."""

    @property
    def last(self) -> int:
        return self.first - 1 + len(self.leaves) // HASH_BYTES

    @property
    def head(self) -> bytes:
        return self.leaves[-HASH_BYTES:]

    def follows(self, last: int, head: bytes) -> bool:
        """Return whether these go on from entry `last`, whose hash is `head`."""
        return bool(self.leaves) and self.first == last + 1 and self.prev == head


_decoder = msgspec.json.Decoder(_DecodedBody)
_encoder = msgspec.json.Encoder()
_tagged = sha256(TAG)


def read_raw_body(body: bytes) -> RawBody | None:
    """Parse a body; None if it is not spelled as an entry is."""
    try:
        one = _decoder.decode(body)
        return one if _encoder.encode(one) == body else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def read_sound_run(
    run: Sequence[StoredRow], stream: str, last: int, head: bytes
) -> tuple[Sequence[bytes], Sequence[RawBody]] | None:
    """The hashes of these rows and what they say, if they go on from entry `last`, whose hash is `head`, and
    every one is whole.

    None if a body is gone, or if anything is wrong. The checks are made on lists rather than row by row,
    because that is what verifying spends its time on.
    """
    numbers = list(range(last + 1, last + 1 + len(run)))
    try:
        hashes = _hash_rows(run)
        lines = b"\n".join([row[1] for row in run] + [b""])  # type: ignore[arg-type]
        told = _decoder.decode_lines(lines)
    except (TypeError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    whole = (
        [row[0] for row in run] == numbers
        and [row[2] for row in run] == [head, *hashes[:-1]]
        and [row[3] for row in run] == hashes
        and [one.seq for one in told] == numbers
        and {one.stream for one in told} == {stream}
        and _encoder.encode_lines(told) == lines  # so each line is one body, in its one spelling
    )
    return (hashes, told) if whole else None


def _hash_rows(run: Sequence[StoredRow]) -> list[bytes]:
    """The hash of each row, made of what is stored in it; TypeError if a body is gone.

    To go on from the tag saves copying each body.
    """
    hashes: list[bytes] = []
    for row in run:
        made = _tagged.copy()
        made.update(row[2])
        made.update(row[1])  # type: ignore[arg-type]
        hashes.append(made.digest())
    return hashes


def read_pruned_run(run: Sequence[StoredRow], last: int, head: bytes) -> Sequence[bytes] | None:
    """The hashes of these rows, if they go on from entry `last`, and not one of them has its body left."""
    hashes = [row[3] for row in run]
    whole = (
        [row[1] for row in run] == [None] * len(run)
        and [row[0] for row in run] == list(range(last + 1, last + 1 + len(run)))
        and [row[2] for row in run] == [head, *hashes[:-1]]
        and {type(each) for each in hashes} == {bytes}
        and {len(each) for each in hashes} == {HASH_BYTES}
    )
    return hashes if whole else None
