"""Lines of lists at the width of the terminal."""

from __future__ import annotations

import pytest

from sayso.cli.views.wrapping import wrap_line


@pytest.mark.parametrize(
    "word", ["x" * 400, "x" * 74 + "s_64cdfaae3241e463536d37f9.q9", "  " + "x" * 65 + "_" * 300]
)
def test_no_long_word_of_an_agent_begins_a_line_of_the_list(word: str) -> None:
    first, *rest = wrap_line(f"      {word}", 80, foreign=True)
    assert len(first) <= 80
    assert rest
    assert all(len(piece) <= 80 and piece.startswith(" " * 12) for piece in rest)
    assert "".join((first, *rest)).replace(" ", "") == word.strip()
