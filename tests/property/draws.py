"""Single draws that the random worlds are made from. The plainest outcome is what shrinking leads to."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

NOW = 1_800_000_000.0
DAY = 86_400.0

T = TypeVar("T")


def likely(rng: Random, chance: float) -> bool:
    """True so often. The plainest draw is False, so that shrinking switches things off."""
    return rng.random() > 1 - chance


def usually(rng: Random, usual: T, others: Sequence[T], chance: float = 0.85) -> T:
    return usual if rng.random() < chance else rng.choice(others)


def ago(rng: Random, *limits: float) -> float:
    """A moment before now: just now, or around one of the limits, the limit itself most of all."""
    limit = rng.choice((0.0, *limits))
    return NOW - max(0.0, limit + rng.choice((0.0, -0.5, 0.5, -60.0, 60.0)))


def some(rng: Random, *wanted: T) -> T | None:
    return rng.choice((None, *wanted))
