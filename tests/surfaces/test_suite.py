"""The suite passes whole surfaces and catches broken ones, each by the check that is about its fault."""

from __future__ import annotations

import pytest

from sayso.core.model import Risk
from sayso.gate.questions.surface import AskedQuestion
from sayso.surfaces.terminal.prompt import ANSWER_PROMPT
from tests.support.terminals import Screen, terminal_on
from tests.surfaces.scripted import BROKEN, Broken, Scripted
from tests.surfaces.suite import CHECKS


class TerminalSeat:
    """A person at a pseudo-terminal, who does what the card says."""

    patience = 20.0

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.surface = terminal_on(screen)
        self._facing: AskedQuestion | None = None

    def sees(self, asked: AskedQuestion) -> None:
        if self._facing is not asked:
            self.screen.wait_for(asked.question.request.digest)
            self.screen.wait_for(f"\n{ANSWER_PROMPT}")
            self._facing = asked

    def answers(self, asked: AskedQuestion, word: str) -> None:
        self.sees(asked)
        high = asked.question.risk >= Risk.HIGH and word == "once"
        self.screen.type("allow\n" if high else f"{word}\n")
        if high or not asked.question.offers_answer(word):
            self.screen.wait_for(f"\n{ANSWER_PROMPT}")  # it is asked again

    def look(self) -> None:
        self.screen.read()

    def shown(self) -> str:
        return self.screen.text


@pytest.fixture
def seat(screen: Screen) -> TerminalSeat:
    return TerminalSeat(screen)


@pytest.mark.parametrize("name", CHECKS)
def test_the_terminal_is_a_whole_surface(name: str, seat: TerminalSeat) -> None:
    CHECKS[name](seat)


@pytest.mark.parametrize("name", CHECKS)
def test_a_scripted_surface_is_a_whole_surface(name: str) -> None:
    CHECKS[name](Scripted())


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_surface_is_caught(broken: type[Broken]) -> None:
    with pytest.raises((AssertionError, UnicodeError)):
        CHECKS[BROKEN[broken]](broken())


def test_there_is_a_broken_surface_for_most_checks() -> None:
    assert {*BROKEN.values()} <= {*CHECKS}
    assert len({*CHECKS} - {*BROKEN.values()}) <= 2
