"""Seals on rows: MACs under a key derived from the gate's own."""

from __future__ import annotations

import hmac
from struct import Struct

from sayso.gate.rows.keys import SigningKey

_length = Struct(">Q").pack


def mac_key(key: SigningKey) -> bytes:
    """The key for seals. It is derived, so that the gate has one secret to keep."""
    return hmac.digest(key.secret, b"sayso/1 seals", "sha256")


def compute_seal(key: bytes, tag: str, *parts: bytes) -> bytes:
    """A MAC over these parts, each with its length, so that no two lists of parts look the same."""
    said = f"sayso/1 {tag}".encode()
    for part in parts:
        said += _length(len(part)) + part
    return hmac.digest(key, said, "sha256")


def seal_matches(key: bytes, mac: bytes, tag: str, *parts: bytes) -> bool:
    """Return whether this is the seal of these parts."""
    return hmac.compare_digest(mac, compute_seal(key, tag, *parts))
