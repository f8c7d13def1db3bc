"""Questions of high risk, and operators with passkeys, for the tests of signed answers."""

from __future__ import annotations

import pytest

from sayso.core.model import Operation, Request, Risk
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.people.passkey_sign_in import begin_registration, finish_registration, sign_in_options
from sayso.gate.people.passkeys import Passkey, Signing
from sayso.gate.questions.wait import load_question_row
from sayso.gate.rows.webauthn import BadProof, Proof, answer_challenge
from sayso.gate.sessions.sessions import open_session
from tests.support.answers import answer_question
from tests.support.authenticator import ORIGIN, Authenticator

ORIGINS = (ORIGIN,)


def registered(gate: Gate, user: str = "ana", device: Authenticator | None = None) -> Authenticator:
    """A device of this operator with a passkey for this gate."""
    device = device or Authenticator()
    added(gate, device, user)
    return device


def added(gate: Gate, device: Authenticator, user: str = "ana") -> Passkey:
    made = device.create(begin_registration(gate, user))
    return finish_registration(gate, user, "desk", made, ORIGINS)


def risky_push(session: str, target: str = "main", risk: Risk = Risk.HIGH) -> Request:
    call = make_call("git_push", {"branch": target}, target=target)
    operation = "git.push" if risk is Risk.HIGH else "files.edit"
    return make_request(call, [Operation(operation, risk=risk)], session=session)


def asked(gate: Gate, target: str = "main", risk: Risk = Risk.HIGH, session: str | None = None) -> str:
    """An open question of this risk; its id."""
    found = authorize(
        gate, risky_push(session or open_session(gate, agent="bot", owner="host"), target, risk)
    )
    assert found.question is not None
    return found.question.id


def challenge(gate: Gate, question: str, answer: str = "once", edited: str = "") -> bytes:
    return answer_challenge(question, load_question_row(gate, question).digest, answer, edited)


def signed(gate: Gate, device: Authenticator, question: str, answer: str = "once", edited: str = "") -> Proof:
    return device.get(sign_in_options(challenge(gate, question, answer, edited)))


def on_page(proof: Proof | None = None, origins: tuple[str, ...] = ORIGINS) -> Signing:
    return Signing(proof, origins)


def refused(gate: Gate, question: str, proof: Proof, answer: str = "once", *, by: str = "ana") -> str:
    """Why this proof was refused; the question is still open, and the trail says what was tried."""
    with pytest.raises(BadProof) as found:
        answer_question(gate, question, answer, by=by, signing=on_page(proof))
    assert load_question_row(gate, question).state == "open"
    with gate.store.read() as tx:
        assert [row.event for row in tx.entries("main")][-1] == "PROOF_REFUSED"
    assert verify_audit(gate).clean
    return found.value.message
