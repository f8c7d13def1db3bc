"""Reading a patch by the grammar that its lines speak; a text that speaks two is read by both.

Whatever any program that takes patches would change is among the files, or a line is unread.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.patches.blocks import read_blocks
from sayso.reading.patches.diffs import Strip, read_diff
from sayso.reading.patches.envelopes import read_envelope
from sayso.reading.patches.lines import AGENT_HEADER, BEFORE, BLANKS, BREAKS, DIFF_HEADER, PatchReading

_DIFF = lazy_pattern(
    rf"{BEFORE}(?:diff\s+-|Index: |Prereq: |@@ -\d|(?:---|\*\*\*)[^\S\n]*[^\s*-][^\n]*\n"
    rf"{BEFORE}(?:\+\+\+|---)(?:[^\S\n]|\"))",
    re.MULTILINE | re.IGNORECASE,
)
_BLOCK = lazy_pattern(
    r"^[^\w<\n-]*(?:<{3,12} ?(?:SEARCH|ORIGINAL|BEFORE|OLD|FIND)\b|-{3,12} ?SEARCH\b)",
    re.MULTILINE | re.IGNORECASE,
)
_GRAMMARS: tuple[tuple[re.Pattern[str], Callable[[str], PatchReading]], ...] = (
    (AGENT_HEADER, read_envelope),
    (_BLOCK, read_blocks),
)
_FENCE = lazy_pattern(r"```\w*\s+")
_FRAGMENT = lazy_pattern(r"@@.*|[+\- ].*|\\ .*|\*\*\* End of File|")
"""A line of a hunk."""


def is_patch(text: str) -> bool:
    """Return whether a text is a patch from its first line on, or has edit blocks in it."""
    whole = _with_line_ends(text)
    start = whole.lstrip(f"{BLANKS}\ufeff")
    start = start[found.end() :] if (found := _FENCE.match(start)) else start
    begins = start[:1] and (AGENT_HEADER.match(start) or (start[:1] in "dDiIpP-*" and _DIFF.match(start)))
    return bool(begins) or _BLOCK.search(whole) is not None


def speaks_patch(text: str) -> bool:
    """Return whether a line of this text is of a patch, wherever it stands."""
    whole = _with_line_ends(text)
    return any(one.search(whole) for one in (AGENT_HEADER, _DIFF, _BLOCK))


def read_patch(text: str, strip: Strip = None) -> PatchReading:
    """Read a patch, of which a program leaves out so many folders of each name."""
    plain, whole = text.replace("\r\n", "\n"), _with_line_ends(text)
    lines = plain.split("\n")
    found = [read(plain) for speaks, read in _GRAMMARS if speaks.search(whole)]
    if _DIFF.search(whole):
        found.append(read_diff(plain, strip))
    if not found and not all(map(_is_of_hunk, lines)):
        found.append(PatchReading(unread=("",)))
    unread = [line for line in lines if BREAKS.search(line) and _hides_header(line)]
    unread += (line for one in found for line in one.unread)
    files = dict.fromkeys(file for one in found for file in one.files)
    return PatchReading(tuple(files), (*unread, *lines) if unread else ())


def _with_line_ends(text: str) -> str:
    """Return a text with each line ended as any program ends it."""
    return BREAKS.sub("\n", text.replace("\r\n", "\n"))


def _is_of_hunk(line: str) -> bool:
    named = line[:1] in "+-*" and DIFF_HEADER.match(line) is not None
    return _FRAGMENT.fullmatch(line) is not None and not named


def _hides_header(line: str) -> bool:
    """Return whether a header stands after what ends a line for some programs only."""
    return any(AGENT_HEADER.match(part) or DIFF_HEADER.match(part) for part in BREAKS.split(line)[1:])
