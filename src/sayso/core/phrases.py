"""The phrases Sayso listens for in a user's message, as data.

Everything is lower case with straight apostrophes, as messages are once they are folded. A phrase matches as
whole words; `pattern` turns a list of them into one expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

STOP_PHRASES = ("stop", "wait", "cancel", "hold on", "not yet")

HIGH_PHRASES = (
    "go ahead",
    "proceed",
    "yes",
    "yep",
    "yeah",
    "sounds good",
    "looks good",
    "do it",
    "ship it",
    "make it so",
    "let's do it",
    "let's go",
    "approved",
    "confirmed",
)

MEDIUM_PHRASES = ("ok", "okay", "sure", "fine", "that works")

POLITE = ("please", "thanks", "thank you", "thanks a lot", "many thanks", "cheers")

REFUSALS = (
    "no",
    "nope",
    "nah",
    "no no",
    "no way",
    "no please",
    "no thanks",
    "no thank you",
    "never",
    "never mind",
    "nevermind",
    "not now",
    "not really",
    "not like this",
    "not like that",
    "absolutely not",
    "certainly not",
    "definitely not",
    "of course not",
    "please not",
    "rather not",
    "i'd rather not",
    "i would rather not",
    "i refuse",
    "i don't think so",
    "i do not think so",
    "don't think so",
    "don't",
    "dont",
    "do not",
    "don't do it",
    "denied",
    "deny",
    "deny it",
    "declined",
    "decline",
    "rejected",
    "reject",
    "reject it",
    "negative",
    "forget it",
    "leave it",
    "abort",
    "halt",
)
"""A clause that is one of these is a refusal."""

HARMLESS_DONTS = ("worry", "forget", "hesitate", "know", "mind", "care", "understand", "see", "remember")
"""What may follow "don't" without refusing anything: "don't worry", "don't forget the tests"."""

DONE_PHRASES = ("done", "complete", "next", "next task")

CHANGE_WORDS = (
    "but",
    "however",
    "though",
    "and",
    "also",
    "plus",
    "except",
    "excluding",
    "skip",
    "leave",
    "without",
    "only",
    "just",
    "instead",
    "don't",
    "do not",
    "with",
    "if",
    "unless",
    "as long as",
    "provided",
)
"""What may follow a yes and turns it into a yes to something else."""


def pattern(phrases: Iterable[str]) -> str:
    """An expression for any of the phrases, the longest first, with white space or a dash between words."""
    longest_first = sorted(phrases, key=len, reverse=True)
    return "|".join(re.escape(phrase).replace(r"\ ", r"(?:\s+|-)") for phrase in longest_first)
