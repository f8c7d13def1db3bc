"""Lines of a terminal: foreign text made visible, wrapped so that it never leaves its column."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec

from sayso.core.text import foreign

WIDEST = 80
NARROWEST = 30


class Screen(msgspec.Struct, frozen=True):
    """What the terminal can show: so many columns, and more than ASCII or not."""

    width: int
    ascii: bool

    @property
    def frame(self) -> str:
        """Corner, bar, tee, corner and rule."""
        return "+|++-" if self.ascii else "╭│├╰─"

    @property
    def ellipsis(self) -> str:
        return "..." if self.ascii else "…"


def detect_screen(columns: int, environ: Mapping[str, str]) -> Screen:
    """At most 80 columns, the last one left free: a terminal that measures a letter wider still has room."""
    named = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "")
    utf_8 = "utf8" in named.lower().replace("-", "")
    return Screen(max(min(columns or WIDEST, WIDEST) - 1, NARROWEST), not utf_8)


def wrap_text(text: str, width: int, look: Screen) -> Iterator[str]:
    """The text in lines of this width, nothing left out; only our own line breaks break it elsewhere.

    It breaks after a space if there is one in the second half of the line, and never inside a character
    that is spelled out.
    """
    for part in foreign.tame(text).split("\n"):
        line, used = "", 0
        for character in part:
            piece = spell_for_terminal(character, look.ascii)
            more = count_cells(piece)
            if used + more > width:
                cut = line.rfind(" ") + 1
                cut = cut if cut > width // 2 else len(line)
                yield line[:cut]
                line = line[cut:]
                used = sum(map(count_cells, line))
            line, used = line + piece, used + more
        yield line


@lru_cache(maxsize=4096)
def spell_for_terminal(character: str, ascii_only: bool) -> str:
    """A character as it may stand in the card: nothing that acts, hides, or is what the frame is made of."""
    shown = foreign.spell_character(character)
    if "\u2500" <= character <= "\u259f" or (ascii_only and not shown.isascii()):
        return character.encode("ascii", "backslashreplace").decode()
    return shown


def odd_characters(text: str, look: Screen) -> int:
    """Return how many characters are spelled out because they would not show, or would mislead."""
    odd = (spell_for_terminal(character, look.ascii) != character for character in text if character != "\n")
    return sum(odd) + foreign.count_piled_marks(text)


@lru_cache(maxsize=4096)
def count_cells(piece: str) -> int:
    """Return how many columns it takes, measured rather too wide than too narrow."""
    if piece.isascii():
        return len(piece)
    return sum(2 if _wide(character) else 1 for character in piece)


def _wide(character: str) -> bool:
    """Ambiguous letters (Greek, Cyrillic) are narrow almost everywhere; ambiguous signs are often wide."""
    width = unicodedata.east_asian_width(character)
    if width == "A":
        return not unicodedata.category(character).startswith(("L", "M"))
    return width in "WF" or character >= "\U0001f000"
