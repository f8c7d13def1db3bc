"""What a call does, as part of a sentence: "changes a remote" gets a subject, "its pattern is odd" has one.

Policies and readings say it in either form. Every sentence for people about it is made here.
"""

from __future__ import annotations

from sayso.core.text.patterns import lazy_pattern

_SUBJECTS = frozenset(
    {"a", "alias", "an", "backslashes", "braces", "its", "more", "nobody", "others", "the", "this"}
    | {"what", "where", "which", "whose"}
)
"""First words that are not a verb, though some end like one."""
_NEXT_TO_SUBJECT = frozenset(["are", "can", "cannot", "could", "has", "is", "may", "was", "were", "would"])
_SHORTEST_VERB = 4
_UNKNOWN = lazy_pattern(r"\S+ \S+ is not (?:known|understood)")
"""A program and its subcommand, as in "gems x is not known"."""


def add_subject(text: str) -> str:
    """'changes a remote' becomes 'it changes a remote'; what has a subject stays as it is."""
    return f"it {text}" if _begins_with_verb(text) else text


def tell_ahead(text: str) -> str:
    """'overwrites or deletes history' becomes 'This will overwrite or delete history.'"""
    does = text.removeprefix("it ")
    if not _begins_with_verb(does):
        known = text.partition(" ")[0] in (*_SUBJECTS, "it")  # another word may be a name
        return f"{text[:1].upper()}{text[1:]}." if known else f"{text}."
    first, *rest = does.split(" ")
    if first == "may":
        return f"This {does}."
    if rest[:1] == ["or"] and len(rest) > 1:
        rest[1] = _bare_verb(rest[1])
    return f"This {' '.join(('will', _bare_verb(first), *rest))}."


def _begins_with_verb(text: str) -> bool:
    first, _, rest = text.partition(" ")
    if first == "may":
        return True
    return (
        first.endswith("s")
        and len(first) >= _SHORTEST_VERB
        and first not in _SUBJECTS
        and rest.partition(" ")[0] not in _NEXT_TO_SUBJECT
        and not _UNKNOWN.fullmatch(text)
    )


def _bare_verb(word: str) -> str:
    """'deletes' becomes 'delete'."""
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("shes", "ches", "sses", "xes", "goes", "does")):
        return word[:-2]
    return word.removesuffix("s")
