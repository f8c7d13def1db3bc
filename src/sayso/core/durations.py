"""Lengths of time: the units, and a time as the policy file writes it (2h) or as people read it (2 hours)."""

from __future__ import annotations

import re

from sayso.core.text.counts import count_of

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR

QUESTION_LASTS = 2 * HOUR
"""How long a question can be answered, unless the policy says otherwise."""
APPROVAL_LASTS = 15 * MINUTE
"""How long an approval of one call can be used, unless the policy says otherwise."""
ACCESS_OFFER_LASTS = 10 * MINUTE
"""How long access can be requested after a denial over AuthZEN."""
USUAL_WAIT = 90.0
"""How long a caller waits for an answer, unless it says otherwise."""
LONGEST_WAIT = 10 * MINUTE
"""How long a caller can wait at a time."""
RUN_SILENCE = MINUTE
"""How long somebody who watches a run waits for the next change, unless they say otherwise."""
ALL_TIME = 3_660 * DAY
"""What "all" means where a length of time is asked for: longer than any trail."""
GRANT_MINUTES = 15.0
"""How long an operator's own grant lasts, unless they say otherwise."""
COME_BACK_AFTER = 60
"""When a caller that was refused for its number of questions or calls should try again, in seconds."""

_UNITS = (("d", DAY, "day"), ("h", HOUR, "hour"), ("m", MINUTE, "minute"), ("s", 1.0, "second"))
PATTERN = r"^[1-9][0-9]{0,6}[smhd]$"


def parse_duration(text: str) -> float:
    """Return the seconds of a time such as 90s, 15m, 2h or 7d."""
    if not re.fullmatch(PATTERN, text):
        raise ValueError(f"{text!r} is not a time")
    return float(int(text[:-1]) * next(seconds for unit, seconds, _ in _UNITS if unit == text[-1]))


def format_duration(seconds: float) -> str:
    """Write the time as the policy file does, in the largest unit that holds it exactly."""
    count, unit, _ = _largest_unit(seconds)
    return f"{count}{unit}"


def describe_duration(seconds: float) -> str:
    """Write the time for people: 2 hours, 90 minutes, 1 day."""
    count, _, word = _largest_unit(seconds)
    return count_of(count, word)


def describe_left(seconds: float) -> str:
    """Write for people how much time is left: below two minutes in seconds, else to the nearest minute.

    From a day on in days and hours: 90 seconds, 1 hour 59 minutes, 2 days 23 hours.
    """
    if seconds < 2 * MINUTE:
        return count_of(int(max(seconds, 0.0)), "second")
    near = seconds + MINUTE / 2
    size = HOUR if near >= DAY else MINUTE
    whole = near // size * size
    parts = []
    for _, unit, word in _UNITS:
        if whole >= unit:
            parts.append(count_of(int(whole // unit), word))
            whole %= unit
    return " ".join(parts)


def _largest_unit(seconds: float) -> tuple[int, str, str]:
    whole = round(seconds)
    size, unit, word = next((size, unit, word) for unit, size, word in _UNITS if whole % size == 0)
    return int(whole // size), unit, word
