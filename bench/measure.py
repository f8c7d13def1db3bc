"""Timing two things against each other in one run, so that a busy machine weighs on both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

Tick = Callable[[], object]
"""Called after every round, for whoever watches."""

SLICES = 10
"""The sides take turns this often within a round: whatever disturbs the machine disturbs both."""


class Side(msgspec.Struct, frozen=True):
    """One side of a race: what is called, and with what, in this order."""

    answer: Callable[[Any], object]
    questions: Sequence[Any]


class Timing(msgspec.Struct, frozen=True):
    """Nanoseconds per answer, one figure a round."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def per_second(self) -> float:
        return 1e9 / self.median

    @property
    def spread(self) -> float:
        """The middle half of the rounds, as a share of their median."""
        low, _, high = statistics.quantiles(self.rounds, n=4)
        return (high - low) / self.median


class Row(msgspec.Struct, frozen=True):
    """One line of the table: both sides, how they compare, the aim, and whether it is met."""

    what: str
    against: str
    ours: str
    theirs: str
    ratio: float
    aim: str
    met: bool
    spread: tuple[float, float]


class Race(msgspec.Struct, frozen=True):
    left: Timing
    right: Timing

    @property
    def ratio(self) -> float:
        """How many times as long the right side takes: the median over the rounds, each taken for itself."""
        return statistics.median(r / l for l, r in zip(self.left.rounds, self.right.rounds, strict=True))


def race(left: Side, right: Side, rounds: int, tick: Tick) -> Race:
    """Both sides answer all their questions `rounds` times, turn by turn. One round before that is not counted."""
    pairs = []
    for counted in range(-1, rounds):
        pair = _round(left, right, left_first=counted % 2 == 0)
        if counted >= 0:
            pairs.append(pair)
        tick()
    lefts, rights = zip(*pairs, strict=True)
    return Race(Timing(lefts), Timing(rights))


def _round(left: Side, right: Side, left_first: bool) -> tuple[float, float]:
    """Nanoseconds per answer of both sides. Who goes first changes from round to round."""
    first, second = (left, right) if left_first else (right, left)
    spent = [0, 0]
    for one, other in zip(_slices(first), _slices(second), strict=True):
        spent[0] += _lap(first.answer, one)
        spent[1] += _lap(second.answer, other)
    per_answer = (spent[0] / len(first.questions), spent[1] / len(second.questions))
    return per_answer if left_first else per_answer[::-1]


def _slices(side: Side) -> Iterator[Sequence[Any]]:
    size = -(-len(side.questions) // SLICES)
    return (side.questions[start : start + size] for start in range(0, len(side.questions), size))


def _lap(answer: Callable[[Any], object], questions: Sequence[Any]) -> int:
    began = time.perf_counter_ns()
    for question in questions:
        answer(question)
    return time.perf_counter_ns() - began
