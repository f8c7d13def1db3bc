"""Unified, context and git diffs, as `git apply` and `patch` take them.

- The lines of a hunk are counted, as these programs do. Text between patches is passed over.
- What may be a header to one of them, and is not one to all, is not consumed; nor are ed scripts, normal and
  binary diffs, links and modules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

import msgspec

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.patches.lines import (
    DIFF_LINE,
    PREFIX,
    Change,
    PatchedFile,
    PatchReader,
    Rule,
    names_one_file,
    take_named,
    unquote_name,
)

Strip = int | None
"""How many folders of each name are left out; -1 all of them, unless named; None if nobody knows."""

_NOWHERE = "/dev/null"
_KINDS: dict[str, Change] = {"new": "write", "deleted": "delete"}
_SOURCES: dict[str, Change] = {"rename from": "delete", "copy from": "edit"}
_PARTS = {"d": "git", "I": "", "-": "unified", "*": "context"}
"""Parts of a diff, by the first letter of the lines that they begin with."""


class _DiffReader(PatchReader):
    """One pass over a diff, and all that is known of the file that its lines are about.

    The part is the kind of lines that may follow: `git` headers, `unified` or `context` hunks, `lost` ones.
    """

    strip: Strip = None
    named: list[tuple[str, Change | None]] = msgspec.field(default_factory=list)
    whole: Change | None = None

    def end_file(self) -> None:
        """Note the files named since the last one, each with what is done to it."""
        known = {path for path, change in self.named if change is not None}
        self.files |= {
            PatchedFile(path, change or self.whole or "edit"): None
            for path, change in self.named
            if change is not None or path not in known
        }
        self.named, self.whole = [], None

    def name(self, names: Collection[str], change: Change | None = None) -> bool:
        """Note these names of one file; False if one of them cannot be read."""
        if not all(map(names_one_file, names)):
            return False
        less = self.strip - 1 if self.strip and change is not None else self.strip
        self.named += ((place, change) for one in names if one != _NOWHERE for place in _places(one, less))
        return True

    def fits_git(self, old: str, new: str) -> bool:
        """Return whether two names say what the header above them says: to git, others make a move of it."""
        less = 1 if self.strip is None else self.strip
        sides = {_places(one, less)[-1] for one in (old, new) if one != _NOWHERE}
        renamed = any(change is not None for _, change in self.named)
        return (
            (old == _NOWHERE, new == _NOWHERE) == (self.whole == "write", self.whole == "delete")
            and sides <= {path for path, _ in self.named}
            and (renamed or len(sides) == 1)
        )


def read_diff(text: str, strip: Strip = None) -> PatchReader:
    """Read this diff."""
    reader = _DiffReader(_GRAMMAR, strip=strip).read(text)
    reader.end_file()
    return reader


def _places(path: str, strip: Strip) -> tuple[str, ...]:
    """Return the paths that a name stands for. Names in renames have no prefix, so that 0 are left out."""
    if strip is None:
        return (path, PREFIX.sub("", path))
    parts = re.split("/+", path)
    return (path, parts[-1]) if strip < 0 else ("/".join(parts[strip:]) or parts[-1],)


def _read_name(name: str) -> str:
    return unquote_name(name[1:-1]) if name[:1] == '"' else name


def _take_head(reader: _DiffReader, found: re.Match[str]) -> int | None:
    """Take the first lines of a file, which name it. Below those of git, others say the same again."""
    names = [_read_name(one) for one in found.groups() if one]
    old, new, part = names[0], names[-1], _PARTS[found[0][0]]
    sides = part in ("unified", "context")
    if sides and reader.part == "git":
        if not reader.fits_git(old, new):
            return None
    else:
        reader.end_file()
    if sides and _NOWHERE in (old, new):
        reader.whole = "write" if old == _NOWHERE else "delete"
    reader.part = part
    return found.end() if reader.name((old, new)) else None


def _take_mode(reader: _DiffReader, found: re.Match[str]) -> int:
    reader.whole = _KINDS.get(found["kind"], reader.whole)
    return found.end()


def _take_rename(reader: _DiffReader, found: re.Match[str]) -> int | None:
    change = _SOURCES.get(found[1], "write")
    return found.end() if reader.name([_read_name(found[2])], change) else None


def _take_hunk(reader: _DiffReader, found: re.Match[str]) -> int | None:
    """Take a hunk by its counted lines. A header of two lines in one is content to some programs only."""
    old, new = (1 if one is None else int(one) for one in found.groups())
    end = found.end()
    while (old > 0 or new > 0) and (line := _HUNK_LINE.match(found.string, end)):
        old -= line[1] not in ("+", "\\")
        new -= line[1] not in ("-", "\\")
        end = line.end()
    return end if old == new == 0 else None


def _lose(reader: _DiffReader, found: re.Match[str]) -> int:
    reader.unread.append(found[0])
    reader.part = "lost"
    return found.end()


def _rule(pattern: str, take: Callable[[Any, re.Match[str]], int | None]) -> Rule:
    return lazy_pattern(pattern, re.MULTILINE), take


_HUNK_LINE = lazy_pattern(r"\n(?!--- .*\n\+\+\+ )(?:([ +\\-]).*|$)", re.MULTILINE)
_QUOTED = r'"(?:\\.|[^"\\\n])*"'
_SIDE = r'("(?:\\[^\t\n]|[^"\\\t\n])*"(?=\t|$)|[^"\t\n][^\t\n]*(?=\t)|[^"\t\n ][^\t\n ]*$).*'
"""A name before a date. Programs do not agree where a name with blanks ends if no tab follows."""
_RULE = r"(?:=+|\\ .*)$"
_ODD = r"(?:old|new|deleted)(?: file)? mode |index [0-9a-f]+\.\.|GIT binary patch"
"""A line of git's own about a link, a module or bytes, where it is no other."""
_TEXT = _rule(rf"{_RULE}|(?:diff -(?!-git)|(?!{_ODD}|(?i:{DIFF_LINE}))).*", take_named)
"""Text that is a header to no program. All pass over the command that made a patch."""
_HEADS = (
    _rule(rf'diff --git (?:({_QUOTED}|[^\s"]+) ({_QUOTED}|[^\s"]+)|(a/(.+)) (b/\4))$', _take_head),
    _rule(rf"--- {_SIDE}\n\+\+\+ {_SIDE}|\*\*\* {_SIDE}\n--- {_SIDE}\n\*{{15}}.*", _take_head),
    _rule(r'Index: ([^"\n].*)', _take_head),
    _rule(".*", _lose),
)
_GRAMMAR: dict[str, tuple[Rule, ...]] = {
    "": (_TEXT, *_HEADS),
    "git": (
        _rule(
            r"(?:(?:old|new) mode 100(?:644|755)|(?P<kind>new|deleted) file mode 100(?:644|755)"
            r"|(?:dis)?similarity index \d+%|index [0-9a-f]+\.\.[0-9a-f]+(?: 100(?:644|755))?)$",
            _take_mode,
        ),
        _rule(rf'((?:rename|copy) (?:from|to)) ({_QUOTED}|[^"\n].*)$', _take_rename),
        _TEXT,
        *_HEADS,
    ),
    "unified": (
        _rule(r"@@ -\d+(?:,(\d{1,7}))? \+\d+(?:,(\d{1,7}))? @@.*", _take_hunk),
        _TEXT,
        *_HEADS,
    ),
    "context": (
        _rule(
            rf"(?!(?=[ !])(?i:{DIFF_LINE}))(?:[ !+-](?: .*)?||\*{{15}}.*|\*\*\* \d+(?:,\d+)? \*{{4}}.*"
            r"|--- \d+(?:,\d+)? -{4}.*|\\ .*)$",
            take_named,
        ),
        _TEXT,
        *_HEADS,
    ),
    "lost": (_rule(_RULE, take_named), *_HEADS),
}
