"""What a plan's sentences name: targets, changes, operations, scope and success.

The text comes from an agent, so only what a person sees as a promise counts. Fenced code, quotations,
comments, link addresses and lines with invisible characters name nothing; neither do questions, offers, looks
back, and whatever a negation reaches, which is the rest of its sentence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import takewhile

from sayso.core.look_alikes import APOSTROPHES
from sayso.core.own_words import BLANK, fold, hidden, mask_fences, mask_quotations, undisguised
from sayso.core.plan_words import (
    A_FILE,
    CHANGE_VERBS,
    EVERYDAY,
    FILE_NAMES,
    FILE_TYPES,
    NOT_FILES,
    SCOPES,
    SUCCESSES,
    THE_FILE,
    VAGUE,
    Everyday,
)


def seen(text: str) -> list[str]:
    """The lines of a text as a person sees them, what is not the plan's own word blanked or left out."""
    text = _UNSEEN.sub(" ", mask_fences(text.translate(APOSTROPHES)))
    lines = (_EMOJI_STYLE.sub("", line) for line in text.splitlines())
    return [
        _shown(line) for line in lines if not _UNSEEN_LINE.match(line) and not any(map(hidden, set(line)))
    ]


def sentences(lines: list[str]) -> Iterator[str]:
    """The sentences of the lines, marks of lists and emphasis taken off."""
    for line in lines:
        yield from _SENTENCE_END.split(_HEADING.sub("", _BULLET.sub("", line)).strip())


def promises(lines: list[str]) -> Iterator[str]:
    """The parts of sentences that say what will be done. What stands under "Not included:" is not among them."""
    section_denied = False
    for block in _blocks(lines):
        denied = False
        for line, following in zip(block, [*block[1:], ""], strict=True):
            if _HEADING.match(line):
                section_denied = denied = _denies(line)
            elif line.rstrip().endswith(":") or (_BULLET.match(following) and not _BULLET.match(line)):
                denied = _denies(line)
            elif denied:
                continue
            if not section_denied:
                yield from filter(None, map(affirmed, sentences([line])))


def affirmed(sentence: str) -> str:
    """The part of a sentence that promises: nothing of a question or an offer, nothing after a "not".

    What speaks against a promise is found in disguise too, what names something is not.
    """
    folded = fold(sentence)
    if folded.rstrip(" `)").endswith("?") or _NO_PROMISE.search(folded):
        return ""
    subject = _NEGATED_SUBJECT.search(folded)
    if subject and subject["subject"] not in _SPEAKERS:
        return ""
    negation = _NEGATION.search(folded)
    end = len(folded) if negation is None else negation.start()
    return "" if _UNTOUCHED.search(folded[:end]) else sentence[:end]


def targets(sentence: str) -> list[str]:
    """The files and functions a sentence names, in order, as they are spelled."""
    return list(dict.fromkeys(name for name, _ in _targets(sentence)))


def changes(sentence: str) -> list[str]:
    """The changes a sentence describes: a verb with an object that says more than "the code"."""
    named = {word for name in targets(sentence) for word in _WORD.findall(name.lower())}
    found = []
    for verb in _CHANGE.finditer(sentence):
        words = [word for word in _WORD.findall(verb["object"].lower()) if word not in VAGUE | named]
        if words or BLANK in verb["object"]:
            found.append(_quotable(verb[0]))
    return found


def operations(sentence: str, known: Collection[str]) -> list[str]:
    """The declared operations a sentence names: `git.commit`, "git commit", or in everyday words."""
    files = [start for name, start in _targets(sentence) if not name.endswith("()")]
    everyday = [
        name for row in EVERYDAY if _says(sentence, row, files) for name in row.operations if name in known
    ]
    return list(dict.fromkeys([*_spelled_out(sentence, known), *everyday]))


def scope(lines: list[str]) -> str | None:
    """What bounds the plan, as it says it."""
    steps = sum(1 for line in lines if _NUMBERED.match(line))
    return _quote(lines, _SCOPE) or (f"a numbered list of {steps} steps" if steps > 1 else None)


def success(lines: list[str]) -> str | None:
    """How one will know that it worked, as the plan says it."""
    return _quote(lines, _SUCCESS)


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """The lines in groups that blank lines divide; a list belongs to what stands before it."""
    block: list[str] = []
    divided = False
    for line in lines:
        if not line.strip():
            divided = True
            continue
        if divided and not _BULLET.match(line):
            yield block
            block = []
        block.append(line)
        divided = False
    yield block


def _denies(label: str) -> bool:
    """Whether a label says that what stands under it is not promised. "I won't push. Steps:" does not."""
    *_, last = sentences([label])
    return not last.endswith((".", "!", ";")) and affirmed(last) != last


def _shown(line: str) -> str:
    line = _TAG.sub(" ", _LINK_ADDRESS.sub("]", line))
    return mask_quotations(_EMPHASIS.sub("", line))


def _quote(lines: list[str], sign: re.Pattern[str]) -> str | None:
    said = (sentence for sentence in sentences(lines) if not sentence.endswith("?") and sign.search(sentence))
    return next(map(_quotable, said), None)


def _quotable(text: str) -> str:
    return re.sub(f"{BLANK}+", "…", " ".join(text.split()))[:160].rstrip(" .:;,")


def _targets(sentence: str) -> Iterator[tuple[str, int]]:
    """Each target with where it starts."""
    for found in _TARGET.finditer(sentence):
        function, ticked = found["function"], found[0].startswith("`")
        name = f"{function}()" if function else _LINE_NUMBER.sub("", found[0].strip("`").rstrip(".,:;"))
        if (function or _is_file(name, ticked)) and undisguised(name):
            yield name, found.start()


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


def _spelled_out(sentence: str, known: Collection[str]) -> Iterator[str]:
    """Names in full, or as adjacent words; of "git push --force" the longest that is declared."""
    words = list(_NAME.finditer(sentence.lower()))
    for at, word in enumerate(words):
        if word[0] in known:
            yield word[0]
        following = words[at + 1 : at + 1 + _LONGEST_ACTION]
        gaps = zip([word, *following], following, strict=False)
        adjacent = list(
            takewhile(lambda gap: _GAP.fullmatch(gap[0].string, gap[0].end(), gap[1].start()), gaps)
        )
        for length in range(len(adjacent), 0, -1):
            name = f"{word[0]}.{'_'.join(each[0] for each in following[:length])}"
            if name in known:
                yield name
                break


def _says(sentence: str, row: Everyday, files: list[int]) -> bool:
    """Whether the sentence promises what this row says. `files` are the places where it names files."""
    verb_form, object_form = _FORMS[row]
    for verb in verb_form.finditer(sentence):
        if row.objects == A_FILE:
            found = any(start >= verb.end() for start in files)
        elif row.objects == THE_FILE:
            between = _ARTICLES.match(sentence, verb.end())
            found = between is not None and between.end() in files
        else:
            found = object_form.match(sentence, verb.end()) is not None
        if found:
            return True
    return False


# Comments, what is folded away or struck out, what is never shown.
_UNSEEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(details|script|style|template|del|strike|s)\b.*?(?:</\1>|\Z)|~~[^~]*~~",
    re.DOTALL | re.IGNORECASE,
)
_UNSEEN_LINE = re.compile(rf"\s*>|\s*\[[^\]]*\]:|{BLANK}")
_TAG = re.compile(r"<[^<>]{0,500}>")
_LINK_ADDRESS = re.compile(r"\]\([^()]*\)")
_EMPHASIS = re.compile(r"\*\*|__(?=\W|$)|(?<!\w)__")
_EMOJI_STYLE = re.compile("(?<=[\u2190-\u2bff\U0001f000-\U0001faff])\ufe0f")
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_NUMBERED = re.compile(r"\s*\d{1,3}[.)]\s+\S")
_HEADING = re.compile(r"\s*#{1,6}\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")

_NO_PROMISE = re.compile(
    r"\b(?:optional(?:ly)?|could|might|maybe|perhaps|possibly|alternative(?:ly|s)?|eventually|later|next time"
    r"|if you (?:want|like|prefer|wish|agree|approve)|would you|let me know|follow-?up|in (?:the )?future"
    r"|already|previously|so far|(?:i|we)(?:'ve| have| had)|was|were|has been|have been)\b"
)
_NEGATION = re.compile(
    r"\b(?:not|never|no|nothing|none|neither|nor|cannot|without|except|excluding|avoid(?:ing)?|skip(?:ping)?"
    r"|instead of|rather than|other than|apart from|leave|leaving|keep|omit(?:ting)?|untouched|unchanged"
    r"|nicht|kein(?:e[nmrs]?)?|ohne|niemals|pas|sans|jamais|nunca|nao|sem|niet|geen|zonder|senza)\b|n't\b"
)
# "b.py will not change": the negation reaches back to its subject, unless that is who speaks.
_NEGATED_SUBJECT = re.compile(
    r"(?P<subject>[^\s,;:]+)\s+(?:(?:will|would|is|are|does|do|should|must|can|shall|may|need)(?:\s+not|n't)"
    r"|won't|can't|cannot|stays?|remains?)\b"
)
_SPEAKERS = frozenset({"i", "we", "you", "and", "but", "then", "so", "or", "please"})
_UNTOUCHED = re.compile(r"\b(?:out of scope|off limits|as[- ]is|alone)\b")

_WORD = re.compile(r"\w+")
_TARGET = re.compile(
    r"""(?<![\w`:./\\-])(?:
        `[^`\s]{1,200}`(?<!\)`)
      | `?(?P<function>[A-Za-z_][\w.]{0,80})\((?:[^()`\n]{0,80}(?=\)`))?\)
      | [\w@~./\\-]{1,200}
    )""",
    re.VERBOSE,
)
_LINE_NUMBER = re.compile(r"(?::\d+)+$")
_GERUNDS = "|".join(sorted(verb.removesuffix("e") + "ing" for verb in CHANGE_VERBS))
_CHANGE = re.compile(
    rf"\b(?:{'|'.join(sorted(CHANGE_VERBS))}|{_GERUNDS}|splitting|dropping|wrapping)"
    r"\s+(?P<object>[^,;:]{1,160})",
    re.IGNORECASE,
)
_NAME = re.compile(r"[a-z0-9_]+(?:[.-][a-z0-9_]+)*")
_GAP = re.compile(r"[\s`]{1,3}-{0,2}")
_LONGEST_ACTION = 4
_LEAD_IN = (
    r"(?:^\W*|[,:;(–—]\s*|'ll\s+|\b(?:going|have|intend|need|order|plan|want)\s+to\s+"
    r"|\b(?:and|then|will|also|finally|now|i|we|please|just|only|let me|let's)\s+)"
)
_FORMS = {
    row: (re.compile(rf"{_LEAD_IN}(?:{row.verbs})\b", re.IGNORECASE), re.compile(row.objects, re.IGNORECASE))
    for row in EVERYDAY
}
_ARTICLES = re.compile(
    r"\s+(?:(?:the|an?|new|old|files?|module|script|test|empty|unused|obsolete|named|called)\s+)*",
    re.IGNORECASE,
)
_SCOPE = re.compile("|".join(SCOPES), re.IGNORECASE)
_SUCCESS = re.compile("|".join(SUCCESSES), re.IGNORECASE)
