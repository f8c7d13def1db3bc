"""Registering a passkey and signing in with one: random challenges, each good once, for two minutes."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.extras import install_command
from sayso.gate.gate import Gate, writing
from sayso.gate.people.browsers import sign_in
from sayso.gate.people.passkeys import (
    Passkey,
    PasskeySet,
    PasskeysVoid,
    add_passkey,
    list_passkeys,
    use_passkey,
    verify_passkey,
)
from sayso.gate.rows.webauthn import (
    BadProof,
    Proof,
    decode_base64url,
    encode_base64url,
    host_of,
    load_public_key,
    read_client_data,
)
from sayso.store.contract import Reader

LASTS = 120.0
NONCE, TIME = 16, 8
MAC = 32
ALGORITHMS = (-7, -8, -257)
"""ECDSA on P-256, Ed25519, RSA: the names COSE has for them."""
REGISTER, SIGN_IN = "register", "sign-in"
NOT_SIGNED_IN = "this passkey cannot sign you in here"


class SignInRefused(SaysoError):
    """Unknown, removed, badly signed, too late, used twice: from outside they look the same."""

    code = "sign_in_refused"


class NoLibrary(SaysoError):
    code = "no_passkeys"


def begin_registration(gate: Gate, user: str, identity: str = "") -> dict[str, Any]:
    """The options for `navigator.credentials.create`. The browser puts in the name of its own place.

    `identity` is the id of this operator that a provider proved; the passkey is then bound to it.
    """
    mine = [one.credential for one in list_passkeys(gate, user, identity)]
    holder = _holder(user, identity)
    with gate.store.read() as tx:
        store = tx.meta("name") or ""
        challenge = _make_challenge(gate, tx, _registration(user, identity))
    return {
        "challenge": encode_base64url(challenge),
        "rp": {"name": "Sayso"},
        "user": {
            "id": encode_base64url(sha256(f"sayso/user/1\n{store}\n{holder}".encode()).digest()),
            "name": user,
            "displayName": user,
        },
        "pubKeyCredParams": [{"type": "public-key", "alg": one} for one in ALGORITHMS],
        "excludeCredentials": [{"type": "public-key", "id": one} for one in mine],
        "authenticatorSelection": {"residentKey": "required", "userVerification": "required"},
        "attestation": "none",
        "timeout": int(LASTS * 1000),
    }


def finish_registration(
    gate: Gate,
    user: str,
    name: str,
    made: Mapping[str, Any],
    origins: Collection[str],
    *,
    identity: str = "",
) -> Passkey:
    """Keep the passkey that a browser made. `made` is its credential as JSON."""
    if not name or not name.isprintable() or len(name) > 100:
        raise SaysoError("a passkey needs a name of up to 100 plain characters")
    said = read_client_data(decode_base64url(_client_data_of(made)), "webauthn.create")
    place = host_of(said.origin)
    if said.origin not in origins or place is None:
        raise BadProof("it was made for another page")
    challenge = decode_base64url(said.challenge)
    with gate.store.read() as tx:  # again, for good, when it is kept
        _check_challenge(gate, challenge, _registration(user, identity), PasskeySet(), tx.now)
    credential, key, count = _verify_registration(made, challenge, place, said.origin)
    passkey = Passkey(
        id=f"p_{sha256(credential).hexdigest()[:12]}",
        user=user,
        name=name,
        place=place,
        credential=encode_base64url(credential),
        key=encode_base64url(key),
        count=count,
        made_at=0.0,
        identity=identity,
    )
    once = _single_use_check(gate, challenge, _registration(user, identity))
    return add_passkey(gate, passkey, check=once)


def begin_sign_in(gate: Gate) -> dict[str, Any]:
    """The options for `navigator.credentials.get`. Nobody is named: the passkey says who it is."""
    with gate.store.read() as tx:
        challenge = _make_challenge(gate, tx, SIGN_IN)
    return sign_in_options(challenge)


def finish_sign_in(gate: Gate, proof: Proof, origins: Collection[str]) -> tuple[str, str]:
    """Sign in the holder of the passkey; return their name and the secret of the browser's cookie."""
    try:
        challenge = decode_base64url(
            read_client_data(decode_base64url(proof.client_data), "webauthn.get").challenge
        )
        once = _single_use_check(gate, challenge, SIGN_IN)
        with gate.store.read() as looked:  # who cannot sign in does not hold up those who write
            verify_passkey(gate, looked, proof, challenge, origins, check=once)
        with writing(gate) as tx:
            passkey = use_passkey(gate, tx, proof, challenge, origins, check=once)
            return passkey.user, sign_in(gate, tx, passkey.user, "passkey", passkey=passkey.id)
    except (BadProof, PasskeysVoid) as error:
        raise SignInRefused(NOT_SIGNED_IN, hint="`sayso link` makes a link to sign in") from error


def sign_in_options(challenge: bytes, credentials: Collection[str] = ()) -> dict[str, Any]:
    """The options for `navigator.credentials.get`, in the form that JSON has for them."""
    return {
        "challenge": encode_base64url(challenge),
        "allowCredentials": [{"type": "public-key", "id": one} for one in credentials],
        "userVerification": "required",
        "timeout": int(LASTS * 1000),
    }


def _registration(user: str, identity: str) -> str:
    """Return what a challenge to register is for."""
    return f"{REGISTER}\n{_holder(user, identity)}"


def _holder(user: str, identity: str) -> str:
    """Tell people apart who have one name, and signed in by different ways."""
    return f"{user}\n{identity}" if identity else user


def _make_challenge(gate: Gate, tx: Reader, purpose: str) -> bytes:
    """Return random bytes with their time and our seal: nothing is stored until they are used."""
    head = secrets.token_bytes(NONCE) + int(tx.now + LASTS).to_bytes(TIME, "big")
    return head + _seal_challenge(gate, purpose, head)


def _single_use_check(
    gate: Gate, challenge: bytes, purpose: str
) -> Callable[[PasskeySet, float], PasskeySet]:
    def check(kept: PasskeySet, now: float) -> PasskeySet:
        return _check_challenge(gate, challenge, purpose, kept, now)

    return check


def _check_challenge(gate: Gate, challenge: bytes, purpose: str, kept: PasskeySet, now: float) -> PasskeySet:
    """Return the passkeys with this challenge marked as used; refuse one that is forged, too old or used."""
    head = challenge[: NONCE + TIME]
    until, name = int.from_bytes(head[NONCE:], "big"), head.hex()
    ours = len(challenge) == NONCE + TIME + MAC
    if not ours or not secrets.compare_digest(
        _seal_challenge(gate, purpose, head), challenge[NONCE + TIME :]
    ):
        raise BadProof("it was signed for something else")
    if not now < until <= now + LASTS or name in kept.used:
        raise BadProof("it came too late, or a second time")
    fresh = {one: end for one, end in kept.used.items() if now < end}
    return msgspec.structs.replace(kept, used=fresh | {name: float(until)})


def _seal_challenge(gate: Gate, purpose: str, head: bytes) -> bytes:
    return gate.sealer.text("passkey-challenge", f"{purpose}\n{head.hex()}")


def _client_data_of(made: Mapping[str, Any]) -> str:
    response = made.get("response")
    text = response.get("clientDataJSON") if isinstance(response, Mapping) else None
    if not isinstance(text, str):
        raise BadProof("this is not what a browser makes")
    return text


def _verify_registration(
    made: Mapping[str, Any], challenge: bytes, place: str, origin: str
) -> tuple[bytes, bytes, int]:
    """Credential, public key and count of what was made, checked by the library for that."""
    try:
        from webauthn import verify_registration_response
        from webauthn.helpers import decode_credential_public_key, decoded_public_key_to_cryptography
        from webauthn.helpers.cose import COSEAlgorithmIdentifier
    except ModuleNotFoundError as error:
        raise NoLibrary("passkeys need more to be installed", hint=install_command("passkeys")) from error
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    try:
        found = verify_registration_response(
            credential=dict(made),
            expected_challenge=challenge,
            expected_rp_id=place,
            expected_origin=origin,
            require_user_verification=True,
            supported_pub_key_algs=[COSEAlgorithmIdentifier(one) for one in ALGORITHMS],
        )
        decoded = decoded_public_key_to_cryptography(
            decode_credential_public_key(found.credential_public_key)
        )
        key = decoded.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    except Exception as error:  # bytes from outside: whatever they do to a parser, they are refused
        raise BadProof("the passkey that was made cannot be accepted") from error
    load_public_key(key)
    return found.credential_id, key, found.sign_count
