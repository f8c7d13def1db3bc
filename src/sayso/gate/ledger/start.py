"""Starting calls: a call is decided and started, and runs once.

The transaction that decides also uses up the approval and takes the lease. So of any number of processes that
try, one runs the call; the others get its state.
"""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from sayso.core import ledger, rulebook
from sayso.core.audit import events
from sayso.core.deciding.workflow import run_grant
from sayso.core.decision import Decision
from sayso.core.effects import GrantAdded, GrantUsed, SessionChanged
from sayso.core.ledger import LEASE, NotNow
from sayso.core.model import Operation, Request, Risk, Verdict
from sayso.core.policy import Policy
from sayso.core.session import Scope
from sayso.gate import words
from sayso.gate.call_rows import (
    Attempt,
    KeyReused,
    Record,
    TamperedCall,
    UnknownCall,
    add_call_row,
    attempt_from_row,
    check_call_row,
    find_record,
    is_forgotten,
    load_call_row,
    load_record,
    move_call_row,
    standing_of,
    with_decision,
    with_record,
    with_refusal,
    with_standing,
)
from sayso.gate.deciding.approvals import has_story
from sayso.gate.deciding.authorize import Authorization, Bundle, authorize_in, record_decision, reporting
from sayso.gate.deciding.request import as_read_now, read_again, with_state
from sayso.gate.gate import NO_SCOPE, Gate, apply_and_save, load_open_session, rows_ahead, writing
from sayso.gate.ledger.effect_keys import check_effect, take_effect
from sayso.gate.ledger.resume import make_refusal, reason_not_to_run
from sayso.gate.questions.expiry import ends_at
from sayso.gate.questions.read import read_question, refuse_tampered_question
from sayso.gate.rows.journal import record
from sayso.gate.rows.sessions import RowSelection, load_kept
from sayso.store.contract import CallRow, QuestionRow, Reader, Writer

UNGATED = "nothing in it needs consent by itself"
STATE_OF_VERDICT: dict[Verdict, ledger.State] = {
    Verdict.ALLOW: "allowed",
    Verdict.ASK: "pending",
    Verdict.DENY: "denied",
}


def new_call_id() -> str:
    return f"op_{secrets.token_hex(12)}"


def start_call(
    gate: Gate,
    request: Request,
    scope: Scope = NO_SCOPE,
    *,
    holder: str,
    host_id: str | None = None,
    key: str | None = None,
    effect_key: str | None = None,
    entered: bool = True,
    bundle: Bundle | None = None,
    lease: float = LEASE,
) -> Attempt:
    """Decide a call and, if it is allowed, start it. The same host id or key gives the recorded one again.

    With `entered` False the start can still be given back, until `enter_call` says that the function was
    entered; without it the start counts as the entry.
    """
    request = as_read_now(gate, request)
    with reporting(gate, request.session) as report, writing(gate) as tx:
        if not tx.local and effect_key is None:
            tx.read_ahead(rows_ahead(gate, request, scope))
        known = _find_recorded_call(gate, tx, request, host_id, key)
        if known is not None:
            return attempt_from_row(gate, tx, with_question_outcome(gate, tx, known))
        name = new_call_id()
        if effect_key is not None:
            check_effect(gate, tx, request, effect_key, name)
        done = authorize_in(gate, tx, request, scope, call=name, bundle=bundle, fence=1)
        report.set_decision(request, done.decision, done.question, opened=done.opened)
        row = new_call_row(
            gate, tx, name, request, done, host_id=host_id, key=key, effect_key=effect_key, lease=lease
        )
        return add_decided_call(
            gate, tx, row, request, done, holder, entered=entered, lease=lease, named=True
        )


def add_decided_call(
    gate: Gate,
    tx: Writer,
    row: CallRow,
    request: Request,
    done: Authorization,
    holder: str,
    *,
    entered: bool = True,
    lease: float = LEASE,
    named: bool = False,
) -> Attempt:
    """A call that was decided just now enters the ledger, and is started if it may run.

    `named`: deciding has let its session say already that it runs.
    """
    if row.state == "allowed":
        row = _start_row(gate, tx, row, request, done, holder, entered=entered, lease=lease)
    row = add_call_row(gate, tx, row, named=named and row.state == "running")
    return attempt_from_row(gate, tx, row, mine=row.state == "running")


def new_call_row(
    gate: Gate,
    tx: Reader,
    name: str,
    request: Request,
    done: Authorization,
    *,
    host_id: str | None = None,
    key: str | None = None,
    effect_key: str | None = None,
    made_in: tuple[str, ...] = (),
    lease: float = LEASE,
) -> CallRow:
    """The row of a call that was decided just now."""
    row = CallRow(
        id=name,
        session=request.session,
        digest=request.digest,
        tool=request.call.tool,
        body=b"",
        state=STATE_OF_VERDICT[done.decision.verdict],
        at=tx.now,
        host_id=host_id,
        key=key,
        effect_key=effect_key,
        question=done.question.id if done.question else None,
        workflow=request.workflow,
    )
    more = {"clearings": done.clearings, "made_in": made_in, "silent": lease > ledger.BEATEN}
    return with_decision(gate, row, request, done.decision, **more, **_story_fields(gate, done, None))


def start_ungated(
    gate: Gate,
    request: Request,
    scope: Scope = NO_SCOPE,
    *,
    holder: str,
    host_id: str | None = None,
    key: str | None = None,
    effect_key: str | None = None,
    lease: float = LEASE,
) -> Attempt:
    """Start a call that needs no consent by itself, because all it does that does is asked when reached.

    Where the policy knows the tool or its name, or a path in its arguments counts, it is decided.
    """
    request = as_read_now(gate, request)
    if _policy_knows(gate.policy, request) or any(map(_was_read, request.operations)):
        decided = msgspec.structs.replace(request, operations=tuple(map(_without_risk, request.operations)))
        return start_call(
            gate, decided, scope, holder=holder, host_id=host_id, key=key, effect_key=effect_key, lease=lease
        )
    with reporting(gate, request.session), writing(gate) as tx:
        known = _find_recorded_call(gate, tx, request, host_id, key)
        if known is not None:
            return attempt_from_row(gate, tx, with_question_outcome(gate, tx, known))
        found = load_open_session(gate, tx, request.session, RowSelection(keys=()))
        name = new_call_id()
        if effect_key is not None:
            check_effect(gate, tx, request, effect_key, name)
        started = events.Started(name, request.digest, request.call.tool)
        entry = record(tx, started, session=request.session, agent=found.row.agent, stream=gate.stream)
        ungated = Decision(Verdict.ALLOW, rulebook.UNGATED.name, UNGATED, None, (), (), ())
        done = Authorization(ungated, None, entry, clearings=found.session.clearings)
        row = new_call_row(
            gate, tx, name, request, done, host_id=host_id, key=key, effect_key=effect_key, lease=lease
        )
        if row.effect_key is not None:
            row = take_effect(gate, tx, gate.sealer.call(row), row.effect_key)
        row = add_call_row(
            gate, tx, with_standing(row, ledger.start_running(standing_of(row), holder, tx.now, lease))
        )
        return attempt_from_row(gate, tx, row, mine=True)


def _policy_knows(policy: Policy, request: Request) -> bool:
    """Return whether a tool entry is about this tool, or the policy names what the function is called by."""
    entries = [policy.entry(one.name) for one in request.operations]  # refuses a look-alike of a listed name
    return bool(policy.entries_for(request.call.tool)) or any(entry.named for entry in entries)


def _was_read(operation: Operation) -> bool:
    """Return whether the reading of the call refuses the operation or raises its risk."""
    return operation.barred is not None or operation.reading is Risk.HIGH


def _without_risk(operation: Operation) -> Operation:
    """The operation without a low risk that a function without consent of its own says it has."""
    return operation if operation.risk is not Risk.LOW else msgspec.structs.replace(operation, risk=None)


def load_attempt(gate: Gate, call: str, session: str) -> Attempt:
    """Return a call of this session. For other sessions it does not exist."""
    with gate.store.read() as tx:
        row = tx.call(call)
        if row is None or row.session != session:
            raise UnknownCall(f"there is no call {call}")
        return attempt_from_row(gate, tx, check_call_row(gate, tx, row))


def load_attempt_now(gate: Gate, call: str, session: str) -> Attempt:
    """The same for whoever only wants to know: what is over is not pending, though nobody tried it since.

    What was denied in one state of the world may be asked in another; trying it again finds out.
    """
    found = load_attempt(gate, call, session)
    if found.state != "pending" or found.record.request.call.state is not None:
        return found
    with gate.store.read() as tx:
        return attempt_from_row(gate, tx, with_question_outcome(gate, tx, load_call_row(gate, tx, call)))


def with_question_outcome(gate: Gate, tx: Reader, row: CallRow) -> CallRow:
    """The row of a call; of one that waits for a question that is over, as it will end when it is tried.

    The ledger moves a call when somebody tries it. Until then only its question says that it was denied.
    """
    kept = find_record(gate, row) if row.state in ledger.NOT_STARTED else None
    question = tx.question(row.question) if row.question is not None else None
    if kept is None or (question is not None and read_question(gate, tx, question) is None):
        return row
    over = _row_after_question(gate, tx, row, question, kept.request.call.state)
    return row if over is None else gate.sealer.call(over)


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
) -> Attempt:
    """Try a call again that had to be asked or was given back: it runs if it is allowed now, once.

    `state` is what the tool says of the world now. If it was another when the call was asked for, that
    approval is for something else, and the call is decided, and if need be asked, again. `meant` are
    the arguments that state and effect key were found out for: if a person has edited them since, it is not
    run.
    """
    ready = _read_ahead(gate, call)
    with reporting(gate, session_of_call(gate, call)) as report, writing(gate) as tx:
        row = load_call_row(gate, tx, call)
        if row.state not in ledger.NOT_STARTED:
            return attempt_from_row(gate, tx, row)
        question = _question_of(gate, tx, row)
        over = _row_after_question(gate, tx, row, question, state)
        if over is not None:
            return attempt_from_row(gate, tx, move_call_row(gate, tx, row, over))
        kept = load_record(gate, row)
        if kept.made_in:
            no = _refuse_replay(gate, tx, row, kept)
            if no is not None:
                return attempt_from_row(gate, tx, move_call_row(gate, tx, row, no))
        request = with_state_now(_read_now(gate, _request_to_retry(gate, row, question), ready), state)
        if meant is not None and meant != request.call.arguments:
            raise NotNow("the call was edited just now", hint="retry it")
        if effect_key is not None:
            row = gate.sealer.call(msgspec.structs.replace(row, effect_key=effect_key))
        if row.effect_key is not None:
            check_effect(gate, tx, request, row.effect_key, row.id, again=True)
        own = has_story(gate, tx, row, kept)
        done = authorize_in(gate, tx, request, scope, call=call, fence=row.fence + 1, again=True, told=own)
        report.set_decision(request, done.decision, done.question, opened=done.opened)
        after = _row_after_decision(gate, row, request, done, kept, lease)
        if after.state == "allowed":
            after = _start_row(gate, tx, after, request, done, holder, entered=entered, lease=lease)
        after = move_call_row(gate, tx, row, after, named=after.state == "running")
        return attempt_from_row(gate, tx, after, mine=after.state == "running")


class _ReadAhead(msgspec.Struct, frozen=True):
    """A request as it was read before anything was locked, and by which policy."""

    wanted: Request
    read: Request
    policy: Policy


def _read_ahead(gate: Gate, call: str) -> _ReadAhead | None:
    """Reading takes its time, in which others must be able to write: so it is done first."""
    with gate.store.read() as tx:
        row = load_call_row(gate, tx, call)
        if row.state not in ledger.NOT_STARTED:
            return None
        question = _question_of(gate, tx, row)
    policy, wish = gate.policy, _request_to_retry(gate, row, question)
    return _ReadAhead(wish, read_again(wish, policy), policy)


def _read_now(gate: Gate, wish: Request, ahead: _ReadAhead | None) -> Request:
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


def session_of_call(gate: Gate, call: str) -> str:
    with gate.store.read() as tx:
        return load_call_row(gate, tx, call).session


def _find_recorded_call(
    gate: Gate, tx: Reader, request: Request, host_id: str | None, key: str | None
) -> CallRow | None:
    """Return the call already recorded under this host id or idempotency key, in any state."""
    named = tx.call_by_host(request.session, host_id) if host_id is not None else None
    keyed = tx.call_by_key(request.session, request.call.tool, key) if key is not None else None
    for found in filter(None, (named, keyed)):
        name = "id" if found is named else "key"
        if found.digest == request.digest:
            continue
        recorded = with_state(load_record(gate, found).request, request.call.state)
        if read_again(recorded, gate.policy).digest != request.digest:
            raise KeyReused(f"this {name} stands for another call", hint=f"use a new {name} for every call")
        if recorded.digest != request.digest and named is not None:
            raise KeyReused(
                "what this call would do has changed since it was decided", hint="make it under a new id"
            )
    known = named or keyed
    return None if known is None else check_call_row(gate, tx, known)


def with_state_now(request: Request, state: str | None) -> Request:
    """Return the request with the tool's present state. One that was asked for with a state needs one."""
    if state is None and request.call.state is not None:
        raise NotNow("this call was asked for with a state", hint="say what it is now")
    return with_state(request, state)


def _row_after_decision(
    gate: Gate, row: CallRow, request: Request, done: Authorization, kept: Record, lease: float
) -> CallRow:
    """The call as it stands after it was decided again."""
    where, to = standing_of(row), STATE_OF_VERDICT[done.decision.verdict]
    if where.state != "pending":
        where = ledger.move_to_state(where, "pending")
    after = msgspec.structs.replace(
        with_standing(row, where if to == "pending" else ledger.move_to_state(where, to)),
        digest=request.digest,
        question=done.question.id if done.question else row.question,
    )
    more = {"clearings": done.clearings, "made_in": kept.made_in, "effect_turn": kept.effect_turn}
    more |= {"silent": lease > ledger.BEATEN, **_story_fields(gate, done, kept)}
    return with_decision(gate, after, request, done.decision, **more)


def _story_fields(gate: Gate, done: Authorization, kept: Record | None) -> dict[str, Any]:
    """Return where the call's story begins, and the questions in it so far."""
    if done.begins:
        asked = () if done.question is None else (done.question.id,)
        return {"story": (gate.stream, done.entry), "questions": asked}
    if kept is None or kept.story is None:
        return {}
    asked = () if done.question is None or done.question.id in kept.questions else (done.question.id,)
    return {"story": kept.story, "questions": (*kept.questions, *asked)}


def _start_row(
    gate: Gate,
    tx: Writer,
    row: CallRow,
    request: Request,
    done: Authorization,
    holder: str,
    *,
    entered: bool,
    lease: float,
) -> CallRow:
    """The call with its lease; and, if it was not entered yet, noted in its session as one to give back."""
    if not entered:
        found = load_open_session(gate, tx, row.session, RowSelection(keys=()))
        used = dict.fromkeys(
            effect.grant for effect in done.decision.effects if isinstance(effect, GrantUsed)
        )
        apply_and_save(
            gate,
            tx,
            found,
            (SessionChanged(unentered={**found.session.unentered, row.id: tuple(used)}),),
        )
    if request.workflow is not None:
        _give_run_grant(gate, tx, row, request, done.decision)
    if row.effect_key is not None:
        row = take_effect(gate, tx, gate.sealer.call(row), row.effect_key)
    return with_standing(row, ledger.start_running(standing_of(row), holder, tx.now, lease))


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


def _row_after_question(
    gate: Gate, tx: Reader, row: CallRow, question: QuestionRow | None, state: str | None
) -> CallRow | None:
    """The call as it ends with its question, denied, withdrawn or not answered in time; None if it goes on.

    What was denied in one state of the world was not denied in another. What its session has forgotten, too
    old or one of too many, has expired.
    """
    session = load_kept(tx, gate.sealer, row.session)
    if session is not None and is_forgotten(row, session):
        return with_standing(row, ledger.move_to_state(standing_of(row), "expired"))
    if question is None or row.state != "pending":
        return None
    if question.state == "answered" and question.answer == "deny":
        kept = load_record(gate, row)
        if kept.request.call.state != state:
            return None
        reason = f"denied by {question.by}" + (f": {question.reason}" if question.reason else "")
        no = make_refusal(kept, reason, rulebook.DENIED_CALL)
        ended = with_standing(row, ledger.move_to_state(standing_of(row), "denied"))
        return with_record(gate, ended, with_refusal(kept, no))
    if question.state == "cancelled":
        return with_standing(row, ledger.move_to_state(standing_of(row), "cancelled"))
    if question.state == "expired" or (question.state == "open" and tx.now >= ends_at(gate, question)):
        return with_standing(row, ledger.move_to_state(standing_of(row), "expired"))
    return None


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


def _give_run_grant(gate: Gate, tx: Writer, row: CallRow, request: Request, decision: Decision) -> None:
    """A workflow was allowed to start: its run gets a grant of its own, which ends with it."""
    found = load_open_session(gate, tx, row.session, RowSelection(keys=()))
    grant = run_grant(row.id, request, decision, gate.policy, found.session, tx.now)
    apply_and_save(gate, tx, found, (GrantAdded(grant),))
    granted = events.Granted(grant.id, grant.kind, grant.risk.word, workflow=request.workflow)
    operations = grant.pins.operations or ()
    record(tx, granted, session=row.session, operations=operations, stream=gate.stream)
