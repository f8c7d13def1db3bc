"""Coverage: the session's last questions, decided again as if an answer had been given before."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sayso.core.deciding.decide import decide
from sayso.core.deciding.offers import grants_of_answer
from sayso.core.decision import Question
from sayso.core.effects import GrantAdded
from sayso.core.model import Request, Verdict
from sayso.core.session import Session, apply_effects
from sayso.core.session.numbering import question_id
from sayso.gate.gate import Gate
from sayso.gate.questions.read import read_question
from sayso.gate.questions.view import view_of
from sayso.gate.rows.sessions import LoadedSession, RowSelection, load_session
from sayso.store.contract import Reader

LOOK_BACK = 50


def measure_coverage(gate: Gate, question: Question) -> tuple[dict[str, int], int]:
    """For each answer how many of the questions before this one it would have covered; and of how many."""
    with gate.store.read() as tx:
        found = load_session(tx, gate.sealer, question.request.session, RowSelection())
        if found is None or not found.believed:
            return {}, 0
        earlier = list(_earlier_requests(gate, tx, question))
        bare = msgspec.structs.replace(found.session, grants={}, denials={}, stopped=None)
        asked = [one for one in earlier if not _is_allowed(gate, tx, found, bare, one)]
        covered = {
            offer.answer: sum(_is_allowed(gate, tx, found, after, one) for one in asked)
            for offer in question.offers
            if (after := _session_after_answer(gate, bare, question, offer.answer, tx.now)) is not None
        }
    return covered, len(earlier)


def _earlier_requests(gate: Gate, tx: Reader, question: Question) -> Iterator[Request]:
    """Return what was asked before it in its session, newest first."""
    session, _, number = question.id.rpartition(".q")
    last = int(number) - 1 if number.isdigit() else 0
    for earlier in range(last, max(last - LOOK_BACK, 0), -1):
        row = tx.question(question_id(session, earlier))
        asked = None if row is None else read_question(gate, tx, row)
        if asked is not None:
            yield asked.request


def _session_after_answer(
    gate: Gate, bare: Session, question: Question, answer: str, now: float
) -> Session | None:
    """The session with what this answer gives beyond the call itself; None where it allows nothing."""
    if answer == "deny":
        return None
    grants = grants_of_answer(answer, question.request, question.items, gate.policy, bare, now)
    return apply_effects(bare, tuple(GrantAdded(grant) for grant in grants if grant.kind != "call"))


def _is_allowed(gate: Gate, tx: Reader, found: LoadedSession, session: Session, request: Request) -> bool:
    gate = gate.in_workspace(request.call.workspace)
    view = view_of(gate, tx, msgspec.structs.replace(found, session=session), request)
    return decide(request, gate.policy, view, tx.now).verdict is Verdict.ALLOW
