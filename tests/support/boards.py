"""A surface beyond the process that tests can look at: it shows what it is given, and is down on demand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sayso.core.audit.notices import Notice
from sayso.gate.deliveries.remote_surface import GivenAnswer, QuestionCard


class Down(OSError):
    """The surface cannot be reached."""


class Board:
    """Shows cards until they are closed. A key that it has seen is not shown or told a second time."""

    longest = 10_000
    allows = polls = True
    cuts = False

    def __init__(
        self, name: str = "board", *, detail: str = "full", approvers: Iterable[str] = ("ana",)
    ) -> None:
        self.name, self.detail, self.approvers = name, detail, frozenset(approvers)
        self.down = False
        self.shown: dict[str, QuestionCard] = {}
        self.closed: dict[str, str] = {}
        self.told: dict[str, Notice] = {}
        self.pressed: list[GivenAnswer] = []
        self.tries = 0

    def show(self, card: QuestionCard, key: str) -> str:
        self._reach()
        self.shown.setdefault(key, card)
        return key

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        self._reach()
        assert ref in (None, key)
        if key in self.shown:
            self.closed[question] = ending

    def tell(self, notice: Notice, key: str) -> None:
        self._reach()
        self.told.setdefault(key, notice)

    def fetch(self, seconds: float) -> Iterable[GivenAnswer]:
        taken, self.pressed = self.pressed, []
        return taken

    def receive(self, headers: Mapping[str, str], body: bytes) -> GivenAnswer:
        raise AssertionError("answers are fetched here")

    @property
    def questions(self) -> set[str]:
        return {card.question for card in self.shown.values()}

    def card(self, question: str) -> QuestionCard:
        """The newest card of this question."""
        return [card for card in self.shown.values() if card.question == question][-1]

    def press(self, question: str, answer: str, by: str = "ana") -> GivenAnswer:
        """Press the button of this answer on the card of this question."""
        token = next(one.token for one in self.card(question).answers if one.answer == answer)
        given = GivenAnswer(question, answer, token, by)
        self.pressed.append(given)
        return given

    def _reach(self) -> None:
        self.tries += 1
        if self.down:
            raise Down("nobody is there")
