"""Looking after the ledger: what the dead left, what became of it, and what need not be kept any longer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from sayso.core import ledger
from sayso.core.audit import events
from sayso.core.durations import HOUR
from sayso.core.ledger import IN_PROGRESS, NotNow
from sayso.core.model import Request
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.call_rows import (
    RESULT_LASTS,
    UnknownCall,
    find_fault,
    find_record,
    load_call_row,
    load_record,
    move_call_row,
    standing_of,
    with_standing,
)
from sayso.gate.gate import Gate, writing
from sayso.gate.ledger.outcome import end_retries, follow_up
from sayso.gate.rows.journal import record
from sayso.gate.telemetry import log_holder_gone
from sayso.store.contract import CallRow, Reader, Writer

MOST = 1_000_000
GOES_ON = HOUR
"""How long after its question was closed a parked call may still be gone on with, at least."""

Reconciler = Callable[[Request], object]
"""What a tool says became of a call: "succeeded" or "failed". Anything else means that it cannot say."""


def recover_calls(gate: Gate) -> list[str]:
    """Calls whose holder died: ambiguous from now on, for the operator to say what happened.

    Those that ran, once their lease is over; those that waited, once nobody went on with them although their
    question was closed long enough ago.
    """
    with gate.store.read() as tx:
        rows = tx.calls(states=IN_PROGRESS, limit=MOST)
        dead = [
            row.id for row in rows if _row_if_abandoned(gate, tx, row) != row and _is_sound(gate, tx, row)
        ]
    return [call for call in dead if _recover(gate, call)]


def recover_call(gate: Gate, call: str) -> None:
    """The same for one call: if its holder died, it is ambiguous from now on."""
    with gate.store.read() as tx:
        row = tx.call(call)
        dead = row is not None and _row_if_abandoned(gate, tx, row) != row and _is_sound(gate, tx, row)
    if dead:
        _recover(gate, call)


def resolve_call(gate: Gate, call: str, state: ledger.State, *, by: str) -> None:
    """The operator says what became of an ambiguous call."""
    with operator_act(gate) as tx:
        row = tx.call(call)
        if row is None:
            raise UnknownCall.of(call)
        ended = with_standing(row, ledger.resolve_ambiguous(standing_of(row), state))
        note = row.result if state == "failed" and row.workflow is not None else None
        ended = _save_resolved(gate, tx, row, msgspec.structs.replace(ended, ended_at=tx.now, result=note))
        record(tx, events.Resolved(call, by, state), session=row.session, stream=gate.stream)
        follow_up(gate, tx, ended, doubted=True)


def reconcile_calls(gate: Gate, reconcile: Mapping[str, Reconciler]) -> dict[str, str]:
    """Ask the tools that can tell what became of their ambiguous calls; what was resolved, and how.

    A tool that cannot tell, fails, or says something else leaves its call ambiguous.
    """
    with gate.store.read() as tx:
        rows = [row for row in tx.calls(states=("ambiguous",), limit=MOST) if row.tool in reconcile]
    resolved: dict[str, str] = {}
    for row in rows:
        state = _ask_for_outcome(gate, row, reconcile[row.tool])
        if state is None:
            continue
        with suppress(NotNow):  # somebody else has said it meanwhile, and that stands
            resolve_call(gate, row.id, state, by=f"reconcile:{row.tool}")
            resolved[row.id] = state
    return resolved


def forget_results(gate: Gate) -> int:
    """Drop the results of calls that ended more than a day ago; return how many."""
    with writing(gate) as tx:
        return tx.drop_results(before=tx.now - RESULT_LASTS)


def _recover(gate: Gate, call: str) -> bool:
    """One call in one transaction: a call lives in a session, and sessions are held one at a time."""
    with writing(gate) as tx:
        row = load_call_row(gate, tx, call)
        lapsed = _row_if_abandoned(gate, tx, row)
        if lapsed.state == row.state:
            return False
        end_retries(gate, tx, row, load_record(gate, row))
        move_call_row(gate, tx, row, lapsed)
        record(tx, events.CallAmbiguous(row.id), session=row.session, stream=gate.stream)
    log_holder_gone(row.id, row.session)
    return True


def _is_sound(gate: Gate, tx: Reader, row: CallRow) -> bool:
    """Return whether the row is untampered; a tampered one is reported once, and left alone."""
    finding = find_fault(gate, tx, row)
    if finding is not None:
        gate.sealer.doubts.note_once(finding, row.session)
    return finding is None


def _row_if_abandoned(gate: Gate, tx: Reader, row: CallRow) -> CallRow:
    """The call after its holder has gone; unchanged if the holder may still be at work."""
    if row.state != "waiting":
        return with_standing(row, ledger.expire_lease(standing_of(row), tx.now))
    question = tx.question(row.question) if row.question is not None else None
    over = row.at if question is None else question.closed_at or question.expires_at
    goes_on = max(GOES_ON, gate.policy.settings.approval_lasts)
    return (
        row
        if tx.now < over + goes_on
        else with_standing(row, ledger.move_to_state(standing_of(row), "ambiguous"))
    )


def _save_resolved(gate: Gate, tx: Writer, row: CallRow, ended: CallRow) -> CallRow:
    """Store how the call ended. A row that was tampered with is not sealed again."""
    finding = find_fault(gate, tx, row)
    if finding is None:
        return move_call_row(gate, tx, row, ended)
    gate.sealer.doubts.note(finding, row.session)
    if not tx.move_call(ended, states=(row.state,), fence=row.fence):
        raise NotNow.of_lost_start()
    return ended


def _ask_for_outcome(gate: Gate, row: CallRow, reconcile: Reconciler) -> ledger.State | None:
    kept = find_record(gate, row)
    if kept is None or kept.request.call.tool != row.tool:
        return None
    return ask_tool_outcome(reconcile, kept.request)


def ask_tool_outcome(reconcile: Reconciler, request: Request) -> ledger.State | None:
    """Ask the tool how this call ended; None unless it answers with one of the two words."""
    try:
        answer = reconcile(request)
    except Exception:  # noqa: BLE001  a foreign function: whatever went wrong, it could not say
        return None
    if type(answer) is str and answer == "succeeded":
        return "succeeded"
    return "failed" if type(answer) is str and answer == "failed" else None
