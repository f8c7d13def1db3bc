"""Replays: an operation that was queued, run later, perhaps by another session than the one that made it.

It may use grants for its own operation from the session that made it, as they are now, and whatever the
session it runs in has. Workflow grants do not travel: trust in a run was for its time.
"""

from __future__ import annotations

from msgspec.structs import replace

from sayso.core.deciding.decide import decide
from sayso.core.deciding.facts import spell_facts
from sayso.core.decision import Decision
from sayso.core.ledger import LEASE, NotNow
from sayso.core.model import Request, Verdict
from sayso.core.rulebook import GOING_ON, REPLAYING
from sayso.gate.call_rows import Attempt, load_call_row, load_record
from sayso.gate.deciding.authorize import Authorization, Reporting, authorize_in, is_answer, record_decision
from sayso.gate.deciding.request import make_request, read_again
from sayso.gate.gate import (
    NO_SCOPE,
    Gate,
    TamperedSession,
    UnknownSession,
    apply_and_save,
    load_open_session,
    select_rows_for,
    writing,
)
from sayso.gate.ledger.attempts import session_of_call
from sayso.gate.ledger.effect_keys import check_effect
from sayso.gate.ledger.resume import reason_not_to_run
from sayso.gate.ledger.retry import with_state_now
from sayso.gate.ledger.start import add_decided_call, new_call_id, new_call_row
from sayso.gate.questions.view import view_of
from sayso.store.contract import Writer

OWN = ("call", "operation")
"""What a replay may use of the session that made it: approvals of this call, grants for its operations."""


def replay_call(
    gate: Gate, call: str, session: str, *, holder: str, state: str | None = None, lease: float = LEASE
) -> Attempt:
    """Start the same call again, as a new one in the ledger; or ask for it in the session it would run in.

    `state` is the state that the tool reports now. An effect that it had, or may have had, it does not have
    again.
    """
    both = sorted({session, session_of_call(gate, call)})
    with Reporting(gate, session) as report, writing(gate) as tx:
        for one in both:
            tx.session(one)  # which holds it: all in the same order, so that none waits for the other
        row, name = load_call_row(gate, tx, call), new_call_id()
        kept = load_record(gate, row)
        if kept.request.workflow is not None:
            raise NotNow("a run of a workflow is not replayed", hint="run the workflow again")
        gate = gate.in_workspace(kept.request.call.workspace)
        request = with_state_now(read_again(kept.request, gate.policy), state)
        here = _request_for_session(gate, tx, request, session)
        if row.effect_key is not None:
            check_effect(gate, tx, here, row.effect_key, name)
        made_in = tuple(dict.fromkeys((*kept.made_in, row.session, session)))
        no = _refuse_replay(gate, tx, here, made_in, name)
        own = (
            None
            if no is not None or request.session == session
            else _authorize_by_own_grants(gate, tx, request, name)
        )
        request = request if own is not None else here
        done = no or own or authorize_in(gate, tx, here, NO_SCOPE, call=name)
        report.set_decision(request, done.decision, done.question, opened=done.opened)
        again = new_call_row(
            gate, tx, name, request, done, effect_key=row.effect_key, made_in=made_in, lease=lease
        )
        return add_decided_call(gate, tx, again, request, done, holder, lease=lease)


def _refuse_replay(
    gate: Gate, tx: Writer, request: Request, sessions: tuple[str, ...], name: str
) -> Authorization | None:
    """The refusal of a replay while a session it comes from, or would run in, has ended or is stopped."""
    why = reason_not_to_run(gate, tx, sessions)
    if why is None:
        return None
    no = Decision(Verdict.DENY, GOING_ON.name, why, None, (), (), ())
    return Authorization(no, None, record_decision(gate, tx, request, no, call=name), begins=True)


def _authorize_by_own_grants(gate: Gate, tx: Writer, request: Request, name: str) -> Authorization | None:
    """Allowed by grants of the session that made the call; None if they do not allow it, or it is over."""
    try:
        found = load_open_session(gate, tx, request.session, select_rows_for(request, gate.policy, NO_SCOPE))
    except (UnknownSession, TamperedSession):
        return None
    grants = {key: held for key, held in found.session.grants.items() if key[0] in OWN}
    found = replace(found, session=replace(found.session, grants=grants))
    view = view_of(gate, tx, found, request)
    decision = decide(request, gate.policy, view, tx.now)
    if decision.verdict is not Verdict.ALLOW or {one.ruling.rule for one in decision.items} - REPLAYING:
        return None
    apply_and_save(gate, tx, found, decision.effects, call=name)
    goes_on = is_answer(gate, tx, decision)
    facts = spell_facts(request, gate.policy, view, tx.now)
    entry = record_decision(gate, tx, request, decision, call=name, again=goes_on, facts=facts)
    counts = (found.session.clearings, found.session.revocations)
    return Authorization(decision, None, entry, False, *counts, begins=not goes_on)


def _request_for_session(gate: Gate, tx: Writer, request: Request, session: str) -> Request:
    """The same call as this session would make it."""
    row = load_open_session(gate, tx, session, select_rows_for(request, gate.policy, NO_SCOPE)).row
    return make_request(
        request.call,
        request.operations,
        agent=row.agent,
        session=session,
        origin=request.origin,
        confidence=request.confidence,
        declared=request.declared,
    )
