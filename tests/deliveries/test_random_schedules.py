"""A random life: questions, notices, answers on five surfaces, surfaces that are down, services that die.

In the end every question has one answer, none is lost, no notice is told twice or not at all, and nothing is
shown any more on any surface.
"""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.deliveries.outbox import HELD_FOR
from sayso.gate.deliveries.rests import LONGEST_PAUSE
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.questions.wait import load_question_now
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_text
from sayso.store.memory.store import MemoryStore
from tests.deliveries.test_notices import blocked
from tests.support.asking import asked, edit
from tests.support.boards import Board
from tests.support.gates import KEY, Clock

POLICY = """
extends: [chat]
settings: {question_lasts: 7d, open_questions: 1000, questions_per_hour: 10000}
domains:
  self_modification:
    {trust_level: low, autonomous: [], requires_approval: [], blocked: [modify_soul_md]}
"""
SURFACES = 5
SIZE = 2_000 if os.environ.get("SAYSO_ALL") else 50


class Killed(BaseException):
    """The service was killed at this very moment."""


class FragileBoard(Board):
    """A surface that is down now and then, and during whose work the service may die, before or after it."""

    def __init__(self, name: str, chance: random.Random) -> None:
        super().__init__(name)
        self._chance = chance
        self.calm = False

    def _reach(self) -> None:
        self.down = not self.calm and self._chance.random() < 0.15
        super()._reach()
        if not self.calm and self._chance.random() < 0.03:
            raise Killed

    def show(self, card: object, key: str) -> str:
        ref = super().show(card, key)  # type: ignore[arg-type]  # as it comes
        if not self.calm and self._chance.random() < 0.03:
            raise Killed
        return ref


@pytest.mark.parametrize("seed", range(2))
def test_one_answer_each_none_lost_no_notice_twice_and_all_closed(seed: int) -> None:
    chance, clock = random.Random(seed), Clock()
    store = MemoryStore(clock=clock)
    gate = open_gate(load_text(POLICY), store, key=KEY)
    boards = [FragileBoard(f"board{n}", chance) for n in range(SURFACES)]
    services = [start(gate, boards) for _ in range(2)]
    for one in services:
        one.send_notices()
    session = open_session(gate, agent="tester", owner="host")
    questions: list[str] = []
    asked_for, told_of, counted = 0, 0, Counter[str]()
    while asked_for < SIZE or told_of < SIZE:
        clock.now += chance.random() * 3
        if asked_for < SIZE and chance.random() < 0.6:
            questions.append(asked(gate, edit(session, f"{asked_for}.py")))
            asked_for += 1
        if told_of < SIZE and chance.random() < 0.6:
            blocked(gate, session, told_of)
            told_of += 1
        press(chance, boards)
        work(gate, services, boards, chance, counted)
    settle(gate, boards, clock, counted)
    stands = [load_question_now(gate, one) for one in questions]
    assert all(one.state == "answered" for one in stands)
    assert counted == Counter(questions), "one answer for each, and none that counted twice"
    for board in boards:
        assert board.closed.keys() >= board.questions, "every card is closed in the end"
    notices = Counter(notice.id for board in boards for notice in board.told.values())
    assert len(notices) == SIZE
    assert set(notices.values()) == {1}


def start(gate: Gate, boards: list[FragileBoard]) -> Dispatcher:
    return Dispatcher(gate, boards, notices_to=lambda: boards[0].name)


def press(chance: random.Random, boards: list[FragileBoard]) -> None:
    """People press buttons here and there, also on cards that were answered elsewhere."""
    for board in boards:
        cards = [card for card in board.shown.values() if card.question not in board.closed]
        if cards and chance.random() < 0.5:
            board.press(chance.choice(cards).question, chance.choice(["once", "deny"]))


def work(
    gate: Gate,
    services: list[Dispatcher],
    boards: list[FragileBoard],
    chance: random.Random,
    counted: Counter[str],
) -> None:
    """Each service does a little. One that is killed is started again."""
    for at, service in enumerate(services):
        board = chance.choice(boards)
        try:
            take_answers(service, board, counted)
            service.send(board)
            service.send_notices()
        except Killed:
            services[at] = start(gate, boards)


def take_answers(service: Dispatcher, board: Board, counted: Counter[str]) -> None:
    for given in board.fetch(0):
        board.pressed = [given]
        if service.fetch_answers(board, 0):
            counted[given.question] += 1


def settle(gate: Gate, boards: list[FragileBoard], clock: Clock, counted: Counter[str]) -> None:
    """Everything is up again: whatever is left is done, and whoever is still asked says no."""
    service = start(gate, boards)
    for board in boards:
        board.calm = True
    for _ in range(8):
        clock.now += max(HELD_FOR, LONGEST_PAUSE) + 1
        for board in boards:
            while service.send(board):
                pass
            take_answers(service, board, counted)
            for card in board.shown.values():
                if load_question_now(gate, card.question).state == "open":
                    board.press(card.question, "deny")
            take_answers(service, board, counted)
        while service.send_notices():
            pass
