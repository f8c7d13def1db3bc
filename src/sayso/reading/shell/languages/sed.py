"""sed scripts: which of their commands write files or run programs."""

from __future__ import annotations

import re

from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.files.paths import judge_path
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.value import Value

_ADDRESS = lazy_pattern(r"\s*(?:\d+(?:~\d+)?|\$|[+~]\d+)")
_PLAIN = frozenset("=dDgGhHnNpPxFz")
_LABELS = frozenset(":btT")
_TEXTS = frozenset("aic")


class _NotRead(Exception):
    """The script is not understood."""


def judge_sed(judge: Judge, script: str, at: Argument, invocation: Invocation) -> None:
    """Judge a sed script."""
    try:
        for kind, name in _effects(script):
            if kind == "run":
                judge.record("shell.run", Risk.HIGH, "its sed script runs a program", at.start, at.end)
            else:
                file = Argument(Value(name), at.start, at.end)
                judge_path(judge, "files.read" if kind == "read" else "files.write", file, invocation.state)
    except _NotRead:
        judge.doubt("its sed script is not understood", at.start, at.end)


def _effects(script: str) -> list[tuple[str, str]]:  # noqa: C901 - one branch for each command of sed
    """The files that a script reads and writes, and the programs it runs."""
    found: list[tuple[str, str]] = []
    here, size = 0, len(script)
    while here < size:
        here = _skip(script, here, " \t\n;{}")
        if here >= size:
            break
        if script[here] == "#":
            here = _line_end(script, here)
            continue
        here = _addresses(script, here)
        here = _skip(script, here, " \t!")
        if here >= size:
            raise _NotRead
        command = script[here]
        here += 1
        if command in "{}":
            continue
        if command in _PLAIN:
            continue
        if command in "qQlL":
            here = _skip(script, here, " \t0123456789")
        elif command in _LABELS:
            match = re.compile(r"[ \t]*[\w.-]*").match(script, here)
            here = match.end() if match else here
        elif command in _TEXTS:
            here = _text_end(script, here)
        elif command == "y":
            here = _two_parts(script, here)
        elif command == "s":
            here = _two_parts(script, here)
            here = _flags(script, here, found)
        elif command in "rRwW":
            end = _line_end(script, here)
            name = script[here:end].strip()
            if not name:
                raise _NotRead
            found.append(("read" if command in "rR" else "write", name))
            here = end
        elif command == "e":
            found.append(("run", ""))
            here = _line_end(script, here)
        else:
            raise _NotRead
        here = _after(script, here)
    return found


def _after(script: str, here: int) -> int:
    """After a command stands white space, a semicolon, a brace or the end."""
    here = _skip(script, here, " \t")
    if here < len(script) and script[here] not in ";\n}#":
        raise _NotRead
    return here


def _skip(script: str, here: int, marks: str) -> int:
    while here < len(script) and script[here] in marks:
        here += 1
    return here


def _line_end(script: str, here: int) -> int:
    end = script.find("\n", here)
    return len(script) if end < 0 else end


def _text_end(script: str, here: int) -> int:
    """The text of a, i and c: to the end of its line, and of those that a backslash joins to it."""
    end = _line_end(script, here)
    while end < len(script) and _joins(script[here:end]):
        end = _line_end(script, end + 1)
    return end


def _joins(text: str) -> bool:
    """Return whether a line goes on: an odd number of backslashes ends it."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _addresses(script: str, here: int) -> int:
    here = _address(script, here)
    comma = _skip(script, here, " \t")
    if comma < len(script) and script[comma] == ",":
        here = _address(script, comma + 1)
    return here


def _address(script: str, here: int) -> int:
    match = _ADDRESS.match(script, here)
    if match is not None:
        return int(match.end())
    here = _skip(script, here, " \t")
    if here >= len(script):
        return here
    if script[here] == "/":
        end = _delimited(script, here + 1, "/")
    elif script[here] == "\\" and here + 1 < len(script):
        end = _delimited(script, here + 2, script[here + 1])
    else:
        return here
    while end < len(script) and script[end] in "IM":
        end += 1
    return end


def _delimited(script: str, here: int, mark: str) -> int:
    """Just after the next delimiter that neither a backslash nor a bracket hides."""
    if mark in "\n\\":
        raise _NotRead
    while here < len(script):
        one = script[here]
        if one == "\\":
            here += 2
            continue
        if one == mark:
            return here + 1
        if one == "[":
            closing = _bracket_end(script, here)
            if closing is not None and mark in script[here:closing]:
                raise _NotRead  # sed and its relatives do not agree on this
        here += 1
    raise _NotRead


def _bracket_end(script: str, here: int) -> int | None:
    start = here + 1 + (script[here + 1 : here + 2] == "^")
    end = script.find("]", start + 1)
    return end if end >= 0 else None


def _two_parts(script: str, here: int) -> int:
    if here >= len(script):
        raise _NotRead
    mark = script[here]
    return _delimited(script, _delimited(script, here + 1, mark), mark)


def _flags(script: str, here: int, found: list[tuple[str, str]]) -> int:
    while here < len(script):
        one = script[here]
        if one in "gpiImM0123456789":
            here += 1
        elif one == "e":
            found.append(("run", ""))
            here += 1
        elif one == "w":
            end = _line_end(script, here)
            found.append(("write", script[here + 1 : end].strip() or "?"))
            return end
        else:
            break
    return here
