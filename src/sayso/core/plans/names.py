"""Names in a change to a plan: which of its targets and operations words speak of.

Marks around a name never hide it: `[b.py]`, `b.py's` and `~b.py` are b.py. In doubt words point at a target.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import SequenceMatcher
from fnmatch import fnmatchcase

from sayso.core.text.patterns import lazy_pattern


def recalls(stems: Collection[str], operation: str) -> bool:
    """Whether words recall the operation, loosely: "no git" and "don't commit" both recall git.commit."""
    return any(stem in stems for stem in stems_of(operation))


def means(stems: Collection[str], operation: str) -> bool:
    """Whether words mean this operation: its action, or its domain if the action is too common to tell."""
    domain, action, *_ = stems_of(operation)
    return (domain if action in _COMMON_ACTIONS else action) in stems


def stems_of(operation: str) -> list[str]:
    domain, _, action = operation.partition(".")
    return [stem(part) for part in (domain, *re.split(r"[_-]", action))]


def is_called(word: str, target: str) -> bool:
    """Whether a word names the target: in full, by its last part, or by that without its ending."""
    base = _parts(target)[-1]
    if word in _ARTICLES:
        return False
    return word.removesuffix("()") in {target.lower(), target.lower().removesuffix("()"), base, _bare(base)}


def points_at(spoken: Collection[str], target: str) -> bool:
    """Whether words may point at the target: by name, folder, ending, pattern, or a word like its name."""
    parts = _parts(target)
    ending = parts[-1].rpartition(".")[2]
    pieces = {stem(piece) for part in parts for piece in re.split(r"[\W_]+", _bare(part)) if len(piece) > 2}
    plain = {*parts, *(f"{part}/" for part in parts), f".{ending}", f"*.{ending}", ending}
    return any(
        word in plain
        or _parts(word)[-1] == parts[-1]
        or is_called(word, target)
        or stem(word) in pieces
        or _fits(word, target.lower())
        or _resembles(_parts(word)[-1], parts[-1])
        for word in spoken
    )


def is_pattern(word: str) -> bool:
    return "*" in word or "?" in word


def _fits(word: str, target: str) -> bool:
    """Whether a pattern fits the target, its last part or a folder above it."""
    if not is_pattern(word):
        return False
    pattern = re.sub(r"\A\W*/|\*\*/", "*", word)
    return any(fnmatchcase(name, form) for name in (target, _parts(target)[-1]) for form in (word, pattern))


def _resembles(word: str, name: str) -> bool:
    """Whether a word holds a target's name, or is one with a slip of the pen in it."""
    if "." in name and name in word:
        return True
    alike = min(len(word), len(name)) > 5 and "." in word
    return alike and SequenceMatcher(None, word, name).ratio() > _ALIKE


def _parts(target: str) -> list[str]:
    return [part for part in re.split(r"[/\\]", target.lower().removesuffix("()")) if part] or [
        target.lower()
    ]


def _bare(name: str) -> str:
    return name.rpartition(".")[0] or name


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without any mark around them."""
    found = (_AROUND.sub("", word).removesuffix("'s") for word in _WORD.findall(text.lower()))
    return [word for word in found if word]


def stem(word: str) -> str:
    word = word.removesuffix("'s")
    bare = re.sub(r"(?:ing|er|ed|es|s|e)$", "", word) if len(word) > 3 else word
    return bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] else bare


_ALIKE = 0.8
_WORD = lazy_pattern(r"[\w./\\*?'’-]+")
_AROUND = lazy_pattern(r"\A(?:['’-]|\./|\.(?!\w))+|['’.?-]+\Z")
_ARTICLES = frozenset({"a", "an", "i", "the"})
# Words too common to tell one operation from another.
_COMMON_ACTIONS = frozenset(
    {"run", "creat", "writ", "add", "read", "send", "list", "make", "mak", "get", "set"}
)
