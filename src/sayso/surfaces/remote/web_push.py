"""Web Push messages: encrypted for one browser (RFC 8291), and signed by us (VAPID, RFC 8292).

The service that carries a message reads neither what it says nor can it make one: only the browser has the
key to open it.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import urlsplit

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sayso.core.durations import HOUR
from sayso.core.errors import SaysoError
from sayso.gate.people.push import PushSubscription
from sayso.reading.urls import LOOPBACK

CURVE = ec.SECP256R1()
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""Of the curve P-256: a private key is a number below it."""
LARGEST_MESSAGE = 3_000
"""In bytes. Push services carry 4,096, with what encryption adds."""
RECORD_SIZE = 4_096
LAST_RECORD = b"\x02"
SALT_BYTES = AUTH_BYTES = 16
POINT_BYTES, NUMBER_BYTES = 65, 32
SIGNED_FOR = 12 * HOUR
"""How long a push service takes our signature; it may refuse more than 24 hours."""


class BadSubscription(SaysoError):
    """A subscription from a browser that cannot be used."""

    code = "bad_subscription"


def check_subscription(endpoint: str, p256dh: str, auth: str) -> None:
    """Refuse an address that is not encrypted on its way there, and keys that are none."""
    where = urlsplit(endpoint)
    local = where.scheme == "http" and where.hostname in LOOPBACK
    if not (where.scheme == "https" and where.hostname) and not local:
        raise BadSubscription("the address of the push service has to begin with https://")
    if not endpoint.isascii() or not endpoint.isprintable() or " " in endpoint or "@" in where.netloc:
        raise BadSubscription("this is not the address of a push service")
    _read_point(p256dh)
    if len(_decode(auth)) != AUTH_BYTES:
        raise BadSubscription(f"the browser's secret has to have {AUTH_BYTES} bytes")


def make_signing_key(seed: bytes) -> ec.EllipticCurvePrivateKey:
    """Return the key that our messages are signed with, the same for the same seed."""
    return ec.derive_private_key(int.from_bytes(seed) % (ORDER - 1) + 1, CURVE)


def spell_public_key(key: ec.EllipticCurvePrivateKey) -> str:
    """Return the public key as a browser takes it."""
    return _encode(_point(key))


def encrypt_message(
    text: bytes,
    subscription: PushSubscription,
    *,
    sender: ec.EllipticCurvePrivateKey | None = None,
    salt: bytes | None = None,
) -> bytes:
    """Encrypt a message for this browser, in one record (RFC 8188). Key and salt are new for each one."""
    sender = sender or ec.generate_private_key(CURVE)
    salt = salt or os.urandom(SALT_BYTES)
    receiver = _read_point(subscription.p256dh)
    shared = sender.exchange(ec.ECDH(), receiver)
    theirs = receiver.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    secret = _expand(_decode(subscription.auth), shared, b"WebPush: info\0" + theirs + _point(sender), 32)
    key = _expand(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _expand(salt, secret, b"Content-Encoding: nonce\0", 12)
    head = salt + RECORD_SIZE.to_bytes(4) + bytes([POINT_BYTES]) + _point(sender)
    return head + AESGCM(key).encrypt(nonce, text + LAST_RECORD, None)


def sign_headers(
    key: ec.EllipticCurvePrivateKey, endpoint: str, *, contact: str, now: float
) -> Mapping[str, str]:
    """Return the header that tells the push service who sends: a token for this service, signed (ES256)."""
    where = urlsplit(endpoint)
    claims = {"aud": f"{where.scheme}://{where.netloc}", "exp": int(now + SIGNED_FOR), "sub": contact}
    parts = (_encode(msgspec.json.encode(one)) for one in ({"typ": "JWT", "alg": "ES256"}, claims))
    signed = ".".join(parts)
    numbers = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(SHA256())))
    signature = _encode(b"".join(number.to_bytes(NUMBER_BYTES) for number in numbers))
    return {"authorization": f"vapid t={signed}.{signature}, k={spell_public_key(key)}"}


def _expand(salt: bytes, secret: bytes, about: bytes, length: int) -> bytes:
    """HKDF with SHA-256 (RFC 5869), for up to 32 bytes."""
    return hmac.digest(hmac.digest(salt, secret, sha256), about + b"\x01", sha256)[:length]


def _point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _read_point(text: str) -> ec.EllipticCurvePublicKey:
    raw = _decode(text)
    try:
        if len(raw) != POINT_BYTES:
            raise ValueError  # noqa: TRY301  a compressed point would be taken as well
        return ec.EllipticCurvePublicKey.from_encoded_point(CURVE, raw)
    except ValueError:
        raise BadSubscription("the browser's key is not a point of P-256") from None


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise BadSubscription("a key is not spelled in base64url") from None
