"""What the text of a plan promises: its statements, and the parts of them that say what will be done.

The text comes from an agent, so only what a person sees as a promise counts. Fenced code, quotations and
what a renderer may hide (markup) name nothing; neither do questions, offers, looks back, and whatever an
exclusion reaches: the rest of its sentence, or the list under it. A text with invisible characters promises
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from sayso.core.plans.markup import blank_or_denial, find_exclusion, strip_markup
from sayso.core.plans.promised_names import CHANGING, PART_END, find_targets
from sayso.core.plans.vocabulary import (
    CHANGE_VERBS,
    DENIED_ITEM,
    FILE_TYPES,
    LABELS,
    NO_PROMISE,
    SCOPES,
    SUCCESSES,
    VAGUE,
)
from sayso.core.text.look_alikes import APOSTROPHES
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.unmask import BLANK, QUOTATION, fold_text, has_sign_of, hidden

LONGEST_SENTENCE = 1_000
"""A longer one promises nothing: nobody agrees to all of it."""


def split_statements(text: str) -> list[list[str]]:
    """The text as a person sees it, in blocks of statements: a paragraph, heading or item of a list each."""
    text = _EMOJI_PARTS.sub("", text.translate(APOSTROPHES))
    seen = strip_markup(text)
    if any(map(hidden, {*text, *seen})) or _OVERWRITES.search(text.replace("\r\n", "\n")):
        return []
    lines = (QUOTATION.sub(_blank_match, _BLOCK_QUOTE.sub(_blank_match, line)) for line in seen.splitlines())
    return list(_blocks(line for line in lines if not line.startswith(BLANK * 3)))


def split_sentences(statement: str) -> list[str]:
    """The sentences of a statement, without the marks of lists and headings. None for an empty one."""
    return [each for each in _SENTENCE_END.split(_MARKS.sub("", statement).strip()) if each]


def find_promises(blocks: Iterable[list[str]]) -> Iterator[str]:
    """The parts of sentences that say what will be done."""
    section_denied = False
    for block in blocks:
        denied = False
        for statement, following in pairwise([*block, ""]):
            if _HEADING.match(statement):
                section_denied = denied = _denies(statement)
            elif _is_label(statement, following):
                denied = _denies(statement)
            elif denied or _TICKED_OFF.match(statement):
                continue
            if not section_denied:
                yield from filter(None, map(promise_in_sentence, split_sentences(statement)))


def promise_in_sentence(sentence: str) -> str:
    """The part of a sentence that promises: nothing of a question or an offer, nothing after a "not".

    What speaks against a promise is found in disguise too; what names something is not.
    """
    if len(sentence) > LONGEST_SENTENCE:
        return ""
    folded = fold_text(
        _FILE_NAME.sub(lambda found: "x" * len(found[0]), sentence)
    )  # src/keep.py keeps nothing
    if folded.endswith("?"):
        ahead, _, asked = folded.rpartition("\n")
        folded = ahead if len(asked.split()) <= 3 and not _ASKS.search(ahead) else ""
    if _DENIED_ITEM.search(folded) or has_sign_of("no", sentence):
        return ""
    against = find_exclusion(folded)
    if _NO_PROMISE.search(folded) or _is_of_others(folded) or _denies_its_subject(folded, against):
        return ""
    if against is None:
        return sentence[: len(folded)]
    return _before_exclusion(sentence, against)


def find_changes(promise: str) -> list[str]:
    """The changes a promise describes: a verb with an object that says more than "the code"."""
    nothing_new = VAGUE.union(*(_WORD.findall(name.lower()) for name in find_targets(promise)))
    return [
        quote_on_one_line(verb[0])
        for verb in _CHANGE.finditer(promise)
        if BLANK in verb["object"] or not nothing_new.issuperset(_WORD.findall(verb["object"].lower()))
    ]


def find_scope(blocks: Iterable[list[str]]) -> str | None:
    """What bounds the plan, as it says it."""
    items = [statement for block in blocks for statement in block if _NUMBERED.match(statement)]
    return _quote(blocks, _SCOPE) or (f"a numbered list of {len(items)} steps" if len(items) > 1 else None)


def find_success(blocks: Iterable[list[str]]) -> str | None:
    """How one will know that it worked, as the plan says it."""
    return _quote(blocks, _SUCCESS)


def quote_on_one_line(text: str) -> str:
    """A piece of a plan on one line, short, quotations as an ellipsis."""
    return re.sub(f"{BLANK}+", "…", " ".join(text.split()))[:160].rstrip(" .:;,")


# --- statements ---------------------------------------------------------------------------------------------


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Statements in groups that blank lines divide; a list belongs to what comes before it."""
    block: list[str] = []
    goes_on = False
    for line in lines:
        is_heading = _HEADING.match(line) is not None
        if _BULLET.match(line):
            block.append(line)
        elif line.strip() and (is_heading or not goes_on):
            yield block
            block = [line]
        elif line.strip():
            block[-1] += f"\n{line}"
        goes_on = bool(line.strip()) and not is_heading
    yield block


def _is_label(statement: str, following: str) -> bool:
    """Whether what follows is under this statement: a colon, a list, or a "not" with nothing after it."""
    introduces_list = _BULLET.match(following) is not None and _BULLET.match(statement) is None
    return (
        introduces_list
        or statement.rstrip().endswith(":")
        or _DANGLING.search(fold_text(statement)) is not None
    )


def _denies(label: str) -> bool:
    """Whether a label says that what is under it is not promised. "I won't push. Steps:" does not."""
    last = (split_sentences(label) or [""])[-1]
    if last.endswith((".", "!", ";")):
        return False
    return promise_in_sentence(last) != last or _is_strange(last)


def _is_strange(label: str) -> bool:
    """Whether a short label says neither what is done nor where: "Backlog:", "Phase 2:", "For Tom:"."""
    spoken = re.findall(r"[^\W\d_][\w']*", fold_text(label))
    if not label.endswith(":") or len(spoken) > _LONGEST_LABEL or _FIRST_PART.search(fold_text(label)):
        return False
    return not (find_targets(label) or any(word in LABELS or word in CHANGE_VERBS for word in spoken))


def _blank_match(found: re.Match[str]) -> str:
    return blank_or_denial(found[0])


def _is_of_others(folded: str) -> bool:
    """Whether a sentence says what somebody else will do: "Bob will delete it" is not the agent's promise."""
    who = _WHO_WILL.match(folded)
    return who is not None and who["who"] not in _SPEAKERS and who["who"].strip("x") != ""


def _denies_its_subject(folded: str, against: re.Match[str] | None) -> bool:
    """Whether an exclusion reaches back: "b.py is off limits", "b.py will not change"."""
    if against is None:
        return _NEGATED_SUBJECT.search(folded) is not None
    if against["after"] or _NAMED_SUBJECT.search(folded[: against.start()]):
        return True
    subject = _NEGATED_SUBJECT.search(folded)
    return subject is not None and subject["subject"] not in _SPEAKERS


def _before_exclusion(sentence: str, against: re.Match[str]) -> str:
    """What a sentence promises before it excludes. "b.py: no change" and "b.py (do not touch)" exclude the
    name before: it goes, with those listed beside it, back to the part of the sentence that has a verb.
    """
    ahead = _PART_OF_WORD.sub("", sentence[: against.start()])
    if _PREPOSITION.match(against[0]) or not _POINTS_BACK.search(ahead):
        return ahead
    parts = re.split(rf"({PART_END.pattern}|\()", _POINTS_BACK.sub(r"\g<end>", ahead))
    while len(parts) > 2 and not CHANGING.intersection(_WORD.findall(parts[-1].lower())):
        parts = parts[:-2]
    return "".join(parts) if CHANGING.intersection(_WORD.findall("".join(parts).lower())) else ""


def _quote(blocks: Iterable[list[str]], sign: re.Pattern[str]) -> str | None:
    said = (sentence for block in blocks for statement in block for sentence in split_sentences(statement))
    lines = (line for sentence in said for line in sentence.split("\n"))
    return next(
        (quote_on_one_line(line) for line in lines if not line.endswith("?") and sign.search(line)), None
    )


# --- expressions --------------------------------------------------------------------------------------------

# Line breaks that only some programs take for one; on a terminal some of them overwrite what was shown.
_OVERWRITES = lazy_pattern("[\r\v\f\x1c-\x1f\x85\u2028\u2029]")
_EMOJI_PARTS = lazy_pattern("(?<=[\u2190-\u2bff\U0001f000-\U0001faff])[\u200d\ufe0f]+")
_BLOCK_QUOTE = lazy_pattern(r"^\s*>.*$")
_BULLET = lazy_pattern(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_TICKED_OFF = lazy_pattern(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+\[[xX]\]\s")
_LONGEST_LABEL = 4
_FIRST_PART = lazy_pattern(r"\b(?:phase|part|stage|pr|milestone) (?:1|one)\b")
_NUMBERED = lazy_pattern(r"\s*\d{1,3}[.)]\s+\S")
_HEADING = lazy_pattern(r"\s*#{1,6}\s+")
_MARKS = lazy_pattern(rf"\A(?:{_BULLET.pattern}|{_HEADING.pattern})")
_SENTENCE_END = lazy_pattern(r"(?<=[.!?;])\s+")

_FILE_NAME = lazy_pattern(rf"[\w./\\-]{{1,200}}\.(?:{'|'.join(sorted(FILE_TYPES))})\b")
_PART_OF_WORD = lazy_pattern(r"\S+\Z")
_DANGLING = lazy_pattern(
    r"(?<![^\W_])(?:not|never|no|without|except|excluding|avoid|skip|leave|keep)\W*\Z|n't\W*\Z"
)
_DENIED_ITEM = lazy_pattern(rf"(?:[(\[]|:\s|\s[-–—]+\s)\s*(?:{DENIED_ITEM})[\s)\].!;]*\Z")
_NO_PROMISE = lazy_pattern(rf"\b(?:{'|'.join(NO_PROMISE)})\b")
# "b.py will not change": the negation reaches back to its subject, unless that is who speaks.
_NEGATED_SUBJECT = lazy_pattern(
    r"(?<![^\s,;:])(?P<subject>[^\s,;:]+)\s+(?:(?:will|would|is|are|does|do|should|must|can|shall|may|need)(?:[\s_*]+not|n't)"
    r"|won't|can't|cannot|stays?|remains?)\b"
)
_SPEAKERS = frozenset(
    {"i", "we", "you", "and", "but", "then", "so", "or", "please", "this", "that", "it", "plan"}
)
_WHO_WILL = lazy_pattern(r"\W*(?:the\s+)?(?P<who>[^\s,;:]+)\s+(?:will|shall)\b")
# What is named is masked by now, as a row of x.
_NAMED_SUBJECT = lazy_pattern(
    r"(?<!\w)x{3,}[`)]*\s+(?:is|are|was|will|would|shall|should|must|can|may|gets?|has|does)\b"
)
# A name, then a bracket, colon, dash or "which" that opens what is said of it, or nothing in between.
_POINTS_BACK = lazy_pattern(
    r"(?:\s*\([^()]*|\s*(?:[:–—]|\s-\s|,\s+(?:which|that))[^,;()]{0,60}|(?<=\.)(?P<end>\w+`?)\s+)\Z",
    re.IGNORECASE,
)
_PREPOSITION = lazy_pattern(
    r"(?:without|except|excluding|minus|instead of|rather than|in place of|other than|apart from|aside from"
    r"|as opposed to|in lieu of|but for|save for|outside|(?:all|everything|anything) but)",
    re.IGNORECASE,
)
_ASKS = lazy_pattern(r"\b(?:can|could|do|may|shall|should|will|would)\s+(?:i|we|you)\b")

_WORD = lazy_pattern(r"\w+")
_GERUNDS = "|".join(sorted(verb.removesuffix("e") + "ing" for verb in CHANGE_VERBS))
_CHANGE = lazy_pattern(
    rf"\b(?:{'|'.join(sorted(CHANGE_VERBS))}|{_GERUNDS}|splitting|dropping|wrapping)"
    r"\s+(?P<object>(?:(?!\b(?:and|then)\b)[^,;:\n]){1,160})",
    re.IGNORECASE,
)
_SCOPE = lazy_pattern("|".join(SCOPES), re.IGNORECASE)
_SUCCESS = lazy_pattern("|".join(SUCCESSES), re.IGNORECASE)
