"""Lines of patches: what reads them, names in them, what may be a header to some program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import msgspec

from sayso.core.text.patterns import lazy_pattern

BLANKS = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""The characters that Codex trims: those that Unicode calls white space."""
INDENT = f"[{BLANKS.replace(chr(10), '')}]*"
BREAKS = lazy_pattern("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Characters that end a line for some programs only."""
BEFORE = r'^(?:[^\w*+<@"\n-]*(?:- |X))*[^\w*+<@"\n-]*'
"""Anything that some program passes over before a header: blanks, marks of quoting and nesting."""
AGENT_LINE = (
    rf"{BEFORE}\*\*\*[^\w\n]*(?:begin|end|add|update|delete|remove|rename|move|copy|create|environment|file)"
)
DIFF_LINE = (
    rf"{BEFORE}(?:(?:---|\+\+\+|\*\*\*)(?=[^\S\n]|\")|Index:|Prereq:|(?:rename|copy)[^\S\n]+(?:to|from)[^\S\n]"
    r"|diff[^\S\n]+-|@@|\d+(?:,[\d$]+)?[acdis](?:[\d/,]|[^\S\n]*$))"
)
AGENT_HEADER = lazy_pattern(AGENT_LINE, re.MULTILINE | re.IGNORECASE)
DIFF_HEADER = lazy_pattern(DIFF_LINE, re.MULTILINE | re.IGNORECASE)
_MOST_NAMES = 64
_LONGEST = 10_000
"""Names to take from lines, and the longest line to take them from. The guard's are found in all."""
PREFIX = lazy_pattern(r"^[abciow]/")
"""The side that a diff puts before a path: `a/` or `b/`."""
_QUOTED = lazy_pattern(r'"((?:\\.|[^"\\])*)"')
_ESCAPE = lazy_pattern(r"((?:\\[0-7]{1,3})+)|\\x([0-9a-fA-F]{2})|\\(.)")
_ATTRIBUTE = lazy_pattern(r"""(?:path|file|name)\s*=\s*["']?([^"'>\s]+)""", re.IGNORECASE)
_AROUND = "\"'`*#:,;<>()[]"

Change = Literal["write", "edit", "delete"]
_CHANGES: dict[str, Change] = {
    "written": "write", "edited": "edit", "deleted": "delete", "moved": "delete", "target": "write",
}  # fmt: skip
"""Groups of patterns that are names of files, each with what becomes of the file."""


class PatchedFile(msgspec.Struct, frozen=True):
    """A file as the patch names it. A file that is moved is deleted, and written elsewhere."""

    path: str
    change: Change


class PatchReading(msgspec.Struct, frozen=True):
    """The files that a patch changes, and the lines that no rule of its grammar consumes.

    After these come all lines, if there are any: a patch that is not understood may change what it mentions.
    """

    files: tuple[PatchedFile, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Return whether these are all files that any program would change by it, one at least."""
        return bool(self.files) and not self.unread


Rule = tuple[re.Pattern[str], Callable[[Any, re.Match[str]], int | None]]
"""Lines of a patch from the start of one on, and what takes them: it tells where they end, or nothing."""


class PatchReader(msgspec.Struct):
    """One pass over a patch by a grammar: for each part of a patch, the rules of which one is to fit."""

    grammar: Mapping[str, Sequence[Rule]]
    part: str = ""
    files: dict[PatchedFile, None] = msgspec.field(default_factory=dict)
    unread: list[str] = msgspec.field(default_factory=list)

    def read(self, text: str) -> Self:
        """Read a text from its first line to its last."""
        at = 0
        while at <= len(text):
            taken = (
                take(self, found)
                for lines, take in self.grammar[self.part]
                if (found := lines.match(text, at))
            )
            at = next(end for end in taken if end is not None) + 1
        return self


def take_named(reader: PatchReader, found: re.Match[str]) -> int | None:
    """Take lines by the names of their groups: files by what becomes of them, or lines that are not read."""
    given = {group: text for group, text in found.groupdict().items() if text is not None}
    files = {PatchedFile(given[group], _CHANGES[group]): None for group in given if group in _CHANGES}
    if not all(names_one_file(file.path) for file in files):
        return None
    reader.files |= files
    reader.unread += (text for group, text in given.items() if group not in _CHANGES)
    return found.end()


def names_one_file(text: str) -> bool:
    """Return whether every program reads the same name here: nothing invisible, no blanks around, no home."""
    return text != "" and text.isprintable() and text == text.strip() and text[0] != "~"


def names_in(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the first names that lines nobody can read may hold, each with and without a prefix."""
    found: dict[str, None] = {}
    for line in lines:
        if len(found) < _MOST_NAMES and len(line) < _LONGEST:
            names = (name for name in _names_in_line(line.strip(BLANKS)) if name)
            found |= dict.fromkeys(one for name in names for one in (name, PREFIX.sub("", name)))
    return tuple(found)[:_MOST_NAMES]


def _names_in_line(line: str) -> Iterator[str]:
    yield line.partition(":")[2].strip(BLANKS)
    yield from (unquote_name(quoted) for quoted in _QUOTED.findall(line))
    yield from _ATTRIBUTE.findall(line)
    words = re.split(f"[{BLANKS}\ufeff]+", line)
    yield from (unquote_name(word.strip(_AROUND)) for word in words)


def unquote_name(quoted: str) -> str:
    """Return a name as git and patch read it between quotes."""
    return _ESCAPE.sub(_unescape_match, quoted)


def _unescape_match(found: re.Match[str]) -> str:
    if found[1]:
        codes = (int(code, 8) & 0xFF for code in found[1].split("\\") if code)
        return bytes(codes).decode(errors="replace")
    return chr(int(found[2], 16)) if found[2] else {"t": "\t", "n": "\n", "r": "\r"}.get(found[3], found[3])
