"""Approvals of a team: what a question still needs, counted again at every answer.

- The approvals that are there are one sealed value for each question. Nothing of it is believed that was
  edited, put back or deleted.
- Every approval is checked again whenever they are counted: the person, the groups, the token or passkey, who
  asked, and delegations are those of now.
- Only approvals of the same call add up: an edited call is another one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sayso.core import words
from sayso.core.decision import Question
from sayso.core.errors import SaysoError
from sayso.core.grants import last_tightening
from sayso.core.team import (
    CoveredOperation,
    Delegation,
    Requirement,
    Team,
    is_met,
    join_teams,
    may_approve,
    requirements_of,
    rules_for,
)
from sayso.core.text.foreign import visible
from sayso.gate.gate import Gate
from sayso.gate.people.answerers import Answerer, Requesters, find_requesters, is_vouched_for
from sayso.gate.people.delegations import load_delegations
from sayso.gate.people.passkeys import lock_passkeys
from sayso.gate.policy.acting_policy import OtherPolicy
from sayso.gate.policy.in_force import ROW, read_policy, read_row
from sayso.gate.sealed_values import lock_values, read_value, value_name, write_value
from sayso.store.contract import QuestionRow, Reader, Writer

LEAST_REASON = 10
MOST_PRESSES = 1_000


class NotApprover(SaysoError):
    """Whoever answered is not among those whose approval counts here."""

    code = "not_approver"


class Approval(msgspec.Struct, frozen=True):
    """One person's approval of one call, what proved who they are, and the delegations they held then."""

    person: str
    identity: str
    digest: str
    at: float
    passkey: str | None = None
    delegations: tuple[str, ...] = ()


class ApprovalSet(msgspec.Struct, frozen=True):
    """The approvals of a question. Once they are complete, with what they are for, to count them again."""

    approvals: tuple[Approval, ...] = ()
    subjects: tuple[CoveredOperation, ...] = ()
    glass: bool = False
    presses: tuple[str, ...] = ()
    """What came from surfaces and was counted, so that nothing of it is counted again."""


class OwnApproval(msgspec.Struct, frozen=True):
    """The effect of one person's allow: whether it counts, why not, and whether they may break the glass."""

    counts: bool
    why_not: str = ""
    glass: bool = False


class ApprovalProgress(msgspec.Struct, frozen=True):
    """The state of a question: who approved, how many are needed, and in words whose are missing."""

    approved: tuple[str, ...]
    there: int
    needed: int
    missing: str
    complete: bool = False
    yours: OwnApproval | None = None
    """What an allow of whoever looks would do, where it is known who looks."""


class Count(msgspec.Struct, frozen=True):
    """The approvals with the one just given, what they are for, and how far they are."""

    approvals: tuple[Approval, ...]
    progress: ApprovalProgress
    subjects: tuple[CoveredOperation, ...]
    glass: bool = False
    presses: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return self.glass or self.progress.complete


def find_team_in_force(gate: Gate, tx: Reader) -> Team | None:
    """Return the team of the policy in force, if this gate was opened under another one; else None."""
    if gate.live is not None or tx.meta(ROW) is None:
        return None
    row = read_row(gate, tx)
    if row is None or row.digest == (gate.base or gate.policy).digest:
        return None
    return read_policy(gate, tx, row).team


def count_approval(
    gate: Gate,
    tx: Writer,
    row: QuestionRow,
    question: Question,
    *,
    digest: str,
    subjects: tuple[CoveredOperation, ...],
    who: Answerer | None,
    glass: str | None = None,
) -> Count | None:
    """Return the approvals with this one; None if the team's rules do not cover what is asked.

    `digest` is that of the call that is approved. `glass` is the reason of somebody who breaks it: then one
    approval is enough, of a person who may do that. Nothing is written.
    """
    if question.claim is not None:
        return None
    team = find_team(gate, tx, row, question)
    if not rules_for(team, subjects):
        return None
    if gate.live is not None:
        gate.live.check(tx, gate.base or gate.policy)
    elif find_team_in_force(gate, tx) is not None:
        raise OtherPolicy(words.OTHER_POLICY_APPROVES, hint=words.NAME_POLICY_IN_FORCE)
    _hold_what_counts(gate, tx)
    requesters = find_requesters(gate, tx, row.session, team)
    person = check_person(gate, tx, team, requesters, who)
    requirements = load_requirements(gate, tx, row, team, subjects, requesters)
    if glass is not None:
        if sum(one != " " and visible(one) == one for one in glass) < LEAST_REASON:
            raise NotApprover(words.GLASS_NEEDS_REASON)
        if not may_break_glass(team, person, requesters, load_delegations(gate, tx, team)):
            raise NotApprover(words.may_not_break_glass(person))
    elif not may_approve(requirements, person):
        raise NotApprover(words.not_approver(person), hint=words.APPROVE_ONCE)
    assert who is not None  # noqa: S101  nobody is a person without an id
    held = tuple(one.id for one in load_delegations(gate, tx, team) if one.to == person)
    given = Approval(person, who.identity, digest, tx.now, who.passkey, held)
    kept = load_approval_set(gate, tx, row.id)
    presses = _add_press(kept.presses, who.press)
    every = (*(one for one in kept.approvals if one.person != person), given)
    same = [one for one in every if one.digest == digest]
    counting = still_counting(gate, tx, team, requesters, same, question)
    progress = describe_progress(requirements, counting)
    if glass is not None:
        return Count((given,), progress, subjects, glass=True, presses=presses)
    return Count(tuple(counting) if progress.complete else every, progress, subjects, presses=presses)


def _add_press(counted: tuple[str, ...], press: str) -> tuple[str, ...]:
    """Return them with this one; an error if it is among them: somebody passed it on once more."""
    if press in counted:
        raise NotApprover(words.COUNTED_ALREADY)
    return (*counted, press)[-MOST_PRESSES:] if press else counted


def save_approvals(gate: Gate, tx: Writer, row: QuestionRow, count: Count, *, until: float = 0.0) -> None:
    """Keep the approvals that are there: while the question is open, and until what they give has expired."""
    kept = ApprovalSet(count.approvals, count.subjects, count.glass, count.presses)
    write_value(gate, tx, _name(row.id), kept, until=max(row.expires_at, until))


def describe_progress(requirements: Sequence[Requirement], approvals: Sequence[Approval]) -> ApprovalProgress:
    """Return how far these approvals are, in words."""
    every = tuple(dict.fromkeys(one.person for one in approvals))
    resting = rest_on(requirements, approvals)
    seated = {name for one in resting for name in one.seat(every)}
    people = tuple(name for name in every if name in seated)
    missing = [
        words.missing_approvals(rests.count(people), one.rule, find_missing(one, approvals))
        for one, rests in zip(requirements, resting, strict=True)
        if rests.count(people) < one.rule.needed
    ]
    needed = max((one.rule.needed for one in requirements), default=0)
    there = min((one.count(people) for one in resting), default=0)
    return ApprovalProgress(people, there, needed, "; ".join(missing), is_met(resting, people))


def rest_on(requirements: Sequence[Requirement], approvals: Sequence[Approval]) -> list[Requirement]:
    """Return the requirements as these approvals fill them: under the delegations of their time."""
    held = {one.person: frozenset(one.delegations) for one in approvals}
    return [one.rest_on(held) for one in requirements]


def find_missing(requirement: Requirement, approvals: Sequence[Approval]) -> list[str]:
    """Return whose approval, given now, would bring this requirement further, beside those that are there."""
    (there,) = rest_on([requirement], approvals)
    people = [one.person for one in approvals]
    found = []
    for name in requirement.fillers:
        (after,) = rest_on([requirement], [one for one in approvals if one.person != name])
        if after.count((*people, name)) > there.count(people):
            found.append(name)
    return sorted(found)


def _hold_what_counts(gate: Gate, tx: Writer) -> None:
    """Let nobody change approvals, delegations, passkeys or tokens until this is counted and written."""
    lock_passkeys(tx)
    lock_values(tx, "delegations")
    lock_values(tx, "approvals")
    tx.head(gate.stream)  # whoever revokes a token holds every stream


def find_team(gate: Gate, tx: Reader, row: QuestionRow, question: Question) -> Team:
    """Return the team that a question is approved by: also as the project's own file says."""
    other = find_team_in_force(gate, tx)
    if other is not None:
        return other
    session = tx.session(row.session)
    here = gate.in_workspace("" if session is None else session.workspace).policy.team
    there = gate.in_workspace(question.request.call.workspace).policy.team
    return here if here is there else join_teams(here, there)


def load_requirements(
    gate: Gate,
    tx: Reader,
    row: QuestionRow,
    team: Team,
    subjects: tuple[CoveredOperation, ...],
    asked: Requesters,
) -> tuple[Requirement, ...]:
    return requirements_of(
        team,
        subjects,
        age=tx.now - row.opened_at,
        requesters=asked.people,
        delegations=load_delegations(gate, tx, team),
        now=tx.now,
    )


def check_person(gate: Gate, tx: Reader, team: Team, requesters: Requesters, who: Answerer | None) -> str:
    """Return who answers; an error if that is nobody of the team, or whoever asked."""
    identity = None if who is None else who.identity
    person = team.person_of(identity)
    if who is None or person is None:
        raise NotApprover(words.unknown_approver(identity), hint=words.DECLARE_PEOPLE)
    if person in requesters.people or requesters.asked_as(who.identity):
        raise NotApprover(words.requester_may_not_approve(person))
    if not is_vouched_for(gate, tx, who.identity, who.passkey):
        raise NotApprover(words.unknown_approver(identity), hint=words.DECLARE_PEOPLE)
    return person


def may_break_glass(
    team: Team, person: str, requesters: Requesters, delegations: Sequence[Delegation]
) -> bool:
    """Return whether this person may allow alone what others have to approve."""
    stands_in = any(one.to == person and one.giver in requesters.people for one in delegations)
    return person in team.members(team.break_glass) and not stands_in


def load_approvals(gate: Gate, tx: Reader, question: str) -> tuple[Approval, ...]:
    """Return the approvals that were given so far; an error if they were tampered with."""
    return load_approval_set(gate, tx, question).approvals


def load_approval_set(gate: Gate, tx: Reader, question: str) -> ApprovalSet:
    """The same, with what they are for."""
    return read_value(gate, tx, _name(question), ApprovalSet) or ApprovalSet()


def still_counting(
    gate: Gate,
    tx: Reader,
    team: Team,
    requesters: Requesters,
    approvals: Sequence[Approval],
    question: Question,
) -> list[Approval]:
    """Return the approvals that still count: whose id is still that person's, and still vouched for.

    Like those that are complete, they end when the policy is tightened, and stay ended: somebody who left the
    team and comes back approves again.
    """
    operations = [item.operation for item in question.items]
    ended = last_tightening(gate.policy.tightened, operations)
    return [
        one
        for one in approvals
        if one.at >= ended
        and team.person_of(one.identity) == one.person
        and not requesters.asked_as(one.identity)
        and is_vouched_for(gate, tx, one.identity, one.passkey)
    ]


def _name(question: str) -> str:
    return value_name("approvals", question)
