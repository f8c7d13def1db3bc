"""Which paths a call works on, as plans write them: what a plan's consent is compared with.

- A text counts under a name for paths, whatever it is; under any other name if it looks like a path or is a
  file that exists. Texts that only mention paths (content, messages, search terms) do not count.
- Files that a patch changes count. Addresses on the internet are not paths.
- A working folder that is the call's own is where it works, not what it works on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import may_look
from sayso.reading.paths.finding.argument_texts import CONTENT, REMOTE, ArgumentText, may_be_path
from sayso.reading.paths.finding.path_arguments import files_in_patches
from sayso.reading.paths.ground import real_folder
from sayso.reading.paths.own_places import home_folder
from sayso.reading.paths.places import PathPlace, locate
from sayso.reading.paths.protected import find_guarded_in
from sayso.reading.paths.protected_names import Guarded
from sayso.reading.paths.spellings import WILD
from sayso.reading.urls import AROUND
from sayso.reading.verbs import words_in

_LOOKS_LIKE_PATH = lazy_pattern(r"(?:/|~|\.\.?/|file:|[A-Za-z]:[\\/])\S+|[^\s:]*[/\\][^\s/\\]*\.\w{1,8}")
"""From a root or a folder on, or with a folder and an ending."""
_FILE_NAME = lazy_pattern(r"[\w-]+\.[A-Za-z]\w{0,7}|[^\s:]*/\S*")
_NEW_NAMES = lazy_pattern(
    r"renam|copy|backup|link|save|dump|export|new_?name|output|^de?st|(?:^|_)(?:out|to|into|as)(?:_|$)",
    re.IGNORECASE,
)
"""Names of arguments whose text, though a bare name, is that of a file to be made."""
_REFS = lazy_pattern(r"branch|^ref|remote|revision|commit|^sha$|^tags?$|^base$|^head$|version", re.IGNORECASE)
_FOLDER = lazy_pattern(r"^(?:cwd|work(?:ing_?)?dir(?:ectory)?|workspace)$", re.IGNORECASE)
_WRITERS = {
    "checkout", "restore", "reset", "clean", "rm", "remove", "mv", "apply", "revert", "discard", "undo",
}  # fmt: skip
"""Words for commands that put other content in place of files."""
_AROUND = " \t\r\n'\"`<>"
_LONG_MAGIC = lazy_pattern(r":\(([^)]*)\)(.*)", re.DOTALL)
_SHORT_MAGIC = lazy_pattern(r":([/!^]*)(.*)", re.DOTALL)
_MOST = 256
"""Targets to keep. A call with more of them is covered by no plan."""
_SHOWN = 200
TOO_MANY = "more targets than can be followed"


def targets_in(
    texts: Sequence[ArgumentText], tool: Sequence[str], *, folder: str, workspace: str, home: str
) -> tuple[str, ...]:
    """Every path that these texts name as something to work on, each once. `tool`: its names."""
    where = {"folder": folder, "workspace": workspace, "home": home}
    here = real_folder(folder)
    named = [one.text for one in texts if _is_target(one, here, workspace)]
    named += (path for path in files_in_patches(texts, tool))
    found = dict.fromkeys(
        as_written_in_plans(path, locate(path, **where), workspace) for path in named[:_MOST]
    )
    return (*found, TOO_MANY) if len(named) > _MOST else tuple(found)


def as_written_in_plans(path: object, place: PathPlace, workspace: str) -> str:
    """A path as plans write it: from the workspace on, links resolved. An unknown one is what was given."""
    if place.real is None:
        text = str(path)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    real = Path(place.real)
    return real.relative_to(Path(workspace).resolve()).as_posix() if place.inside else str(real)


def may_be_file(name: str, text: str, folder: str) -> bool:
    """Return whether a text under this name is spelled like a path, or is a file."""
    inner = text.strip(AROUND)
    if not may_be_path(inner):
        return False
    spelled = _LOOKS_LIKE_PATH.fullmatch(inner) or (_NEW_NAMES.search(name) and _FILE_NAME.fullmatch(inner))
    return spelled is not None or _is_file(inner, real_folder(folder))


def _is_target(one: ArgumentText, here: str, workspace: str) -> bool:
    inner = one.text.strip(AROUND)
    if not inner or REMOTE.match(inner) or CONTENT.search(one.name):
        return False
    holds = one.holds
    if holds == "paths" and "profile" not in one.name.casefold():
        names_file = not one.key or may_be_file(one.name, inner, here)
        return names_file and not _is_own_folder(one, inner, here, workspace)
    if holds in ("mentions", "patterns") and one.name.casefold() != "script":
        return False
    return not _REFS.search(one.name) and may_be_file(one.name, inner, here)


def _is_file(text: str, here: str) -> bool:
    if "\0" in text or not may_look(1 + text.count("/")):
        return False
    path = os.path.join(here, text)  # noqa: PTH118  never raises
    return os.path.isfile(path) or os.path.islink(path)  # noqa: PTH113, PTH114  never raises


def _is_own_folder(one: ArgumentText, inner: str, here: str, workspace: str) -> bool:
    if not _FOLDER.match(one.name) or "\0" in inner:
        return False
    named = os.path.realpath(os.path.join(here, inner))  # noqa: PTH118  a text
    return named in (here, os.path.realpath(workspace) if workspace else here)


# --- git commands that write many files of the working tree at once, by their pathspecs ---


class Reached(msgspec.Struct, frozen=True):
    """An argument that reaches many files, and the guarded one among them, if there is one."""

    argument: str
    text: str
    guarded: Guarded | None = None


def trees_reached(
    texts: Sequence[ArgumentText], named: Sequence[str], folder: str, workspace: str
) -> Iterator[Reached]:
    """Yield the pathspecs that a git command of these names overwrites.

    A folder, a wildcard or a magic pathspec (`:/`, `:(top)x`, `:!x`) reaches whatever lies there. Where a
    guarded file lies there, writing it over counts as changing that file. In any case it is high risk: what
    the other tree holds, nobody sees in the arguments.
    """
    if not any(words_in(name) & _WRITERS for name in named):
        return
    for one in texts:
        inner = one.text.strip(_AROUND)
        words = (inner, *(word.strip(_AROUND) for word in re.split(r"[\s,;]+", inner)))
        for word in dict.fromkeys(words) if one.holds != "mentions" else ():
            found = _reach(one, word, folder, workspace)
            if found is not None:
                yield found


def _reach(one: ArgumentText, word: str, folder: str, workspace: str) -> Reached | None:
    found = _LONG_MAGIC.fullmatch(word) or _SHORT_MAGIC.fullmatch(word)
    magic, spec = ("", word) if found is None else (found[1], found[2].lstrip("/") or ".")
    if "exclude" in magic or "!" in magic or "^" in magic:
        spec = "."  # what leaves something out reaches all the rest
    base = (("top" in magic or "/" in magic) and workspace) or folder or "."
    wild = WILD.search(spec)
    if wild is not None:
        head, slash, _ = spec[: wild.start()].rpartition("/")
        start = os.path.join(base, head)  # noqa: PTH118  a text, not a path yet
        return Reached(one.argument, one.text, find_guarded_in(start, spec[len(head + slash) :]))
    if not (found or one.holds == "paths" or word.startswith(".")) or not word:
        return None
    path = os.path.normpath(os.path.join(base, spec))  # noqa: PTH118  a text, not a path yet
    if not os.path.isdir(path):  # noqa: PTH112  never raises
        return Reached(one.argument, one.text) if found else None
    guarded = locate(path, folder=folder, workspace=workspace, home=home_folder()).guarded
    return Reached(one.argument, one.text, guarded.at or guarded.around)
