"""Passkeys: registering, signing in, which answers need one, and what the trail keeps of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from webauthn import verify_authentication_response

from sayso.core.errors import SaysoError
from sayso.core.model import Risk
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.gate import Gate
from sayso.gate.people.browsers import find_browser, make_link, use_link, user_of_browser
from sayso.gate.people.passkey_sign_in import begin_registration, begin_sign_in, finish_sign_in
from sayso.gate.people.passkeys import (
    ProofNeeded,
    UnknownPasskey,
    forget_passkeys,
    list_passkeys,
    load_required_level,
    needs_proof,
    remove_passkey,
    require_passkeys,
)
from sayso.gate.questions.read import find_question
from sayso.gate.questions.wait import load_question_row
from tests.support.answers import answer_question, edit_and_allow
from tests.support.authenticator import ORIGIN, Authenticator
from tests.support.gates import Clock
from tests.support.signing import ORIGINS, added, asked, challenge, on_page, registered, risky_push, signed


def last(gate: Gate, event: str) -> dict[str, Any]:
    """The details of the newest entry of this event."""
    with gate.store.read() as tx:
        (*_, row) = [row for row in tx.entries("main") if row.event == event]
    assert row.body is not None
    details: dict[str, Any] = msgspec.json.decode(row.body)["details"]
    return details


def needed(gate: Gate, risk: Risk) -> bool:
    with gate.store.read() as tx:
        return needs_proof(gate, tx, risk)


@pytest.mark.parametrize(
    "secret",
    [
        ec.generate_private_key(ec.SECP256R1()),
        Ed25519PrivateKey.generate(),
        rsa.generate_private_key(public_exponent=65_537, key_size=2_048),
    ],
    ids=["P-256", "Ed25519", "RSA"],
)
def test_a_passkey_of_each_accepted_kind_signs_in_and_signs_an_answer(gate: Gate, secret: Any) -> None:
    device = registered(gate, device=Authenticator(secret))
    name, cookie = finish_sign_in(gate, device.get(begin_sign_in(gate)), ORIGINS)
    assert (name, user_of_browser(gate, cookie)) == ("ana", "ana")
    question = asked(gate)
    proof = signed(gate, device, question)
    assert answer_question(gate, question, "once", by="ana", signing=on_page(proof)).yours
    assert verify_audit(gate).clean


@pytest.mark.parametrize("all_of_them", [False, True])
def test_a_browser_that_signed_in_with_a_passkey_is_out_once_that_is_removed(
    gate: Gate, all_of_them: bool
) -> None:
    device = Authenticator()
    passkey = added(gate, device)
    _, cookie = finish_sign_in(gate, device.get(begin_sign_in(gate)), ORIGINS)
    by_link = use_link(gate, make_link(gate, "ana"))
    forget_passkeys(gate, by="ana") if all_of_them else remove_passkey(gate, passkey.id, by="ana")
    assert user_of_browser(gate, cookie) is None
    assert user_of_browser(gate, by_link) == "ana"


def test_the_entry_of_a_passkey_holds_its_public_key_and_nothing_secret(gate: Gate) -> None:
    passkey = added(gate, Authenticator())
    details = last(gate, "PASSKEY_ADDED")
    assert details["public_key"] == passkey.key
    assert (details["user"], details["name"], details["place"]) == ("ana", "desk", "localhost")


def test_signing_in_is_recorded_with_the_passkey_it_was_done_with(gate: Gate) -> None:
    device = Authenticator()
    passkey = added(gate, device)
    finish_sign_in(gate, device.get(begin_sign_in(gate)), ORIGINS)
    assert last(gate, "SIGNED_IN") == {"name": "ana", "by": "passkey", "passkey": passkey.id}


def test_without_a_passkey_nothing_has_to_be_signed(gate: Gate) -> None:
    assert answer_question(gate, asked(gate), "once", by="ana", signing=on_page()).yours


def test_once_there_is_a_passkey_an_allow_of_high_risk_needs_it_on_the_page(gate: Gate) -> None:
    registered(gate)
    question = asked(gate)
    with pytest.raises(ProofNeeded):
        answer_question(gate, question, "once", by="ana", signing=on_page())
    assert load_question_row(gate, question).state == "open"


def test_a_no_and_a_moderate_yes_need_none(gate: Gate) -> None:
    registered(gate)
    assert answer_question(gate, asked(gate), "deny", by="ana", signing=on_page()).yours
    moderate = asked(gate, risk=Risk.MODERATE)
    assert answer_question(gate, moderate, "once", by="ana", signing=on_page()).yours


def test_at_a_terminal_the_answer_stands_and_its_entry_says_it_was_not_signed(gate: Gate) -> None:
    registered(gate)
    assert answer_question(gate, asked(gate), "once", by="ana").yours
    assert last(gate, "ANSWERED")["signed"] is False


def test_an_answer_that_needs_no_signature_says_nothing_of_one(gate: Gate) -> None:
    assert answer_question(gate, asked(gate), "once", by="ana").yours
    assert not {"signed", "proof"} & last(gate, "ANSWERED").keys()


def test_an_edit_to_something_of_high_risk_has_to_be_signed_though_what_was_asked_had_not(gate: Gate) -> None:
    device = registered(gate)
    question = asked(gate, risk=Risk.MODERATE)
    edited = risky_push(load_question_row(gate, question).session, "release")
    edited = msgspec.structs.replace(edited, agent=find_question(gate, question).question.request.agent)
    with pytest.raises(ProofNeeded):
        edit_and_allow(gate, question, edited, by="ana", signing=on_page())
    proof = signed(gate, device, question, "edit", edited.digest)
    assert edit_and_allow(gate, question, edited, by="ana", signing=on_page(proof)).yours
    assert verify_audit(gate).clean


@pytest.mark.parametrize(
    ("level", "moderate", "high"), [("never", False, False), ("high", False, True), ("all", True, True)]
)
def test_what_the_operator_requires_holds_with_and_without_passkeys(
    gate: Gate, level: Any, moderate: bool, high: bool
) -> None:
    require_passkeys(gate, level, by="ana")
    assert (needed(gate, Risk.MODERATE), needed(gate, Risk.HIGH)) == (moderate, high)
    registered(gate)
    assert (needed(gate, Risk.MODERATE), needed(gate, Risk.HIGH)) == (moderate, high)
    assert (load_required_level(gate), last(gate, "PASSKEYS_REQUIRED")["require"]) == (level, level)


def test_an_unknown_level_is_refused(gate: Gate) -> None:
    with pytest.raises(SaysoError, match="sometimes"):
        require_passkeys(gate, "sometimes", by="ana")  # type: ignore[arg-type]


def test_a_removed_passkey_is_gone_and_with_the_last_one_the_need_to_sign(gate: Gate) -> None:
    passkey = added(gate, Authenticator())
    assert needed(gate, Risk.HIGH)
    assert remove_passkey(gate, passkey.id, by="ana").id == passkey.id
    assert list_passkeys(gate) == []
    assert not needed(gate, Risk.HIGH)
    with pytest.raises(UnknownPasskey):
        remove_passkey(gate, passkey.id, by="ana")


def test_an_operator_removes_only_their_own_unless_at_the_terminal(gate: Gate) -> None:
    passkey = added(gate, Authenticator(), "ana")
    with pytest.raises(UnknownPasskey):
        remove_passkey(gate, passkey.id, by="bob", of="bob")
    assert list_passkeys(gate, "ana") == [passkey]


def test_forgetting_all_keeps_what_was_required(gate: Gate) -> None:
    require_passkeys(gate, "all", by="ana")
    registered(gate)
    registered(gate, "bob")
    assert forget_passkeys(gate, by="ana") == 2
    assert (list_passkeys(gate), load_required_level(gate)) == ([], "all")


def test_a_device_that_has_a_passkey_already_is_told_not_to_make_another(gate: Gate) -> None:
    device = registered(gate)
    assert begin_registration(gate, "ana")["excludeCredentials"] == [{"type": "public-key", "id": device.id}]
    assert begin_registration(gate, "bob")["excludeCredentials"] == []


def test_a_passkey_that_counts_nothing_can_sign_again_and_again(gate: Gate) -> None:
    device = registered(gate, device=Authenticator(counts=False))
    for target in ("one", "two"):
        question = asked(gate, target)
        proof = signed(gate, device, question)
        assert answer_question(gate, question, "once", by="ana", signing=on_page(proof)).yours


def test_used_challenges_are_forgotten_once_they_are_too_old_anyway(gate: Gate, clock: Clock) -> None:
    device = registered(gate)
    for _ in range(3):
        finish_sign_in(gate, device.get(begin_sign_in(gate)), ORIGINS)
        clock.now += 1_000
    with gate.store.read() as tx:
        kept = msgspec.json.decode(tx.meta("passkeys") or "")["kept"]
    assert len(kept["used"]) == 1


def test_a_browser_knows_since_when_it_is_signed_in(gate: Gate, clock: Clock) -> None:
    cookie = use_link(gate, make_link(gate, "ana"))
    then, clock.now = clock.now, clock.now + 100
    browser = find_browser(gate, cookie)
    assert browser is not None
    assert browser.since == then


def test_an_independent_library_finds_the_same_signature_right(gate: Gate) -> None:
    device = registered(gate)
    question = asked(gate)
    proof = signed(gate, device, question)
    response = {
        "authenticatorData": proof.authenticator_data,
        "clientDataJSON": proof.client_data,
        "signature": proof.signature,
    }
    found = verify_authentication_response(
        credential={"id": device.id, "rawId": device.id, "type": "public-key", "response": response},
        expected_challenge=challenge(gate, question),
        expected_rp_id="localhost",
        expected_origin=ORIGIN,
        credential_public_key=device.cose(),
        credential_current_sign_count=0,
        require_user_verification=True,
    )
    assert found.new_sign_count == 1
    assert answer_question(gate, question, "once", by="ana", signing=on_page(proof)).yours
