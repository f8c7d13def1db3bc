"""Unified diffs of one text file: read, applied exactly, turned round.

- A diff names one file, and every line of it is understood; what is not is refused.
- It applies only where the text is exactly what the diff says it is. There is no fuzz and no offset.
- Turned round it leads back to the very same text.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.text.patterns import lazy_pattern

NOTHING = "/dev/null"
LONGEST = 64 * 1024
NO_NEWLINE = "\\ No newline at end of file"
_HUNK = lazy_pattern(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: .*)?")
Sign = Literal[" ", "-", "+"]


class DiffRefused(SaysoError):
    """The diff cannot be read, or does not fit the text."""

    code = "diff"


class DiffLine(msgspec.Struct, frozen=True):
    """A line of a hunk, with the line end that the text has there."""

    sign: Sign
    text: str


class Hunk(msgspec.Struct, frozen=True):
    """Lines that change together. `before` is the number of the first line in the old text, from 1 on."""

    before: int
    after: int
    lines: tuple[DiffLine, ...]


class FileDiff(msgspec.Struct, frozen=True):
    """The change of one file. `creates` and `deletes` mean that it is not there before, or not after."""

    path: str
    hunks: tuple[Hunk, ...]
    creates: bool = False
    deletes: bool = False


def parse_diff(text: str) -> FileDiff:
    """Read a unified diff of one file."""
    if len(text) > LONGEST:
        raise DiffRefused(f"a diff has {LONGEST:,} characters at most")
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    while lines and lines[0].startswith(("diff --git ", "index ")):
        lines.pop(0)
    if len(lines) < 3 or not lines[0].startswith("--- ") or not lines[1].startswith("+++ "):
        raise DiffRefused("this is not a unified diff", hint="diff -u OLD NEW makes one")
    old, new = _read_name(lines[0], "a/"), _read_name(lines[1], "b/")
    hunks = _read_hunks(lines[2:])
    creates, deletes = old == NOTHING, new == NOTHING
    if creates and deletes:
        raise DiffRefused("the diff names no file")
    if not creates and not deletes and old != new:
        raise DiffRefused("the diff renames a file, which is not supported", hint="keep the name")
    return FileDiff(new if creates else old, hunks, creates, deletes)


def apply_diff(diff: FileDiff, before: str | None) -> str | None:
    """Return the text after this change of `before`; None means a file that is not there."""
    if (before is None) != diff.creates:
        raise DiffRefused("the diff does not apply: the file is there already" if diff.creates else
                          "the diff does not apply: there is no such file")  # fmt: skip
    old = _split(before or "")
    new: list[str] = []
    done = 0
    for hunk in diff.hunks:
        start = hunk.before - 1 if any(line.sign != "+" for line in hunk.lines) else hunk.before
        if start < done or start > len(old):
            raise _does_not_apply(hunk)
        new += old[done:start]
        taken = [line.text for line in hunk.lines if line.sign != "+"]
        if old[start : start + len(taken)] != taken or len(new) != _first_new_line(hunk):
            raise _does_not_apply(hunk)
        new += [line.text for line in hunk.lines if line.sign != "-"]
        done = start + len(taken)
    new += old[done:]
    if any(not line.endswith("\n") for line in new[:-1]):
        raise DiffRefused("the diff does not apply: a line in the middle has no end")
    if diff.deletes and new:
        raise DiffRefused("the diff says that the file goes, and leaves lines in it")
    return None if diff.deletes else "".join(new)


def reverse_diff(diff: FileDiff) -> FileDiff:
    """Return the change that leads back."""
    turned: dict[Sign, Sign] = {"+": "-", "-": "+", " ": " "}
    hunks = tuple(
        Hunk(
            one.after, one.before, _order(tuple(DiffLine(turned[line.sign], line.text) for line in one.lines))
        )
        for one in diff.hunks
    )
    return FileDiff(diff.path, hunks, creates=diff.deletes, deletes=diff.creates)


def make_diff(path: str, before: str | None, after: str | None) -> str:
    """Return the unified diff that leads from one text to the other."""
    import difflib

    names = (NOTHING if before is None else f"a/{path}", NOTHING if after is None else f"b/{path}")
    made = difflib.unified_diff(_split(before or ""), _split(after or ""), *names, lineterm="\n")
    return "".join(line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}\n" for line in made)


def diff_lines(diff: FileDiff) -> list[str]:
    """Return the lines of a diff as it was understood: what was written beside it, nobody has to believe."""
    lines = [
        f"--- {NOTHING if diff.creates else f'a/{diff.path}'}",
        f"+++ {NOTHING if diff.deletes else f'b/{diff.path}'}",
    ]
    for hunk in diff.hunks:
        left, right = (sum(line.sign != sign for line in hunk.lines) for sign in ("+", "-"))
        lines.append(f"@@ -{hunk.before},{left} +{hunk.after},{right} @@")
        for line in hunk.lines:
            lines.append(f"{line.sign}{line.text.removesuffix(chr(10))}")
            lines += [] if line.text.endswith("\n") else [NO_NEWLINE]
    return lines


def _split(text: str) -> list[str]:
    """Split at line feeds alone, and keep them: other signs that end lines elsewhere are part of a line."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _read_name(line: str, prefix: str) -> str:
    name = line[4:].split("\t", maxsplit=1)[0].rstrip(" ")
    if not name or any(not sign.isprintable() for sign in name) or name.startswith('"'):
        raise DiffRefused("the diff names no file that can be read")
    return name if name == NOTHING else name.removeprefix(prefix)


def _read_hunks(lines: list[str]) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    place = 0
    while place < len(lines):
        hunk, place = _read_hunk(lines, place)
        hunks.append(hunk)
    return tuple(hunks)


def _read_hunk(lines: list[str], place: int) -> tuple[Hunk, int]:
    head = _HUNK.fullmatch(lines[place])
    if head is None:
        raise DiffRefused(f"line {place + 3} of the diff is not understood")
    before, after = int(head[1]), int(head[3])
    left, right = (1 if head[number] is None else int(head[number]) for number in (2, 4))
    found: list[DiffLine] = []
    place += 1
    while place < len(lines) and (left or right or lines[place] == NO_NEWLINE):
        line = lines[place]
        if line == NO_NEWLINE and found and found[-1].text != "\n":  # without its end such a line is nothing
            found[-1] = DiffLine(found[-1].sign, found[-1].text.removesuffix("\n"))
        elif line[:1] in (" ", "-", "+"):
            sign: Sign = line[0]  # type: ignore[assignment]
            found.append(DiffLine(sign, f"{line[1:]}\n"))
            left, right = left - (sign != "+"), right - (sign != "-")
        else:
            raise DiffRefused(f"line {place + 3} of the diff is not understood")
        place += 1
    if left or right or all(line.sign == " " for line in found):
        raise DiffRefused("a part of the diff is not as long as it says, or changes nothing")
    return Hunk(before, after, tuple(found)), place


def _first_new_line(hunk: Hunk) -> int:
    """Return how many lines of the new text come before this hunk, as it says itself."""
    return hunk.after - 1 if any(line.sign != "-" for line in hunk.lines) else hunk.after


def _order(lines: tuple[DiffLine, ...]) -> tuple[DiffLine, ...]:
    """Put what is taken away before what comes instead, as a diff is written."""
    ordered: list[DiffLine] = []
    waiting: list[DiffLine] = []
    for line in lines:
        if line.sign == "+":
            waiting.append(line)
            continue
        if line.sign == " ":
            ordered += waiting
            waiting = []
        ordered.append(line)
    return tuple(ordered + waiting)


def _does_not_apply(hunk: Hunk) -> DiffRefused:
    return DiffRefused(
        f"the diff does not apply at line {hunk.before}: the text there is another",
        hint="make it against the file as it is now",
    )
