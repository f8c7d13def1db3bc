"""The ledger in use: a call is decided, started and ended, and runs once.

Starting is part of the transaction that decides: it uses the approval up and takes the lease. So of any
number of processes that try, one runs the call; the others are told where it stands.
"""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from sayso.core import ledger, lifecycle
from sayso.core.effects import Changed, Effect, Used
from sayso.core.errors import SaysoError
from sayso.core.ledger import NotNow
from sayso.core.model import Request, Verdict
from sayso.core.session import Scope, Session
from sayso.gate.authorize import Authorized, authorize_in, reporting
from sayso.gate.call_rows import (
    Attempt,
    body_of,
    found_record,
    moved,
    placed,
    record_of,
    row_of,
    standing,
    told,
)
from sayso.gate.gate import NO_SCOPE, Gate, everything, loaded, settle, writing
from sayso.gate.journal import record
from sayso.gate.request import restated
from sayso.gate.state import Wanted
from sayso.store.base import CallRow, Reader, Writer

KEPT_RESULT = 64 * 1024
ENDINGS = ("succeeded", "failed", "ambiguous")
TAKEN = ("running", "waiting", "succeeded", "ambiguous")
STATES: dict[Verdict, ledger.State] = {
    Verdict.ALLOW: "allowed",
    Verdict.ASK: "pending",
    Verdict.DENY: "denied",
}


class KeyReused(SaysoError):
    """An id or key that stands for one call was used for another."""

    code = "key_reused"


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
) -> Attempt:
    """Decide a call and, if it is allowed, start it. The same host id or key gives the recorded one again.

    With `entered` False the start can still be given back, until `enter_call` says that the function was
    entered; without it the start counts as the entry.
    """
    with reporting(gate, request.session), writing(gate) as tx:
        known = _known(gate, tx, request, host_id, key)
        if known is not None:
            return told(gate, tx, known)
        name = f"op_{secrets.token_hex(12)}"
        _check_effect(tx, request.session, effect_key, name)
        done = authorize_in(gate, tx, request, scope, call=name)
        row = CallRow(
            id=name,
            session=request.session,
            digest=request.digest,
            tool=request.call.tool,
            body=body_of(gate, name, request, done.decision),
            state=STATES[done.decision.verdict],
            at=tx.now,
            host_id=host_id,
            key=key,
            effect_key=effect_key,
            question=done.question.id if done.question else None,
        )
        if row.state == "allowed":
            row = _started(gate, tx, row, done, holder, entered=entered)
        tx.put_call(row)
        return told(gate, tx, row, mine=row.state == "running")


def retry_call(
    gate: Gate,
    call: str,
    scope: Scope = NO_SCOPE,
    *,
    holder: str,
    state: str | None = None,
    entered: bool = True,
) -> Attempt:
    """Try a call again that had to be asked or was given back: it runs if it is allowed now, once.

    `state` is what the tool says of the world now. If it was another when the call was asked for, that
    approval is for something else, and the call is decided, and if need be asked, anew.
    """
    with reporting(gate, session_of(gate, call)), writing(gate) as tx:
        row = row_of(tx, call)
        if row.state not in ("pending", "allowed"):
            return told(gate, tx, row)
        if row.state == "pending" and _expired(tx, row):
            late = placed(row, ledger.move(standing(row), "expired"))
            moved(tx, row, late)
            return told(gate, tx, late)
        request = _as_of_now(record_of(gate, row).request, state)
        _check_effect(tx, row.session, row.effect_key, row.id)
        done = authorize_in(gate, tx, request, scope, call=call)
        after = _decided(gate, row, request, done)
        if after.state == "allowed":
            after = _started(gate, tx, after, done, holder, entered=entered)
        moved(tx, row, after)
        return told(gate, tx, after, mine=after.state == "running")


def end_call(gate: Gate, call: str, fence: int, state: ledger.State, result: bytes | None = None) -> None:
    """The holder says how the call ended; what follows from that for consent is written with it."""
    if state not in ENDINGS:
        raise NotNow(f"a call does not end as {state}", hint=f"say one of: {', '.join(ENDINGS)}")
    with writing(gate) as tx:
        row = row_of(tx, call)
        ended = placed(row, ledger.finish(standing(row), fence, state))
        kept = result if result is not None and len(result) <= KEPT_RESULT else None
        ended = msgspec.structs.replace(ended, result=kept, ended_at=tx.now)
        moved(tx, row, ended)
        follow_up(gate, tx, ended)


def session_of(gate: Gate, call: str) -> str:
    with gate.store.read() as tx:
        return row_of(tx, call).session


def follow_up(gate: Gate, tx: Writer, row: CallRow) -> None:
    """What a success or failure means for the session's consent, and the entry about it."""
    kept = found_record(gate, row)
    details: dict[str, Any] = {"call": row.id, "digest": row.digest, "state": row.state}
    if kept is None:
        finding = f"call {row.id} was changed by hand"
        record(tx, "TAMPERED", session=row.session, details={"finding": finding}, stream=gate.stream)
        record(tx, "EXECUTED", session=row.session, details=details, stream=gate.stream)
        return
    details["rule"] = kept.rule
    operations = tuple(dict.fromkeys(item.operation for item in kept.items))
    record(tx, "EXECUTED", session=row.session, operations=operations, details=details, stream=gate.stream)
    session = tx.session(row.session)
    if row.state == "ambiguous" or session is None or session.ended_at is not None:
        return
    found = loaded(gate, tx, row.session, everything())
    ok = row.state == "succeeded"
    report = lifecycle.outcome(found.session, kept.request, kept.decision, ok, gate.policy, tx.now)
    settle(gate, tx, found, (*report.effects, *entering(found.session, row.id)), call=row.id)


def entering(session: Session, call: str) -> tuple[Effect, ...]:
    """The call has been entered: from now on what it used cannot be given back."""
    if call not in session.unentered:
        return ()
    left = {name: grants for name, grants in session.unentered.items() if name != call}
    return (Changed({"unentered": left}),)


def _known(gate: Gate, tx: Reader, request: Request, host_id: str | None, key: str | None) -> CallRow | None:
    """The call that this host id or key stands for already. Of its state it does not matter what it was."""
    named = tx.call_by_host(request.session, host_id) if host_id is not None else None
    keyed = tx.call_by_key(request.session, request.call.tool, key) if key is not None else None
    for found in filter(None, (named, keyed)):
        if found.digest == request.digest:
            continue
        if restated(record_of(gate, found).request, request.call.state).digest != request.digest:
            raise KeyReused("this id stands for another call", hint="use a new id for every call")
    return named or keyed


def _check_effect(tx: Reader, session: str, effect_key: str | None, call: str) -> None:
    """Refuse a call whose effect another one had, has now, or may have had."""
    if effect_key is None:
        return
    tx.session(session)  # which holds it: always the session first, then the effect
    if any(row.state in TAKEN for row in tx.calls_by_effect(effect_key) if row.id != call):
        raise KeyReused("this effect has happened already, or nobody knows", hint="resolve that call first")


def _as_of_now(request: Request, state: str | None) -> Request:
    if state is None and request.call.state is not None:
        raise NotNow("this call was asked for with a state", hint="say with the retry what it is now")
    return restated(request, state)


def _decided(gate: Gate, row: CallRow, request: Request, done: Authorized) -> CallRow:
    """The call as it stands after it was decided again."""
    where, to = standing(row), STATES[done.decision.verdict]
    if where.state != "pending":
        where = ledger.move(where, "pending")
    return msgspec.structs.replace(
        placed(row, where if to == "pending" else ledger.move(where, to)),
        digest=request.digest,
        body=body_of(gate, row.id, request, done.decision),
        question=done.question.id if done.question else row.question,
    )


def _started(
    gate: Gate, tx: Writer, row: CallRow, done: Authorized, holder: str, *, entered: bool
) -> CallRow:
    """The call with its lease; and, if it was not entered yet, noted in its session as one to give back."""
    if not entered:
        found = loaded(gate, tx, row.session, Wanted(keys=()))
        used = dict.fromkeys(effect.grant for effect in done.decision.effects if isinstance(effect, Used))
        settle(gate, tx, found, (Changed({"unentered": {**found.session.unentered, row.id: tuple(used)}}),))
    return placed(row, ledger.start(standing(row), holder, tx.now))


def _expired(tx: Reader, row: CallRow) -> bool:
    question = tx.question(row.question) if row.question is not None else None
    return question is not None and (
        question.state == "expired" or (question.state == "open" and tx.now >= question.expires_at)
    )
