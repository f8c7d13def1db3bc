"""Lines of patches: what reading them gives, names in them, what may be a header to some program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from sayso.core.text.patterns import lazy_pattern

BLANKS = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""The characters that Codex trims: those that Unicode calls white space."""
BREAKS = lazy_pattern("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Characters that end a line for some programs only."""
BEFORE = r'^(?:[^\w*+<@"\n-]*(?:- |X))*[^\w*+<@"\n-]*'
"""Anything that some program passes over before a header: blanks, marks of quoting and nesting."""
AGENT_HEADER = lazy_pattern(
    rf"{BEFORE}\*\*\*[^\w\n]*"
    r"(?:begin|end|add|update|delete|remove|rename|move|copy|create|environment|file)",
    re.MULTILINE | re.IGNORECASE,
)
DIFF_HEADER = lazy_pattern(
    rf"{BEFORE}(?:(?:---|\+\+\+|\*\*\*)(?=[^\S\n]|\")|Index:|Prereq:|(?:rename|copy)\s+(?:to|from)\s|diff\s+-|@@"
    r"|\d+(?:,[\d$]+)?[acdis](?:[\d/,]|\s*$))",
    re.MULTILINE | re.IGNORECASE,
)
_MOST_NAMES = 64
_LONGEST = 10_000
"""Names to take from lines, and the longest line to take them from. The guard's are found in all."""
_PREFIX = lazy_pattern(r"[abciow]/")
_QUOTED = lazy_pattern(r'"((?:\\.|[^"\\])*)"')
_ESCAPE = lazy_pattern(r"((?:\\[0-7]{1,3})+)|\\x([0-9a-fA-F]{2})|\\(.)")
_ATTRIBUTE = lazy_pattern(r"""(?:path|file|name)\s*=\s*["']?([^"'>\s]+)""", re.IGNORECASE)
_AROUND = "\"'`*#:,;<>()[]"

Change = Literal["write", "edit", "delete"]


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


def names_one_file(text: str) -> bool:
    """Return whether every program reads the same name here: nothing invisible, no blanks around, no home."""
    return text != "" and text.isprintable() and text == text.strip() and text[0] != "~"


def without_prefix(path: str) -> str:
    """Return a path without the side that a diff puts before it: `a/` or `b/`."""
    return path[2:] if _PREFIX.match(path) else path


def read_quoted(text: str) -> str | None:
    """Return the name that a text in quotes stands for; None if it is not one."""
    found = _QUOTED.fullmatch(text)
    return None if found is None else _unescape(found[1])


def names_in(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the first names that lines nobody can read may hold, each with and without a prefix."""
    found: dict[str, None] = {}
    for line in lines:
        if len(found) < _MOST_NAMES and len(line) < _LONGEST:
            names = (name for name in _names_in_line(line.strip(BLANKS)) if name)
            found |= dict.fromkeys(one for name in names for one in (name, without_prefix(name)))
    return tuple(found)[:_MOST_NAMES]


def _names_in_line(line: str) -> Iterator[str]:
    yield line.partition(":")[2].strip(BLANKS)
    yield from (_unescape(quoted) for quoted in _QUOTED.findall(line))
    yield from _ATTRIBUTE.findall(line)
    words = re.split(f"[{BLANKS}\ufeff]+", line)
    yield from (_unescape(word.strip(_AROUND)) for word in words)


def _unescape(quoted: str) -> str:
    """Return a name as git and patch read it between quotes."""
    return _ESCAPE.sub(_unescape_match, quoted)


def _unescape_match(found: re.Match[str]) -> str:
    if found[1]:
        codes = (int(code, 8) & 0xFF for code in found[1].split("\\") if code)
        return bytes(codes).decode(errors="replace")
    return chr(int(found[2], 16)) if found[2] else {"t": "\t", "n": "\n", "r": "\r"}.get(found[3], found[3])
