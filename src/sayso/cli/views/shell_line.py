"""The reading of a command line for people: one row a part, readable without colour at 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sayso.core.words import visible

_LONGEST = 60
_WIDEST = 78


def shell_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """The lines to print: the command with its strictest part marked, then each part."""
    start, end = _strictest_span(told)
    at = 0
    for row in _rows(told["line"]):
        yield visible(row.rstrip("\n"))
        marks = _mark(row, start - at, end - at)
        if marks:
            yield marks
        at += len(row)
    yield f"risk: {told['risk']}"
    yield ""
    for part in told["parts"]:
        blocked = " (blocked)" if part["blocked"] else ""
        yield f"  {part['risk']:9} {part['operation']}{blocked}"
        yield f"            {visible(_short(part['text']))}"
        yield f"            {visible(part['why'])}"
    if told["files"]:
        yield ""
        yield "  runs files; an approval holds only while their content stays as it is:"
        for file in told["files"]:
            yield f"            {visible(file.rpartition('#')[0])}"


def _strictest_span(told: Mapping[str, Any]) -> tuple[int, int]:
    """Return the span of the part that made the line risky; an empty one for a low-risk line."""
    strict = next((part for part in told["parts"] if part["risk"] == told["risk"]), None)
    if strict is None or told["risk"] == "low":
        return 0, 0
    return int(strict["start"]), max(int(strict["end"]), int(strict["start"]) + 1)


def _rows(line: str) -> Iterator[str]:
    """The line as it is written, in rows that fit: broken after a blank, if there is one late enough."""
    for written in line.splitlines(keepends=True) or [line]:
        rest = written
        while len(rest.rstrip("\n")) > _WIDEST:
            cut = rest.rfind(" ", _WIDEST // 2, _WIDEST) + 1 or _WIDEST
            yield rest[:cut]
            rest = rest[cut:]
        yield rest


def _mark(row: str, start: int, end: int) -> str:
    """Carets under what stands between these places; nothing where a column may be more than a letter."""
    shown = row.rstrip("\n")
    first, last = max(start, 0), min(end, len(shown))
    if first >= last or not shown.isascii() or not shown.isprintable():
        return ""
    return " " * first + "^" * (last - first)


def _one_line(text: str) -> str:
    return text.replace("\n", "⏎ ")


def _short(text: str) -> str:
    one = _one_line(text)
    return one if len(one) <= _LONGEST else f"{one[: _LONGEST - 1]}…"
