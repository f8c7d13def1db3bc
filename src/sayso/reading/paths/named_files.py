"""Files that a command line or another text names, wherever in it: where they lead, and what is in them.

Which program takes which word for a file need not be known. Every word of a line, and what stands in it
behind a sign or in quotes, is looked up in the folders that the line may be in. An approval is for these
files as they were, so one that was swapped for a link since is asked about again.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import glance_at, may_look
from sayso.reading.paths.file_content import read_whole
from sayso.reading.paths.finding.argument_texts import is_link, is_other_name, leads_elsewhere
from sayso.reading.paths.hard_links import describe_file, has_other_names
from sayso.reading.paths.spellings import MAX_PATH_LENGTH, WILD, expand_home

MAX_CONTENT = 4_000_000
"""How much of a file is read to tell that it is still the same."""
_MOST_FOLDERS = 8
_MOST_MATCHES = 256
_WORD = lazy_pattern(r"""[^\s;|&<>()'"`{},]+""")
_SIGN = lazy_pattern(r"[=@:]")
_SHORT_OPTION = lazy_pattern(r"-[A-Za-z](?=.)")
_QUOTED = lazy_pattern(r"""['"\\{]""")
_HERE = frozenset({".", "./", "/", "-"})
_BRACES = lazy_pattern(r"\{([^{}]*,[^{}]*)\}")
_MOST_SPREAD = 64
_OWN_FOLDERS = lazy_pattern(r"\$(?:\{(HOME|PWD)\}|(HOME|PWD)\b)")


def find_named_links(line: str, *, folder: str, home: str) -> set[str]:
    """Return where the files named in a line lead that are links, lie behind one or have other names."""
    found = _find_files(line, folder, home)
    return {_describe_link(path) for path in found if _is_link_from(folder, path)}


def digest_named_files(line: str, *, folder: str, home: str) -> set[str]:
    """Return every file named in a line with the digest of its content."""
    found = ((path, digest_content(path)) for path in _find_files(line, folder, home))
    return {f"{os.path.realpath(path)}#sha256:{digest}" for path, digest in found if digest is not None}


def digest_content(path: str) -> str | None:
    """Return the digest of a file's content; None if it is not a plain file, or too large."""
    try:
        return hashlib.sha256(read_whole(path, MAX_CONTENT)).hexdigest()
    except (OSError, ValueError):
        return None


def _is_link_from(here: str, path: str) -> bool:
    """Return whether a file is a link, lies behind one or has other names.

    Of one in the folder here, which is a real one, only the names from there on cost looks.
    """
    if path.rpartition("/")[0] == here:
        return is_other_name(path)
    inside = path.startswith(f"{here}/") and "/../" not in f"{path}/"
    return leads_elsewhere(path) if inside else is_link(path, here)


def _find_files(line: str, here: str, home: str) -> Iterator[str]:
    """Every path that a word of the line may be, in each folder that it may be in."""
    if not here.startswith("/"):
        return
    found = (name for name in _find_names(line, here, home) if len(name) <= MAX_PATH_LENGTH)
    names = tuple(dict.fromkeys(found))
    for folder in (here, *islice(_find_folders(names, here), _MOST_FOLDERS)):
        for name in names:
            if not may_look(1):
                return
            yield from _expand(name if name.startswith("/") else f"{folder}/{name}")


def _find_names(line: str, folder: str, home: str) -> Iterator[str]:
    """The words of a line as a shell joins them, and every piece between its signs."""
    known = {"HOME": home, "PWD": folder}
    line = _OWN_FOLDERS.sub(lambda found: known[found[1] or found[2]], line)
    if _QUOTED.search(line) is not None:
        with suppress(ValueError):
            words = shlex.split(line, comments=False)
            yield from _find_in_words((one for word in words for one in _spread_braces(word)), home)
    yield from _find_in_words(_WORD.findall(line), home)


def _spread_braces(word: str) -> list[str]:
    """The words that `{a,b}` in a word stands for."""
    spread = [word]
    while len(spread) < _MOST_SPREAD and (found := _BRACES.search(spread[0])) is not None:
        before, after = spread[0][: found.start()], spread[0][found.end() :]
        spread[:1] = []
        spread += [f"{before}{choice}{after}" for choice in found[1].split(",")]
    return spread


def _find_in_words(words: Iterable[str], home: str) -> Iterator[str]:
    for word in words:
        option = word.startswith("-")
        parts = _SIGN.split(word)
        behind = parts[1:] if option else parts if len(parts) > 1 else ()
        for name in ((_SHORT_OPTION.sub("", word, count=1),) if option else (word,), behind):
            yield from (expand_home(one, home) for one in name if one and one not in _HERE)


def _find_folders(names: Iterable[str], folder: str) -> Iterator[str]:
    """The folders among the names, one of which the line may go to."""
    for name in names:
        path = name if name.startswith("/") else f"{folder}/{name}"
        if "\0" not in path and may_look(1 + path.count("/")) and os.path.isdir(path):  # noqa: PTH112
            yield path


def _expand(path: str) -> Iterator[str]:
    """The path, or what its wildcards stand for now."""
    if "\0" in path:
        return
    yield path
    if WILD.search(path) and may_look(_MOST_MATCHES):
        with suppress(OSError, re.error):
            yield from islice(glob.iglob(path), _MOST_MATCHES)  # noqa: PTH207  links stay


def _describe_link(path: str) -> str:
    """Where it leads, and, since a file may have several names, which file that is."""
    real = os.path.realpath(path)
    found = glance_at(real)
    return describe_file(real, found) if found is not None and has_other_names(found) else real
