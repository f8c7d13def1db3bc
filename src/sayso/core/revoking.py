"""Revoke what a user names: a command, a category, an operation, a tool, as the listings print them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sayso.core import effects as fx
from sayso.core import words
from sayso.core.grants import Grant, Held, spent
from sayso.core.phrases import POLITE, pattern
from sayso.core.policy import Policy
from sayso.core.session import Suspension

if TYPE_CHECKING:
    from sayso.core.hear import Hearing


def revoke_named(h: Hearing, entry: str) -> None:
    """Revoke one entry of a list, in every workspace. Names that match nothing revoke nothing and say so."""
    whole = any(_revoke(h, spelling) for spelling in _spellings(entry))
    parts = [part for part in re.split(r"\s+(?:and|&)\s+|\s*;\s*", entry) if part.strip()]
    if len(parts) < 2:
        missing = [] if whole else [entry]
    else:  # the whole may have been found by its first words alone, so each part is looked for as well
        missing = [part for part in parts if not any(_revoke(h, spelling) for spelling in _spellings(part))]
    for part in () if whole else missing:
        h.did.append(f"no standing consent for {words.visible(part)}")
        h.announced.append(words.nothing_to_revoke(part))


def _spellings(entry: str) -> Iterator[str]:
    """An entry as it stands, and without what people and listings put around a name."""
    bare = _AROUND.sub("", entry.strip()).strip(" `\"'")
    plain = _SIGNS.sub("", bare)
    yield from dict.fromkeys(
        filter(None, (entry.strip(), bare, plain, _PREFIX.sub("", plain).strip(" `\"'")))
    )


def _revoke(h: Hearing, name: str) -> bool:
    if _PLAN.fullmatch(name) and h.session.plan is not None and h.session.plan.accepted:
        h.do(fx.PlanEnded("revoked"))
        h.cleared.append("plan consent (you revoked it)")
        return True
    operations = _operations(name, h.policy)
    found = [held for held in h.session.held if _covers(held, name, operations, h)]
    retries = [
        one for one in h.session.suspended if one in {h.policy.entry(op).category for op in operations}
    ]
    for held in found:
        h.do(fx.Revoked(held.grant.key, held.grant.id))
    if retries:
        ended = {one: Suspension(h.session.suspended[one].digest, 0) for one in retries}
        h.change(suspended={**h.session.suspended, **ended})
    h.cleared += dict.fromkeys(words.consent(held.grant) for held in found)
    return bool(found)


def _covers(held: Held, name: str, operations: set[str], h: Hearing) -> bool:
    """Whether a live grant is for what the name means, wholly or in part."""
    grant = held.grant
    if spent(held, h.now):
        return False
    if grant.kind == "command" or grant.kind in ("tool", "workflow", "run"):
        spelled = {_loosely(name), *(_loosely(operation.replace(".", " ")) for operation in operations)}
        return _loosely(grant.value) in spelled or bool(operations.intersection(grant.pins.operations or ()))
    return bool(operations.intersection(_operations_of(grant, h.policy))) or _loosely(
        grant.pins.command or ""
    ) == _loosely(name)


def _operations_of(grant: Grant, policy: Policy) -> set[str]:
    if grant.kind == "operation":
        return {grant.value}
    if grant.kind == "category":
        return {grant.value, *_operations(grant.value, policy)}
    return set(grant.pins.operations or ())


def _operations(name: str, policy: Policy) -> set[str]:
    """The operations that a name means: itself, or those of a category or domain, however it is spelled."""
    wanted = {_even(name), _even(" ".join(name.split()[:2]))}  # of "git commit -m x", git commit
    meant = {name}
    for entry in policy.table.values():
        spelled = {
            entry.name,
            entry.name.replace(".", " "),
            entry.category,
            entry.category_words,
            entry.domain,
        }
        if not wanted.isdisjoint(map(_even, spelled)):
            meant.add(entry.name)
    return meant


def _loosely(name: str) -> str:
    return " ".join(name.casefold().split())


def _even(name: str) -> str:
    """A name without what people spell differently: case, hyphens, a plural, "operations" after it."""
    plain = " ".join(re.split(r"[\s_-]+", name.casefold().strip()))
    return _NOUN.sub("", plain).removesuffix("s")


_AROUND = re.compile(
    rf"\A(?:-\s+|the\s+|my\s+|all\s+)+|\s*\((?:[^()]*\bused\b|granted\b)[^()]*\)\s*\Z"
    rf"|[\s,]+(?:{pattern(POLITE)}|now|again)[.!]*\Z|[.!]+\Z",
    re.IGNORECASE,
)
_PREFIX = re.compile(
    r"\A(?:standing consent for|(?:remembered )?approvals? (?:of|for)|grants? for|workflow(?: run)?"
    r"|task consent for)\s+",
    re.IGNORECASE,
)
_SIGNS = re.compile(r"\A[^\w./~$-]+|[^\w./)\"'*-]+\Z")
_NOUN = re.compile(r" (?:commands?|operations?|calls?)\Z")
_PLAN = re.compile(r"(?:the )?plan(?:'s)?(?: consent)?", re.IGNORECASE)
