"""Going on with a call that was parked, or that comes from another session: a decision of its own.

What a call was allowed by is not asked again, but it has to be there still, at this moment and in the
transaction that lets the call go on:

- its session, every session above it, and the one a replayed call comes from are open and not stopped;
- not all consent was cleared since it was started, none of the grants it was started with was revoked, and
  nobody took consent back for what it is, by name;
- nobody denied the call, or what it waits for, since, and the yes it waited for was not taken back;
- the policy, asked again with the start as its approval, is no stricter with it than it was then, and was
  not since.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sayso.core.deciding.decide import decide
from sayso.core.deciding.offers import ANSWERS
from sayso.core.decision import Decision, Question, operations_of
from sayso.core.durations import DAY
from sayso.core.effects import GrantRevoked
from sayso.core.grants import Grant, HeldGrant, Pins, was_tightened
from sayso.core.ledger import NotNow
from sayso.core.model import Request, Verdict
from sayso.core.rulebook import DENIED_CALL, GOING_ON, Rule
from sayso.core.session import Scope
from sayso.core.words import DENIED
from sayso.gate import words
from sayso.gate.call_rows import Record
from sayso.gate.deciding.request import read_again
from sayso.gate.gate import (
    NO_SCOPE,
    Gate,
    TamperedSession,
    UnknownSession,
    apply_and_save,
    load_open_session,
    select_rows_for,
)
from sayso.gate.questions.expiry import ends_at
from sayso.gate.questions.read import read_question, refuse_tampered_question
from sayso.gate.questions.view import view_of
from sayso.gate.rows.sessions import LoadedSession, RowSelection, load_session
from sayso.store.contract import CallRow, QuestionRow, Reader, Writer

MOST_ENTRIES = 3
"""How often one start may enter its function: once, and again from the top at most twice."""
ALLOWING = (*ANSWERS, "edit")


def refuse_to_go_on(gate: Gate, tx: Reader, row: CallRow, kept: Record, scope: Scope) -> Decision | None:
    """The refusal if the consent of this started call is gone; None if it may go on. It is read again."""
    gate = gate.in_workspace(kept.request.call.workspace)
    request = read_again(kept.request, gate.policy)
    why = reason_not_to_run(gate, tx, (row.session, *kept.made_in))
    if why is not None:
        return make_refusal(kept, why)
    wanted = select_rows_for(request, gate.policy, scope)
    own = (*(wanted.keys or ()), ("run", row.id))
    found = load_open_session(gate, tx, row.session, msgspec.structs.replace(wanted, keys=own))
    why = find_ending_since(found, row, kept)
    if why is not None:
        return make_refusal(kept, why)
    return _decide_again(gate, tx, found, row, kept, request, scope)


def refuse_by_question(gate: Gate, tx: Reader, kept: Record, row: QuestionRow | None) -> Decision | None:
    """The refusal if what the call waits for is not allowed; None if it is. An open one is waited for."""
    if row is None:
        raise NotNow("what this call waits for cannot be found")
    question = read_question(gate, tx, row)
    if question is None:
        refuse_tampered_question(gate, row)
    if row.state == "answered" and _allows(row.answer or ""):
        return _refuse_by_answer(gate, tx, kept, row, question)
    if row.state == "open" and tx.now < ends_at(gate, row):
        raise NotNow(
            "what this call waits for has not been answered", hint="wait for the answer, and retry it"
        )
    if row.state == "answered":
        return make_refusal(kept, words.inner_denial_reason(row.by or "", row.reason), DENIED_CALL)
    return make_refusal(kept, words.INNER_UNANSWERED)


def _refuse_by_answer(
    gate: Gate, tx: Reader, kept: Record, row: QuestionRow, question: Question
) -> Decision | None:
    """The refusal if the yes to this question no longer allows what was asked.

    One that only ran out is not a refusal: the call goes on, and asks again when it gets there.
    """
    request = gate.sealer.open_edited(row) or question.request
    gate = gate.in_workspace(request.call.workspace)
    found = load_open_session(gate, tx, row.session, select_rows_for(request, gate.policy, NO_SCOPE))
    decision = decide(request, gate.policy, view_of(gate, tx, found, request), tx.now)
    if decision.verdict is Verdict.ALLOW:
        return None
    if decision.verdict is Verdict.DENY:
        return make_refusal(kept, words.inner_refusal_reason(decision.reason), DENIED_CALL)
    given = [held.grant for held in found.session.all_grants if held.grant.question == row.id]
    ran_out = bool(given) and all(grant.expires_at <= tx.now for grant in given)
    return None if ran_out else make_refusal(kept, words.INNER_TAKEN_BACK)


def reason_not_to_run(gate: Gate, tx: Reader, sessions: Iterable[str]) -> str | None:
    """Return why these sessions may not continue: one of them, or one above, has ended or is stopped."""
    for name in dict.fromkeys(sessions):
        above: str | None = name
        while above is not None:
            found = load_session(tx, gate.sealer, above, RowSelection())
            if found is None or not found.believed or found.row.ended_at is not None:
                return words.SESSION_OVER
            if found.session.stopped is not None:
                return words.IS_STOPPED
            above = found.row.parent
    return None


def make_refusal(kept: Record, why: str, rule: Rule = GOING_ON) -> Decision:
    """A no to going on, about what the call was started for."""
    return Decision(Verdict.DENY, rule.name, why, None, kept.items, (), ())


def end_run_grant(gate: Gate, tx: Writer, row: CallRow) -> None:
    """End the grant of a run that may not continue."""
    try:
        found = load_open_session(gate, tx, row.session, RowSelection(keys=(("run", row.id),)))
    except (UnknownSession, TamperedSession):
        return
    live = (held.grant for held in found.session.all_grants if not held.revoked)
    apply_and_save(gate, tx, found, tuple(GrantRevoked(grant.key, grant.id) for grant in live), call=row.id)


def find_ending_since(found: LoadedSession, row: CallRow, kept: Record) -> str | None:
    """Why the consent that started the call is gone, as far as the session says so."""
    if found.session.clearings != kept.clearings:
        return words.CLEARED_SINCE
    started_with = {grant for item in kept.items for grant in item.ruling.grants}
    if not found.kept.ended.keys().isdisjoint({row.id, *started_with}):
        return words.REVOKED_SINCE
    lent = found.session.grants.get(("run", row.id), ())
    if kept.request.workflow is not None and all(held.revoked for held in lent):
        return words.REVOKED_SINCE
    denial = found.session.denials.get(kept.request.digest)
    if denial is not None and denial.at >= row.at:
        return DENIED
    return None


def was_tightened_since_start(gate: Gate, row: CallRow, kept: Record) -> bool:
    """Return whether the policy was tightened for this call since then, also if it was loosened again."""
    names = (item.operation for item in kept.items)
    return was_tightened(gate.policy.tightened, names, kept.decided_at or row.at)


def _decide_again(
    gate: Gate,
    tx: Reader,
    found: LoadedSession,
    row: CallRow,
    kept: Record,
    request: Request,
    scope: Scope,
) -> Decision | None:
    """Decide again a call that was allowed to start; None if the policy still allows it.

    A call that needed no consent by itself is refused only if the policy now says something about it.
    """
    if not kept.items and request.operations[0].name not in gate.policy.table:
        return None
    started = _start_as_approval(kept, request, found.session.id, tx.now)
    rows = found.session.grants
    if started is not None and kept.items and not was_tightened_since_start(gate, row, kept):
        rows = {**rows, started.key: (HeldGrant(started), *rows.get(started.key, ()))}
    session = msgspec.structs.replace(found.session, grants=rows)
    view = view_of(gate, tx, msgspec.structs.replace(found, session=session), request, scope)
    decision = decide(request, gate.policy, view, tx.now)
    if decision.verdict is Verdict.ALLOW:
        return None
    if decision.verdict is Verdict.DENY:
        return decision
    return make_refusal(kept, words.ask_now_reason(decision.reason))


def _start_as_approval(kept: Record, request: Request, session: str, now: float) -> Grant | None:
    """The start of the call as the approval of exactly that call; None if it reads as another one now."""
    if request.digest != kept.request.digest or request.operations != kept.request.operations:
        return None
    names = operations_of(kept.items)
    risk = max((item.risk for item in kept.items), default=request.operations[0].risk)
    if risk is None:
        return None
    pins, until = Pins(operations=names), now + DAY
    digest, terms = request.digest, kept.terms
    return Grant("start", "call", digest, risk, until, session, pins, uses=1, given_at=now, terms=terms)


def _allows(answer: str) -> bool:
    """Return whether every part of an answer allows: "once", or item by item "1: once, 2: task"."""
    return all(part.rpartition(": ")[2] in ALLOWING for part in answer.split(", "))
