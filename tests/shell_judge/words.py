"""Comparing what the reading says that a line starts, and with which words, with what was started."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import PurePath

from sayso.reading.shell.programs.options import Argument
from tests.shell_judge.fence import Event

CHILDREN = {
    "tar": {"gzip", "bzip2", "xz", "zstd"},
    "git": {"git"},
}
"""Programs that others start by themselves, whatever their words."""
NULL_COMMANDS = {(f"/usr/bin/{name}",) for name in ("cat", "more", "pager")}
INSTALLED = ("/usr/", "/bin/", "/sbin/", "/judge/")
"""Where programs are that a bare name means."""


def find_fault(event: Event, commands: Sequence[tuple[Argument, ...]], home: str) -> str | None:
    """Return how an event is not what the commands say; None if one of them says it."""
    if event.kind == "S":
        return "socket was made"
    words = event.words
    if len(words) > 1 and words[0] == words[1]:
        words = words[1:]  # a script: its interpreter is told its name
    name = PurePath(words[0]).name
    found = words[0].startswith(INSTALLED)
    named = [
        one
        for one in commands
        if one and one[0].text and PurePath(one[0].text).name == name and (found or "/" in one[0].text)
    ]
    if not named:
        parents = (PurePath(one[0].text or "").name for one in commands if one)
        if any(name in CHILDREN.get(parent, ()) for parent in parents):
            return None
        return f"program {name if found else words[0]} was started: {words!r}"
    if any(_are_said(words[1:], one[1:], home) for one in named):
        return None
    said = " or ".join(repr([each.text for each in one]) for one in named[:3])
    return f"words {words!r} were passed, {said} were read"


def is_null_command(event: Event) -> bool:
    """True for what zsh runs where a command is a mere redirection: `cat` or `more`, without words."""
    return event.kind == "E" and event.words in NULL_COMMANDS


def _are_said(words: Sequence[str], believed: Sequence[Argument], home: str) -> bool:
    """True if the words may be what the reading believes: what it does not know may be any words."""

    @cache
    def fits(at: int, told: int) -> bool:
        if told == len(believed):
            return at == len(words)
        value = believed[told].value
        if value.choices:
            allowed = [each for one in value.choices for each in _texts(one.text, home)]
            known = all(one.text is not None and not one.wild for one in value.choices)
            fit = at < len(words) and (not known or words[at] in allowed)
            return fits(at, told + 1) or (fit and fits(at + 1, told))
        if value.text is None or value.wild:
            return fits(at, told + 1) or (at < len(words) and fits(at + 1, told))
        exact = at < len(words) and words[at] in _texts(value.text, home if value.home else "")
        return exact and fits(at + 1, told + 1)

    return fits(0, 0)


def _texts(text: str | None, home: str) -> Iterable[str]:
    if text is None:
        return ()
    if home and (text == "~" or text.startswith("~/")):
        return (text, home + text[1:])
    return (text,)
