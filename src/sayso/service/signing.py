"""Which answers have to be signed by the person who gives them. For now, none: passkeys are not there yet."""

from __future__ import annotations

from sayso.core.decision import Question
from sayso.gate.gate import Gate
from sayso.service.problems import Refused
from sayso.service.shapes import AnswerBody


def must_sign(gate: Gate, question: Question) -> bool:
    """Whether an answer to this question that allows something needs a passkey's signature."""
    return False


def check_signed(gate: Gate, question: Question, body: AnswerBody) -> None:
    """Refuse an answer that is not signed as it has to be. A proof that nobody can check proves nothing."""
    if body.proof is not None or must_sign(gate, question):
        raise Refused(409, "cannot_verify", "no signature can be checked here")
