"""Whether a message is a yes: plain, with a change, or with a question in it.

A yes is a message made of nothing but consent phrases and the small words people put around them. One other
word, and it is none: "yes, that file is broken", "no problem, go ahead". A yes followed by "but", "only",
"if" and the like is a yes to something else, which grants nothing until that was shown.
"""

from __future__ import annotations

import re

import msgspec

from sayso.core.phrases import CHANGE_WORDS, HIGH_PHRASES, MEDIUM_PHRASES, POLITE, pattern


class Assent(msgspec.Struct, frozen=True):
    """At most one of three: how strong a plain yes is, the change asked for with it, or that it asks back."""

    strength: str | None = None
    change: str | None = None
    question: bool = False


NONE = Assent()


def read_assent(said: str, asks: bool) -> Assent:
    """Read an undisguised message; `asks` says that there is a question mark in its own words."""
    said = said.replace("’", "'").strip()
    strength, rest = _leading_yes(said)
    if asks:
        return Assent(question=strength is not None or _ASKED_PHRASE.search(said) is not None)
    if strength is None:
        return Assent(change=said) if _BARE_CHANGE.match(said) else NONE
    if not rest:
        return NONE if _TRAILS_OFF.search(said) else Assent(strength)
    return _changed(rest)


def _leading_yes(said: str) -> tuple[str | None, str]:
    """How strong the yes at the start of a message is, and what follows it."""
    strength, at = None, 0
    while unit := _UNIT.match(said, at):
        at = unit.end()
        if unit["high"]:
            strength = "high"
        elif unit["medium"]:
            strength = strength or "medium"
    return strength, said[at:]


def _changed(rest: str) -> Assent:
    if not _CHANGE.match(rest):
        return NONE
    change = _CONJUNCTION.sub("", rest).strip().rstrip(".!").rstrip()
    if _ASKS_WITHOUT_MARK.match(change):
        return Assent(question=True)
    return Assent(change=change) if change else NONE


def _expression(text: str) -> re.Pattern[str]:
    # ASCII, because a case-blind match otherwise takes the Kelvin sign for a k and the long s for an s.
    return re.compile(text, re.IGNORECASE | re.ASCII | re.VERBOSE)


def _spaced(text: str) -> str:
    return text.strip().replace(" ", r"\s+")


_HIGH = pattern(HIGH_PHRASES).replace("let's", "let'?s")
_MEDIUM = pattern(MEDIUM_PHRASES)
_END_OF_WORD = r"(?![\w'/]|[-.]\w)"
_PLAN = "(?:(?:the|this|that|your) (?:plan|change|changes|proposal|approach)|(?:these|those) changes)"
_LEAD = _spaced(
    f"(?:(?:and|so|then|please|just|you can|you may|we can|i'm|i am|we're|we are"
    f"|(?:it|this|that)(?: all)?(?:'s| is)?|(?:all|everything|{_PLAN})(?: is)?) )*"
)
_TAIL = _spaced(
    f"(?: (?:(?:with|on|for|by) (?:it|this|that|me|us|{_PLAN})|to me|to us"
    f"|as (?:planned|proposed|described|discussed|suggested|shown)|then|now|thing))*"
)
_FILLER = _spaced(
    f"(?:{pattern(POLITE)}|oh|(?:great|good|nice|excellent|perfect|awesome|cool)(?: plan| work| idea)?"
    "|right|alright|all right|absolutely|definitely|certainly|of course|by all means)"
)
_UNIT = _expression(
    rf"(?:{_LEAD}(?:(?P<high>{_HIGH})|(?P<medium>{_MEDIUM})){_TAIL}|{_FILLER}){_END_OF_WORD}[\s,.!;:–—-]*"
)
_TRAILS_OFF = re.compile(r"\.\s*\.|[,;:–—-]$")
_CHANGE = _expression(rf"(?:{pattern(CHANGE_WORDS)}){_END_OF_WORD}")
_CONJUNCTION = _expression(r"\A(?:(?:but|however|though|and|also|plus)\b[\s,]*)+")
_BARE_CHANGE = _expression(
    r"(?:only|skip|except|without|just(?=\s+(?:do|the|this|that|these|those|part|step|first)\b))\s+\w"
)
_ASKED_PHRASE = _expression(rf"\b(?:{_HIGH}|{_MEDIUM}){_TAIL}\s?\?")
_ASKS_WITHOUT_MARK = _expression(
    r"""(?:will|would|does|did|is|are|was|were|can|could|should|what|why|how|who|which
         |(?:won|wouldn|doesn|didn|isn|aren|can|couldn|shouldn)'t
         |(?:do|have|has|may|might)\s+(?:i|you|we|they|it|this|that|the))\b"""
)
