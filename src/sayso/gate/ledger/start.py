"""Starting calls: a call is decided and started, and runs once.

The transaction that decides also uses up the approval and takes the lease. So of any number of processes that
try, one runs the call; the others get its state.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec

from sayso.core import ledger, rulebook
from sayso.core.audit import events
from sayso.core.deciding.workflow import run_grant
from sayso.core.decision import Decision
from sayso.core.effects import GrantAdded, GrantUsed, SessionChanged
from sayso.core.ledger import LEASE
from sayso.core.model import Operation, Request, Risk, Verdict
from sayso.core.policy import Policy
from sayso.core.session import Scope
from sayso.gate.call_rows import (
    Attempt,
    KeyReused,
    Record,
    add_call_row,
    attempt_from_row,
    check_call_row,
    draft_body,
    load_record,
    record_of_decision,
    standing_of,
    with_standing,
)
from sayso.gate.deciding.ahead import rows_ahead
from sayso.gate.deciding.authorize import Authorization, Bundle, Reporting, authorize_in, is_harmless
from sayso.gate.deciding.request import gate_and_reading, read_again, with_state
from sayso.gate.gate import (
    NO_SCOPE,
    Gate,
    apply_and_save,
    load_open_session,
    writing,
)
from sayso.gate.ledger.attempts import with_question_outcome
from sayso.gate.ledger.effect_keys import check_effect, take_effect
from sayso.gate.rows.journal import record
from sayso.gate.rows.sessions import RowSelection
from sayso.store.contract import CallRow, Reader, Writer

UNGATED = "nothing in it needs consent by itself"
STATE_OF_VERDICT: dict[str, ledger.State] = {
    Verdict.ALLOW.value: "allowed",
    Verdict.ASK.value: "pending",
    Verdict.DENY.value: "denied",
}
"""By the word for a verdict: to look up the verdict itself takes a call of Python code."""


def new_call_id() -> str:
    return f"op_{os.urandom(12).hex()}"


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
    lasts: bool = True,
    check_awaited: Callable[[], None] | None = None,
) -> Attempt:
    """Decide a call and, if it is allowed, start it. The same host id or key gives the recorded one again.

    Without `lasts` an allow of low risk that uses and changes nothing does not wait for the disk: whoever
    makes the call is on this machine, and goes with it if the power fails. With `entered` False the start can
    still be given back, until `enter_call` records that the function was entered; without it the start counts
    as the entry. `check_awaited` raises if nobody waits for the call any more: then no grant is used for it.
    """
    gate, request = gate_and_reading(gate, request)
    with Reporting(gate, request.session) as report, writing(gate) as tx:
        if not tx.local:
            tx.read_ahead(rows_ahead(gate, request, scope, host_id=host_id, key=key, effect_key=effect_key))
        known = _find_recorded_attempt(gate, tx, request, host_id, key)
        if known is not None:
            return known
        name = new_call_id()
        if effect_key is not None:
            check_effect(gate, tx, request, effect_key, name)
        done = authorize_in(gate, tx, request, scope, call=name, bundle=bundle, fence=1)
        if check_awaited is not None and done.decision.grants:
            check_awaited()
        report.set_decision(request, done.decision, done.question, opened=done.opened)
        if not lasts and key is None and effect_key is None and tx.local and is_harmless(done.decision):
            tx.durable = not gate.sealer.mark.marks_unsynced
        plain = entered and effect_key is None and request.workflow is None
        row = new_call_row(
            gate,
            tx,
            name,
            request,
            done,
            host_id=host_id,
            key=key,
            effect_key=effect_key,
            lease=lease,
            starter=holder if plain else None,
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
        row = start_row(gate, tx, row, request, done, holder, entered=entered, lease=lease)
    runs = row.state == "running"
    row = add_call_row(gate, tx, row, named=named and runs)
    return attempt_from_row(gate, tx, row, mine=runs, kept=gate.sealer.records.last(row.id))


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
    starter: str | None = None,
) -> CallRow:
    """The row of a call that was decided just now; if it is allowed and has a `starter`, running for them."""
    kept = record_of_decision(
        gate,
        request,
        done.decision,
        clearings=done.clearings,
        revocations=done.revocations,
        made_in=made_in,
        silent=lease > ledger.BEATEN,
        **story_fields(gate, done, None),
    )
    where = ledger.CallStanding(STATE_OF_VERDICT[done.decision.verdict._value_])
    if starter is not None and where.state == "allowed":
        where = ledger.start_running(where, starter, tx.now, lease)
    return CallRow(
        id=name,
        session=request.session,
        digest=request.digest,
        tool=request.call.tool,
        body=draft_body(gate, name, kept),
        state=where.state,
        fence=where.fence,
        holder=where.holder,
        lease_until=where.lease_until,
        at=tx.now,
        host_id=host_id,
        key=key,
        effect_key=effect_key,
        question=done.question.id if done.question else None,
        workflow=request.workflow,
    )


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
    gate, request = gate_and_reading(gate, request)
    if _policy_knows(gate.policy, request) or any(map(_was_read, request.operations)):
        decided = msgspec.structs.replace(request, operations=tuple(map(_without_risk, request.operations)))
        return start_call(
            gate, decided, scope, holder=holder, host_id=host_id, key=key, effect_key=effect_key, lease=lease
        )
    with Reporting(gate, request.session), writing(gate) as tx:
        if not tx.local:
            tx.read_ahead(rows_ahead(gate, request, host_id=host_id, key=key, effect_key=effect_key))
        known = _find_recorded_attempt(gate, tx, request, host_id, key)
        if known is not None:
            return known
        found = load_open_session(gate, tx, request.session, RowSelection())
        name = new_call_id()
        if effect_key is not None:
            check_effect(gate, tx, request, effect_key, name)
        started = events.Started(name, request.digest, request.call.tool)
        entry = record(tx, started, session=request.session, agent=found.row.agent, stream=gate.stream)
        ungated = Decision(Verdict.ALLOW, rulebook.UNGATED.name, UNGATED, None, (), (), ())
        counts = (found.session.clearings, found.session.revocations)
        done = Authorization(ungated, None, entry, False, *counts)
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
    known = any(map(policy.entries_for, policy.names_of(request.call.tool)))
    return known or any(entry.named for entry in entries)


def _was_read(operation: Operation) -> bool:
    """Return whether the reading of the call refuses the operation or raises its risk."""
    return operation.barred is not None or operation.reading is Risk.HIGH


def _without_risk(operation: Operation) -> Operation:
    """The operation without a low risk that a function without consent of its own says it has."""
    return operation if operation.risk is not Risk.LOW else msgspec.structs.replace(operation, risk=None)


def _find_recorded_attempt(
    gate: Gate, tx: Reader, request: Request, host_id: str | None, key: str | None
) -> Attempt | None:
    if host_id is None and key is None:
        return None
    known = _find_recorded_call(gate, tx, request, host_id, key)
    return None if known is None else attempt_from_row(gate, tx, with_question_outcome(gate, tx, known))


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


def story_fields(gate: Gate, done: Authorization, kept: Record | None) -> dict[str, Any]:
    """Return where the call's story begins, and the questions in it so far."""
    if done.begins:
        asked = () if done.question is None else (done.question.id,)
        return {"story": (gate.stream, done.entry), "questions": asked}
    if kept is None or kept.story is None:
        return {}
    asked = () if done.question is None or done.question.id in kept.questions else (done.question.id,)
    return {"story": kept.story, "questions": (*kept.questions, *asked)}


def start_row(
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
        found = load_open_session(gate, tx, row.session, RowSelection())
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


def _give_run_grant(gate: Gate, tx: Writer, row: CallRow, request: Request, decision: Decision) -> None:
    """A workflow was allowed to start: its run gets a grant of its own, which ends with it."""
    found = load_open_session(gate, tx, row.session, RowSelection())
    grant = run_grant(row.id, request, decision, gate.policy, found.session, tx.now)
    apply_and_save(gate, tx, found, (GrantAdded(grant),))
    granted = events.Granted(grant.id, grant.kind, grant.risk.word, workflow=request.workflow)
    operations = grant.pins.operations or ()
    record(tx, granted, session=row.session, operations=operations, stream=gate.stream)
