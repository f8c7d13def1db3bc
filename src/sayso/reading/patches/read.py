"""Reading a patch by the grammar that its lines speak; a text that speaks two is read by both.

Whatever any program that takes patches would change is among the files, or a line is unread.

- Patches of coding agents are `*** Begin Patch`, a header for each file, `*** End Patch`. Codex's own parser
  decides; opencode, Copilot and OpenAI's tools differ from it in what they put up with. A line that not all
  of them read alike is not consumed. None of them skips a line that is.
- Edit blocks are a name, perhaps a fence, what is searched for, and what replaces it (Cline, Roo, Aider). One
  without a name is about the file that another argument names.
"""

from __future__ import annotations

import posixpath
import re

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.patches.diffs import Strip, read_diff
from sayso.reading.patches.lines import (
    AGENT_HEADER,
    AGENT_LINE,
    BEFORE,
    BLANKS,
    BREAKS,
    DIFF_HEADER,
    DIFF_LINE,
    INDENT,
    PatchedFile,
    PatchReader,
    PatchReading,
    Rule,
    take_named,
)

_DIFF = lazy_pattern(
    rf"{BEFORE}(?:diff\s+-|Index: |Prereq: |@@ -\d|(?:---|\*\*\*)[^\S\n]*[^\s*-][^\n]*\n"
    rf"{BEFORE}(?:\+\+\+|---)(?:[^\S\n]|\"))",
    re.MULTILINE | re.IGNORECASE,
)
_BLOCK = lazy_pattern(
    r"^[^\w<\n-]*(?:<{3,12} ?(?:SEARCH|ORIGINAL|BEFORE|OLD|FIND)\b|-{3,12} ?SEARCH\b)",
    re.MULTILINE | re.IGNORECASE,
)
_LOST: Rule = (lazy_pattern(r"(?P<lost>.*)"), take_named)

_HERE = lazy_pattern(r"""\A<<(['"]?)EOF\1\n(.*\n.*)\nEOF\Z""", re.DOTALL)
_FIRST, _LAST = rf"{INDENT}\*\*\* Begin Patch{INDENT}", rf"{INDENT}\*\*\* End Patch{INDENT}"
_WHOLE = lazy_pattern(rf"{_FIRST}\n(?:.*\n)?{_LAST}", re.DOTALL)
_NAME_ENDS = rf".*[^{BLANKS}]){INDENT}$"
_CONTENT = (
    rf"(?:\n(?:(?!(?i:{AGENT_LINE})) .*|[+-].*|@@(?: .*)?|\*\*\* End of File|)$)*"
    rf"(?:\n(?P<lost>(?!\*){INDENT}\*\*\* (?:Add|Update|Delete) File: .+))?"
)
"""Lines below the header of a file that is changed. Another header is content to some programs."""
_ENVELOPE: tuple[Rule, ...] = (
    *(
        (lazy_pattern(rf"{INDENT}\*\*\* {section}", re.MULTILINE), take_named)
        for section in (
            rf"Add File: (?P<written>{_NAME_ENDS}(?:\n\+.*)*",
            rf"Delete File: (?P<deleted>{_NAME_ENDS}",
            rf"Update File: (?P<moved>{_NAME_ENDS}\n\*\*\* Move to: (?P<target>.+){_CONTENT}",
            rf"Update File: (?P<edited>{_NAME_ENDS}{_CONTENT}",
        )
    ),
    (lazy_pattern(rf"\A{_FIRST}$|{_LAST}\Z", re.MULTILINE), take_named),
    _LOST,
)

_AROUND = rf"{INDENT[:-2]}#*`:]*"
_OUTER = rf"[^ <>\"'|{BLANKS}#*`:]"
_FENCES = r"[ \t]*(?:```[\w.+-]*)?[ \t]*$"
_OPENS = r"(?:<{3,12} ?(?:SEARCH|ORIGINAL|BEFORE|OLD|FIND)>?|-{3,12} ?SEARCH>?)[ \t]*$"
_TURNS = r"={3,12}[ \t]*$"
_CLOSES = r"(?:>{3,12}|\+{3,12}) ?(?:REPLACE|UPDATED|AFTER|NEW)>?[ \t]*$"
_BODY = (
    rf"{_OPENS}(?:\n(?!{_TURNS}|{_OPENS}).*)*(?:\n{_TURNS}|\n(?P<lost>{_OPENS})|(?P<unturned>\Z))"
    rf"(?:\n(?!{_CLOSES}|{_OPENS}).*)*(?:\n{_CLOSES}|\n(?P<again>{_OPENS})|(?P<unclosed>\Z))"
)
_BLOCKS: tuple[Rule, ...] = (
    (lazy_pattern(_FENCES, re.MULTILINE), take_named),
    (lazy_pattern(_BODY, re.MULTILINE), take_named),
    (
        lazy_pattern(
            rf"{_AROUND}(?P<edited>{_OUTER}(?:[^ <>\"'|\n]*{_OUTER})?){_AROUND}(?:\n{_FENCES})*\n{_BODY}",
            re.MULTILINE,
        ),
        take_named,
    ),
    _LOST,
)

_FENCE = lazy_pattern(r"```\w*\s+")
_HUNK = lazy_pattern(
    rf"(?:(?!(?=[+*-])(?i:{DIFF_LINE}))(?:@@.*|[+\- ].*|\\ .*|\*\*\* End of File|)(?:\n|\Z))*", re.MULTILINE
)
"""The lines of a hunk, none of them a header to any program."""


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
    return any(one.search(whole) for one, _ in _FORMATS)


def read_patch(text: str, strip: Strip = None) -> PatchReading:
    """Read a patch, of which a program leaves out so many folders of each name."""
    plain, whole = text.replace("\r\n", "\n"), _with_line_ends(text)
    lines = plain.split("\n")
    found = [read(plain, strip) for speaks, read in _FORMATS if speaks.search(whole)]
    # A header may stand after what ends a line for some programs only.
    unread = [
        line
        for line in lines
        if any(AGENT_HEADER.match(part) or DIFF_HEADER.match(part) for part in BREAKS.split(line)[1:])
    ]
    unread += (line for one in found for line in one.unread)
    if not found and _HUNK.fullmatch(plain) is None:
        unread.append("")
    files = dict.fromkeys(file for one in found for file in one.files)
    return PatchReading(tuple(files), (*unread, *lines) if unread else ())


def _read_blocks(text: str, strip: Strip) -> PatchReader:
    return PatchReader({"": _BLOCKS}).read(text)


def _read_envelope(text: str, strip: Strip) -> PatchReader:
    """Read a patch of a coding agent, with a file also as hosts find it that shorten `link/..` as text."""
    whole = _HERE.sub(r"\2", text.strip(BLANKS))
    reader = PatchReader({"": _ENVELOPE}).read(whole)
    if _WHOLE.fullmatch(whole) is None:
        reader.unread.append(whole.partition("\n")[0].strip(BLANKS))
    spelled = (
        (file, PatchedFile(posixpath.normpath(file.path), file.change)) if "/.." in file.path else (file,)
        for file in reader.files
    )
    reader.files = dict.fromkeys(one for each in spelled for one in each)
    return reader


_FORMATS = ((AGENT_HEADER, _read_envelope), (_BLOCK, _read_blocks), (_DIFF, read_diff))


def _with_line_ends(text: str) -> str:
    """Return a text with each line ended as any program ends it."""
    return BREAKS.sub("\n", text.replace("\r\n", "\n"))
