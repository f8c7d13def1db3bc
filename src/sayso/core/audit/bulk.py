"""Reading many entries at once, for verifying: a run of rows in which everything is right, told quickly.

Nothing is explained here. A run in which anything at all is not as it should be is left to a slower look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from sayso.core.audit.entry import TAG

StoredRow = tuple[int, bytes | None, bytes, bytes, *tuple[Any, ...]]
"""A `Row`, and whatever columns its store keeps beside it."""


class RawBody(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A body, read as far as verifying needs it. The fields stand in canonical order."""

    agent: str
    at: str
    commitments: Mapping[str, str]
    details: msgspec.Raw
    event: str
    operations: msgspec.Raw
    seq: int
    session: str
    stream: str


_decoder = msgspec.json.Decoder(RawBody)
_encoder = msgspec.json.Encoder()


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
        hashes = [sha256(TAG + row[2] + row[1]).digest() for row in run]  # type: ignore[operator]
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
