"""Messages signed with a shared secret, as Standard Webhooks 1.0 defines them.

- The signature covers id, timestamp and body, joined by dots. An id holds no dot and a timestamp only digits,
  so that no part can be shifted into another.
- A message may carry several signatures, and a receiver may know several secrets, while a secret is replaced.
- Signatures are compared in constant time, and all of them, whichever fits.
- What a sender keeps for later is sealed with the same secret. No seal is the signature of a message: it
  covers a text that begins with a name that holds a slash, and an id holds none.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from hashlib import sha256

import msgspec

from sayso.core.audit.checkpoint import BadCheckpoint, decode_base64, encode_base64
from sayso.core.errors import SaysoError
from sayso.core.text.patterns import lazy_pattern

SECRET_PREFIX = "whsec_"  # noqa: S105  how every secret begins
LEAST_SECRET, MOST_SECRET = 24, 64
WINDOW = 300.0
"""How many seconds a timestamp may differ from the clock of whoever receives it."""
MOST_SIGNATURES = 8
_KEPT = b"sayso/undelivered."
_ID = lazy_pattern(r"[A-Za-z0-9_-]{1,120}")
_TIMESTAMP = lazy_pattern(r"[0-9]{1,12}")


class BadMessage(SaysoError):
    """A message that does not count. `why` is one word for the record."""

    code = "bad_message"

    def __init__(self, why: str, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.why = why


class SignedMessage(msgspec.Struct, frozen=True):
    """A message as it arrived, before anything of it is believed."""

    id: str
    timestamp: str
    signatures: str
    body: bytes


def decode_secret(text: str) -> bytes:
    """Return the bytes of a secret as it is written: `whsec_` and base64, 24 to 64 bytes."""
    try:
        secret = decode_base64(text.removeprefix(SECRET_PREFIX))
    except BadCheckpoint:
        secret = b""
    if not text.startswith(SECRET_PREFIX) or not LEAST_SECRET <= len(secret) <= MOST_SECRET:
        raise BadMessage("secret", "this is not a secret for signing messages", hint="sayso trusted keygen")
    return secret


def encode_secret(secret: bytes) -> str:
    return f"{SECRET_PREFIX}{encode_base64(secret)}"


def sign_message(secret: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a message, as its header holds it."""
    return f"v1,{encode_base64(_mac(secret, message_id, str(timestamp), body))}"


def check_message(message: SignedMessage, secrets: Sequence[bytes], now: float) -> None:
    """Refuse a message that is malformed, too old or too new, or not signed with one of these secrets."""
    if not _ID.fullmatch(message.id):
        raise BadMessage("id", "webhook-id has to be 1 to 120 letters, digits, - or _")
    if not _TIMESTAMP.fullmatch(message.timestamp):
        raise BadMessage("timestamp", "webhook-timestamp has to be whole seconds since 1970")
    if not is_signed(message, secrets):
        raise BadMessage("signature", "the signature does not fit this message")
    if not abs(now - int(message.timestamp)) <= WINDOW:
        raise BadMessage("window", f"the message is more than {WINDOW:.0f} seconds from our time")


def is_signed(message: SignedMessage, secrets: Iterable[bytes]) -> bool:
    """Return whether one of these secrets signed this, whenever that was and whatever it says."""
    given = [_decode_signature(one) for one in message.signatures.split(" ")[:MOST_SIGNATURES]]
    fits = False
    for secret in secrets:
        expected = _mac(secret, message.id, message.timestamp, message.body)
        for one in given:
            fits |= one is not None and hmac.compare_digest(expected, one)
    return fits


def seal_kept(secret: bytes, parts: Sequence[str]) -> str:
    """Return the seal of what a sender keeps: who has not the secret cannot add to it or change it."""
    return encode_base64(hmac.digest(secret, _KEPT + msgspec.json.encode(parts), sha256))


def is_sealed(seal: str, secrets: Iterable[bytes], parts: Sequence[str]) -> bool:
    """Return whether one of these secrets sealed exactly this."""
    fits = False
    for secret in secrets:
        fits |= hmac.compare_digest(seal_kept(secret, parts).encode(), seal.encode())
    return fits


def _decode_signature(text: str) -> bytes | None:
    version, _, encoded = text.partition(",")
    if version != "v1":
        return None
    try:
        return decode_base64(encoded)
    except BadCheckpoint:
        return None


def _mac(secret: bytes, message_id: str, timestamp: str, body: bytes) -> bytes:
    return hmac.digest(secret, f"{message_id}.{timestamp}.".encode() + body, sha256)
