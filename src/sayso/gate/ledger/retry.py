"""Retrying calls: one that had to be asked, or was given back, runs if it is allowed now, once.

What is retried is what was asked for, or what a person edited it to, read and decided again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from sayso.core import ledger
from sayso.core.ledger import LEASE, NotNow
from sayso.core.model import Request
from sayso.core.policy import Policy
from sayso.core.session import Scope
from sayso.gate import words
from sayso.gate.call_rows import (
    Attempt,
    Record,
    TamperedCall,
    attempt_from_row,
    find_record,
    load_call_row,
    load_record,
    move_call_row,
    record_of_decision,
    standing_of,
    with_record,
    with_refusal,
    with_standing,
)
from sayso.gate.deciding.ahead import POLICY_READ, rows_ahead
from sayso.gate.deciding.approvals import has_story
from sayso.gate.deciding.authorize import Authorization, Reporting, authorize_in, record_decision
from sayso.gate.deciding.request import read_again, with_state
from sayso.gate.gate import NO_SCOPE, Gate, writing
from sayso.gate.ledger.attempts import row_after_question, session_of_call
from sayso.gate.ledger.effect_keys import check_effect
from sayso.gate.ledger.resume import make_refusal, reason_not_to_run
from sayso.gate.ledger.start import STATE_OF_VERDICT, start_row, story_fields
from sayso.gate.ledger.workflows import decode_note
from sayso.gate.questions.read import read_question, refuse_tampered_question
from sayso.store.contract import Ahead, CallRow, QuestionRow, Reader, Writer


def retry_call(
    gate: Gate,
    call: str,
    scope: Scope = NO_SCOPE,
    *,
    holder: str,
    state: str | None = None,
    entered: bool = True,
    lease: float = LEASE,
    effect_key: str | None = None,
    meant: bytes | None = None,
    check_awaited: Callable[[], None] | None = None,
    ready: RetryReading | None = None,
) -> Attempt:
    """Try a call again that had to be asked or was given back: it runs if it is allowed now, once.

    `state` is the state that the tool reports now. If it was another when the call was asked for, that
    approval is for something else, and the call is decided, and if need be asked, again. `meant` are
    the arguments that state and effect key were found out for: if a person has edited them since, it is not
    run. `check_awaited` raises if nobody waits for the call any more: then no grant is used for it.
    `ready` is the call as `read_to_retry` read it.
    """
    ready = ready or read_to_retry(gate, call)
    with Reporting(gate, session_of_call(gate, call)) as report, writing(gate) as tx:
        row = load_call_row(gate, tx, call)
        if not _can_be_tried(gate, tx, row):
            return attempt_from_row(gate, tx, row)
        question = _question_of(gate, tx, row)
        over = row_after_question(gate, tx, row, question, state)
        if over is not None:
            return attempt_from_row(gate, tx, move_call_row(gate, tx, row, over))
        kept = load_record(gate, row)
        if kept.made_in:
            no = _refuse_replay(gate, tx, row, kept)
            if no is not None:
                return attempt_from_row(gate, tx, move_call_row(gate, tx, row, no))
        wish = _request_to_retry(gate, row, question)
        gate = gate.in_workspace(wish.call.workspace)
        request = with_state_now(_read_now(gate, wish, ready), state)
        if meant is not None and meant != request.call.arguments:
            raise NotNow("the call was edited just now", hint="retry it")
        if effect_key is not None:
            row = gate.sealer.call(msgspec.structs.replace(row, effect_key=effect_key))
        if row.effect_key is not None:
            check_effect(gate, tx, request, row.effect_key, row.id, again=True)
        own = has_story(gate, tx, row, kept)
        done = authorize_in(gate, tx, request, scope, call=call, fence=row.fence + 1, again=True, told=own)
        if check_awaited is not None and done.decision.grants:
            check_awaited()
        report.set_decision(request, done.decision, done.question, opened=done.opened)
        after = _row_after_decision(gate, row, request, done, kept, lease, tx.now)
        if after.state == "allowed":
            after = start_row(gate, tx, after, request, done, holder, entered=entered, lease=lease)
        after = move_call_row(gate, tx, row, after, named=after.state == "running")
        return attempt_from_row(gate, tx, after, mine=after.state == "running")


def _can_be_tried(gate: Gate, tx: Reader, row: CallRow) -> bool:
    """Return whether a call can be tried: it was not started yet, or is a run that failed and can go on.

    Such a run is started again like a new one, with the step that did not finish.
    """
    if row.state in ledger.NOT_STARTED:
        return True
    if row.state != "failed":
        return False
    failed = attempt_from_row(gate, tx, row)
    said_by_host = not failed.record.claimed
    return said_by_host and failed.note is not None and decode_note(failed.note).goes_on


class RetryReading(msgspec.Struct, frozen=True):
    """A request as it was read before anything was locked, and by which policy."""

    wanted: Request
    read: Request
    policy: Policy


def read_to_retry(gate: Gate, call: str) -> RetryReading | None:
    """Reading takes its time, in which others must be able to write: so it is done first."""
    with gate.store.read() as tx:
        row = load_call_row(gate, tx, call)
        if not _can_be_tried(gate, tx, row):
            return None
        question = _question_of(gate, tx, row)
    wish = _request_to_retry(gate, row, question)
    policy = gate.in_workspace(wish.call.workspace).policy
    return RetryReading(wish, read_again(wish, policy), policy)


def rows_ahead_of_retry(
    gate: Gate, row: CallRow, scope: Scope = NO_SCOPE, *, effect_key: str | None = None
) -> Ahead:
    """What trying this call again is going to read, if nobody has edited it."""
    kept = find_record(gate, row)
    if kept is None:
        return Ahead()
    here = rows_ahead(gate, kept.request, scope, effect_key=effect_key or row.effect_key)
    session, asked = row.session, frozenset[tuple[str, str]]()
    if row.question is not None:
        asked = frozenset({(session, row.question)})
    return msgspec.structs.replace(
        here,
        metas=here.metas | POLICY_READ,
        calls=here.calls | {row.id},
        questions=here.questions | asked,
        approvals=frozenset({(session, kept.request.digest)}),
    )


def size_to_retry(gate: Gate, call: str) -> int | None:
    """How long the arguments of this call are, as far as is remembered."""
    kept: Record | None = gate.sealer.records.last(call)
    return None if kept is None else len(kept.request.call.arguments)


def _read_now(gate: Gate, wish: Request, ahead: RetryReading | None) -> Request:
    """Return the reading made ahead if it was of this request under this policy; otherwise read the call."""
    if ahead is not None and ahead.wanted == wish and ahead.policy is gate.policy:
        return ahead.read
    return read_again(wish, gate.policy)


def load_request_to_retry(gate: Gate, call: str) -> Request:
    """The request that trying this call again would run: what was asked for, or what a person made of it."""
    with gate.store.read() as tx:
        row = load_call_row(gate, tx, call)
        question = _question_of(gate, tx, row)
    return _request_to_retry(gate, row, question)


def with_state_now(request: Request, state: str | None) -> Request:
    """Return the request with the tool's present state. One that was asked for with a state needs one."""
    if state is None and request.call.state is not None:
        raise NotNow("this call was asked for with a state", hint="say what it is now")
    return with_state(request, state)


def _row_after_decision(
    gate: Gate, row: CallRow, request: Request, done: Authorization, kept: Record, lease: float, now: float
) -> CallRow:
    """The call as it is after it was decided again."""
    where, to = standing_of(row), STATE_OF_VERDICT[done.decision.verdict.value]
    if where.state == "failed":
        where = ledger.reopen_failed(where)
    elif where.state != "pending":
        where = ledger.move_to_state(where, "pending")
    after = msgspec.structs.replace(
        with_standing(row, where if to == "pending" else ledger.move_to_state(where, to)),
        ended_at=None,
        digest=request.digest,
        question=done.question.id if done.question else row.question,
    )
    more: dict[str, Any] = {"clearings": done.clearings, "revocations": done.revocations}
    more |= {"made_in": kept.made_in, "effect_turn": kept.effect_turn}
    more |= {"decided_at": now, "silent": lease > ledger.BEATEN, **story_fields(gate, done, kept)}
    return with_record(gate, after, record_of_decision(gate, request, done.decision, **more))


def _request_to_retry(gate: Gate, row: CallRow, question: QuestionRow | None) -> Request:
    """Return what was asked for, or what a person edited it to."""
    edited = gate.sealer.open_edited(question) if question is not None else None
    return load_record(gate, row).request if edited is None else edited


def _question_of(gate: Gate, tx: Reader, row: CallRow) -> QuestionRow | None:
    """Return the question that the call waits for. One that was tampered with may have been a no."""
    if row.question is None:
        return None
    question = tx.question(row.question)
    if question is None:
        finding = words.deleted_outside(f"the question of call {row.id}")
        gate.sealer.doubts.note(finding, row.session)
        raise TamperedCall(finding, hint="make the call again, and look at the audit")
    if read_question(gate, tx, question) is None:
        refuse_tampered_question(gate, question)
    return question


def _refuse_replay(gate: Gate, tx: Writer, row: CallRow, kept: Record) -> CallRow | None:
    """A replay as it ends because a session it comes from was ended or stopped; None if it may be tried."""
    why = reason_not_to_run(gate, tx, (row.session, *kept.made_in))
    if why is None:
        return None
    no, own = make_refusal(kept, why), has_story(gate, tx, row, kept)
    entry = record_decision(gate, tx, kept.request, no, call=row.id, again=own)
    if not own:
        kept = msgspec.structs.replace(kept, story=(gate.stream, entry), questions=())
    where = standing_of(row) if row.state == "pending" else ledger.move_to_state(standing_of(row), "pending")
    return with_record(
        gate, with_standing(row, ledger.move_to_state(where, "denied")), with_refusal(kept, no)
    )
