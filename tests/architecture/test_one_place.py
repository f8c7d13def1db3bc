"""Units of time and the ids of what a session makes are written down once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sayso

SOURCE = Path(sayso.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
ID = re.compile(r'f"\{[\w.]+\}\.[gqtp]\{')
UNIT = re.compile(r"\b(?:3_?600|7_?200|86_?400)(?:\.0)?\b|24 \* 60|^(?:MINUTE|HOUR|DAY) =", re.MULTILINE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nobody_writes_an_id_or_a_unit_of_time_down_again(path: Path) -> None:
    text = path.read_text("utf-8")
    assert path.name == "numbering.py" or not ID.findall(text)
    assert path.name == "durations.py" or not UNIT.findall(text)


def test_what_is_written_down_twice_would_be_noticed() -> None:
    assert ID.findall('id=f"{session.id}.g{session.granted + 1}"')
    assert all(map(UNIT.findall, ("HOUR = 60", "x = 86_400.0", "y = 3600", "at + 7_200.0", "24 * 60")))
