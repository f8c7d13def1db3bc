"""People say whether a question was clear, once each, and the figures show the share."""

from __future__ import annotations

import pytest

from sayso.gate.audit.operator_transaction import sign_off
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.figures.figures import compute_figures
from sayso.gate.gate import Gate
from sayso.gate.questions.ratings import NotAnswered, rate_question
from sayso.gate.questions.read import UnknownQuestion
from sayso.gate.sessions.sessions import open_session
from tests.support.asking import approve, asked, edit


def test_the_share_of_questions_rated_clear(gate: Gate, session: str) -> None:
    assert (compute_figures(gate).rated, compute_figures(gate).rated_clear) == (0, None)
    names = [approve(gate, edit(session, f"{number}.py")) for number in range(4)]
    for name in names:
        rate_question(gate, name, clear=name != names[0], by="ana")
    assert compute_figures(gate).rated_clear == 0.75
    sign_off(gate)
    other = open_session(gate, agent="b", owner="host")
    rate_question(gate, approve(gate, edit(other)), clear=False, by="ana")
    assert (compute_figures(gate).rated, compute_figures(gate).rated_clear) == (5, 0.6)
    assert (compute_figures(gate, session=session).rated_clear) == 0.75
    assert (compute_figures(gate, session=other).rated_clear) == 0.0
    assert verify_audit(gate).clean


def test_each_person_rates_once(gate: Gate, session: str) -> None:
    question = approve(gate, edit(session))
    assert rate_question(gate, question, clear=True, by="ana").yours
    again = rate_question(gate, question, clear=False, by="ana")
    assert (again.yours, again.clear) == (False, True)
    assert rate_question(gate, question, clear=False, by="bo").yours
    assert compute_figures(gate).rated_clear == 0.5


def test_only_what_was_answered_is_rated(gate: Gate, session: str) -> None:
    with pytest.raises(NotAnswered):
        rate_question(gate, asked(gate, edit(session)), clear=True, by="ana")
    with pytest.raises(UnknownQuestion):
        rate_question(gate, "s.q9", clear=True, by="ana")
