"""A team's question where the program asks: nothing there proves who answers, so no yes is offered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.questions.wait import load_question_now
from sayso.store.memory.store import MemoryStore
from sayso.surfaces.terminal.prompt import ANSWER_PROMPT
from tests.support.gates import KEY, no_settings
from tests.support.teams import ANA, BO, allow, asks, team_policy
from tests.surfaces.local_seats import LOCAL, PATIENCE, TerminalSeat

__all__ = ["no_settings"]


@pytest.fixture
def gate() -> Iterator[Gate]:
    with closing(MemoryStore()) as store:
        yield open_gate(team_policy(), store, key=KEY)


@pytest.mark.parametrize("kind", LOCAL.values(), ids=LOCAL)
def test_it_says_whose_approvals_are_missing_and_offers_deny_alone(
    gate: Gate, kind: Callable[[str], Any]
) -> None:
    seat = kind("full")
    _, question = asks(gate)
    seat.begin(gate)
    seat.put(question)
    shown = " ".join(seat.shown().split())
    assert "0 of 2, waits for finance: ana, bo or cy. An allow from you" in shown
    assert "allow once" not in shown
    seat.answer("once")
    assert load_question_now(gate, question).state == "open"
    if kind is not LOCAL["terminal"]:
        seat.put(question)  # a form that is filled in is gone
    seat.answer("deny")
    assert load_question_now(gate, question).answer == "deny"
    seat.stop()


def asks_again(shown: str, *, prompts: bool) -> bool:
    """Return whether the question is shown with the new approvals; at a prompt, whether keys count again."""
    _, said, after = shown.partition("1 of 2, waits for finance: bo or cy (approved: ana)")
    return bool(said) and (not prompts or ANSWER_PROMPT.strip() in after)


@pytest.mark.parametrize("kind", LOCAL.values(), ids=LOCAL)
def test_it_says_so_when_somebody_else_approves(gate: Gate, kind: Callable[[str], Any]) -> None:
    seat = kind("full")
    _, question = asks(gate)
    seat.begin(gate)
    seat.put(question)
    allow(gate, question, ANA)
    until = time.monotonic() + PATIENCE
    while not asks_again(" ".join(seat.shown().split()), prompts=isinstance(seat, TerminalSeat)):
        assert time.monotonic() < until, seat.shown()
    seat.answer("deny")
    assert load_question_now(gate, question).answer == "deny"
    seat.settle()
    assert "still shown" not in seat.ends()
    seat.stop()


def test_with_the_last_approval_it_is_closed_and_not_shown_again(gate: Gate) -> None:
    seat = TerminalSeat("full")
    _, question = asks(gate)
    seat.begin(gate)
    seat.put(question)
    allow(gate, question, ANA)
    allow(gate, question, BO)
    seat.settle()
    seat.wait_for_end("ana and bo")
    seat.stop()
