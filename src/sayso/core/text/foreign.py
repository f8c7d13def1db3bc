"""Foreign text as data: nothing of it acts, hides, or draws where other text is.

- Control, invisible and direction characters are spelled out.
- A letter carries two marks at most. Further ones, and marks without a letter, are spelled out: piled up they
  paint over the lines around them.
- Long gaps are shown by their length. What comes after 1,500 spaces or blank lines is out of sight.
- The page has a twin of this in `lib/visible.js`; a test compares the two.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from sayso.core.text.patterns import lazy_pattern

NUL = "\x00"
"""The one character that not every database can hold in a text."""
FOLD_AT = 2_000
MOST_MARKS = 2
MOST_SPACES = 8
MOST_INDENT = 40
MOST_LINE_ENDS = 4
LONGEST_GAP = 60
"""How long the spelling of a gap can be."""
TAB = 4
"""How many columns a tab counts."""
_GAP_OF_SPACES = " " * (MOST_SPACES + 1)


def visible(text: str, fold: int | None = FOLD_AT) -> str:
    """Foreign text on one line, as data; long text is folded. With `fold` None it is shown whole."""
    if (fold is None or len(text) <= fold) and _shows_itself(text):
        return text
    part = text if fold is None else text[: _end_of_part(text, fold)]
    spelled = {  # once for each character: a question may hold a million of them
        ord(c): _escape(c) for c in set(part) if not _plain(c)
    }
    shown = tame(part).translate(spelled)
    return shown if len(part) == len(text) else f"{shown}{full_length_note(text)}"


def _shows_itself(text: str) -> bool:
    """Fast check, for calls with many thousand names: True is certain; on False, look at every character."""
    return text.isascii() and text.isprintable() and _GAP_OF_SPACES not in text


def tame(text: str) -> str:
    """The text with piled-up marks spelled out and long gaps shown by their length; all else as it is."""
    return describe_gaps(_spell_piled_marks(text))


def describe_gaps(text: str) -> str:
    """The text with long gaps shown by their length: ⟨1,500 spaces⟩."""
    parts, at = [], 0
    for start, stop in _gaps(text):
        parts += [text[at:start], _describe_gap(text[start:stop])]
        at = stop
    return "".join([*parts, text[at:]])


def count_piled_marks(text: str) -> int:
    """How many marks are spelled out because they would pile up, or have no letter to stand on."""
    return sum(map(_is_mark, text)) - sum(map(_is_mark, tame(text)))


def spell_character(character: str) -> str:
    """One character, wherever it is: itself, or its spelling if it acts or does not show."""
    return character if _plain(character) else _escape(character)


def full_length_note(text: str) -> str:
    """What comes after the shown part of a folded text: its true length."""
    return f" … ({len(text)} characters in all)"


def cut_middle(text: str, start: int, end: int) -> str:
    """The first and last so many characters of a text, an ellipsis between.

    No letter loses its marks, and no gap shown by its length loses a digit of it.
    """
    begin = len(text) - end
    opened, closed = (
        text.rfind("⟨", max(0, start - LONGEST_GAP), start),
        text.find("⟩", begin, begin + LONGEST_GAP),
    )
    if opened >= 0 and "⟩" not in text[opened:start]:
        start = opened
    if closed >= 0 and "⟨" not in text[begin:closed]:
        begin = closed + 1
    while _is_mark(text[start : start + 1]):
        start -= 1
    while _is_mark(text[begin : begin + 1]):
        begin += 1
    return f"{text[:start]}…{text[begin:]}"


def _end_of_part(text: str, fold: int) -> int:
    """Where a text is cut: never within a gap, which counts as one character, as it takes no more room."""
    end = fold
    for start, stop in _gaps(text):
        if start >= end:
            break
        end += stop - start - 1
    return end


def _spell_piled_marks(text: str) -> str:
    marks = "".join(sorted(c for c in set(text) if _is_mark(c) and _plain(c)))
    if not marks:
        return text

    def spell(found: re.Match[str]) -> str:
        before = text[found.start() - 1] if found.start() else " "
        kept = MOST_MARKS if before != " " and _plain(before) else 0
        return found[0][:kept] + "".join(map(_escape, found[0][kept:]))

    return re.sub(f"[{marks}]+", spell, text)


def _gaps(text: str) -> Iterator[tuple[int, int]]:
    """Where white space would push what follows out of sight: from where to where, in order."""
    for run in _BLANKS.finditer(text):
        if run[0].count("\n") > MOST_LINE_ENDS:
            yield run.span()
            continue
        for gap in _GAP.finditer(run[0]):
            indents = run.start() == 0 or gap.start() > 0
            columns = len(gap[0]) + gap[0].count("\t") * (TAB - 1)
            if columns > (MOST_INDENT if indents else MOST_SPACES):
                yield run.start() + gap.start(), run.start() + gap.end()


def _describe_gap(run: str) -> str:
    counted = [(run.count(character), name) for character, name in _BLANK_NAMES]
    return f"⟨{', '.join(f'{count:,} {name}{_S[count == 1]}' for count, name in counted if count)}⟩"


def _is_mark(character: str) -> bool:
    """Whether it draws on the letter before it: marks, and the vowels and ends of Korean syllables."""
    if not character:
        return False
    return unicodedata.category(character)[0] == "M" or _JOINS_ON.fullmatch(character) is not None


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()


def _plain(character: str) -> bool:
    if character == " ":
        return True
    return unicodedata.category(character)[0] not in "CZ" and not _SHOWS_NOTHING.fullmatch(character)


# Letters, marks and signs by category, but nothing to see: fillers, selectors, the empty Braille cell.
_SHOWS_NOTHING = lazy_pattern(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)
_JOINS_ON = lazy_pattern("[\u1160-\u11ff\ud7b0-\ud7ff]")
_BLANKS = lazy_pattern(r"[ \t\n]{3,}")
_GAP = lazy_pattern(r"[ \t]+")
_BLANK_NAMES = (("\n", "line end"), (" ", "space"), ("\t", "tab"))
_S = ("s", "")
