"""The QR code of a link: what is drawn is the code, whole, with its margin, dark on light."""

from __future__ import annotations

import pytest
import segno

from sayso.cli.views.qr_code import BLACK_ON_WHITE, MARGIN, USUAL_COLOURS, draw_qr_code

LINK = "https://sayso.example.org/sign-in#" + "k" * 43
UPPER, LOWER = {"▀", "█"}, {"▄", "█"}


def read_squares(lines: list[str], *, dark_is_drawn: bool) -> list[list[bool]]:
    """The squares as a camera sees them: True where it is dark."""
    halves = [[[one in half for one in line] for half in (UPPER, LOWER)] for line in lines]
    return [[square is dark_is_drawn for square in row] for pair in halves for row in pair]


@pytest.mark.parametrize("coloured", [True, False])
def test_the_drawing_is_the_code_of_the_link_with_a_light_margin(coloured: bool) -> None:
    lines = draw_qr_code(LINK, coloured=coloured)
    if coloured:
        assert all(line.startswith(BLACK_ON_WHITE) and line.endswith(USUAL_COLOURS) for line in lines)
        lines = [line.removeprefix(BLACK_ON_WHITE).removesuffix(USUAL_COLOURS) for line in lines]
    squares = read_squares(lines, dark_is_drawn=coloured)
    code = [[bool(one) for one in row] for row in segno.make(LINK, error="l", micro=False).matrix]
    size = len(code)
    inner = [row[MARGIN : MARGIN + size] for row in squares[MARGIN : MARGIN + size]]
    assert inner == code
    dark = sum(map(sum, squares))
    assert dark == sum(map(sum, code))  # so nothing around it is dark


LONG_NAMES = "https://anas-work-laptop.tail1a2b3c.ts.net/sign-in#" + "k" * 43


@pytest.mark.parametrize("link", [LINK, LONG_NAMES])
def test_a_code_fits_into_a_terminal_of_80_by_24_above_the_prompt(link: str) -> None:
    lines = draw_qr_code(link, coloured=False)
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
