"""Git commands that write many files of the working tree at once, by their pathspecs.

- A folder, a wildcard or a magic pathspec (`:/`, `:(top)x`, `:!x`) reaches whatever lies there.
- Where a guarded file lies there, writing it over counts as changing that file.
- In any case it is high risk: what the other tree holds, nobody sees in the arguments.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

import msgspec

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.finding.argument_texts import ArgumentText
from sayso.reading.paths.own_places import home_folder
from sayso.reading.paths.places import locate
from sayso.reading.paths.protected import find_guarded_in
from sayso.reading.paths.protected_names import Guarded
from sayso.reading.paths.spellings import WILD
from sayso.reading.verbs import words_in

_WRITERS = {
    "checkout", "restore", "reset", "clean", "rm", "remove", "mv", "apply", "revert", "discard", "undo",
}  # fmt: skip
"""Words for commands that put other content in place of files."""
_AROUND = " \t\r\n'\"`<>"
_LONG_MAGIC = lazy_pattern(r":\(([^)]*)\)(.*)", re.DOTALL)
_SHORT_MAGIC = lazy_pattern(r":([/!^]*)(.*)", re.DOTALL)


class Reached(msgspec.Struct, frozen=True):
    """An argument that reaches many files, and the guarded one among them, if there is one."""

    argument: str
    text: str
    guarded: Guarded | None = None


class _Pathspec(msgspec.Struct, frozen=True):
    path: str
    top: bool = False
    magic: bool = False


def trees_reached(
    texts: Sequence[ArgumentText], named: Sequence[str], folder: str, workspace: str
) -> Iterator[Reached]:
    """Yield the pathspecs that a git command of these names overwrites."""
    if not any(words_in(name) & _WRITERS for name in named):
        return
    for one in texts:
        for word in _words(one):
            found = _reach(one, word, folder, workspace)
            if found is not None:
                yield found


def _words(one: ArgumentText) -> Iterator[str]:
    """The pathspecs that a text may hold; messages hold none."""
    if one.holds == "mentions":
        return
    inner = one.text.strip(_AROUND)
    yield from dict.fromkeys((inner, *(word.strip(_AROUND) for word in re.split(r"[\s,;]+", inner))))


def _reach(one: ArgumentText, word: str, folder: str, workspace: str) -> Reached | None:
    spec = _read(word)
    base = workspace if spec.top and workspace else folder
    path = os.path.normpath(os.path.join(base or ".", spec.path))  # noqa: PTH118  a text, not a path yet
    wild = WILD.search(spec.path)
    if wild is not None:
        head, slash, _ = spec.path[: wild.start()].rpartition("/")
        start = os.path.join(base or ".", head)  # noqa: PTH118  a text, not a path yet
        return Reached(one.argument, one.text, find_guarded_in(start, spec.path[len(head + slash) :]))
    if not (spec.magic or one.holds == "paths" or word.startswith(".")) or not word:
        return None
    if not os.path.isdir(path):  # noqa: PTH112  never raises
        return Reached(one.argument, one.text) if spec.magic else None
    place = locate(path, folder=folder, workspace=workspace, home=home_folder())
    return Reached(one.argument, one.text, place.guarded.at or place.guarded.around)


def _read(word: str) -> _Pathspec:
    """A pathspec without its magic. One that leaves something out reaches all the rest."""
    found = _LONG_MAGIC.fullmatch(word) or _SHORT_MAGIC.fullmatch(word)
    if found is None:
        return _Pathspec(word)
    leaves_out = "exclude" in found[1] or "!" in found[1] or "^" in found[1]
    path = "." if leaves_out else found[2].lstrip("/") or "."
    return _Pathspec(path, top="top" in found[1] or "/" in found[1], magic=True)
