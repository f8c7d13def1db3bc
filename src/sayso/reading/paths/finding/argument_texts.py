"""The texts of a call's arguments, which of them are patches, and the paths that are found in them."""

from __future__ import annotations

import functools
import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.patches.lines import PatchReading
from sayso.reading.patches.read import is_patch, read_patch, speaks_patch
from sayso.reading.paths.budget import follow_links, glance_at, may_look
from sayso.reading.paths.hard_links import has_other_names
from sayso.reading.paths.spellings import MAX_PATH_LENGTH
from sayso.reading.urls import AROUND

_FILES = lazy_pattern(
    r"path|file|folder|dir(?:ectory)?s?$|ur[il]s?$|^(?:src|source|dst|dest|destination|target|location|output"
    r"|root|cwd|workdir)s?$",
    re.IGNORECASE,
)
"""Names of arguments that hold paths."""

_FILE_NAMES = lazy_pattern(r"path|(?<!pro)file(?!_?ur[il])|folder|dir(?:ectory)?s?$", re.IGNORECASE)
"""Those of them that hold files and folders of this machine."""

_PERHAPS = lazy_pattern(r"^(?:from|to|old|new|out|link|name|id)s?$", re.IGNORECASE)
"""Names of arguments that hold paths in some tools, and other words in others."""

OUTPUTS = lazy_pattern(
    r"^(?:out|output|dest|destination|dst|save|write|export|dump|report|log)(?:$|_|[A-Z]|file|path|dir)"
    r"|(?:^|_)(?:to|into|out|output)(?:_?(?:file|path|dir|folder))?$|[a-z](?:To|Into|Out|Output)(?:$|[A-Z])"
)
"""Names of arguments that hold where a tool writes, though it otherwise only reads."""

_MENTIONS = lazy_pattern(
    r"content|text|string|message|body|prompt|title|descri|comment|command|code|script|subject"
    r"|exclu|ignore",
    re.IGNORECASE,
)
"""Names of arguments in which a path is only mentioned."""

_NEVER_A_PIECE = lazy_pattern(
    r"content|body|message|comment|descri|string|prompt|command|exclu|ignore", re.IGNORECASE
)

CONTENT = lazy_pattern(r"(?:contents?|text|string|body|code|lines)$", re.IGNORECASE)
"""Names that end so hold what is in a file, whatever else they say."""

_TITLES = lazy_pattern(r"title|subject", re.IGNORECASE)
"""Texts that a tool may make a file's name of."""

_PATTERNS = lazy_pattern(r"^(?!.*(?:includ|glob)).*(?:pattern|quer|regex)", re.IGNORECASE)
"""Names of arguments that hold what is searched for; `include_pattern` holds names of files."""

_ONE_WORD = lazy_pattern(r"[^\s/]{1,255}")

REMOTE = lazy_pattern(
    r"(?:https?|wss?|ftps?|ssh|git)://[^/.\\\s][^/\\\s]*/?(?!.*\.\.)(?!.*[\r\n])", re.IGNORECASE | re.DOTALL
)
"""Addresses on the internet, as most programs read them."""

_PATCHES = lazy_pattern(r"patch|diff|^(?:input|changes|edits)$", re.IGNORECASE)
_PATCHING = {"patch", "apply", "diff"}
"""Words for tools that take a patch, under any name."""
_ONLY_PATCHES = lazy_pattern(r"patch|diff", re.IGNORECASE)
"""Names of arguments that hold nothing else, if they hold lines."""
WRITTEN = lazy_pattern(r"content|body|message|comment|descri", re.IGNORECASE)
"""Names of arguments whose text is written somewhere as it is, a patch too."""

_RUN = lazy_pattern(
    r"command|cmd|script|code|^(?:line|run|exec|shell|args|argv|arguments|options|flags)s?$", re.IGNORECASE
)
"""Names of arguments whose text a tool may run, or give to what it runs."""

_LONGEST_LINE = 10_000

ArgumentKind = Literal["paths", "perhaps", "patterns", "mentions", "anything"]


class ArgumentText(msgspec.Struct, frozen=True):
    """A text or number, in which argument, under which name, and in which list, if in one.

    `coded`: it is written in another way there, which nobody reads. `key`: it is the name of a member.
    """

    argument: str
    name: str
    text: str
    group: int = 0
    coded: bool = False
    key: bool = False

    @property
    def holds(self) -> ArgumentKind:
        return classify_argument(self.name)

    @property
    def is_file_name(self) -> bool:
        """Return whether its argument is for a file or folder, and not for an address or a file's content."""
        named = _FILES.search(self.name) is not None and _FILE_NAMES.search(self.name) is not None
        return named and not CONTENT.search(self.name)

    @property
    def may_name_files(self) -> bool:
        """Return whether files may stand in the middle of it, as in a command line of a tool not declared."""
        return len(self.text) <= _LONGEST_LINE and runs_text(self.name)

    @property
    def is_piece(self) -> bool:
        """Return whether it may be one piece of a path in several arguments."""
        inner = self.text.strip(AROUND)
        if self.holds in ("mentions", "patterns") and not _TITLES.search(self.name):
            return not _NEVER_A_PIECE.search(self.name) and _ONE_WORD.fullmatch(inner) is not None
        return inner != "" and may_be_path(inner)


@functools.lru_cache(maxsize=1024)
def classify_argument(name: str) -> ArgumentKind:
    """Return the kind of value that an argument of this name holds."""
    if _FILES.search(name):
        return "paths"
    if _PERHAPS.search(name):
        return "perhaps"
    if _PATTERNS.search(name):
        return "patterns"
    return "mentions" if _MENTIONS.search(name) else "anything"


@functools.lru_cache(maxsize=1024)
def runs_text(name: str) -> bool:
    """Return whether an argument of this name holds what a tool runs, or gives to what it runs."""
    return _RUN.search(name) is not None


class PathArgument(msgspec.Struct, frozen=True):
    """A path in the arguments.

    `sure`: it is a path for the guard, not just a text that looks like one. `file`: it counts for the risk.
    `hidden`: nobody who reads the arguments sees where it leads. `lost`: there is too much to follow, or, of
    a patch, these lines are not understood.
    `written`: its argument is for what the tool writes.
    """

    argument: str
    path: str
    sure: bool = False
    file: bool = False
    hidden: bool = False
    lost: bool = False
    written: bool = False


def may_be_path(text: str) -> bool:
    """Return whether a text is one line, not the content of a file, nor an address on the internet."""
    return len(text) <= MAX_PATH_LENGTH and "\n" not in text and not REMOTE.match(text)


def takes_patch(words: Collection[str], name: str = "") -> bool:
    """Return whether a tool of these words, or an argument of this name, is given patches."""
    return not _PATCHING.isdisjoint(words) or _PATCHES.search(name) is not None


def read_patches(
    texts: Sequence[ArgumentText], words: Collection[str]
) -> Iterator[tuple[ArgumentText, PatchReading]]:
    """Yield each text that a tool of these words may take for a patch, and what it is as one."""
    for one in texts:
        if takes_patch(words, one.name):
            lines = "\n" in one.text and _ONLY_PATCHES.search(one.name)
            wanted = lines or speaks_patch(one.text)
        else:
            wanted = not WRITTEN.search(one.name) and is_patch(one.text)
        if wanted:
            yield one, read_patch(one.text)


def is_link(text: str, here: str) -> bool:
    """Return whether a file of this name is a symbolic link, lies behind one, or has other names."""
    if not text or len(text) > MAX_PATH_LENGTH or "\0" in text or not may_look(1 + text.count("/")):
        return False
    return leads_elsewhere(text if text.startswith("/") else f"{here}/{text}")


def leads_elsewhere(path: str) -> bool:
    """The same of a path that was paid for."""
    with suppress(OSError, ValueError):
        if follow_links(path) != os.path.normpath(path):
            return True
    return is_other_name(path)


def is_other_name(path: str) -> bool:
    """Return whether a file is itself a link or has other names, wherever it lies."""
    found = glance_at(path)
    return found is not None and (stat.S_ISLNK(found.st_mode) or has_other_names(found))
