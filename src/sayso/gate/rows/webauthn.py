"""Checking a passkey's signature: whether a person signed exactly this, with this key, at this place.

Checked only here, when an answer comes in and again whenever the trail is verified. Only the proof, the
public key and what it should be about are looked at.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from sayso.core.digest import encode_canonical
from sayso.core.errors import SaysoError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    PublicKey = ec.EllipticCurvePublicKey | Ed25519PublicKey | rsa.RSAPublicKey

ANSWER = b"sayso/passkey-answer/1\n"
ACT = b"sayso/passkey-act/1\n"
PRESENT, VERIFIED = 0x01, 0x04
SHORTEST = 37
"""Bytes of authenticator data: hash of the place, flags, count."""
LEAST_RSA = 2_048


class BadProof(SaysoError):
    """The signature does not prove what it should."""

    code = "bad_proof"


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An authenticator's reply, in bare base64url. `key` names the public key, in the audit only."""

    credential: str
    authenticator_data: str
    client_data: str
    signature: str
    key: str = ""


class ClientData(msgspec.Struct, frozen=True):
    """The parts of the browser's client data that count."""

    type: str
    challenge: str
    origin: str
    crossOrigin: bool = False  # noqa: N815  spelled by the browser
    topOrigin: str | None = None  # noqa: N815


_decode_client_data = msgspec.json.Decoder(ClientData).decode


def answer_challenge(question: str, digest: str, answer: str, edited: str = "") -> bytes:
    """Return what has to be signed to give this answer to this question about this call, and nothing else.

    `edited` is the digest of the call that shall run instead. Answers item by item are one text.
    """
    said = {"question": question, "digest": digest, "answer": answer, "edited": edited}
    return sha256(ANSWER + encode_canonical(said)).digest()


def act_challenge(act: str, subject: str, digest: str) -> bytes:
    """Return what has to be signed to do this to this subject as it was shown, and nothing else."""
    return sha256(ACT + encode_canonical({"act": act, "subject": subject, "digest": digest})).digest()


def check_passkey_proof(
    proof: Proof, key: bytes, place: str, challenge: bytes, origins: Collection[str] | None = None
) -> int:
    """The authenticator's count, if this key signed this challenge at this place with the person verified.

    `place` is the host name the passkey is for. Without `origins` any page of that host will do.
    """
    said = read_client_data(decode_base64url(proof.client_data), "webauthn.get", challenge)
    if not is_at(said.origin, place) or (origins is not None and said.origin not in origins):
        raise BadProof("it was signed for another page")
    data = decode_base64url(proof.authenticator_data)
    if len(data) < SHORTEST or not compare_digest(data[:32], sha256(place.encode()).digest()):
        raise BadProof("it was signed for another place")
    if not data[32] & PRESENT or not data[32] & VERIFIED:
        raise BadProof("the authenticator did not verify who it was")
    _check_signature(
        key, decode_base64url(proof.signature), data + sha256(decode_base64url(proof.client_data)).digest()
    )
    return int.from_bytes(data[33:37], "big")


def read_client_data(text: bytes, kind: str, challenge: bytes | None = None) -> ClientData:
    """Return the browser's data if it is of this kind, for this challenge, and not from an embedded page."""
    try:
        said = _decode_client_data(text)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise BadProof("its client data cannot be read") from error
    if said.type != kind or said.crossOrigin or said.topOrigin is not None:
        raise BadProof("it was signed for another purpose")
    if challenge is not None and not compare_digest(decode_base64url(said.challenge), challenge):
        raise BadProof("it was signed for something else")
    return said


def is_at(origin: str, place: str) -> bool:
    """Return whether a page of this origin is one of this host, where passkeys can be used at all."""
    return place != "" and host_of(origin) == place


def host_of(origin: str) -> str | None:
    """The host a passkey made on a page of this origin is for; None where browsers make none."""
    try:
        parts = urlsplit(origin)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return None
    if host is None or origin != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
        return None
    return host if parts.scheme == "https" or (parts.scheme, host) == ("http", "localhost") else None


def load_public_key(key: bytes) -> PublicKey:
    """The key in these bytes (SubjectPublicKeyInfo), if it is of a kind that is accepted."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    try:
        found = load_der_public_key(key)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadProof("its public key cannot be read") from error
    if isinstance(found, ec.EllipticCurvePublicKey) and isinstance(found.curve, ec.SECP256R1):
        return found
    if isinstance(found, rsa.RSAPublicKey) and found.key_size >= LEAST_RSA:
        return found
    if isinstance(found, Ed25519PublicKey):
        return found
    raise BadProof("its public key is of a kind that is not accepted")


def public_key_hash(key: bytes) -> str:
    """The name of a public key: its hash."""
    return sha256(key).hexdigest()


def encode_base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """The bytes this text spells; text that spells them in another way is refused."""
    try:
        data = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError as error:
        raise BadProof("it is not in base64url") from error
    if encode_base64url(data) != text:
        raise BadProof("it is not in base64url")
    return data


def _check_signature(key: bytes, signature: bytes, signed: bytes) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
    from cryptography.hazmat.primitives.hashes import SHA256

    found = load_public_key(key)
    try:
        if isinstance(found, ec.EllipticCurvePublicKey):
            found.verify(signature, signed, ec.ECDSA(SHA256()))
        elif isinstance(found, rsa.RSAPublicKey):
            found.verify(signature, signed, padding.PKCS1v15(), SHA256())
        else:
            found.verify(signature, signed)
    except InvalidSignature as error:
        raise BadProof("its signature is wrong") from error
