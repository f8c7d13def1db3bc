"""What a promise of a plan names: files, functions, and operations with the targets they are promised for.

A name counts only in surroundings that are understood: after a word that may come before it, and for an
operation only in the part of the sentence that its verb governs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise, takewhile

from sayso.core.plans.vocabulary import (
    A_FILE,
    BEFORE_TARGETS,
    CHANGE_VERBS,
    EVERYDAY,
    FILE_NAMES,
    FILE_TYPES,
    NOT_FILES,
    OPENERS,
    THE_FILE,
)
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.unmask import undisguised

Verb = tuple[str, int, tuple[int, ...]]
"""An operation, where its name or verb ends, and the one place it is for, if it is for a direct object."""


def find_targets(promise: str) -> list[str]:
    """The files and functions a promise names, in order, as they are spelled."""
    return list(dict.fromkeys(name for name, _ in _targets(promise)))


def find_promised_targets(promise: str, known: Collection[str]) -> list[str]:
    """The targets of a promise; of the files, where operations are promised, those they are promised for."""
    governed = {target for places in find_operations(promise, known).values() for target in places}
    named = find_targets(promise)
    return [name for name in named if not governed or name in governed or name.endswith("()")]


def find_operations(promise: str, known: Collection[str]) -> dict[str, list[str]]:
    """The declared operations a promise names, `git.commit`, "git commit" or in everyday words; each with the
    targets it is promised for, none if the promise does not say where.
    """
    named = [(name, start) for name, start in _targets(promise)]
    files = [start for name, start in named if not name.endswith("()")]
    verbs = sorted(
        {*_find_spelled_out(promise, known), *_find_everyday(promise, known, files)},
        key=lambda verb: (verb[1], verb[0]),
    )
    found: dict[str, list[str]] = {operation: [] for operation, _, _ in verbs}
    for target, start in named:
        governing = max((at for _, at, _ in verbs if at <= start), default=None)
        for operation, at, direct in verbs:
            if at == governing and (start in direct if direct else _governs(promise[at:start])):
                found[operation].append(target)
    return {operation: list(dict.fromkeys(places)) for operation, places in found.items()}


def _targets(promise: str) -> Iterator[tuple[str, int]]:
    """Each target with where it starts."""
    for found in _TARGET.finditer(promise):
        function, ticked = found["function"], found[0].startswith("`")
        name = f"{function}()" if function else _LINE_NUMBER.sub("", found[0].strip("`").rstrip(".,:;"))
        if (function or _is_file(name, ticked)) and undisguised(name) and _understood(promise, found.start()):
            yield name, found.start()


def _understood(promise: str, start: int) -> bool:
    """Whether the word right before a target may be there. Inside `code` any may."""
    last = _LAST_WORD.search(promise[max(start - _LONGEST_WORD, 0) : start])
    if last is None or any(code.start() < start < code.end() for code in _CODE.finditer(promise)):
        return True
    word = last["word"].lower()
    return word in BEFORE_TARGETS or word in CHANGING or _looks_like_file(word)


def _looks_like_file(word: str) -> bool:
    return "." in word.strip(".") or "/" in word


def _is_file(name: str, ticked: bool) -> bool:
    base = re.split(r"[/\\]", name)[-1]
    stem, _, kind = base.rpartition(".")
    if "://" in name or name.lower() in NOT_FILES:
        return False
    if base in FILE_NAMES or (kind.lower() in FILE_TYPES and (stem or base == ".env")):
        return True
    if ticked and base.startswith(".") and base.strip("."):
        return True
    named_as_path = ticked or name.startswith(("./", "../", "~/", "/")) or name.endswith("/")
    return "/" in name and named_as_path and name.strip("./~") != ""


def _find_spelled_out(promise: str, known: Collection[str]) -> Iterator[Verb]:
    """Names in full, or as adjacent words; of "git push --force" the longest that is declared."""
    words = list(_NAME.finditer(promise.lower()))
    for at, word in enumerate(words):
        if word[0] in known:
            yield word[0], word.end(), ()
        run = list(takewhile(_adjacent, pairwise(words[at : at + 2 + _LONGEST_ACTION])))
        for length in range(len(run), 0, -1):
            name = f"{word[0]}.{'_'.join(after[0] for _, after in run[:length])}"
            if name in known:
                yield name, run[length - 1][1].end(), ()
                break


def _adjacent(pair: tuple[re.Match[str], re.Match[str]]) -> bool:
    before, after = pair
    return _GAP.fullmatch(before.string, before.end(), after.start()) is not None


def _find_everyday(promise: str, known: Collection[str], files: list[int]) -> Iterator[Verb]:
    """Everyday words for declared operations. `files` are the places where the promise names files."""
    for row in EVERYDAY:
        verb_form, object_form = _FORMS[row]
        for verb in verb_form.finditer(promise):
            direct: tuple[int, ...] = ()
            if row.objects == A_FILE:
                said = any(start >= verb.end() for start in files)
            elif row.objects == THE_FILE:
                between = _ARTICLES.match(promise, verb.end())
                direct = (between.end(),) if between is not None and between.end() in files else ()
                said = bool(direct)
            else:
                said = object_form.match(promise, verb.end()) is not None
            if said:
                yield from ((name, verb.end(), direct) for name in row.operations if name in known)


def _governs(between: str) -> bool:
    """Whether a verb still governs the target behind these words: each new part of the sentence has to begin
    with a target, or with a word that cannot be another verb.
    """
    return all(_goes_on(part) for part in PART_END.split(between)[1:])


def _goes_on(part: str) -> bool:
    for word in part.split():
        if next(_targets(word), None) is None:
            plain = _FIRST_WORD.match(word)
            return plain is None or plain[1].lower() in OPENERS
    return True


_TARGET = lazy_pattern(
    r"""(?<![\w`:./\\-])(?:
        `[^`\s]{1,200}`(?<!\)`)
      | `?(?P<function>[A-Za-z_][\w.]{0,80})\((?:[^()`\n]{0,80}(?=\)`))?\)
      | [\w@~./\\-]{1,200}
    )""",
    re.VERBOSE,
)


_LONGEST_WORD = 80


_CODE = lazy_pattern("`[^`\n]+`")


_LAST_WORD = lazy_pattern(r"(?<![^\s(])(?P<word>[\w'./-]*\w)[ \t\n*_`(]*\Z")


_LINE_NUMBER = lazy_pattern(r"(?::\d+)+$")


CHANGING = CHANGE_VERBS.union(*(row.verbs.split("|") for row in EVERYDAY))


PART_END = lazy_pattern(
    r"[,;:]\s|\s(?:and|or|then|while|whereas|although|but|as well as|plus)\s|\n|[–—]|\s-\s"
)


_FIRST_WORD = lazy_pattern(r"\W*(\w[\w']*)")


_NAME = lazy_pattern(r"[a-z0-9_]+(?:[.-][a-z0-9_]+)*")


_GAP = lazy_pattern(r"[ \t`]{1,3}-{0,2}")


_LONGEST_ACTION = 4


_LEAD_IN = (
    r"(?:^\W*|[,:;(\n–—]\s*|'ll\s+|\b(?:going|have|intend|need|order|plan|want)\s+to\s+"
    r"|\b(?:and|then|will|also|finally|now|i|we|please|just|only|let me|let's)\s+)"
)


_FORMS = {
    row: (
        lazy_pattern(rf"{_LEAD_IN}(?:{row.verbs})\b", re.IGNORECASE),
        lazy_pattern(row.objects, re.IGNORECASE),
    )
    for row in EVERYDAY
}


_ARTICLES = lazy_pattern(
    r"\s+(?:(?:the|an?|new|old|files?|module|script|test|empty|unused|obsolete|named|called)\s+)*",
    re.IGNORECASE,
)
