"""Forged sign-ins and registrations: nobody gets in, or adds a passkey, with another's word."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sayso.gate.gate import Gate
from sayso.gate.people.passkey_sign_in import (
    SignInRefused,
    begin_registration,
    begin_sign_in,
    finish_registration,
    finish_sign_in,
    sign_in_options,
)
from sayso.gate.people.passkeys import (
    list_passkeys,
)
from sayso.gate.rows.webauthn import (
    BadProof,
    Proof,
    decode_base64url,
    encode_base64url,
    load_public_key,
)
from tests.gate.conftest import gate
from tests.support.authenticator import PRESENT, VERIFIED, Authenticator
from tests.support.gates import Clock, clock, no_settings
from tests.support.signing import ORIGINS, asked, refused, registered, signed

__all__ = ["clock", "gate", "no_settings"]


def test_a_sign_in_is_good_once(gate: Gate) -> None:
    device = registered(gate, device=Authenticator(counts=False))
    proof = device.get(begin_sign_in(gate))
    finish_sign_in(gate, proof, ORIGINS)
    with pytest.raises(SignInRefused):
        finish_sign_in(gate, proof, ORIGINS)


def test_a_sign_in_that_comes_too_late_is_refused(gate: Gate, clock: Clock) -> None:
    device = registered(gate)
    proof = device.get(begin_sign_in(gate))
    clock.now += 120
    with pytest.raises(SignInRefused):
        finish_sign_in(gate, proof, ORIGINS)


def test_a_challenge_of_ones_own_making_signs_nobody_in(gate: Gate) -> None:
    device = registered(gate)
    for made in (b"", bytes(56), decode_base64url(begin_sign_in(gate)["challenge"])[:-1]):
        with pytest.raises(SignInRefused):
            finish_sign_in(gate, device.get(sign_in_options(made)), ORIGINS)


def test_a_signed_answer_signs_nobody_in_and_a_sign_in_answers_nothing(gate: Gate) -> None:
    device = registered(gate)
    question = asked(gate)
    with pytest.raises(SignInRefused):
        finish_sign_in(gate, signed(gate, device, question), ORIGINS)
    refused(gate, question, device.get(begin_sign_in(gate)))


def test_every_refused_sign_in_looks_the_same(gate: Gate) -> None:
    device = registered(gate)
    proofs = [
        Authenticator().get(begin_sign_in(gate)),
        device.get(begin_sign_in(gate), origin="http://evil.example"),
        device.get(begin_sign_in(gate), flags=0),
        Proof("", "", "", ""),
    ]
    told = set()
    for proof in proofs:
        with pytest.raises(SignInRefused) as found:
            finish_sign_in(gate, proof, ORIGINS)
        told.add((found.value.message, found.value.hint))
    assert len(told) == 1


def test_a_registration_is_for_the_operator_it_was_begun_by_and_good_once(gate: Gate) -> None:
    made = Authenticator().create(begin_registration(gate, "ana"))
    with pytest.raises(BadProof):
        finish_registration(gate, "bob", "desk", made, ORIGINS)
    finish_registration(gate, "ana", "desk", made, ORIGINS)
    options = {
        "challenge": msgspec.json.decode(decode_base64url(made["response"]["clientDataJSON"]))["challenge"]
    }
    with pytest.raises(BadProof):
        finish_registration(gate, "ana", "desk", Authenticator().create(options), ORIGINS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "http://localhost:7334"},
        {"origin": "http://127.0.0.1:7333"},
        {"origin": "http://evil.example"},
        {"flags": PRESENT},
        {"flags": VERIFIED},
        {"crossOrigin": True},
    ],
)
def test_a_passkey_made_in_the_wrong_way_is_not_kept(gate: Gate, wrong: dict[str, Any]) -> None:
    made = Authenticator().create(begin_registration(gate, "ana"), **wrong)
    with pytest.raises(BadProof):
        finish_registration(gate, "ana", "desk", made, (*ORIGINS, "http://127.0.0.1:7333"))
    assert list_passkeys(gate) == []


def test_a_passkey_for_another_place_is_not_kept(gate: Gate) -> None:
    made = Authenticator(place="evil.example").create(begin_registration(gate, "ana"))
    with pytest.raises(BadProof):
        finish_registration(gate, "ana", "desk", made, ORIGINS)


@pytest.mark.parametrize(
    "key",
    [
        ec.generate_private_key(ec.SECP384R1()).public_key(),
        rsa.generate_private_key(public_exponent=65_537, key_size=1_024).public_key(),  # noqa: S505  that is the point
    ],
    ids=["another curve", "a short key"],
)
def test_a_weak_or_unknown_kind_of_key_is_refused(key: Any) -> None:
    with pytest.raises(BadProof, match="kind"):
        load_public_key(_der(key))
    with pytest.raises(BadProof, match="cannot be read"):
        load_public_key(_der(key)[:-1])


def test_what_is_no_passkey_is_not_kept(gate: Gate) -> None:
    made = Authenticator().create(begin_registration(gate, "ana"))
    garbage = dict(made, response=dict(made["response"], attestationObject=encode_base64url(b"\xa0")))
    for wrong in (garbage, {}, {"response": 1}, {"response": {"clientDataJSON": made["response"]}}):
        with pytest.raises(BadProof):
            finish_registration(gate, "ana", "desk", wrong, ORIGINS)


def test_the_same_passkey_is_not_registered_twice(gate: Gate) -> None:
    device = registered(gate)
    made = device.create(begin_registration(gate, "bob"))
    with pytest.raises(BadProof, match="already"):
        finish_registration(gate, "bob", "desk", made, ORIGINS)


def _der(key: Any) -> bytes:
    return bytes(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
