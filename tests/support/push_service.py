"""A push service on this machine (RFC 8030), and browsers' keys that open what it was given (RFC 8291).

It refuses what a real one refuses: no TTL, too large, no signature, one for another service or another key.
"""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.chat_services import LoopbackService

CURVE = ec.SECP256R1()


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


class BrowserKeys:
    """The keys of one subscription, as a browser makes and keeps them."""

    def __init__(self, private: int | None = None, auth: bytes = b"0123456789abcdef") -> None:
        made = None if private is None else ec.derive_private_key(private, CURVE)
        self.private = made or ec.generate_private_key(CURVE)
        self.auth = auth

    @property
    def point(self) -> bytes:
        return self.private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def open(self, body: bytes) -> bytes:
        """Decrypt one record, from the receiver's side of RFC 8291 and RFC 8188."""
        salt, size, length = body[:16], int.from_bytes(body[16:20]), body[20]
        theirs, sealed = body[21 : 21 + length], body[21 + length :]
        assert len(sealed) <= size
        point = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, theirs)
        shared = self.private.exchange(ec.ECDH(), point)
        info = b"WebPush: info\x00" + self.point + theirs
        secret = _hkdf(self.auth, shared, info, 32)
        key = _hkdf(salt, secret, b"Content-Encoding: aes128gcm\x00", 16)
        nonce = _hkdf(salt, secret, b"Content-Encoding: nonce\x00", 12)
        padded = AESGCM(key).decrypt(nonce, sealed, None)
        text, mark, padding = padded.rpartition(b"\x02")
        assert mark
        assert not padding.strip(b"\x00")
        return text


class FakePushService(LoopbackService):
    """Takes messages for subscriptions; `gone` are those it knows no more."""

    def __init__(self) -> None:
        self.gone: set[str] = set()
        self.messages: list[tuple[str, dict[str, str], bytes]] = []
        super().__init__()

    def endpoint(self, name: str) -> str:
        return f"{self.url}/push/{name}"

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        if path in self.gone:
            return 410, {}
        if not headers.get("ttl", "").isdigit() or headers.get("content-encoding") != "aes128gcm":
            return 400, {}
        if len(body) > 4096 or len(headers.get("topic", "")) > 32:
            return 413, {}
        if not self._is_signed(headers.get("authorization", "")):
            return 403, {}
        self.messages.append((path, dict(headers), body))
        return 201, {}

    def opened(self, keys: BrowserKeys) -> list[dict[str, Any]]:
        return [json.loads(keys.open(body)) for _, _, body in self.messages]

    def _is_signed(self, authorization: str) -> bool:
        """RFC 8292: a token of ES256 for this service, for at most a day."""
        scheme, _, rest = authorization.partition(" ")
        parts = dict(one.strip().split("=", 1) for one in rest.split(","))
        head, claims, signature = parts["t"].split(".")
        told = json.loads(decode(claims))
        raw = decode(signature)
        point = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, decode(parts["k"]))
        der = encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
        point.verify(der, f"{head}.{claims}".encode(), ec.ECDSA(SHA256()))
        in_time = time.time() < told["exp"] <= time.time() + 24 * 3600
        named = told["sub"].startswith(("mailto:", "https:"))
        return scheme == "vapid" and told["aud"] == self.url and in_time and named and len(raw) == 64


def _hkdf(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    pseudo = hmac.new(salt, secret, "sha256").digest()
    return hmac.new(pseudo, info + b"\x01", "sha256").digest()[:length]
