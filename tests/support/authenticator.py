"""An authenticator in software: it makes passkeys and signs with them, byte for byte as WebAuthn has it."""

from __future__ import annotations

import json
import secrets
from hashlib import sha256
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256

from sayso.gate.rows.webauthn import Proof, encode_base64url

Secret = ec.EllipticCurvePrivateKey | Ed25519PrivateKey | rsa.RSAPrivateKey
ORIGIN = "http://localhost:7333"
PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


class Authenticator:
    """One passkey on one device. What it does wrong, a test tells it to."""

    def __init__(
        self, secret: Secret | None = None, *, place: str = "localhost", counts: bool = True
    ) -> None:
        self.secret = secret or ec.generate_private_key(ec.SECP256R1())
        self.credential = secrets.token_bytes(32)
        self.place = place
        self.counts = counts
        self.count = 0

    @property
    def id(self) -> str:
        return encode_base64url(self.credential)

    def create(
        self, options: dict[str, Any], *, origin: str = ORIGIN, flags: int = PRESENT | VERIFIED, **more: Any
    ) -> dict[str, Any]:
        """What `navigator.credentials.create` gives for these options, as JSON."""
        attested = bytes(16) + len(self.credential).to_bytes(2, "big") + self.credential + self.cose()
        data = self._data(flags | ATTESTED) + attested
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        said = client_data("webauthn.create", options["challenge"], origin, **more)
        response = {
            "clientDataJSON": encode_base64url(said),
            "attestationObject": encode_base64url(attestation),
        }
        return {"id": self.id, "rawId": self.id, "type": "public-key", "response": response}

    def get(
        self,
        options: dict[str, Any],
        *,
        origin: str = ORIGIN,
        flags: int = PRESENT | VERIFIED,
        kind: str = "webauthn.get",
        **more: Any,
    ) -> Proof:
        """What `navigator.credentials.get` gives for these options, as the page sends it."""
        self.count += self.counts
        data = self._data(flags)
        said = client_data(kind, options["challenge"], origin, **more)
        signature = self._sign(data + sha256(said).digest())
        return Proof(self.id, encode_base64url(data), encode_base64url(said), encode_base64url(signature))

    def _data(self, flags: int) -> bytes:
        return sha256(self.place.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big")

    def _sign(self, signed: bytes) -> bytes:
        if isinstance(self.secret, ec.EllipticCurvePrivateKey):
            return self.secret.sign(signed, ec.ECDSA(SHA256()))
        if isinstance(self.secret, rsa.RSAPrivateKey):
            return self.secret.sign(signed, padding.PKCS1v15(), SHA256())
        return self.secret.sign(signed)

    def cose(self) -> bytes:
        if isinstance(self.secret, ec.EllipticCurvePrivateKey):
            point = self.secret.public_key().public_numbers()
            x, y = point.x.to_bytes(32, "big"), point.y.to_bytes(32, "big")
            return bytes(cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y}))
        if isinstance(self.secret, rsa.RSAPrivateKey):
            numbers = self.secret.public_key().public_numbers()
            n = numbers.n.to_bytes(256, "big")
            return bytes(cbor2.dumps({1: 3, 3: -257, -1: n, -2: numbers.e.to_bytes(3, "big")}))
        return bytes(cbor2.dumps({1: 1, 3: -8, -1: 6, -2: self.secret.public_key().public_bytes_raw()}))


def client_data(kind: str, challenge: str, origin: str, **more: Any) -> bytes:
    """What a browser writes down of a request, and has signed."""
    said = {"type": kind, "challenge": challenge, "origin": origin, "crossOrigin": False, **more}
    return json.dumps(said, separators=(",", ":")).encode()
