"""How much time is left, in words that people read at a glance."""

from __future__ import annotations

import time

import pytest

from sayso.core.durations import describe_left
from sayso.surfaces.facts import format_deadline


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-3, "0 seconds"),
        (1, "1 second"),
        (2.5, "2 seconds"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (7_109, "1 hour 58 minutes"),
        (7_110, "1 hour 59 minutes"),
        (7_180, "2 hours"),
        (86_370, "1 day"),
        (86_369, "23 hours 59 minutes"),
        (3 * 86_400, "3 days"),
        (3 * 86_400 - 90, "2 days 23 hours"),
    ],
)
def test_the_time_left_is_told_in_its_two_largest_units(seconds: float, said: str) -> None:
    assert describe_left(seconds) == said


def test_a_deadline_on_another_day_has_its_date() -> None:
    noon = time.mktime((2026, 11, 17, 12, 0, 0, 0, 0, -1))
    assert format_deadline(noon + 7_200, noon) == "until 14:00 (2 hours)"
    assert format_deadline(noon + 3 * 86_400, noon) == "until 2026-11-20 12:00 (3 days)"
    assert format_deadline(noon + 13 * 3_600, noon) == "until 2026-11-18 01:00 (13 hours)"


def test_a_time_that_no_calendar_knows_is_no_deadline() -> None:
    assert format_deadline(1e300, 0.0) == "without a deadline"
