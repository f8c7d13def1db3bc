"""Which of several open questions a message means: by number, ordinal, command, target, "both" or "all"."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from sayso.core.decision import Question
from sayso.core.own_words import undecorated
from sayso.core.phrases import HIGH_PHRASES, MEDIUM_PHRASES, NO_WORDS, POLITE, pattern


class Choice(msgspec.Struct, frozen=True):
    """The questions a message names, and whether it says yes or no to them itself; None leaves that open.

    `hesitant` says that its yes is one of those that are asked back.
    """

    questions: tuple[Question, ...]
    says: str | None = None
    hesitant: bool = False


def read_choice(text: str, asked: Sequence[Question]) -> Choice | None:
    """Read a message that is nothing but a choice, with or without a yes or no before it; else None."""
    said = " ".join(undecorated(text.replace("’", "'")).split()).rstrip(".! ")
    spoken = _LEAD.match(said)
    if spoken is not None:
        said = said[spoken.end() :]
    elif (spoken := _TAIL.search(said)) is not None:
        said = said[: spoken.start()]
    says = None if spoken is None else "no" if spoken["no"] else "yes"
    if _NONE.fullmatch(said):
        return Choice(tuple(asked), "no") if says != "yes" else None
    named = _named(_ASIDE.sub("", said), asked)
    return Choice(named, says, spoken is not None and spoken["hesitant"] is not None) if named else None


def _named(said: str, asked: Sequence[Question]) -> tuple[Question, ...]:
    """The questions named, in their order; empty if any part of the text names none, or more than one."""
    whole = _one(said, asked)
    if whole is not None:
        return (whole,)
    if _ALL.fullmatch(said) and (len(asked) == 2 or not said.lower().startswith("both")):
        return tuple(asked)
    parts = [_one(part, asked) for part in _SEPARATOR.split(said) if part.strip()]
    if not parts or None in parts:
        return ()
    return tuple(question for question in asked if question in parts)


def _one(said: str, asked: Sequence[Question]) -> Question | None:
    said = said.strip().strip("`\"'")
    ordinal = _ORDINAL.fullmatch(said)
    if ordinal is not None:
        at = _place(ordinal, len(asked))
        return asked[at] if 0 <= at < len(asked) else None
    fitting = [question for question in asked if said and said in _names(question)]
    return fitting[0] if len(fitting) == 1 else None


def _place(ordinal: re.Match[str], count: int) -> int:
    if ordinal["number"]:
        return int(ordinal["number"][:4]) - 1
    word = ordinal["word"].lower()
    if word in ("last", "latter"):
        return count - 1
    return _WORDS.index(word) if word in _WORDS else 0


def _names(question: Question) -> set[str]:
    """What a question may be called: its command, target, tool or operation, in full."""
    call = question.request.call
    named = {call.command, call.target, call.tool, *(item.operation for item in question.items)}
    if call.target:
        named.add(re.split(r"[/\\]", call.target)[-1])
    return {name for name in named if name}


def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.ASCII)


_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_NOS = rf"{NO_WORDS}|not|deny|reject|refuse|decline|denied|rejected"
_YESES = f"{pattern(HIGH_PHRASES)}|approve|allow|accept"
_ANSWERS = rf"(?P<yes>{_YESES})|(?P<hesitant>{pattern(MEDIUM_PHRASES)})|(?P<no>{_NOS})"
_LEAD = _expression(rf"(?:{_ANSWERS})(?![\w'])[\s,:;–—-]*(?:(?:to|for|with|on|just|only|please)\s+)*(?=\S)")
_TAIL = _expression(rf"[\s,:;–—-]+(?:{_ANSWERS})\Z")
_ASIDE = _expression(rf"\A(?:i\s+mean|just|only|please)\s+|[\s,]+(?:{pattern(POLITE)}|only|then)\Z")
_ALL = _expression(
    r"both(?:\s+of\s+(?:them|these))?|all(?:\s+of\s+(?:them|these|it))?|all\s+(?:two|three|four|five|\d+)"
    r"|everything|each(?:\s+of\s+them)?|every\s+one"
)
_NONE = _expression(r"none(?:\s+of\s+(?:them|these|it))?|neither(?:\s+of\s+them)?|nothing")
_SEPARATOR = re.compile(r"\s*(?:,\s*and\s|,|\s&\s|\sand\s)\s*", re.IGNORECASE)
_ORDINAL = _expression(
    r"(?:the\s+)?(?:(?:number|no\.|nr\.?|question|option|item)\s*|\#)?(?P<number>\d+)(?:st|nd|rd|th)?(?:\s+(?:one|question))?\)?"
    rf"|(?:the\s+)?(?P<word>{'|'.join(_WORDS)}|last|former|latter)(?:\s+(?:one|question|command|call))?"
)
