"""Lines that are called low do no harm in a real shell, and say beforehand what they start."""

from __future__ import annotations

import os

import pytest

from tests.shell_judge.fence import KINDS
from tests.shell_judge.runs import judge_seeds

LINES, PARTS = (1_000_000, 100) if os.environ.get("SAYSO_ALL") else (20_000, 10)
EACH = LINES // PARTS
LEAST = 0.25
"""The share of lines that must be called low, for the judge to see much of the reading."""
MOST_HUNG = 0.002
"""The share of runs that may be ended because they go on and on, as on a machine that is busy."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_line_that_is_called_low_does_harm_in_a_real_shell(part: int) -> None:
    report = judge_seeds(part * EACH, EACH)
    assert not report.failures, f"{report}"
    assert report.low >= LEAST * EACH, f"{report}"
    assert all(report.ran[kind] for kind in KINDS), f"{report}"
    assert len(report.hung) <= MOST_HUNG * sum(report.ran.values()), f"{report}"
