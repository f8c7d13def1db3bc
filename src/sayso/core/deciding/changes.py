"""A change among a call's arguments: the text before and the text after, as the lines that go and come.

- Nothing is left out: the lines of a change hold both texts, whole.
- The page has a twin of this in `question/shown.js`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

CHANGES = (
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("oldText", "newText"),
    ("oldString", "newString"),
    ("old_content", "new_content"),
    ("old_code", "new_code"),
    ("old", "new"),
    ("search", "replace"),
    ("find", "replace"),
    ("search", "replacement"),
    ("original", "replacement"),
    ("before", "after"),
    ("from_text", "to_text"),
)
"""What the usual tools call the text before a change and the text after it."""
MOST_CELLS = 40_000
NO_LINE_END = "no line end here"


class TextChange(msgspec.Struct, frozen=True):
    """The two arguments that are one change, by their names."""

    names: tuple[str, str]
    before: str
    after: str

    @property
    def length(self) -> int:
        return len(self.before) + len(self.after)

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield each line with its sign: "-" goes, "+" comes, " " stays, "\\" has no line end."""
        for sign, line in _compare(_split(self.before), _split(self.after)):
            yield sign, line.removesuffix("\n")
            if not line.endswith("\n"):
                yield "\\", NO_LINE_END


def find_change(arguments: Mapping[str, Any]) -> TextChange | None:
    """Return the change that two of these arguments describe; None if there is none."""
    for before, after in CHANGES:
        old, new = arguments.get(before), arguments.get(after)
        if isinstance(old, str) and isinstance(new, str):
            return TextChange((before, after), old, new)
    return None


def _split(text: str) -> list[str]:
    """Return the lines of a text, each with its end. Only "\\n" ends one."""
    parts = text.split("\n")
    lines = [f"{part}\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _compare(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of both: the same ones at the beginning and at the end stay."""
    start, end = 0, 0
    shorter = min(len(before), len(after))
    while start < shorter and before[start] == after[start]:
        start += 1
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    yield from ((" ", line) for line in before[:start])
    yield from _compare_middle(before[start : len(before) - end], after[start : len(after) - end])
    yield from ((" ", line) for line in before[len(before) - end :])


def _compare_middle(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines that differ, the longest common ones between them as staying.

    Too many to compare: all of the one go, and all of the other come.
    """
    table = _count_common(before, after) if len(before) * len(after) <= MOST_CELLS else None
    i = j = 0
    while i < len(before) or j < len(after):
        if table is not None and i < len(before) and j < len(after) and before[i] == after[j]:
            yield " ", before[i]
            i, j = i + 1, j + 1
        elif j >= len(after) or (i < len(before) and (table is None or table[i + 1][j] >= table[i][j + 1])):
            yield "-", before[i]
            i += 1
        else:
            yield "+", after[j]
            j += 1


def _count_common(before: Sequence[str], after: Sequence[str]) -> list[list[int]]:
    """Return for each pair of places how many lines are common from there on."""
    table = [[0] * (len(after) + 1) for _ in range(len(before) + 1)]
    for i in range(len(before) - 1, -1, -1):
        row, below = table[i], table[i + 1]
        for j in range(len(after) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if before[i] == after[j] else max(below[j], row[j + 1])
    return table
