"""Forged signatures: every way to make a passkey's word on one thing serve for another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sayso.core.audit.anchors import FindingKind
from sayso.core.model import Risk
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.people.passkey_sign_in import (
    SignInRefused,
    begin_registration,
    begin_sign_in,
    finish_sign_in,
    sign_in_options,
)
from sayso.gate.people.passkeys import (
    PasskeysVoid,
    ProofNeeded,
    forget_passkeys,
    list_passkeys,
    load_required_level,
    needs_proof,
    remove_passkey,
)
from sayso.gate.questions.wait import load_question_row
from sayso.gate.rows.journal import record
from sayso.gate.rows.webauthn import (
    BadProof,
    Proof,
    answer_challenge,
    decode_base64url,
    encode_base64url,
)
from sayso.gate.sessions.sessions import open_session
from sayso.store.memory.store import MemoryStore
from tests.gate.conftest import gate
from tests.support.answers import answer_items, answer_question
from tests.support.authenticator import PRESENT, VERIFIED, Authenticator
from tests.support.forging import forged_event
from tests.support.gates import KEY, Clock, clock, no_settings
from tests.support.signing import ORIGINS, added, asked, challenge, on_page, refused, registered, signed

__all__ = ["clock", "gate", "no_settings"]


def test_a_signature_on_another_call_is_refused(gate: Gate) -> None:
    device = registered(gate)
    session = open_session(gate, agent="bot", owner="host")
    one, other = asked(gate, "main", session=session), asked(gate, "release", session=session)
    assert "something else" in refused(gate, other, signed(gate, device, one))


def test_a_signature_on_the_same_call_asked_at_another_time_is_refused(gate: Gate, clock: Clock) -> None:
    device = registered(gate)
    session = open_session(gate, agent="bot", owner="host")
    one = asked(gate, session=session)
    proof = signed(gate, device, one)
    clock.now += 2 * 3_600  # nobody answered in time
    again = asked(gate, session=session)
    assert load_question_row(gate, one).digest == load_question_row(gate, again).digest
    assert "something else" in refused(gate, again, proof)


def test_a_signature_on_a_digest_that_differs_is_refused(gate: Gate) -> None:
    device = registered(gate)
    question = asked(gate)
    other = answer_challenge(question, "0" * 64, "once")
    assert "something else" in refused(gate, question, device.get(sign_in_options(other)))


def test_a_signature_for_one_answer_does_not_serve_for_a_wider_one(gate: Gate) -> None:
    device = registered(gate)
    question = asked(gate, risk=Risk.MODERATE)
    proof = signed(gate, device, question, "once")
    assert "something else" in refused(gate, question, proof, "always")
    assert "something else" in refused(gate, question, proof, "deny")


def test_a_signature_on_a_refusal_does_not_allow(gate: Gate) -> None:
    device = registered(gate)
    question = asked(gate)
    assert "something else" in refused(gate, question, signed(gate, device, question, "deny"))


def test_a_signature_for_an_edit_does_not_serve_for_another_edit_or_the_call_itself(gate: Gate) -> None:
    device = registered(gate)
    question = asked(gate)
    assert "something else" in refused(gate, question, signed(gate, device, question, "edit", "1" * 64))
    assert "something else" in refused(gate, question, signed(gate, device, question, "once", "1" * 64))


def test_answers_item_by_item_need_the_same_signature(gate: Gate) -> None:
    device = registered(gate)
    question = asked(gate)
    with pytest.raises(ProofNeeded):
        answer_items(gate, question, {"1": "once"}, by="ana", signing=on_page())
    proof = signed(gate, device, question, "always")
    with pytest.raises(BadProof):
        answer_items(gate, question, {"1": "once"}, by="ana", signing=on_page(proof))
    proof = signed(gate, device, question, "once")
    assert answer_items(gate, question, {"1": "once"}, by="ana", signing=on_page(proof)).yours


def test_a_signature_sent_twice_answers_once(gate: Gate) -> None:
    device = registered(gate)
    question = asked(gate)
    proof = signed(gate, device, question)
    assert answer_question(gate, question, "once", by="ana", signing=on_page(proof)).yours
    assert not answer_question(gate, question, "once", by="ana", signing=on_page(proof)).yours


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:7334",
        "https://localhost:7333",
        "http://evil.example",
        "http://localhost:7333.evil.example",
        "http://localhost:7333/",
        "HTTP://localhost:7333",
        "http://me@localhost:7333",
        "null",
        "",
    ],
)
def test_a_signature_made_on_another_page_is_refused(gate: Gate, origin: str) -> None:
    device = registered(gate)
    question = asked(gate)
    proof = device.get(sign_in_options(challenge(gate, question)), origin=origin)
    assert "another page" in refused(gate, question, proof)


def test_a_signature_for_another_place_is_refused(gate: Gate) -> None:
    device = registered(gate)
    question = asked(gate)
    device.place = "evil.example"
    assert "another place" in refused(gate, question, signed(gate, device, question))


def test_a_page_that_is_ours_but_not_the_passkeys_own_is_refused(gate: Gate) -> None:
    device = registered(gate)
    question = asked(gate)
    elsewhere = "https://sayso.example"
    proof = device.get(sign_in_options(challenge(gate, question)), origin=elsewhere)
    with pytest.raises(BadProof, match="another page"):
        answer_question(gate, question, "once", by="ana", signing=on_page(proof, (*ORIGINS, elsewhere)))


@pytest.mark.parametrize("flags", [0, PRESENT, VERIFIED])
def test_without_a_person_who_was_verified_it_is_refused(gate: Gate, flags: int) -> None:
    device = registered(gate)
    question = asked(gate)
    proof = device.get(sign_in_options(challenge(gate, question)), flags=flags)
    assert "did not verify" in refused(gate, question, proof)


@pytest.mark.parametrize(
    "wrong", [{"kind": "webauthn.create"}, {"crossOrigin": True}, {"topOrigin": "https://evil.example"}]
)
def test_a_signature_for_another_purpose_or_from_within_another_page_is_refused(
    gate: Gate, wrong: dict[str, Any]
) -> None:
    device = registered(gate)
    question = asked(gate)
    proof = device.get(sign_in_options(challenge(gate, question)), **wrong)
    assert "purpose" in refused(gate, question, proof)


def test_an_unknown_passkey_is_refused(gate: Gate) -> None:
    registered(gate)
    question = asked(gate)
    assert "registered" in refused(gate, question, signed(gate, Authenticator(), question))


def test_another_key_under_a_known_credential_is_refused(gate: Gate) -> None:
    device = registered(gate)
    question = asked(gate)
    device.secret = ec.generate_private_key(ec.SECP256R1())
    assert "signature is wrong" in refused(gate, question, signed(gate, device, question))


def test_the_passkey_of_another_operator_does_not_sign_for_you(gate: Gate) -> None:
    device = registered(gate, "bob")
    question = asked(gate)
    assert "registered for you" in refused(gate, question, signed(gate, device, question))


def test_a_removed_passkey_signs_nothing(gate: Gate) -> None:
    device = Authenticator()
    passkey = added(gate, device)
    registered(gate)
    question = asked(gate)
    proof = signed(gate, device, question)
    remove_passkey(gate, passkey.id, by="ana")
    assert "registered" in refused(gate, question, proof)
    with pytest.raises(SignInRefused):
        finish_sign_in(gate, device.get(begin_sign_in(gate)), ORIGINS)


@pytest.mark.parametrize("back", [0, 1])
def test_a_count_that_does_not_go_on_is_refused(gate: Gate, back: int) -> None:
    device = registered(gate)
    finish_sign_in(gate, device.get(begin_sign_in(gate)), ORIGINS)
    finish_sign_in(gate, device.get(begin_sign_in(gate)), ORIGINS)
    device.count = back  # what a copy of it would have
    question = asked(gate)
    assert "went back" in refused(gate, question, signed(gate, device, question))


SPOILT: dict[str, Callable[[Proof], Proof]] = {
    "signature": lambda proof: _replaced(proof, signature=_flipped(proof.signature)),
    "authenticator data": lambda proof: _replaced(
        proof, authenticator_data=_flipped(proof.authenticator_data)
    ),
    "short": lambda proof: _replaced(proof, authenticator_data=encode_base64url(bytes(36))),
    "client data": lambda proof: _replaced(proof, client_data=encode_base64url(b"{}")),
    "no JSON": lambda proof: _replaced(proof, client_data=encode_base64url(b"\xff\xfe")),
    "no base64": lambda proof: _replaced(proof, signature="!!!"),
    "another spelling": lambda proof: _replaced(proof, signature=proof.signature + "=="),
    "not ASCII": lambda proof: _replaced(proof, signature="é"),
    "empty": lambda proof: Proof(proof.credential, "", "", ""),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_spoilt_proof_is_refused(gate: Gate, spoil: Callable[[Proof], Proof]) -> None:
    device = registered(gate)
    question = asked(gate)
    refused(gate, question, spoil(signed(gate, device, question)))


# --- the store written by hand ---


def test_a_public_key_changed_in_the_store_signs_nothing_and_every_answer_needs_a_signature(
    gate: Gate,
) -> None:
    device, thief = registered(gate), Authenticator()
    question = asked(gate)
    with gate.store.write() as tx:
        row = msgspec.json.decode(tx.meta("passkeys") or "")
        row["kept"]["passkeys"][0]["key"] = _key_of(thief)
        tx.set_meta("passkeys", msgspec.json.encode(row).decode())
    thief.credential = device.credential
    for one in (device, thief):
        proof = signed(gate, one, question)
        with pytest.raises(PasskeysVoid):
            answer_question(gate, question, "once", by="ana", signing=on_page(proof))
    with gate.store.read() as tx:
        assert needs_proof(gate, tx, Risk.LOW)
    with pytest.raises(SignInRefused):
        finish_sign_in(gate, thief.get(begin_sign_in(gate)), ORIGINS)
    with pytest.raises(PasskeysVoid):
        begin_registration(gate, "ana")


@pytest.mark.parametrize("text", ["", "{}", "null", '{"kept":{},"seal":""}'])
def test_a_row_of_passkeys_that_cannot_be_read_loosens_nothing(gate: Gate, text: str) -> None:
    registered(gate)
    with gate.store.write() as tx:
        tx.set_meta("passkeys", text)
    with pytest.raises(ProofNeeded):
        answer_question(gate, asked(gate), "once", by="ana", signing=on_page())
    forget_passkeys(gate, by="ana")
    assert load_required_level(gate) == "all"


def test_passkeys_of_before_the_store_was_put_back_do_not_count_and_loosen_nothing(gate: Gate) -> None:
    device = registered(gate)
    with gate.store.write() as tx:
        tx.set_meta("epoch", str(gate.sealer.epoch + 5))
    again = open_gate(gate.policy, gate.store, key=KEY)
    with pytest.raises(SignInRefused):
        finish_sign_in(again, device.get(begin_sign_in(again)), ORIGINS)
    with again.store.read() as tx:
        assert needs_proof(again, tx, Risk.LOW)


# --- the trail ---


def forge(gate: Gate, **changed: Any) -> list[FindingKind]:
    """A trail that goes on with a copy of the newest answer, changed so: what verifying finds."""
    with gate.store.read() as tx:
        (*_, row) = [row for row in tx.entries("main") if row.event == "ANSWERED"]
    assert row.body is not None
    details = msgspec.json.decode(row.body)["details"]
    proof = details["proof"] | changed.pop("proof", {})
    with gate.store.write() as tx:
        record(tx, forged_event("ANSWERED", **details | changed | {"proof": proof}), session=row.session)
    return [one.kind for report in verify_audit(gate).reports for one in report.findings]


def answered(gate: Gate, device: Authenticator, target: str = "main") -> Proof:
    question = asked(gate, target)
    proof = signed(gate, device, question)
    assert answer_question(gate, question, "once", by="ana", signing=on_page(proof)).yours
    return proof


@pytest.mark.parametrize(
    "changed",
    [
        {"digest": "0" * 64},
        {"question": "s.q9"},
        {"answer": "always"},
        {"edited": "0" * 64},
        {"by": "bob"},
        {"proof": {"signature": encode_base64url(b"no")}},
        {"proof": {"credential": encode_base64url(b"unknown")}},
        {"proof": {"key": "0" * 64}},
        {"proof": {"client_data": encode_base64url(b"{}")}},
        {"proof": {"authenticator_data": encode_base64url(bytes(37))}},
        {"proof": {"more": "x"}},
    ],
)
def test_whoever_holds_the_key_of_the_trail_cannot_make_a_signature_say_something_else(
    gate: Gate, changed: dict[str, Any]
) -> None:
    answered(gate, registered(gate))
    assert verify_audit(gate).clean
    assert forge(gate, **changed) == [FindingKind.PROOF]


def test_a_proof_swapped_for_that_of_another_answer_is_found(gate: Gate) -> None:
    device = registered(gate)
    other = msgspec.structs.asdict(answered(gate, device, "one"))
    other.pop("key")
    answered(gate, device, "two")
    assert forge(gate, proof=other) == [FindingKind.PROOF]


def test_an_answer_signed_by_a_passkey_after_its_removal_is_found(gate: Gate) -> None:
    answered(gate, registered(gate))
    remove_passkey(gate, list_passkeys(gate)[0].id, by="ana")
    assert forge(gate) == [FindingKind.PROOF]


def test_a_public_key_that_is_not_the_one_it_names_is_found(gate: Gate) -> None:
    device = registered(gate)
    with gate.store.write() as tx:
        (row,) = [row for row in tx.entries("main") if row.event == "PASSKEY_ADDED"]
        details = msgspec.json.decode(row.body or b"")["details"]
        forged = details | {"public_key": _key_of(Authenticator())}
        record(tx, forged_event("PASSKEY_ADDED", **forged))
    assert [one.kind for one in verify_audit(gate).reports[0].findings] == [FindingKind.PROOF]
    answered(gate, device)
    assert verify_audit(gate).found == 1


def test_a_passkey_added_only_after_the_answer_it_signed_is_found(gate: Gate) -> None:
    device = registered(gate)
    answered(gate, device)
    with gate.store.read() as tx:
        rows = {row.event: msgspec.json.decode(row.body or b"")["details"] for row in tx.entries("main")}
    fresh = open_gate(gate.policy, MemoryStore(clock=Clock()), key=KEY)
    with fresh.store.write() as tx:
        record(tx, forged_event("ANSWERED", **rows["ANSWERED"]))
        record(tx, forged_event("PASSKEY_ADDED", **rows["PASSKEY_ADDED"]))
    assert [one.kind for one in verify_audit(fresh).reports[0].findings] == [FindingKind.PROOF]


def _key_of(device: Authenticator) -> str:
    key = device.secret.public_key()
    return encode_base64url(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def _replaced(proof: Proof, **changed: str) -> Proof:
    return msgspec.structs.replace(proof, **changed)


def _flipped(text: str) -> str:
    data = bytearray(decode_base64url(text))
    data[-1] ^= 1
    return encode_base64url(bytes(data))
