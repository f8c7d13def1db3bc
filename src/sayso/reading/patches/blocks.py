"""Edit blocks: a name, perhaps a fence, what is searched for, and what replaces it. Cline, Roo, Aider."""

from __future__ import annotations

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.patches.lines import BLANKS, PatchedFile, PatchReading, names_one_file

_OPENS = lazy_pattern(r"(?:<{3,12} ?(?:SEARCH|ORIGINAL|BEFORE|OLD|FIND)>?|-{3,12} ?SEARCH>?)[ \t]*")
_TURNS = lazy_pattern(r"={3,12}[ \t]*")
_CLOSES = lazy_pattern(r"(?:>{3,12}|\+{3,12}) ?(?:REPLACE|UPDATED|AFTER|NEW)>?[ \t]*")
_FENCE = lazy_pattern(r"[ \t]*(?:```[\w.+-]*)?[ \t]*")


def read_blocks(text: str) -> PatchReading:
    """Read these edit blocks. One without a name is about the file that another argument names."""
    files: dict[PatchedFile, None] = {}
    unread: list[str] = []
    waiting: list[str] = []
    part = None
    """The pattern that ends the part of a block that a line is in."""
    for line in text.split("\n"):
        if part is None and _OPENS.fullmatch(line):
            unread += waiting[:-1]
            name = waiting[-1].strip(f"{BLANKS}#*`:") if waiting else ""
            if names_one_file(name) and not set(name) & set(" <>\"'|"):
                files[PatchedFile(name, "edit")] = None
            else:
                unread += waiting[-1:]
            part, waiting = _TURNS, []
        elif part is not None and (part.fullmatch(line) or _OPENS.fullmatch(line)):
            unread += [line] if _OPENS.fullmatch(line) else []
            part = _CLOSES if part is _TURNS else None
        elif part is None and not _FENCE.fullmatch(line):
            waiting.append(line)
    return PatchReading(tuple(files), (*unread, *waiting, *(["no end"] if part else [])))
