"""Lines of a terminal: foreign text made visible, wrapped so that it never leaves its column."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
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
    return (line for line, _ in wrap_marked(text, (), width, look))


def wrap_marked(text: str, parts: Iterable[str], width: int, look: Screen) -> Iterator[tuple[str, str]]:
    """The same lines, and beneath each a caret for every column of these parts; nothing if it has none."""
    tamed = foreign.tame(text)
    marked = find_places(tamed, map(foreign.tame, parts))
    at = 0
    for part in tamed.split("\n"):
        line, under, used = "", "", 0
        for place, character in enumerate(part, at):
            piece = spell_for_terminal(character, look.ascii)
            more = count_cells(piece)
            if used + more > width:
                cut = line.rfind(" ") + 1
                cut = cut if cut > width // 2 else len(line)
                columns = sum(map(count_cells, line[:cut]))
                yield line[:cut], under[:columns].rstrip()
                line, under = line[cut:], under[columns:]
                used -= columns
            line, used = line + piece, used + more
            under += ("^" if place in marked else " ") * more
        yield line, under.rstrip()
        at += len(part) + 1


def find_places(text: str, parts: Iterable[str]) -> set[int]:
    """Where these parts stand in the text: wherever they are words of their own, or else anywhere."""
    places: set[int] = set()
    for part in filter(None, parts):
        found = [one.span() for one in re.finditer(re.escape(part), text)]
        alone = [(start, end) for start, end in found if not _is_inside_word(text, start, end)]
        for start, end in alone or found:
            places.update(range(start, end))
    return places


def _is_inside_word(text: str, start: int, end: int) -> bool:
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return any(character.isalnum() or character == "_" for character in around)


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
