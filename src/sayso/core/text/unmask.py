"""The speaker's own words: a text without disguises, and with quotations and code blanked out.

Two questions are kept apart. May a text loosen? Only if it is `undisguised`: what matches is what a person
sees. May it tighten? Then every way to see it counts: `readings` takes disguises off, `fold` makes letters
plain, `mask` blanks what is quoted, and in doubt nothing is quoted. All take time in proportion to the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from sayso.core.text.look_alikes import APOSTROPHES, LOOK_ALIKES, UNDECOMPOSED
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import NO_SIGNS, SIGN_NAMES, STOP_SIGNS, YES_SIGNS

LONGEST = 4_000
"""A longer text never loosens: nobody types it to agree."""

BLANK = "\ufffd"
"""Stands for each masked character: neither a letter nor white space, so the words around it do not join."""


def undisguised(text: str) -> bool:
    """Whether a text is short, not indented as code, and without letters that hide or pass for others."""
    if len(text) > LONGEST or _INDENTED.match(text):
        return False
    if any(hidden(char) or _breaks_line_oddly(char) for char in set(text)):
        return False
    words = re.findall(r"\w+", text)
    return unicodedata.is_normalized("NFKC", text) and not any(_passes_for_ascii(word) for word in words)


def visible_readings(text: str) -> tuple[str, ...]:
    """What a person may see: the text in its plain form, what is hidden left out, and again as a gap."""
    shown = unicodedata.normalize(
        "NFKC", _normalizable(_ANSI.sub("", with_apostrophes_typed(text)))
    ).translate(APOSTROPHES)
    unseen = [ord(char) for char in set(shown) if hidden(char)]
    if not unseen:
        return (shown,)
    return shown.translate(dict.fromkeys(unseen, "")), shown.translate(dict.fromkeys(unseen, " "))


def with_apostrophes_typed(text: str) -> str:
    """The text with the accents that people type for an apostrophe replaced by one: "don`t" is "don't"."""
    return _TYPED_APOSTROPHE.sub(r"\1'", text)


def fold_text(text: str) -> str:
    """The text in lower case, accents and look-alike letters made plain, character for character."""
    return text.translate({ord(char): _plain_letter(char) for char in set(text)})


def mask(text: str) -> str:
    """The text with fenced code, block quotes, inline code and quotations blanked out, at the same length."""
    lines = text.splitlines(keepends=True)
    fenced = _find_fenced_lines(lines)
    return "".join(_blank(line) if fenced[at] else _mask_line(line) for at, line in enumerate(lines))


def mask_quotations(line: str) -> str:
    """One line with what is in quotation marks blanked out."""
    return QUOTATION.sub(lambda found: found[0] if _may_be_apostrophes(found) else _blank(found[0]), line)


def mask_fences(text: str) -> str:
    """The text with fenced code blanked out, at the same length."""
    lines = text.splitlines(keepends=True)
    fenced = _find_fenced_lines(lines)
    return "".join(_blank(line) if fenced[at] else line for at, line in enumerate(lines))


def clauses(own: str) -> Iterator[tuple[str, bool]]:
    """The clauses of folded own words, white space made even, each with whether a question mark ends it."""
    for start, end, asked in clause_spans(own):
        yield " ".join(own[start:end].split()), asked


def clause_spans(own: str) -> Iterator[tuple[int, int, bool]]:
    """Where each clause begins and ends, and whether a question mark ends it."""
    for found in _CLAUSE.finditer(_DASH.sub(lambda dash: f" {'—' * (len(dash[0]) - 2)} ", own)):
        if found["words"].strip():
            yield found.start("words"), found.end("words"), "?" in found["end"]


def strip_decoration(text: str) -> str:
    """The text without approving emoji, smileys and emphasis: "**yes** 👍" is "yes". Others stay."""
    return _EMPHASIS.sub("", _SMILEY.sub("", _APPROVING.sub("", text)))


def without_closing_emoji(text: str) -> str:
    """The text without approving emoji and smileys at its end."""
    return _CLOSING_EMOJI.sub("", text)


def with_signs_spelled(text: str) -> str:
    """The text with the signs for yes and no as words, if one says no: "1 ✅ 2 ❌" is "1 yes 2 no"."""
    return spell_signs(text) if _NO_SIGN.search(with_emoji(text)) else text


def spell_signs(text: str) -> str:
    """The text with the signs for yes and no as words of their own."""
    return _NO_SIGN.sub(" no, ", _YES_SIGN.sub(" yes, ", with_emoji(text)))


def with_emoji(text: str) -> str:
    """The text with the names of signs, as chats write them, replaced by the emoji."""
    return _SIGN_NAME.sub(lambda name: SIGN_NAMES[name[0].lower()], text)


def is_sign_of(meaning: str, text: str) -> bool:
    """Whether a text is nothing but signs that mean "yes", "no" or "stop", however often."""
    return _ONLY_SIGNS[meaning].fullmatch(with_emoji(text)) is not None


def has_sign_of(meaning: str, text: str) -> bool:
    """Whether a sign that means "yes", "no" or "stop" is anywhere in a text."""
    return _ANY_SIGN[meaning].search(with_emoji(text)) is not None


def opens_with_stop_sign(text: str) -> bool:
    """Whether a text begins with a sign that means stop."""
    return _OPENS_WITH_STOP.match(with_emoji(text)) is not None


def hidden(char: str) -> bool:
    """Whether a person does not see the character: controls, direction marks, fillers, marks on letters."""
    category = unicodedata.category(char)
    if category == "Cc":
        return not char.isspace()
    return category in {"Cf", "Cn", "Co", "Cs"} or _INVISIBLE.match(char) is not None


def _breaks_line_oddly(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Zl", "Zp"} and char not in "\t\n\r"


def _passes_for_ascii(word: str) -> bool:
    return not word.isascii() and word.translate(LOOK_ALIKES).isascii()


def _plain_letter(char: str) -> str:
    plain = char.translate(LOOK_ALIKES)
    if not plain.isascii():
        plain = unicodedata.normalize("NFKD", plain)[0].translate(LOOK_ALIKES).translate(UNDECOMPOSED)
    lower = plain.lower()
    return lower if len(lower) == 1 else char


def _normalizable(text: str) -> str:
    """The text without what makes normalising slow: long stacks of marks, and signs that become many."""
    if text.isascii():
        return text
    many = [ord(char) for char in set(text) if len(unicodedata.normalize("NFKC", char)) > 4]
    marks = "".join(sorted(char for char in set(text) if unicodedata.combining(char)))
    text = re.sub(f"([{marks}]{{8}})[{marks}]+", r"\1", text) if marks else text
    return text.translate(dict.fromkeys(many, BLANK))


def _find_fenced_lines(lines: list[str]) -> list[bool]:
    """Which lines belong to a fenced block. A fence that never closes fences nothing."""
    fenced = [False] * len(lines)
    opened, fence = 0, ""
    for at, line in enumerate(lines):
        found = _FENCE.match(line)
        if found is None:
            continue
        if not fence:
            opened, fence = at, found[1]
        elif found[1].startswith(fence) and not found[2].strip():
            fenced[opened : at + 1] = [True] * (at + 1 - opened)
            fence = ""
    return fenced


def _mask_line(line: str) -> str:
    return _blank(line) if _BLOCK_QUOTE.match(line) else mask_quotations(_mask_code(line))


def _mask_code(line: str) -> str:
    """The line with `code` blanked out: whatever two neighbouring runs of equally many backticks enclose."""
    pieces = re.split("(`+)", line)
    at = 1
    while at + 2 < len(pieces):
        if len(pieces[at]) == len(pieces[at + 2]):
            pieces[at : at + 3] = map(_blank, pieces[at : at + 3])
            at += 2
        at += 2
    return "".join(pieces)


def _may_be_apostrophes(quotation: re.Match[str]) -> bool:
    """Whether single quotes may be apostrophes after all, as in "'tis late, stop the users' jobs"."""
    inside = quotation["single"]
    return inside is not None and (inside.endswith("s") or re.search(r"[,.;:!?]\s", inside) is not None)


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", BLANK, text)


_SELECTORS = "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]*"
_GESTURE = f"{_SELECTORS}(?:\u200d?[\u2640\u2642]\ufe0f?)?"
_YES_SIGN = lazy_pattern(f"(?:[{YES_SIGNS}]{_GESTURE})+")
_NO_SIGN = lazy_pattern(f"(?:[{NO_SIGNS}]{_GESTURE})+")
_OPENS_WITH_STOP = lazy_pattern(rf"[\s*_]*[{STOP_SIGNS}]")
_SIGN_NAME = lazy_pattern("|".join(map(re.escape, SIGN_NAMES)), re.IGNORECASE | re.ASCII)
_SIGNS = {"yes": YES_SIGNS, "no": NO_SIGNS, "stop": STOP_SIGNS}
_ANY_SIGN = {meaning: lazy_pattern(f"[{signs}]") for meaning, signs in _SIGNS.items()}
_ONLY_SIGNS = {
    meaning: lazy_pattern(rf"\s*(?:[{signs}]{_GESTURE}[\s.!]*)+") for meaning, signs in _SIGNS.items()
}
_APPROVING = lazy_pattern(
    "(?:[\u2705\u2714\u2611\u2728\u2b50\u2764\u2665\u263a\u270c\U0001f31f\U0001f389\U0001f38a\U0001f3c1"
    "\U0001f44a\U0001f44c\U0001f44d\U0001f44f\U0001f499-\U0001f49c\U0001f4aa\U0001f4af\U0001f525\U0001f600"
    "\U0001f601\U0001f603\U0001f604\U0001f607\U0001f609-\U0001f60b\U0001f60d\U0001f60e\U0001f642\U0001f64b"
    "\U0001f64c\U0001f64f\U0001f680\U0001f7e2\U0001f197\U0001f917-\U0001f919\U0001f91d\U0001f929\U0001f970"
    f"\U0001f973\U0001f9e1\U0001faf6\U0001fae1]{_SELECTORS})+"
)
_SMILEY = lazy_pattern(r"(?<!\S)(?::-?\)+|;-?\)|:-?D|=\)|\^\^|<3|\\o/)(?!\S)")
_CLOSING_EMOJI = lazy_pattern(rf"(?:\s+(?:{_APPROVING.pattern}|{_SMILEY.pattern}))+\s*\Z")
_EMPHASIS = lazy_pattern(r"(?<![\w*_])[*_]{1,3}(?=\w)|(?<=[\w.!])[*_]{1,3}(?![\w*_])")
_ANSI = lazy_pattern(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_FENCE = lazy_pattern(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)", re.DOTALL)
_INDENTED = lazy_pattern(r"[\r\n]*(?: {4}|\t)")
_BLOCK_QUOTE = lazy_pattern(r"\s*>")
QUOTATION = lazy_pattern(
    r"""(?<![\w"])"(?=[^\s"])[^"\n]*(?<=\S)"(?!\w)
      | (?<![\w'])'(?=[^\s'])(?P<single>[^'\n]*(?<=\S))'(?!\w)
      | “[^“”\n]*” | «[^«»\n]*» | „[^„“\n]*“ """,
    re.VERBOSE,
)
_TYPED_APOSTROPHE = lazy_pattern(
    r"\b((?:do|does|did|wo|would|ca|could|should|must|is|are|was|were|has|have|need)n)[`\u00b4](?=t\b)",
    re.IGNORECASE,
)
_DASH = lazy_pattern(r"\s-+\s")
# A full stop or colon ends a clause only before white space: "next.config.js" is one word.
_CLAUSE = lazy_pattern(r"(?P<words>(?:[^.:,;!?()\n—–]|[.:](?!\s|$))+)(?P<end>[.:,;!?()\n—–]*)")
# Letters that are blank, marks that strike through or decorate other letters, and variation selectors.
_INVISIBLE = lazy_pattern(
    "[\u115f\u1160\u2800\u3164\uffa0"
    "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
    "\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
