"""Which answers have to be signed with a passkey, and what it has to sign."""

from __future__ import annotations

from sayso.core.deciding.questions import summarize_answers
from sayso.core.decision import Question
from sayso.core.errors import UnknownAnswer
from sayso.gate.gate import Gate
from sayso.gate.people.passkeys import Signing, needs_proof
from sayso.gate.rows.webauthn import Proof, answer_challenge
from sayso.service.http.auth import proven_identity
from sayso.service.http.endpoints import Context
from sayso.service.shapes import AnswerBody
from sayso.store.contract import Reader


def must_sign(gate: Gate, tx: Reader, question: Question) -> bool:
    """Return whether an answer to this question that allows something needs a passkey's signature."""
    return needs_proof(gate, tx, question.risk)


def signing_from_body(context: Context, body: AnswerBody) -> Signing:
    """Return what came to prove the answer; the gate refuses it where that is not enough."""
    return signing_with(context, body.proof)


def signing_with(context: Context, proof: Proof | None) -> Signing:
    """Return this proof as one that whoever makes this request gives on the page."""
    return Signing(proof, context.running.settings.origins, proven_identity(context.token))


def challenge_for_answer(question: Question, body: AnswerBody, edited: str = "") -> bytes:
    """Return what a passkey signs to give exactly this answer. `edited` is the digest of the edited call."""
    given = body.answer or ""
    if body.items is not None:
        if set(body.items) != set(question.item_ids):
            raise UnknownAnswer("every item of the question needs an answer")
        given = summarize_answers(body.items)
    return answer_challenge(question.id, question.request.digest, given, edited)
