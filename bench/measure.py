"""Timing two things against each other in one run, so that a busy machine weighs on both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

Watch = Callable[[str, int, int], object]
"""Told after every round: what is being measured, the rounds done, and of how many."""


class Row(msgspec.Struct, frozen=True):
    """One line of the table: both sides, how they compare, the aim, and whether it is met (None: no aim)."""

    what: str
    against: str
    ours: float
    theirs: float
    unit: str
    ratio: float
    aim: str
    met: bool | None
    spread: tuple[float, float]
    """Of ours and of theirs: the middle half of the rounds, as a share of their median."""


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


class Race(msgspec.Struct, frozen=True):
    left: Timing
    right: Timing

    @property
    def ratio(self) -> float:
        """How many times as long the right side takes: the median of what each round says for itself."""
        pairs = zip(self.left.rounds, self.right.rounds, strict=True)
        return statistics.median(right / left for left, right in pairs)


def race(what: str, left: Side, right: Side, rounds: int, watch: Watch) -> Race:
    """Both sides answer all their questions `rounds` times, in turns; a first round is not counted."""
    _lap(left)
    _lap(right)
    lefts, rights = [], []
    for done in range(1, rounds + 1):
        lefts.append(_lap(left))
        rights.append(_lap(right))
        watch(what, done, rounds)
    return Race(Timing(tuple(lefts)), Timing(tuple(rights)))


def _lap(side: Side) -> float:
    """Nanoseconds per answer, over all questions once."""
    answer, questions = side.answer, side.questions
    began = time.perf_counter_ns()
    for question in questions:
        answer(question)
    return (time.perf_counter_ns() - began) / len(questions)
