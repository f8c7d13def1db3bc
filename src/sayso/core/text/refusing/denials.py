"""The small words of a denial, and messages with its spellings made even: "dont", "do n't", "DO-NOT"."""

from __future__ import annotations

import re

from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import APOSTROPHES_LEFT_OUT, HARMLESS_DONTS, pattern


def with_apostrophes(text: str) -> str:
    """Words with the apostrophes of their denials: "dont" is "don't"."""
    for form, plain in _MISSPELLED:
        text = form.sub(plain, text)
    return _APOSTROPHE_LEFT_OUT.sub(lambda found: f"{found[0][:-1]}'t", text)


def in_one_clause(spoken: str) -> str:
    """Folded own words with what splits a denial taken out: "@agent, do not, ever,\\nedit b.py"."""
    spoken = _LIST_BEHIND.sub(_spell_out_list, spoken)
    spoken = _LINE_WITHIN.sub(r"\1 ", _MENTION.sub("please ", spoken))
    spoken = _COLON_AHEAD.sub(" is ", _COLON_BEHIND.sub(r"\1 ", spoken))
    spoken = _ADVERB_BEHIND.sub(r" \1", _ADVERB_AHEAD.sub(r"\1 ", spoken))
    return _ASIDE.sub(r"\1 ", _EVER.sub("never ", spoken))


def _spell_out_list(found: re.Match[str]) -> str:
    """Each entry of a list under a denial as a denial of its own."""
    return "".join(f"\ndon't use {item}." for item in _ITEM.findall(found["items"]))


def clean_clause(words: str) -> str:
    """A clause without emphasis, emoji and marks around its words."""
    return " ".join(_NOT_A_WORD.sub(" ", words).split()).strip(" ._-/'")


FROM_NOW_ON = (
    "next time|from now on(?:wards)?|from here on(?: out)?|from this point on|in (?:the )?future"
    "|going forwards?"
    "|henceforth|for the rest of (?:this|the) (?:task|session|day)|as of now"
)
"""Says that a statement is for what comes."""

LEAD_WORDS = (
    "(?:please|pls|plz|oh|ah|hm+|um+|uh+|er+|erm|eh+|meh|ugh|mm+|argh|well|ok|okay|yes|yeah|so|and|but|then"
    "|also|actually|sorry"
    "|i think|i said|hey|hell|heck|god|look|listen|now|just|thanks|thank you|i repeat"
    "|again|one more thing|btw|fyi|lol|haha+|omg|wtf|thx|oops|fuck|fck|shit|damn|christ|jesus|dude|man|bro"
    "|on (?:second|further) thoughts?|on reflection|come to think of it|thinking about it"
    f"|{FROM_NOW_ON})"
)
LEAD = f"(?:{LEAD_WORDS} )*"
"""What may stand before the sense of a clause."""

HARMLESS = rf"(?! (?:(?:have|need) to )?(?:{pattern(HARMLESS_DONTS)})\b)"

NOT_MODAL = (
    "(?:don't|dont|do not|never ever|never|(?:must|should|may|can|will|shall|could) never"
    "|must not|mustn't|should not|shouldn't|may not|shall not|shan't"
    "|can't|can not|cannot|better not|best not|'re not to|are not to|aren't to|'re not allowed to"
    "|are not allowed to"
    "|aren't allowed to|'re never to|are never to|needn't|need not)"
)

FORBIDDEN = (
    "(?:forbidden|prohibited|banned|barred|disallowed|vetoed|taboo|off[ -]limits|off the table|out of bounds"
    "|out of the question|(?:a )?no[ -]go|not allowed|not permitted|not an option|not to be"
    "|no longer allowed)"
)
"""What is said of something that may not be done."""

_APOSTROPHE_LEFT_OUT = lazy_pattern(
    rf"(?<![\w./-])(?:{'|'.join(APOSTROPHES_LEFT_OUT)})(?![\w./-])", re.IGNORECASE
)
_MISSPELLED = (
    (lazy_pattern(r"(?<![\w./-])(?:do n't|don;t|d'ont|do'nt|dont't)(?![\w./-])", re.IGNORECASE), "don't"),
    (lazy_pattern(r"(?<![\w./-])do(?:-|_)?not(?![\w./-])", re.IGNORECASE), "do not"),
    (lazy_pattern(r"(?<![\w./-])id(?= (?:rather|prefer|like (?:you )?not))", re.IGNORECASE), "i'd"),
    (lazy_pattern(r"(?<![\w./-])im(?= (?:not|against|no longer))", re.IGNORECASE), "i'm"),
    (
        lazy_pattern(
            r"(?<![\w./-])u(?= (?:can't|cant|cannot|don't|dont|may not|must|should))", re.IGNORECASE
        ),
        "you",
    ),
)
_NOT_A_WORD = lazy_pattern(r"[^\w\s'./\\-]+|(?<![\w])[_-]+|[_-]+(?![\w])|\.{2,}")
_MENTION = lazy_pattern(r"(?<![\w@])@[\w-]+[,:]?\s+")
_NEGATION = r"(?:do|must|should|may|shall|can|could|will|let's)"
_LINE_WITHIN = lazy_pattern(
    rf"\b({_NEGATION}(?=\s+not\b)|(?:{_NEGATION} )?not|never|don't|dont)[ \t]*\n\s*(?=\w)"
)
_EVER = lazy_pattern(r"\bnever[\s,(—–-]+ever\b[\s,)—–-]+")
_ASIDE = lazy_pattern(
    r"\b(do not|don't|dont|never|must not|should not|not)(?:\s*,[^,.;!?\n]{0,60},|\s*\([^().;!?\n]{0,60}\)"
    r"|\s*[—–][^—–.;!?\n]{0,60}[—–]|\s+-+\s[^.;!?\n]{0,60}?\s-+)\s*"
)
# "push: forbidden" and "off limits: git push" are one statement each.
_COLON_AHEAD = lazy_pattern(rf":\s+(?={FORBIDDEN}\b)")
_COLON_BEHIND = lazy_pattern(rf"\b({FORBIDDEN}|do not|don't|dont|never|avoid):\s+(?!\s)")
# "Next time, ask me" and "ask me, from now on" are one statement each.
_ADVERB_AHEAD = lazy_pattern(rf"\b({FROM_NOW_ON})\s*[,:—–-]+\s+(?=\w)")
_ADVERB_BEHIND = lazy_pattern(rf"\s*,\s*((?:{FROM_NOW_ON})\b(?!\s*[,:—–-]*\s*\w))")
_BULLET = r"[ \t]*(?:[-*+•–]|\d{1,2}[.)])[ \t]+"
_ITEM = lazy_pattern(rf"(?m)^{_BULLET}(\S.*?)[.;,]*$")
_LIST_BEHIND = lazy_pattern(
    rf"(?m)^[^\n]{{0,60}}?(?<!\w)(?:{FORBIDDEN}|do not|don'?ts?|never|avoid"
    r"|(?:must|may|should|shall|can) not|cannot|mustn't|shouldn't|can't|not to do|not do"
    r"|no[ -]?gos?|leave alone|hands off|forbid)"
    rf"(?: do| touch| edit| change| run| use)?[ \t]*:?[ \t]*\n(?P<items>(?:{_BULLET}\S[^\n]*(?:\n|\Z))+)"
)
