"""`sayso surfaces test`: a surface works if an answer came from there; else it says what is wrong."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from sayso.gate.deliveries.remote_surface import GivenAnswer, QuestionCard
from sayso.gate.deliveries.trial import try_surface
from sayso.gate.figures.figures import compute_figures
from sayso.gate.gate import Gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.words import SURFACE_TEST
from sayso.policy import load_text
from sayso.surfaces.remote.exchange import SendingFailed
from tests.support.asking import asked, edit
from tests.support.boards import Board
from tests.support.teams import under


class Answers(Board):
    """Somebody answers as soon as they are asked, here or elsewhere; somebody else fetches answers, too."""

    def __init__(self, gate: Gate, elsewhere: str = "") -> None:
        super().__init__()
        self._gate, self._elsewhere, self._asked_before = gate, elsewhere, False

    def show(self, card: QuestionCard, key: str) -> str:
        shown = super().show(card, key)
        if self._elsewhere:
            answer_question(self._gate, card.question, "deny", by=self._elsewhere)
        else:
            self.press(card.question, "once")
        return shown

    def fetch(self, seconds: float) -> Iterable[GivenAnswer]:
        if not self._asked_before:
            self._asked_before = True
            raise SendingFailed("409: another service fetches them")
        return super().fetch(seconds)


class Refuses(Board):
    """Takes notices, and no question."""

    def show(self, card: QuestionCard, key: str) -> str:
        raise SendingFailed("invalid_blocks")


def try_board(gate: Gate, board: Board) -> tuple[bool, str, list[str]]:
    said: list[str] = []
    told = try_surface(gate, board, 10.0, said=said.append)
    return told.answered, told.text, said


def test_it_works_although_a_service_fetches_answers_as_well(gate: Gate) -> None:
    answered, text, _ = try_board(gate, Answers(gate))
    assert answered
    assert "works" in text


@pytest.mark.parametrize("needed", [1, 2])
def test_it_works_where_a_team_approves_everything(gate: Gate, needed: int) -> None:
    """One answer is enough to know it, however many have to approve what is asked in earnest."""
    people = 'people: {ana: {ids: ["surface:board/ana"]}, bo: {ids: ["page:bo"]}}'
    rule = f"approvals: [{{from: [ana, bo], needed: {needed}}}]"
    team = under(gate, load_text(f"extends: [balanced]\n{people}\n{rule}\n"))
    answered, text, _ = try_board(team, Answers(team))
    assert (answered, text) == (True, "board works: once by ana.")


def test_an_answer_from_elsewhere_does_not_say_that_it_works(gate: Gate) -> None:
    answered, text, _ = try_board(gate, Answers(gate, elsewhere="bo at the desk"))
    assert not answered
    assert "elsewhere" in text


def test_a_question_that_could_not_be_sent_is_not_said_to_be_sent(gate: Gate) -> None:
    answered, text, said = try_board(gate, Refuses())
    assert not answered
    assert "invalid_blocks" in text
    assert [line for line in said if "Question" in line] == []


def test_it_is_sent_in_quiet_hours_too_and_nothing_else_is(gate: Gate, session: str) -> None:
    """Whoever tries a surface at night wants an answer now."""
    quiet = load_text('extends: [balanced]\nquiet_hours: {from: "00:00", to: "23:59"}')
    night = under(gate, quiet)
    waiting = asked(night, edit(session))
    board = Answers(night)
    answered, _, _ = try_board(night, board)
    assert answered
    assert waiting not in board.questions


def test_the_question_says_who_asks_it(gate: Gate) -> None:
    board = Answers(gate)
    try_board(gate, board)
    (card,) = board.shown.values()
    assert card.agent == SURFACE_TEST
    assert compute_figures(gate).prompts == 0


def test_where_nobody_can_answer_it_says_so_and_does_not_wait(gate: Gate) -> None:
    class Letter(Board):
        allows = False

    answered, text, said = try_board(gate, Letter(approvers=()))
    assert answered
    assert text == "It was sent to board. Nobody can answer there; look whether it arrived."
    assert not any("Answer it there" in one for one in said)


def test_where_nobody_is_among_the_approvers_it_says_so_and_sends_nothing(gate: Gate) -> None:
    board = Board(approvers=())
    answered, text, _ = try_board(gate, board)
    assert not answered
    assert "approvers" in text
    assert not board.shown
