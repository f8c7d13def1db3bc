"""Audit entries: their one spelling, the chain that binds each to all before it, and how they are shown.

An entry's **body** is canonical JSON. Its **hash** is the RFC 6962 leaf hash of tag, hash before it and body:

    hash = SHA-256(0x00 || "sayso/audit/1\\n" || hash of the entry before || body)

So one hash both chains the entry and is its leaf in the tree, and a body can be dropped later (`audit
prune`) without losing either. The first entry follows `SHA-256("sayso/audit-stream/1\\n" || stream)`, so
that an entry cannot pass from one stream to another.

**Streams.** Several processes may each write a chain of their own. Checkpoints are made of the stream `main`
only; the others are anchored in it by entries `JOINED`, whose details give each stream's size and root:
`{"streams": {"worker-1": {"root": "<hex>", "size": 41}}}`. So `main` stays one append-only log, and its
checkpoints are consistent with one another, as their format demands.

**Pruning.** Dropping the bodies of entries 1 to k is itself an entry, `PRUNED` with details `{"through": k}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import UNSET

from sayso.core.digest import EXACT_INTEGERS, decode_canonical, encode_canonical, plain
from sayso.core.errors import NotCanonical, SaysoError
from sayso.core.text.patterns import lazy_pattern

TAG = b"\x00sayso/audit/1\n"
MAIN = "main"
HASH_BYTES = 32

ChainRow = tuple[int, bytes | None, bytes, bytes]
"""An entry as it is stored: number, body (None once pruned), hash before it, own hash."""

_EVENT = lazy_pattern(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_MOST_LETTERS = 64
_STREAM = lazy_pattern(r"[a-z0-9][a-z0-9._-]{0,63}")
_COMMITMENT = lazy_pattern(r"[0-9a-f]{64}")
_TIME = lazy_pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a zone would only be written out and cut off again
_END_OF_TIME = 253_402_300_799
_encoder = msgspec.json.Encoder(order="sorted")


class AuditError(SaysoError):
    """An entry that cannot be written or read as what it should be. What it would record does not happen."""

    code = "audit"


class AuditEntry(msgspec.Struct, frozen=True):
    """One thing that happened. `at` is seconds since 1970; `commitments` stand for values kept elsewhere."""

    seq: int
    at: float
    event: str
    session: str = ""
    agent: str = ""
    operations: tuple[str, ...] = ()
    details: Mapping[str, Any] = {}
    commitments: Mapping[str, str] = {}
    stream: str = MAIN


class ChainHead(msgspec.Struct, frozen=True):
    """The end of a chain: how many entries it has, and the hash the next one follows."""

    seq: int
    hash: bytes
    stream: str = MAIN


class AuditBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry as decoded from its bytes. The fields are in canonical order."""

    agent: str
    at: str
    commitments: Mapping[str, str]
    details: Mapping[str, Any]
    event: str
    operations: tuple[str, ...]
    seq: int
    session: str
    stream: str


def genesis(stream: str = MAIN) -> ChainHead:
    """The head of a stream without entries."""
    if not _STREAM.fullmatch(stream):
        raise AuditError(f"{stream!r} cannot name a stream", hint="use a-z, 0-9, dots, dashes")
    return ChainHead(0, sha256(b"sayso/audit-stream/1\n" + stream.encode()).digest(), stream)


def chain_hash(prev: bytes, body: bytes) -> bytes:
    """The hash of an entry, which is also its leaf hash in the tree."""
    return sha256(TAG + prev + body).digest()


def leaf_content(prev: bytes, body: bytes) -> bytes:
    """Return the leaf for an RFC 6962 implementation, which then computes the same hash."""
    return TAG[1:] + prev + body


def split_leaf(content: bytes) -> tuple[bytes, bytes]:
    """Hash before it and body, from the content of a leaf."""
    tag, rest = content[: len(TAG) - 1], content[len(TAG) - 1 :]
    if tag != TAG[1:] or len(rest) <= HASH_BYTES:
        raise AuditError("this is not the leaf of an audit entry")
    return rest[:HASH_BYTES], rest[HASH_BYTES:]


def encode_body(body: AuditBody) -> bytes:
    """An entry in its one spelling. What has none is refused.

    Its details may be a struct, which is spelled as its fields would be.
    """
    _check_body(body)
    if type(body.commitments) is dict and _are_plain_details(body.details):
        try:
            return _encoder.encode(body)
        except UnicodeEncodeError as error:
            raise NotCanonical("text holds half a character (a lone surrogate)") from error
    values = msgspec.structs.asdict(body)
    if isinstance(body.details, msgspec.Struct):
        values["details"] = msgspec.to_builtins(body.details)
    return encode_canonical(values)


def _are_plain_details(details: Mapping[str, Any] | msgspec.Struct) -> bool:
    """Return whether msgspec spells these as RFC 8785 does. A field that is not set is not written."""
    if not isinstance(details, msgspec.Struct):
        return plain(details)
    for value in msgspec.structs.astuple(details):
        if type(value) is not str and value is not UNSET and not plain(value, 1):
            return False
    return True


def read_entry(body: bytes) -> AuditEntry:
    """The entry that these bytes spell. Bytes that no entry is spelled with are refused."""
    said = read_body(body)
    at = (datetime.fromisoformat(said.at.removesuffix("Z")) - _EPOCH).total_seconds()
    return AuditEntry(
        said.seq,
        at,
        said.event,
        said.session,
        said.agent,
        said.operations,
        said.details,
        said.commitments,
        said.stream,
    )


def read_body(body: bytes) -> AuditBody:
    """The fields of an entry as they were written, the time as text."""
    try:
        values = decode_canonical(body)
        said = msgspec.convert(values, AuditBody)
        if encode_canonical(values) != body or not _TIME.fullmatch(said.at):
            raise AuditError("an entry is not in its canonical form")
        datetime.fromisoformat(said.at.removesuffix("Z"))
    except (NotCanonical, ValueError) as error:
        raise AuditError(f"these bytes are not an entry: {error}") from error
    return said


def format_timestamp(at: float) -> str:
    """Seconds since 1970 as UTC text, always with microseconds, so that text sorts as time does."""
    if type(at) not in (float, int) or not 0 <= at < _END_OF_TIME:
        raise AuditError(f"{at!r} is not a time that can be written")
    micros = round(at * 1_000_000)
    return f"{_format_second(micros // 1_000_000)}.{micros % 1_000_000:06d}Z"


@lru_cache(maxsize=16)
def _format_second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).isoformat()


def _check_body(body: AuditBody) -> None:
    if type(body.seq) is not int or not 1 <= body.seq <= EXACT_INTEGERS:
        raise AuditError(f"{body.seq!r} cannot number an entry")
    if type(body.event) is not str or not _is_event(body.event):
        raise AuditError(f"{body.event!r} cannot name an event", hint="use upper-case words, like GRANTED")
    if not _is_stream(body.stream):
        raise AuditError(f"{body.stream!r} cannot name a stream", hint="use a-z, 0-9, dots, dashes")
    if type(body.operations) is not tuple:
        raise AuditError("an entry's operations must be a tuple")
    for text in (body.session, body.agent, *body.operations):
        if type(text) is not str:
            raise AuditError(f"{text!r} is not text")
    if not isinstance(body.details, (msgspec.Struct, dict, Mapping)):
        raise AuditError("an entry's details must be named values")
    if type(body.commitments) is not dict or body.commitments:
        _check_commitments(body.commitments)


@lru_cache(maxsize=256)
def _is_event(name: str) -> bool:
    return len(name) <= _MOST_LETTERS and _EVENT.fullmatch(name) is not None


@lru_cache(maxsize=256)
def _is_stream(name: str) -> bool:
    return _STREAM.fullmatch(name) is not None


def _check_commitments(commitments: Mapping[str, str]) -> None:
    if not isinstance(commitments, Mapping):
        raise AuditError("an entry's commitments must be named hashes")
    for name, commitment in commitments.items():
        if type(name) is not str or not name.isascii():
            raise AuditError(f"{name!r} cannot name a commitment")
        if type(commitment) is not str or not _COMMITMENT.fullmatch(commitment):
            raise AuditError(f"{commitment!r} is not a commitment")
