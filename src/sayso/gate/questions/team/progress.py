"""Approvals of a team for people to read: how far a question is, and what an allow of theirs would do.

Nothing here decides: `quorum.count_approval` counts, and refuses what these words said would not count.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sayso.core import words
from sayso.core.deciding.questions import subjects_of
from sayso.core.decision import Question
from sayso.core.team import Requirement, Team, may_approve, rules_for
from sayso.gate.gate import Gate
from sayso.gate.people.answerers import Answerer, Requesters, find_requesters
from sayso.gate.people.delegations import load_delegations
from sayso.gate.questions.read import Read
from sayso.gate.questions.team.quorum import (
    Approval,
    ApprovalProgress,
    NotApprover,
    OwnApproval,
    check_person,
    describe_progress,
    find_missing,
    find_team,
    load_approvals,
    load_requirements,
    may_break_glass,
    still_counting,
)
from sayso.gate.sealed_values import TamperedValue
from sayso.store.contract import QuestionRow, Reader


class TeamApprovals(msgspec.Struct, frozen=True):
    """The progress of a question towards its approvals, and who may still answer it."""

    progress: ApprovalProgress
    team: Team
    requirements: tuple[Requirement, ...] = ()
    requesters: Requesters = Requesters(frozenset())
    given: tuple[Approval, ...] = ()
    """The approvals of this very call, as far as they still count."""


def load_progress(
    gate: Gate, tx: Reader, row: QuestionRow, question: Question, who: Answerer | None = None
) -> ApprovalProgress | None:
    """Return how far the approvals of an open question are; None if it needs none by the team.

    With what an allow of `who` would do, if it is known who looks.
    """
    found = load_team_approvals(gate, tx, row, question)
    if found is None or who is None:
        return None if found is None else found.progress
    return msgspec.structs.replace(found.progress, yours=find_own_approval(gate, tx, found, who))


def describe_line(found: TeamApprovals) -> str:
    """Return in words how far the approvals of a question are."""
    return words.approvals_line(found.progress.approved, found.progress.missing)


class ApprovalLine(msgspec.Struct, frozen=True):
    """The approvals of a question in words, for one person: with why an allow of theirs would not count."""

    text: str | None = None
    counts: bool = True
    glass: bool = False


def describe_approvals_for(gate: Gate, tx: Reader, read: Read, who: Answerer | None) -> ApprovalLine:
    """Return how far the approvals of a question are, and what an allow of `who` would do."""
    found = load_team_approvals(gate, tx, read.row, read.question)
    if found is None:
        return ApprovalLine()
    own = find_own_approval(gate, tx, found, who)
    return ApprovalLine(words.own_approvals_line(describe_line(found), own.why_not), own.counts, own.glass)


def keep_only_deny(question: Question) -> Question:
    """Return the question as somebody sees it whose allow would not count."""
    return msgspec.structs.replace(
        question, offers=tuple(one for one in question.offers if one.answer == "deny")
    )


def load_team_approvals(gate: Gate, tx: Reader, row: QuestionRow, question: Question) -> TeamApprovals | None:
    """Return the approvals of an open question; None if it needs none by the team."""
    if question.claim is not None or row.state != "open":
        return None
    subjects = subjects_of(question.items)
    team = Team()
    try:
        team = find_team(gate, tx, row, question)
        if not rules_for(team, subjects):
            return None
        requesters = find_requesters(gate, tx, row.session, team)
        requirements = load_requirements(gate, tx, row, team, subjects, requesters)
        kept = load_approvals(gate, tx, row.id)
    except TamperedValue:
        return TeamApprovals(ApprovalProgress((), 0, 0, words.APPROVALS_TAMPERED), team)
    ours = [one for one in kept if one.digest == row.digest]
    counting = still_counting(gate, tx, team, requesters, ours, question)
    progress = describe_progress(requirements, counting)
    return TeamApprovals(progress, team, requirements, requesters, tuple(counting))


def find_own_approval(gate: Gate, tx: Reader, found: TeamApprovals, who: Answerer | None) -> OwnApproval:
    """Return whether an allow of theirs would count now, or why not; and whether they may break the glass."""
    if found.progress.missing == words.APPROVALS_TAMPERED:
        return OwnApproval(counts=False, why_not=words.APPROVALS_TAMPERED)
    try:
        person = check_person(gate, tx, found.team, found.requesters, who)
    except NotApprover as refused:
        return OwnApproval(counts=False, why_not=str(refused))
    why_not = _reason_it_adds_nothing(found.requirements, found.given, person)
    delegations = load_delegations(gate, tx, found.team)
    glass = may_break_glass(found.team, person, found.requesters, delegations)
    return OwnApproval(not why_not, why_not, glass)


def _reason_it_adds_nothing(
    requirements: Sequence[Requirement], given: Sequence[Approval], person: str
) -> str:
    if any(person in find_missing(one, given) for one in requirements):
        return ""
    if not may_approve(requirements, person):
        return words.not_approver(person)
    if any(one.person == person for one in given):
        return words.already_approved(person)
    return words.seat_taken(person)
