"""A team: who its people are, whose approvals a call needs, and whether those that are there are enough.

- An id (`account:ana`, `page:ana`, `token:t_12ab`, `surface:phone/4711`, `oidc:corp/1234`) belongs to one
  person. Whoever answers counts as the person their id belongs to, once. Nobody else counts.
- Every rule that covers an operation at its risk has to be met by itself.
- A seat is a person who may approve. People fill seats: their own, or that of somebody who delegated to them.
  Nobody fills two, and nobody takes one of somebody else's twice.
- Whoever asked, and those they delegated to, approve nothing.
- An approval rests on the very delegations under which it was given: one that is made later revives nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from sayso.core.model import Risk

TERMINAL, PAGE, TOKEN, SURFACE = "account", "page", "token", "surface"
SUBJECT, EMAIL = "oidc", "email"
"""Ids that a provider vouches for: by the subject it knows somebody under, or by an address it verified."""


class Person(msgspec.Struct, frozen=True):
    """The groups somebody belongs to, and the ids that are theirs."""

    groups: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


class ProvenIdentity(msgspec.Struct, frozen=True):
    """The id that a provider proved of somebody, by which issuer, and the groups that it named."""

    identity: str
    issuer: str
    groups: tuple[str, ...] = ()

    @property
    def provider(self) -> str:
        """Return our name for the provider."""
        return self.identity.partition(":")[2].partition("/")[0]


class IdentityProvider(msgspec.Struct, frozen=True):
    """A provider that authenticates people: its issuer, and its names for the groups it has to confirm."""

    issuer: str
    groups: Mapping[str, str] = {}

    def confirms(self, proven: ProvenIdentity, person: Person) -> bool:
        """Return whether it proved this, and named every group that it has to confirm of this person."""
        wanted = {self.groups[one] for one in person.groups if one in self.groups}
        return proven.issuer == self.issuer and wanted <= set(proven.groups)


class Escalation(msgspec.Struct, frozen=True):
    """More people who may approve once a question is so many seconds old, and surfaces that show it then."""

    after: float
    to: tuple[str, ...] = ()
    surfaces: tuple[str, ...] = ()


class ApprovalRule(msgspec.Struct, frozen=True):
    """So many of these people or groups have to approve what this covers. Without a domain: all of them."""

    approvers: tuple[str, ...]
    needed: int = 1
    domain: str | None = None
    risk: Risk = Risk.LOW
    escalate: Escalation | None = None

    def covers(self, domain: str, risk: Risk) -> bool:
        return self.domain in (None, domain) and risk >= self.risk


class QuietHours(msgspec.Struct, frozen=True):
    """Hours in which questions below high risk are not sent out: minutes of the day, in this time zone."""

    begin: int
    end: int
    timezone: str = "UTC"


class Delegation(msgspec.Struct, frozen=True):
    """One person lets another approve for them, within their own limits, for a while.

    `identity` is the id by which they did, and `passkey` what vouched for it: it ends with either. `to_ids`
    are the ids of the other: it ends once none of them is theirs, so nobody gets it with a name.
    """

    id: str
    giver: str
    to: str
    until: float
    domain: str | None = None
    highest: Risk = Risk.HIGH
    identity: str = ""
    passkey: str | None = None
    to_ids: tuple[str, ...] = ()

    def covers(self, domain: str, risk: Risk, now: float) -> bool:
        """Return whether it serves here. At the very second of its end it does not."""
        return now < self.until and self.domain in (None, domain) and risk <= self.highest


class Team(msgspec.Struct, frozen=True):
    """The people of a policy and what they have to approve.

    `owners` says whose an id is, or may be: where two policies are in force, both say so. It is used to tell
    who asked; `people` to tell who approves.
    """

    people: Mapping[str, Person] = {}
    approvals: tuple[ApprovalRule, ...] = ()
    break_glass: tuple[str, ...] = ()
    quiet_hours: QuietHours | None = None
    owners: Mapping[str, frozenset[str]] = {}

    def person_of(self, identity: str | None) -> str | None:
        """Return whose id this is; None if it is nobody's, or in doubt."""
        if identity is None:
            return None
        found = [name for name, one in self.people.items() if identity in one.ids]
        return found[0] if len(found) == 1 and self.owners.get(identity) == frozenset(found) else None

    def members(self, names: Iterable[str]) -> frozenset[str]:
        """Return the people that these names of people and groups mean."""
        wanted = set(names)
        return frozenset(
            name for name, one in self.people.items() if name in wanted or wanted.intersection(one.groups)
        )


NO_TEAM = Team()


def make_team(
    people: Mapping[str, Person],
    approvals: Sequence[ApprovalRule],
    break_glass: Sequence[str],
    quiet_hours: QuietHours | None,
) -> Team:
    owners: dict[str, frozenset[str]] = {}
    for name, person in people.items():
        for one in person.ids:
            owners[one] = owners.get(one, frozenset()) | {name}
    return Team(dict(people), tuple(approvals), tuple(break_glass), quiet_hours, owners)


class CoveredOperation(msgspec.Struct, frozen=True):
    """One operation that is asked about, as the rules look at it."""

    domain: str
    risk: Risk


class Seat(msgspec.Struct, frozen=True):
    """The place of one person who may approve, everybody who may fill it, and by which delegations."""

    of: str
    fillers: frozenset[str]
    delegations: Mapping[str, frozenset[str]] = {}

    def rest_on(self, held: Mapping[str, frozenset[str]]) -> Seat:
        """Return it without those who approved already, and hold none of the delegations they need here."""
        lost = {
            name
            for name in self.fillers & held.keys()
            if name != self.of and not held[name] & self.delegations[name]
        }
        return Seat(self.of, self.fillers - lost, self.delegations)


class Requirement(msgspec.Struct, frozen=True):
    """One rule as it asks here and now: for so many of these seats."""

    rule: ApprovalRule
    seats: tuple[Seat, ...]

    @property
    def fillers(self) -> frozenset[str]:
        """Return everybody whose approval may count."""
        return frozenset(name for seat in self.seats for name in seat.fillers)

    def rest_on(self, held: Mapping[str, frozenset[str]]) -> Requirement:
        """Return it as approvals fill it that were given under these delegations, and under no later one."""
        return Requirement(self.rule, tuple(seat.rest_on(held) for seat in self.seats))

    def count(self, approvers: Iterable[str]) -> int:
        """Return how many seats these people fill, at most `needed`."""
        return min(self.rule.needed, len(self.seat(approvers)))

    def seat(self, approvers: Iterable[str]) -> frozenset[str]:
        """Return those of these people who fill a seat."""
        return seat_people(self.seats, approvers)


def seat_people(seats: Sequence[Seat], approvers: Iterable[str]) -> frozenset[str]:
    """Return who gets a seat if these people fill as many as they can, each one (a largest matching)."""
    taken: dict[str, str] = {}

    def place(person: str, seen: set[str]) -> bool:
        for seat in seats:
            if person not in seat.fillers or seat.of in seen:
                continue
            seen.add(seat.of)
            if seat.of not in taken or place(taken[seat.of], seen):
                taken[seat.of] = person
                return True
        return False

    return frozenset(person for person in sorted(set(approvers)) if place(person, set()))


def rules_for(team: Team, subjects: Iterable[CoveredOperation]) -> tuple[ApprovalRule, ...]:
    """Return the rules that have to be met before all of this may run."""
    every = tuple(subjects)
    return tuple(rule for rule in team.approvals if any(rule.covers(one.domain, one.risk) for one in every))


def requirements_of(
    team: Team,
    subjects: Sequence[CoveredOperation],
    *,
    age: float,
    requesters: frozenset[str],
    delegations: Sequence[Delegation],
    now: float,
) -> tuple[Requirement, ...]:
    """Return what is required before this runs, for a question that is so many seconds old."""
    barred = requesters | {one.to for one in delegations if one.giver in requesters and now < one.until}
    found = []
    for rule in rules_for(team, subjects):
        covered = [one for one in subjects if rule.covers(one.domain, one.risk)]
        names = rule.approvers
        if rule.escalate is not None and age >= rule.escalate.after:
            names = (*names, *rule.escalate.to)
        seats = (
            _find_seat(team, of, covered, delegations, now, barred)
            for of in sorted(team.members(names) - requesters)
        )
        found.append(Requirement(rule, tuple(seat for seat in seats if seat.fillers)))
    return tuple(found)


def _find_seat(
    team: Team,
    of: str,
    covered: Sequence[CoveredOperation],
    delegations: Sequence[Delegation],
    now: float,
    barred: frozenset[str],
) -> Seat:
    """Return who may fill this person's seat. A delegation has to cover all that the rule does here."""
    serving: dict[str, frozenset[str]] = {}
    for one in delegations:
        covers = all(one.covers(subject.domain, subject.risk, now) for subject in covered)
        if one.giver == of and one.to in team.people and covers:
            serving[one.to] = serving.get(one.to, frozenset()) | {one.id}
    return Seat(of, frozenset({of, *serving}) - barred, serving)


def is_met(requirements: Iterable[Requirement], approvers: Iterable[str]) -> bool:
    """Return whether these people's approvals are enough, for each requirement by itself."""
    people = tuple(approvers)
    return all(one.count(people) >= one.rule.needed for one in requirements)


def may_approve(requirements: Iterable[Requirement], person: str) -> bool:
    """Return whether this person's approval counts for any of the requirements."""
    return any(person in one.fillers for one in requirements)


def can_be_met(team: Team, rule: ApprovalRule) -> bool:
    """Return whether there are people enough at all, escalation included."""
    names = (*rule.approvers, *(() if rule.escalate is None else rule.escalate.to))
    reachable = [name for name in team.members(names) if team.people[name].ids]
    return len(reachable) >= rule.needed


def join_teams(a: Team, b: Team) -> Team:
    """Return the team under which nothing is approved that either team would not approve.

    All rules of both; people as far as both know them; an id is whoever's either says.
    """
    if a == b:
        return a
    people = {
        name: Person(_in_both(one.groups, b.people[name].groups), _in_both(one.ids, b.people[name].ids))
        for name, one in a.people.items()
        if name in b.people
    }
    owners = {
        name: a.owners.get(name, frozenset()) | b.owners.get(name, frozenset())
        for name in {**a.owners, **b.owners}
    }
    rules = tuple(dict.fromkeys((*a.approvals, *b.approvals)))
    quiet = a.quiet_hours if a.quiet_hours == b.quiet_hours else None
    return Team(people, rules, _in_both(a.break_glass, b.break_glass), quiet, owners)


def _in_both(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one for one in a if one in b)


def rule_is_implied(rule: ApprovalRule, before: Team, after: Team) -> bool:
    """Return whether some rule of the later team asks for at least what this one asked for."""
    return any(_asks_as_much(rule, before, one, after) for one in after.approvals)


def _asks_as_much(rule: ApprovalRule, before: Team, other: ApprovalRule, after: Team) -> bool:
    wide = other.domain in (None, rule.domain) and other.risk <= rule.risk and other.needed >= rule.needed
    same_people = after.members(other.approvers) <= before.members(rule.approvers)
    late, early = other.escalate, rule.escalate
    if late is None or not late.to:
        return wide and same_people
    if early is None or late.after < early.after:
        return False
    return wide and same_people and after.members(late.to) <= before.members((*rule.approvers, *early.to))


def answers_are_lost(before: Team, after: Team) -> bool:
    """Return whether what somebody answered may not count any more: by an id, or with the glass broken."""
    if not before.members(before.break_glass) <= after.members(after.break_glass):
        return True
    whose = {one: before.person_of(one) for one in before.owners}
    return any(name is not None and after.person_of(one) != name for one, name in whose.items())


def widened_people(before: Team, after: Team) -> list[str]:
    """Return the people of whom the later team says more or else: a new id, an id less, a group."""
    found = []
    for name in dict.fromkeys((*before.people, *after.people)):
        was, now = before.people.get(name, Person()), after.people.get(name, Person())
        if set(was.ids) != set(now.ids) or not set(now.groups) <= set(was.groups):
            found.append(name)
    return found


def name_rule(rule: ApprovalRule) -> str:
    """Return what a rule asks for, in a form that is only compared."""
    where = rule.domain or "everything"
    return f"{rule.needed} of {','.join(sorted(rule.approvers))} for {where} from {rule.risk.word}"


def terms_of_rules(rules: Iterable[ApprovalRule]) -> str:
    """Return what these rules ask for, in a form that is only compared."""
    return ";".join(sorted(map(name_rule, rules)))
