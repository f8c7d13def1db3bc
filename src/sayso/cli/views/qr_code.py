"""A link as a QR code in the terminal, two rows of squares in each line of text."""

from __future__ import annotations

from sayso.core.extras import needs_extra

MARGIN = 4
"""Light squares around a code, as its standard (ISO/IEC 18004) asks for."""
BLACK_ON_WHITE, USUAL_COLOURS = "\x1b[30;47m", "\x1b[0m"
HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


def draw_qr_code(text: str, *, coloured: bool) -> list[str]:
    """Return the lines of the code. Without colours they are meant for light text on a dark ground."""
    dark = _add_margin(_encode(text))
    lines = [
        "".join(HALVES[pair if coloured else (not pair[0], not pair[1])] for pair in _in_pairs(dark, row))
        for row in range(0, len(dark), 2)
    ]
    return [f"{BLACK_ON_WHITE}{line}{USUAL_COLOURS}" for line in lines] if coloured else lines


def _encode(text: str) -> list[list[bool]]:
    with needs_extra("service", "a QR code"):
        import segno
    return [[bool(square) for square in row] for row in segno.make(text, error="l", micro=False).matrix]


def _add_margin(dark: list[list[bool]]) -> list[list[bool]]:
    width = len(dark[0]) + 2 * MARGIN
    above = [[False] * width for _ in range(MARGIN)]
    side = [False] * MARGIN
    return [*above, *([*side, *row, *side] for row in dark), *above]


def _in_pairs(dark: list[list[bool]], row: int) -> list[tuple[bool, bool]]:
    """Each square of this row with the one below; below the last there is none."""
    below = dark[row + 1] if row + 1 < len(dark) else [False] * len(dark[row])
    return list(zip(dark[row], below, strict=True))
