"""Approvals: whether one waits, was used, ran out or was taken back.

An approval is for the identical call, whoever makes it first. So a call that asked may find that an identical
one has run on its approval meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from sayso.core.grants import Grant, ended_by_tightening, outlived
from sayso.core.ledger import NOT_STARTED
from sayso.core.policy import no_stricter, terms_of
from sayso.gate import words
from sayso.gate.audit.endings import who_ended
from sayso.gate.call_rows import Record
from sayso.gate.gate import Gate
from sayso.gate.questions.team.complete import is_still_complete
from sayso.store.contract import CallRow, QuestionRow, Reader, SpendRow

ApprovalEnd = Literal["ran_out", "taken_back"]
MOST_WIDER = 1_000


class CallApproval(msgspec.Struct, frozen=True):
    """`used` is the use of it that was not given back. `ended` is how it ended without one, `at` when.

    `by` and `why` say who took it back, where that is known.
    """

    until: float
    used: SpendRow | None = None
    ended: ApprovalEnd | None = None
    at: float | None = None
    by: str | None = None
    why: str | None = None


def load_approval(gate: Gate, tx: Reader, question: QuestionRow) -> CallApproval | None:
    """The approval of one call that this question was answered with; None if it gave none."""
    if question.state != "answered" or question.answer == "deny":
        return None
    given = _load_call_grants(gate, tx, question)
    if not given:
        return None
    until = min(grant.expires_at for grant in given)
    spends = tx.spends([grant.id for grant in given])
    uses = [one for one in spends if one.what in ("use", "return")]
    if uses and uses[-1].what == "use":
        return CallApproval(until, uses[-1])
    ended, at = _find_end(tx, question.session, until, spends)
    if ended is None and all(_is_outdated(gate, tx, grant) for grant in given):
        return CallApproval(until, None, "taken_back", None, None, words.TIGHTENED)
    if ended is None and any(one.approved and not is_still_complete(gate, tx, one) for one in given):
        return CallApproval(until, None, "taken_back", None, None, words.APPROVER_GONE)
    if ended is None or _lives_on(gate, tx, question):
        return CallApproval(until)
    if ended == "ran_out" or at is None:
        return CallApproval(until, None, ended, at)
    ender = who_ended(tx, question.session, at, {grant.id for grant in given})
    return CallApproval(until, None, ended, at, ender.by, ender.why)


def state_of_call(gate: Gate, tx: Reader, row: CallRow) -> str:
    """Return the state of a call in words.

    A call that was allowed and not started is `allowed` while it would start: not once its approval
    `ran_out`, was `taken_back`, or served an identical call (`used_elsewhere`). Tried again, it then asks
    again.
    """
    question = tx.question(row.question) if row.question is not None else None
    if row.state not in NOT_STARTED or question is None:
        return row.state
    approval = load_approval(gate, tx, question)
    if approval is None:
        return row.state
    if approval.used is not None and approval.used.call not in (None, row.id):
        return "used_elsewhere"
    return approval.ended or "allowed"


def question_behind(gate: Gate, tx: Reader, grants: Iterable[str]) -> bool:
    """Return whether one of these grants is the answer to a question that is still known."""
    opened = (gate.sealer.open_grant(row) for row in map(tx.grant, grants) if row is not None)
    asked = (grant.question for grant in opened if grant is not None and grant.question is not None)
    return any(tx.question(name) is not None for name in asked)


def has_story(gate: Gate, tx: Reader, row: CallRow, kept: Record) -> bool:
    """Return whether the history lists this call by itself.

    It does not if the call only joined a question, or if another call ran on the approval it had asked for.
    """
    if kept.story is None:
        return False
    question = tx.question(kept.questions[-1]) if kept.questions else None
    approval = None if question is None else load_approval(gate, tx, question)
    used = None if approval is None else approval.used
    return used is None or used.call in (None, row.id)


def _load_call_grants(gate: Gate, tx: Reader, question: QuestionRow) -> list[Grant]:
    edited = gate.sealer.open_edited(question)
    digest = question.digest if edited is None else edited.digest
    opened = (gate.sealer.open_grant(row) for row in tx.grants(question.session, [("call", digest)]))
    return [grant for grant in opened if grant is not None and grant.question == question.id]


def _find_end(
    tx: Reader, session: str, until: float, spends: Iterable[SpendRow]
) -> tuple[ApprovalEnd | None, float | None]:
    """Return how the approval ended, and when: whichever came first."""
    row = tx.session(session)
    back = [one.at for one in spends if one.what == "revoke"]
    back += [row.ended_at] if row is not None and row.ended_at is not None else []
    if back and min(back) < until:
        return "taken_back", min(back)
    return ("ran_out", until) if tx.now >= until else (None, None)


def _is_outdated(gate: Gate, tx: Reader, grant: Grant) -> bool:
    """Return whether the policy of now is stricter than the one that the approval was asked under.

    Told by what it says of the operations; how the call would be read now is found out when it is tried. A
    gate that only looks may not know the policy in force, and then cannot say.
    """
    if tx.meta("policy") != gate.policy.digest:
        return False
    if outlived(grant, gate.policy.settings, tx.now) or ended_by_tightening(grant, gate.policy.tightened):
        return True
    now = terms_of(gate.policy, ((name, then.risk) for name, then in grant.terms.items()))
    return any(not no_stricter(now[name], then) for name, then in grant.terms.items())


def _lives_on(gate: Gate, tx: Reader, question: QuestionRow) -> bool:
    """Return whether the answer gave more than this call, and some of that still counts."""
    session = tx.session(question.session)
    if session is None or session.ended_at is not None:
        return False
    rows = tx.grants_ending_after(tx.now, session=question.session, limit=MOST_WIDER)
    opened = (gate.sealer.open_grant(row) for row in rows)
    wider = {one.id: one.uses for one in opened if one is not None and one.question == question.id}
    over = {one.grant for one in tx.spends(wider) if one.what == "revoke"}
    return any(name not in over and uses is None for name, uses in wider.items())
