"""Sensitive values as salted commitments: the entry holds a hash, value and salt lie beside it.

A commitment is `HMAC-SHA-256(salt, canonical {"name": …, "value": …})`, with 32 random bytes of salt for each
value. While value and salt are kept, anyone can check that they are what the entry speaks of. Once both are
erased the hash says nothing about the value, not even to somebody who guesses it, and the entry and its chain
stay as they were.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec

from sayso.core.audit.entry import AuditError
from sayso.core.digest import decode_canonical, encode_canonical
from sayso.core.errors import NotCanonical

SALT_BYTES = 32


class SaltedValue(msgspec.Struct, frozen=True):
    """A sensitive value as it is kept beside its entry until it is erased: canonical bytes and salt."""

    name: str
    value: bytes
    salt: bytes


class RevealState(Enum):
    KEPT = "kept"
    ERASED = "erased"
    FORGED = "forged"
    """Something is kept, but it is not what the entry speaks of."""


class RevealedValue(msgspec.Struct, frozen=True):
    """The present state of a committed value."""

    state: RevealState
    value: Any = None


def commitment_of(sealed: SaltedValue) -> str:
    """The hash that stands in the entry for this value."""
    if len(sealed.salt) != SALT_BYTES:
        raise AuditError(f"a salt has {SALT_BYTES} bytes, not {len(sealed.salt)}")
    content = b'{"name":' + encode_canonical(sealed.name) + b',"value":' + sealed.value + b"}"
    return hmac.new(sealed.salt, content, "sha256").hexdigest()


def opens(sealed: SaltedValue, committed: str) -> bool:
    """Return whether this is the value that was committed to."""
    return len(sealed.salt) == SALT_BYTES and hmac.compare_digest(commitment_of(sealed), committed)


def reveal_values(
    commitments: Mapping[str, str], kept: Mapping[str, SaltedValue]
) -> dict[str, RevealedValue]:
    """Each committed value of an entry: shown if it is kept and fits, erased if nothing is, else forged."""
    return {name: _reveal_value(name, committed, kept.get(name)) for name, committed in commitments.items()}


def _reveal_value(name: str, committed: str, sealed: SaltedValue | None) -> RevealedValue:
    if sealed is None:
        return RevealedValue(RevealState.ERASED)
    if sealed.name != name or not opens(sealed, committed):
        return RevealedValue(RevealState.FORGED)
    try:
        return RevealedValue(RevealState.KEPT, decode_canonical(sealed.value))
    except NotCanonical:
        return RevealedValue(RevealState.FORGED)
