"""The reading of a command line for people: one row a part, readable without colour at 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sayso.core.words import visible

_LONGEST = 60
_WIDEST = 78


def shell_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """The lines to print: the command with its strictest part marked, then each part."""
    yield visible(_one_line(told["line"]))
    mark = _mark(told)
    if mark:
        yield mark
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


def _mark(told: Mapping[str, Any]) -> str | None:
    """Carets under the part that made the line as risky as it is."""
    strict = next((part for part in told["parts"] if part["risk"] == told["risk"]), None)
    line = told["line"]
    if (
        strict is None
        or told["risk"] == "low"
        or not line.isprintable()
        or not line.isascii()
        or len(line) > 78
    ):
        return None
    start, end = int(strict["start"]), int(strict["end"])
    return " " * start + "^" * max(end - start, 1)


def _one_line(text: str) -> str:
    return text.replace("\n", "⏎ ")


def _short(text: str) -> str:
    one = _one_line(text)
    return one if len(one) <= _LONGEST else f"{one[: _LONGEST - 1]}…"
