"""Timing two things against each other in one run, so that a busy machine weighs on both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

SLICES = 10
"""The sides take turns this often within a round: whatever disturbs the machine disturbs both."""

Watch = Callable[[str, int, int], object]
"""Told after every round: what is being measured, the rounds done, and of how many."""


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
    _round(left, right)
    lefts, rights = [], []
    for done in range(1, rounds + 1):
        # Who goes first changes, because the second may find the caches cold or warm from the first.
        if done % 2:
            one, other = _round(left, right)
        else:
            other, one = _round(right, left)
        lefts.append(one)
        rights.append(other)
        watch(what, done, rounds)
    return Race(Timing(tuple(lefts)), Timing(tuple(rights)))


def _round(first: Side, second: Side) -> tuple[float, float]:
    """Nanoseconds per answer of both sides."""
    spent = [0, 0]
    for one, other in zip(_slices(first), _slices(second), strict=True):
        spent[0] += _lap(first.answer, one)
        spent[1] += _lap(second.answer, other)
    return spent[0] / len(first.questions), spent[1] / len(second.questions)


def _slices(side: Side) -> Iterator[Sequence[Any]]:
    size = -(-len(side.questions) // SLICES)
    return (side.questions[start : start + size] for start in range(0, len(side.questions), size))


def _lap(answer: Callable[[Any], object], questions: Sequence[Any]) -> int:
    began = time.perf_counter_ns()
    for question in questions:
        answer(question)
    return time.perf_counter_ns() - began
