"""Speech within a list of commands that takes something back: "npm test, and don't push"."""

from __future__ import annotations

from collections.abc import Iterator

from sayso.core.text.acts import names_target, speaks_of_act
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.refusing.denials import with_apostrophes


def find_denied(own: str) -> Iterator[str]:
    """The denials in a list, in folded own words, each as a sentence: "instead of git push" is one.

    A denial of a place, time or flag ("not to main", "never on Fridays", "not --force") limits the command
    before it and denies nothing else.
    """
    for part in _PART.split(with_apostrophes(own)):
        found = _DENIAL.search(part)
        if found is None:
            continue
        rest = part[found.end() :].strip(" .!")
        if not _LIMITS.match(rest) and (speaks_of_act(rest) or names_target(rest)):
            yield f"don't {rest if found['verb'] else f'use {rest}'}"


_PART = lazy_pattern(r"[,;\n]|\.\s")
_DENIAL = lazy_pattern(
    r"(?:\A|(?<=\s))(?:(?P<verb>don't|do not|never|must not|should not|may not|can't|cannot|avoid)"
    r"|no(?: more| longer| further)?|not|instead of|rather than|forbid|without|except(?: for)?|excluding)\s+"
)
_LIMITS = lazy_pattern(
    r"-|(?:to|on|in|into|for|from|at|by|with|within|if|when|while|until|before|after|during|more|less|than|yet|now"
    r"|today|tomorrow|ever|once|the time|even|only|just|because|as|always|every|anything|flags?|options?)\b"
)
