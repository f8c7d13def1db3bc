"""Unified, context and git diffs, as `git apply` and `patch` take them.

- The lines of a hunk are counted, as these programs do. Text between patches is passed over.
- What may be a header to one of them, and is not one to all, is not consumed; nor are ed scripts, normal and
  binary diffs, links and modules.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.patches.lines import (
    DIFF_HEADER,
    Change,
    PatchedFile,
    PatchReading,
    names_one_file,
    read_quoted,
    without_prefix,
)

Strip = int | None
"""How many folders of each name are left out; -1 all of them, unless named; None if nobody knows."""

_GIT = lazy_pattern(r'diff --git (?:("(?:\\.|[^"\\])*"|[^\s"]+) ("(?:\\.|[^"\\])*"|[^\s"]+)|(a/(.+)) (b/\4))')
_MODE = lazy_pattern(
    r"(?:old|new) mode 100(?:644|755)|(?P<kind>new|deleted) file mode 100(?:644|755)"
    r"|(?:dis)?similarity index \d+%|index [0-9a-f]+\.\.[0-9a-f]+(?: 100(?:644|755))?"
)
_RENAME = lazy_pattern(r"(rename|copy) (from|to) (.+)")
_HUNK = lazy_pattern(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@.*")
_STARS = "***************"
_CONTEXT = lazy_pattern(r"[ !+-](?: .*)?||\*{15}.*|\*\*\* \d+(?:,\d+)? \*{4}.*|--- \d+(?:,\d+)? -{4}.*|\\ .*")
_RULE = lazy_pattern(r"=+|\\ .*")
_ODD = lazy_pattern(r"(?:old|new|deleted)(?: file)? mode |index [0-9a-f]+\.\.|GIT binary patch")
"""A line of git's own about a link, a module or bytes, where it is no other."""
_COMMAND = lazy_pattern(r"diff -(?!-git)")
"""The command that made a patch: all programs pass over it."""
_NOWHERE = "/dev/null"
_FAR = 1_000_000
"""More lines than a hunk has."""


def read_diff(text: str, strip: Strip = None) -> PatchReading:
    """Read this diff."""
    reader = _Reader(text.split("\n"), strip)
    at = 0
    while at < len(reader.lines):
        taken = next((taken for rule in _RULES if (taken := rule(reader, at))), 0)
        if not taken:
            reader.lose(reader.lines[at])
        at += taken or 1
    reader.end_file()
    return PatchReading(tuple(reader.files), tuple(reader.unread))


class _Reader(msgspec.Struct):
    """One pass over a diff: its lines, and all that is known of the file that they are about.

    `part` is the kind of lines that may follow: `git` headers, `unified` or `context` hunks, `lost` ones.
    """

    lines: list[str]
    strip: Strip
    part: str = ""
    files: dict[PatchedFile, None] = msgspec.field(default_factory=dict)
    unread: list[str] = msgspec.field(default_factory=list)
    named: list[tuple[str, Change | None]] = msgspec.field(default_factory=list)
    whole: Change | None = None

    def line(self, at: int) -> str:
        return self.lines[at] if at < len(self.lines) else ""

    def lose(self, line: str) -> None:
        self.unread.append(line)
        self.part = "lost"

    def end_file(self) -> None:
        """Note the files named since the last one, each with what is done to it."""
        known = {path for path, change in self.named if change is not None}
        for path, change in self.named:
            if change is not None or path not in known:
                self.files[PatchedFile(path, change or self.whole or "edit")] = None
        self.named, self.whole = [], None

    def name(self, *several: str | None, change: Change | None = None) -> bool:
        """Note these names of one file; False if one of them cannot be read."""
        if not all(one and names_one_file(one) for one in several):
            return False
        less = self.strip - 1 if self.strip and change is not None else self.strip
        for one in several:
            if one and one != _NOWHERE:
                self.named += ((place, change) for place in _places(one, less))
        return True


def _places(path: str, strip: Strip) -> tuple[str, ...]:
    """Return the paths that a name stands for. Names in renames have no prefix, so that 0 are left out."""
    if strip is None:
        return tuple(dict.fromkeys((path, without_prefix(path))))
    parts = re.split("/+", path)
    if strip < 0:
        return tuple(dict.fromkeys((path, parts[-1])))
    return ("/".join(parts[strip:]) or parts[-1],)


def _take_git(reader: _Reader, at: int) -> int:
    found = _GIT.fullmatch(reader.lines[at])
    if found is None:
        return 0
    reader.end_file()
    sides = (found[1] or found[3], found[2] or found[5])
    reader.part = "git"
    return reader.name(*(read_quoted(one) if one[:1] == '"' else one for one in sides))


def _take_git_line(reader: _Reader, at: int) -> int:
    if reader.part != "git":
        return 0
    line = reader.lines[at]
    if mode := _MODE.fullmatch(line):
        if mode["kind"]:
            reader.whole = "delete" if mode["kind"] == "deleted" else "write"
        return 1
    renamed = _RENAME.fullmatch(line)
    if renamed is None:
        return 0
    name = read_quoted(renamed[3]) if renamed[3][0] == '"' else renamed[3]
    source: Change = "delete" if renamed[1] == "rename" else "edit"
    return reader.name(name, change="write" if renamed[2] == "to" else source)


def _take_unified(reader: _Reader, at: int) -> int:
    return 2 * _take_sides(reader, at, "--- ", "+++ ", "unified")


def _take_context(reader: _Reader, at: int) -> int:
    if reader.part == "context" and _CONTEXT.fullmatch(reader.lines[at]):
        hides = reader.lines[at][:1] in (" ", "!") and DIFF_HEADER.match(reader.lines[at])
        return 0 if hides else 1
    return 3 * (reader.line(at + 2).startswith(_STARS) and _take_sides(reader, at, "*** ", "--- ", "context"))


def _take_sides(reader: _Reader, at: int, before: str, after: str, part: str) -> bool:
    """Take the two names of a file, on two lines that begin so."""
    if not (reader.line(at).startswith(before) and reader.line(at + 1).startswith(after)):
        return False
    old, new = _side(reader.lines[at][4:]), _side(reader.lines[at + 1][4:])
    if reader.part == "git" and not _fits_git(reader, old or "", new or ""):
        return False
    if reader.part != "git":
        reader.end_file()
    reader.whole = "write" if old == _NOWHERE else "delete" if new == _NOWHERE else reader.whole
    reader.part = part
    return reader.name(old, new)


def _fits_git(reader: _Reader, old: str, new: str) -> bool:
    """Return whether two names say what the header above them says: to git, others make a move of it."""
    if (old == _NOWHERE, new == _NOWHERE) != (reader.whole == "write", reader.whole == "delete"):
        return False
    renamed = any(change is not None for _, change in reader.named)
    less = 1 if reader.strip is None else reader.strip
    sides = [_places(one, less)[-1] for one in (old, new) if one != _NOWHERE]
    if not {path for path, _ in reader.named}.issuperset(sides):
        return False
    return renamed or len(set(sides)) == 1


def _side(text: str) -> str | None:
    """Return the name before a date; None if programs do not agree where it ends."""
    name, tab, _ = text.partition("\t")
    if name[:1] == '"':
        return read_quoted(name)
    return name if tab or " " not in name else None


def _take_hunk(reader: _Reader, at: int) -> int:
    """Take a hunk by its counted lines. A header of two lines in one is content to some programs only."""
    found = _HUNK.fullmatch(reader.lines[at]) if reader.part == "unified" else None
    if found is None or max(len(one or "") for one in found.groups()) > len(str(_FAR)):
        return 0
    old, new = (1 if one is None else int(one) for one in found.groups())
    end = at + 1
    while (old > 0 or new > 0) and end < len(reader.lines):
        kind = reader.lines[end][:1] or " "
        if kind not in " +-\\" or (reader.line(end)[:4] == "--- " and reader.line(end + 1)[:4] == "+++ "):
            return 0
        old -= kind in " -"
        new -= kind in " +"
        end += 1
    return end - at if old == new == 0 else 0


def _take_index(reader: _Reader, at: int) -> int:
    line = reader.lines[at]
    if not line.startswith("Index: "):
        return 0
    reader.end_file()
    reader.part = ""
    return reader.name(line.removeprefix("Index: "))


def _take_rule(reader: _Reader, at: int) -> int:
    return _RULE.fullmatch(reader.lines[at]) is not None


def _pass_over(reader: _Reader, at: int) -> int:
    """Pass over text that is a header to no program, unless a patch in it was lost before."""
    line = reader.lines[at]
    heads = _ODD.match(line) or (DIFF_HEADER.match(line) and not _COMMAND.match(line))
    return reader.part != "lost" and not heads


_RULES: tuple[Callable[[_Reader, int], int], ...] = (
    _take_git, _take_context, _take_unified, _take_hunk, _take_git_line, _take_index, _take_rule, _pass_over,
)  # fmt: skip
