"""What `make bench` counts: labelled lines, and questions in a day; and that it sees what is missed."""

from __future__ import annotations

import pytest

from bench.counts import count_everything, count_lines
from bench.shell import CORPUS, Score


def test_every_aim_of_what_is_counted_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CORPUS, raising=False)
    counts = count_everything()
    assert [one.what for one in counts if one.met is False] == []
    assert sum(one.met is True for one in counts) >= 9


@pytest.mark.parametrize(
    ("score", "missed"),
    [
        (Score(100, 100, ("rm -rf x",), ()), [0]),
        (Score(100, 100, (), ("rm -rf x",)), [1]),
        (Score(100, 94, (), ()), [2]),
        (Score(100, 95, (), ()), []),
    ],
)
def test_an_aim_that_is_missed_is_told(score: Score, missed: list[int]) -> None:
    assert [number for number, one in enumerate(count_lines(score)) if not one.met] == missed
