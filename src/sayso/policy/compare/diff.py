"""Two policies compared by what they decide: every operation, in every situation that can matter.

Nothing is guessed from the texts. Each situation is decided under both policies by the same function that
decides in earnest, and what comes out differently is told, loosened and tightened apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from sayso.core.deciding.decide import decide
from sayso.core.errors import MalformedRequest
from sayso.core.model import Mode, Operation, Origin, Request, Risk, Tier
from sayso.core.policy import Domain, Entry, Policy, with_mode
from sayso.core.rulebook import CONFIDENT
from sayso.core.session import View
from sayso.core.words import visible
from sayso.policy.compare.cases import (
    BY_OWN_ROW,
    CONTENT,
    NO_VALUE,
    NOT_CHOSEN,
    Case,
    Pair,
    decision_time,
    enumerate_cases,
    view_for_case,
)
from sayso.policy.compare.conditions import describe_conditions
from sayso.policy.compare.other_change import OtherChange
from sayso.policy.compare.other_changes import find_other_changes
from sayso.policy.probe import make_probe

STRICTNESS = ("allow", "allow and notify", "ask", "deny")
STAND_IN = "x-unlisted"
NOWHERE = "unknown-domain"


class DecisionChange(msgspec.Struct, frozen=True):
    """One operation whose decision changed, from what to what, and when. `email.*` is what is unlisted."""

    operation: str
    before: str
    after: str
    conditions: tuple[str, ...]

    def __str__(self) -> str:
        said = f"{self.operation}: {self.before} -> {self.after} ({'; '.join(self.conditions)})"
        return visible(said, fold=None)


class Difference(msgspec.Struct, frozen=True):
    """The difference between two policies: what the second newly allows, and what it no longer does.

    `beyond` is what changed besides decisions: contacts, tools, and settings that shape grants.
    """

    loosened: tuple[DecisionChange, ...] = ()
    tightened: tuple[DecisionChange, ...] = ()
    beyond: tuple[OtherChange, ...] = ()

    @property
    def loosens(self) -> bool:
        return bool(self.loosened) or any(change.loosens for change in self.beyond)


def compare_policies(a: Policy, b: Policy) -> Difference:
    """Everything that b decides otherwise than a."""
    changes = [change for name in operations_to_compare(a, b) for change in find_decision_changes(name, a, b)]
    return Difference(
        loosened=tuple(change for change in changes if _rank(change.after) < _rank(change.before)),
        tightened=tuple(change for change in changes if _rank(change.after) > _rank(change.before)),
        beyond=tuple(find_other_changes(a, b)),
    )


def loosens(a: Policy, b: Policy) -> bool:
    """Return whether b is looser than a anywhere."""
    return compare_policies(a, b).loosens


def find_loosened(name: str, a: Policy, b: Policy) -> list[DecisionChange]:
    """What b decides more loosely than a about this operation."""
    found = find_decision_changes(name, a, b)
    return [change for change in found if _rank(change.after) < _rank(change.before)]


def operations_to_compare(a: Policy, b: Policy) -> list[str]:
    """Every operation either names, an unlisted one for each domain, and one of a domain nobody knows."""
    domains = dict.fromkeys((*a.domains, *b.domains))
    named = dict.fromkeys((*a.table, *b.table))
    return [*named, *(f"{domain}.{STAND_IN}" for domain in domains), f"{NOWHERE}.{STAND_IN}"]


def find_decision_changes(name: str, a: Policy, b: Policy) -> list[DecisionChange]:
    """Everything that b decides otherwise than a about this operation."""
    pair = Pair(name, a, b, entry_or_unlisted(a, name), entry_or_unlisted(b, name))
    if _decides_alike(pair):
        return []
    every = list(enumerate_cases(pair))
    before, after = _Side(a, pair), _Side(b, pair)
    found: dict[tuple[str, str], list[Case]] = {}
    for case in every:
        outcome = (before.outcome(case), after.outcome(case))
        if outcome[0] != outcome[1]:
            found.setdefault(outcome, []).append(case)
    return [
        DecisionChange(
            _display_name(name),
            *outcome,
            tuple(said.replace(name, _display_name(name)) for said in describe_conditions(changed, every)),
        )
        for outcome, changed in found.items()
    ]


def _decides_alike(pair: Pair) -> bool:
    """Return whether both policies must decide alike about this operation, whatever the case."""
    if all(entry.tier is Tier.BLOCKED for entry in pair.entries):
        return True
    return pair.first == pair.second and _has_same_context(pair)


def _has_same_context(pair: Pair) -> bool:
    """Return whether all else that a decision about this operation can depend on is the same in both."""
    a, b = pair.policies
    return (
        (a.mode, a.settings, a.decay) == (b.mode, b.settings, b.decay)
        and _content_from(a, pair.name) == _content_from(b, pair.name)
        and names_declaring(a.slash_commands.items(), pair.name)
        == names_declaring(b.slash_commands.items(), pair.name)
        and names_declaring(a.workflows.items(), pair.name) == names_declaring(b.workflows.items(), pair.name)
    )


def names_declaring(named: Iterable[tuple[str, object]], operation: str) -> set[str]:
    return {name for name, entry in named if operation in getattr(entry, "operations", ())}


class _Side:
    """One of the two policies, about one operation. Cases that come to the same are decided once."""

    def __init__(self, policy: Policy, pair: Pair) -> None:
        self._policy = policy
        self._pair = pair
        self._modes = {mode.value: with_mode(policy, mode) for mode in Mode} | {NOT_CHOSEN: policy}
        self._views: dict[tuple[str, str], tuple[View, float]] = {}
        self._requests: dict[tuple[str, ...], Request] = {}
        self._outcomes: dict[Case, str] = {}

    def outcome(self, case: Case) -> str:
        policy = self._modes[case.mode]
        mode = policy.mode.value
        plain = case if mode == case.mode else msgspec.structs.replace(case, mode=mode)
        found = self._outcomes.get(plain)
        if found is None:
            found = self._outcomes[plain] = self._decide(policy, plain)
        return found

    def _decide(self, policy: Policy, case: Case) -> str:
        view, now = self._view(policy, case)
        try:
            decision = decide(self._request(policy, case), policy, view, now)
        except MalformedRequest:  # a spelling that this policy refuses
            return "deny"
        return "allow and notify" if decision.rule == CONFIDENT.name else decision.verdict.value

    def _view(self, policy: Policy, case: Case) -> tuple[View, float]:
        """Return the view of this case, and the time in it."""
        key = (case.review, case.consent)
        if key not in self._views:
            self._views[key] = view_for_case(policy, self._pair, case), decision_time(self._pair, case)
        return self._views[key]

    def _request(self, policy: Policy, case: Case) -> Request:
        name = self._pair.name
        content = CONTENT if case.consent == "sent" and _content_from(policy, name) else None
        key = (content or "", case.declared, case.reading, case.confidence, case.origin)
        if key not in self._requests:
            read = case.reading.removesuffix(BY_OWN_ROW)
            risk, reading = _parse_risk(case.declared), _parse_risk(read)
            own_row = read != case.reading
            operation = Operation(name, risk=risk, reading=reading, content=content, own_row=own_row)
            self._requests[key] = make_probe(operation, float(case.confidence), Origin(case.origin))
        return self._requests[key]


def _parse_risk(word: str) -> Risk | None:
    return None if word == NO_VALUE else Risk.parse(word)


def entry_or_unlisted(policy: Policy, name: str) -> Entry:
    try:
        return policy.entry(name)
    except MalformedRequest:
        return Entry(name, name.partition(".")[0], None, name, name)


def _content_from(policy: Policy, name: str) -> str | None:
    return policy.domains.get(name.partition(".")[0], Domain()).content_from


def _rank(outcome: str) -> int:
    return STRICTNESS.index(outcome)


def _display_name(name: str) -> str:
    """The name as people read it: an operation that stands in for all unlisted ones is those."""
    domain, _, action = name.partition(".")
    if action != STAND_IN:
        return name
    return "*.*" if domain == NOWHERE else f"{domain}.*"


def difference_lines(difference: Difference) -> Iterator[str]:
    """The difference as text, one change a line; that no decision changed is a line, too."""
    if not difference.loosened and not difference.tightened:
        yield "No decision changes."
    for heading, changes in (("loosened", difference.loosened), ("tightened", difference.tightened)):
        yield from (f"{heading}: {change}" for change in changes)
    yield from (f"{'loosened' if one.loosens else 'tightened'}: {one}" for one in difference.beyond)
