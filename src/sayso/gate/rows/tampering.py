"""Rows that are not as this gate wrote them: how a seal shows it, and how it is recorded.

A seal is a MAC under a key derived from the gate's own. A row that does not fit its seal is refused where it
is read. Whoever reads it may be in a transaction that only reads, or in one that is about to fail. So what
was noticed is gathered here, and recorded in a transaction of its own after the one it was noticed in.
"""

from __future__ import annotations

import hmac
import threading
from functools import lru_cache
from hashlib import sha256
from struct import Struct
from typing import TYPE_CHECKING

import msgspec

from sayso.core.errors import SaysoError
from sayso.gate.rows.keys import SigningKey

if TYPE_CHECKING:
    from hashlib import _Hash

MOST_TOLD = 10_000
_BLOCK = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))
_length = Struct(">Q").pack


class Tampered(SaysoError):
    """A row was tampered with. Nothing is done because of it."""

    code = "tampered"


class Doubt(msgspec.Struct, frozen=True):
    """A sign of tampering, and its session."""

    finding: str
    session: str = ""
    burns: bool = False
    """Whether the session may not be used any more, should its row be put right again."""


class _DoubtsOfThread(threading.local):
    found: tuple[Doubt, ...] = ()


class Doubts:
    """The signs of tampering in the present transaction, per thread."""

    def __init__(self) -> None:
        self._own = _DoubtsOfThread()
        self._told: set[Doubt] = set()

    def __bool__(self) -> bool:
        """Return whether anything was noticed in the transaction under way."""
        return bool(self._own.found)

    def note(self, finding: str, session: str = "", *, burns: bool = False) -> None:
        """To be recorded whenever it is noticed: somebody tried to do something with it."""
        self._own.found = (*self._own.found, Doubt(finding, session, burns))

    def note_once(self, finding: str, session: str = "") -> None:
        """To be recorded once by this process: for rows that are looked at again and again."""
        doubt = Doubt(finding, session)
        if doubt in self._told:
            return
        if len(self._told) >= MOST_TOLD:
            self._told.clear()
        self._told.add(doubt)
        self._own.found = (*self._own.found, doubt)

    def take(self) -> list[Doubt]:
        """Return the signs gathered so far, and forget them."""
        found, self._own.found = self._own.found, ()
        return list(dict.fromkeys(found))


# --- seals ---


def mac_key(key: SigningKey) -> bytes:
    """The key for seals. It is derived, so that the gate has one secret to keep."""
    return hmac.digest(key.secret, b"sayso/1 seals", "sha256")


def compute_seal(key: bytes, tag: str, *parts: bytes) -> bytes:
    """A MAC over these parts, each with its length, so that no two lists of parts look the same."""
    inner, outer = _begin_mac(key, tag)
    mac, whole = inner.copy(), outer.copy()
    for part in parts:
        mac.update(_length(len(part)))
        mac.update(part)
    whole.update(mac.digest())
    return whole.digest()


def seal_matches(key: bytes, mac: bytes, tag: str, *parts: bytes) -> bool:
    """Return whether this is the seal of these parts."""
    return hmac.compare_digest(mac, compute_seal(key, tag, *parts))


@lru_cache(maxsize=64)
def _begin_mac(key: bytes, tag: str) -> tuple[_Hash, _Hash]:
    """HMAC-SHA-256 (RFC 2104) as far as key and tag take it: the hash inside, and the one around it.

    Both are the same for every seal of a kind, so they are computed once and only ever copied.
    """
    block = (key if len(key) <= _BLOCK else sha256(key).digest()).ljust(_BLOCK, b"\0")
    return sha256(block.translate(_INNER) + f"sayso/1 {tag}".encode()), sha256(block.translate(_OUTER))
