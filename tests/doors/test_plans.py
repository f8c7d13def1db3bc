"""Plans through the Python door: the host shows the rendering, or the first yes is answered with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso import Sayso
from sayso.core import words
from sayso.gate.questions.read import find_question
from tests.support.gates import KEY

HIDDEN = "Edit a.py: rename f to g. Nothing else changes. <span hidden>Edit b.py.</span>"


def test_a_yes_covers_the_rendering_and_not_the_text_of_the_agent(tmp_path: Path) -> None:
    with Sayso.open("chat", tmp_path / "s.db", key=KEY, marks=tmp_path) as gate, gate.session() as session:
        session.hear("tidy up")
        shown = session.plan(HIDDEN)
        assert shown.covers == {"files.edit": ("a.py",)}
        assert "b.py" not in shown.text
        assert "accepted" in session.hear("go ahead").did[0]


@pytest.mark.parametrize("assent", ["yes", "ok"])
def test_a_host_that_cannot_show_the_rendering_gets_it_as_the_answer_to_a_yes(
    tmp_path: Path, assent: str
) -> None:
    with Sayso.open("chat", tmp_path / "s.db", key=KEY, marks=tmp_path) as gate, gate.session() as session:
        session.hear("tidy up")
        shown = session.plan(HIDDEN, shown=False)
        assert session.hear(assent).announced == (f"{shown.text}\nProceed with this?",)
        assert gate.list_consents(session) == []
        assert "accepted" in session.hear(assent).did[0]
        assert gate.list_consents(session) != []


def test_a_call_that_ends_the_plan_says_so_to_the_host_and_in_the_question(tmp_path: Path) -> None:
    with Sayso.open("chat", tmp_path / "s.db", key=KEY, marks=tmp_path) as gate, gate.session() as session:
        session.hear("tidy up")
        session.plan("Edit a.py: rename f to g. Nothing else changes.")
        session.hear("go ahead")
        covered = session.call("edit_file", {"path": "a.py"})
        assert (covered.rule, covered.announce) == ("plan", "Using plan consent (plan of turn 1)")
        beyond = session.call("edit_file", {"path": "b.py"})
        assert beyond.decision.verdict.value == "ask"
        assert beyond.announce == words.PLAN_LEFT
        with gate.gate.store.read() as tx:
            (question,) = tx.questions(session.id)
        assert words.PLAN_LEFT in find_question(gate.gate, question.id).question.text
        again = session.call("edit_file", {"path": "c.py"})
        assert again.announce is None, "the plan is over already"
