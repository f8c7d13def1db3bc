"""A domain at a review, in a few lines."""

from __future__ import annotations

import pytest

from sayso.cli.views.review import review_lines
from sayso.gate.upkeep.review import DomainDecay, DomainReview, PermissionUse
from tests.support.rows import each_row

HOUR = 1 / 24


def lines(days_left: float | None, *uses: PermissionUse, decayed: bool = False) -> list[str]:
    decay = DomainDecay(0.0, None, decayed)
    return review_lines(DomainReview("mail", decay, days_left, uses, "", signed=False, clock_trusted=True))


@each_row(
    ("left", "told"),
    [
        (30.0, "mail: decays in 30 days"),
        (29.9999, "mail: decays in 30 days"),
        (4.0, "mail: decays in 4 days"),
        (19 * HOUR, "mail: decays in 19 hours: keep it now, or it asks from then on"),
        (1.0, "mail: decays in 1 day: keep it now, or it asks from then on"),
        (None, "mail: does not decay"),
    ],
)
def test_how_long_it_holds_is_told_to_the_hour_once_that_matters(left: float | None, told: str) -> None:
    assert lines(left) == [told]


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ((0, 0, 0), "not used since the last review"),
        ((1, 0, 0), "used once"),
        ((41, 1, 2), "used 41 times, asked once, refused 2 times"),
        ((0, 0, 3), "refused 3 times"),
    ],
)
def test_how_often_it_was_used_is_told_without_noughts(use: tuple[int, int, int], told: str) -> None:
    assert lines(30.0, PermissionUse("mail.read", *use))[1:] == [f"  mail.read: {told}"]
