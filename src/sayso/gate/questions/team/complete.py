"""Approvals that are complete and have not been used: counted again when a call is to run on them.

A token that is revoked, a passkey that is removed and a delegation that ends may be the very reason not to
let the call run. So they end what was approved by them, up to the moment it starts.
"""

from __future__ import annotations

import msgspec

from sayso.core.grants import Grant, HeldGrant, spent
from sayso.core.session import Session
from sayso.core.team import is_met
from sayso.gate.gate import Gate
from sayso.gate.people.answerers import find_requesters
from sayso.gate.people.delegations import load_delegations
from sayso.gate.questions.read import UnknownQuestion, question_of
from sayso.gate.questions.team.quorum import (
    find_team,
    load_approval_set,
    load_requirements,
    may_break_glass,
    rest_on,
    still_counting,
)
from sayso.gate.sealed_values import TamperedValue
from sayso.store.contract import Reader


def end_broken_approvals(gate: Gate, tx: Reader, session: Session) -> Session:
    """Return the session in which no approval of the team is live that would not be complete now."""
    ended = {
        held.grant.id
        for held in session.all_grants
        if held.grant.approved and not spent(held, tx.now) and not is_still_complete(gate, tx, held.grant)
    }
    if not ended:
        return session
    grants = {key: tuple(_end(held, ended) for held in row) for key, row in session.grants.items()}
    return msgspec.structs.replace(session, grants=grants)


def is_still_complete(gate: Gate, tx: Reader, grant: Grant) -> bool:
    """Return whether the approvals behind this grant are enough now, of those who still count.

    Not if nobody can tell any more: what was asked, or who approved it.
    """
    try:
        read = question_of(gate, tx, grant.question or "")
        team = find_team(gate, tx, read.row, read.question)
        requesters = find_requesters(gate, tx, read.row.session, team)
        kept = load_approval_set(gate, tx, read.row.id)
        counting = still_counting(gate, tx, team, requesters, kept.approvals, read.question)
        people = [one.person for one in counting]
        if kept.glass:
            delegations = load_delegations(gate, tx, team)
            return any(may_break_glass(team, one, requesters, delegations) for one in people)
        requirements = load_requirements(gate, tx, read.row, team, kept.subjects, requesters)
    except (UnknownQuestion, TamperedValue):
        return False
    return bool(people) and is_met(rest_on(requirements, counting), people)


def _end(held: HeldGrant, ended: set[str]) -> HeldGrant:
    return msgspec.structs.replace(held, revoked=True) if held.grant.id in ended else held
