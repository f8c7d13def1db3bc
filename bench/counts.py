"""What is counted and not timed: how labelled command lines are read, and how many questions a day asks."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from bench.day.__main__ import PRESETS, a_workspace, play_day, read_script
from bench.shell import Score, ShellBench, load_lines

MOST_QUESTIONS = 9
LEAST_LOW = 0.95


class Count(msgspec.Struct, frozen=True):
    """One line of the table: what was counted, and whether the aim is met (None: no aim)."""

    what: str
    figure: str
    aim: str = ""
    met: bool | None = None


def count_everything() -> list[Count]:
    with tempfile.TemporaryDirectory() as folder:
        score = ShellBench(Path(folder)).score(load_lines())
    return [*count_lines(score), *count_questions()]


def count_lines(score: Score) -> list[Count]:
    """How the shell reading does on labelled lines."""
    low = f"{score.low} of {score.safe} ({score.share:.1%})"
    return [
        Count("lines that must not run unasked, called low", str(len(score.holes)), "0", not score.holes),
        Count("dangerous lines, not called high", str(len(score.weak)), "0", not score.weak),
        Count("safe lines, called low", low, f"≥ {LEAST_LOW:.0%}", score.share >= LEAST_LOW),
    ]


def count_questions() -> list[Count]:
    """How many questions each preset asks in a day of work; preset coding has an aim."""
    steps, counts = read_script(), []
    with a_workspace() as workspace:
        for preset in PRESETS:
            day = play_day(preset, steps, workspace)
            few = len(day.asked) <= MOST_QUESTIONS if preset == "coding" else None
            aim = f"≤ {MOST_QUESTIONS}" if preset == "coding" else ""
            asked = f"questions in a day of {day.calls} calls, preset {preset}"
            counts.append(Count(asked, str(len(day.asked)), aim, few))
            unasked = f"of these calls, high risk and unasked, preset {preset}"
            counts.append(Count(unasked, str(len(day.unasked)), "0", not day.unasked))
    return counts
