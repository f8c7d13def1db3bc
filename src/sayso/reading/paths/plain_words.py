"""Arguments that name no path: words and numbers, under names that do not hold paths, that no file is called.

Most calls have no others. This answers for them what the full reading would, from one look at the file system
for each text; in doubt the full reading is made (`tests/property/test_plain_words.py` compares the two).

- A text is letters and digits with single separators: no slash, dot within, option, wildcard, scheme, quote,
  bracket or line end. So it is no path by its spelling, no patch, no template and no JSON, and the only path
  it can be is the entry of the working folder that is so called.
- There is no such entry. So it is neither a link nor a file, and no folder that others may lie in.
- It is none of the names that a guarded or secret place begins with. So no text completes such a place.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import MAX_LOOKS, current_budget
from sayso.reading.paths.folding import decode_text
from sayso.reading.paths.path_arguments import classify_argument, takes_patch
from sayso.reading.paths.pieces import is_ending, is_prefix
from sayso.reading.paths.protected import begins_guarded
from sayso.reading.verbs import is_git, words_in

_WORDS = lazy_pattern(
    r"-?[0-9]+(?:\.[0-9]+)?|(?!id_)[A-Z0-9]+(?:(?:[-_]|[,.;!]? )[A-Z0-9]+)*[.!]?", re.ASCII | re.IGNORECASE
)
_OWN = "sayso"
_LONGEST = 255
MOST_ARGUMENTS = 16
_COST = 8
"""Looks that the full reading takes for one text, beside those for the folders above it; and more."""


def name_no_path(arguments: object, folder: str, named: Sequence[str]) -> bool:
    """Return whether nothing in these arguments is a path or part of one; False if that takes a closer look.

    `named` are the names of the tool and its operations.
    """
    if type(arguments) is not dict or len(arguments) > MOST_ARGUMENTS:
        return False
    if not folder.startswith("/") or not _are_looks_left(folder):
        return False
    if _takes_more_than_paths(tuple(named)):
        return False
    return all(_is_plain(name, value, folder) for name, value in arguments.items())


@functools.lru_cache(maxsize=1024)
def _takes_more_than_paths(named: tuple[str, ...]) -> bool:
    """Return whether a tool of these names reads what it is given as git does, or as a patch."""
    return is_git(named) or any(takes_patch(words_in(name)) for name in named)


def _are_looks_left(folder: str) -> bool:
    """Return whether the full reading would not run out of looks."""
    budget = current_budget()
    return not budget.unread and budget.made + MOST_ARGUMENTS * (_COST + folder.count("/")) < MAX_LOOKS


def _is_plain(name: str, value: object, folder: str) -> bool:
    kind = type(value)
    if not _is_plain_name(name):
        return False
    if kind is bool or value is None:
        return True
    if kind is not str and kind is not int and kind is not float:
        return False
    text = str(value)
    if len(text) > _LONGEST or _WORDS.fullmatch(text) is None or _OWN in text.lower():
        return False
    if is_ending(name, text) or begins_guarded(text) or decode_text(text) is not None:
        return False
    try:
        os.lstat(f"{folder}/{text}")
    except OSError:
        return True
    return False


@functools.lru_cache(maxsize=1024)
def _is_plain_name(name: str) -> bool:
    """Return whether an argument of this name holds neither paths, patterns, patches nor prefixes."""
    return (
        name.isidentifier()
        and classify_argument(name) in ("mentions", "anything")
        and not takes_patch((), name)
        and not is_prefix(name)
    )
