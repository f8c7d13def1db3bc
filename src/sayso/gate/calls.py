"""The ledger in use: a call is decided, started, kept alive and ended, and runs once.

Starting is part of the transaction that decides: it uses the approval up and takes the lease. So of any
number of processes that try, one runs the call; the others are told where it stands.
"""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from sayso.core import ledger, lifecycle
from sayso.core.decision import Decision, Item
from sayso.core.effects import Effect
from sayso.core.errors import SaysoError
from sayso.core.ledger import NotNow, Standing
from sayso.core.model import Request, Verdict
from sayso.core.session import Scope
from sayso.gate.acts import operator_act
from sayso.gate.authorize import authorize_in, reporting
from sayso.gate.gate import NO_SCOPE, Gate, everything, loaded, settle, writing
from sayso.gate.journal import record
from sayso.store.base import CallRow, Reader, Writer

KEPT_RESULT = 64 * 1024
ENDINGS = ("succeeded", "failed", "ambiguous")
TAKEN = ("running", "waiting", "succeeded", "ambiguous")
STATES: dict[Verdict, ledger.State] = {
    Verdict.ALLOW: "allowed",
    Verdict.ASK: "pending",
    Verdict.DENY: "denied",
}


class UnknownCall(SaysoError):
    code = "unknown_call"


class KeyReused(SaysoError):
    """An id or key that stands for one call was used for another."""

    code = "key_reused"


class Record(msgspec.Struct, frozen=True):
    """What the ledger keeps of a call: the request, and what was decided about it."""

    request: Request
    verdict: Verdict
    rule: str
    reason: str
    items: tuple[Item, ...]


class Attempt(msgspec.Struct, frozen=True):
    """Where a call stands after somebody tried to run it. `fence` is 0 unless this attempt may run it now."""

    call: str
    state: str
    fence: int
    record: Record
    question: str | None = None
    result: bytes | None = None

    @property
    def runs(self) -> bool:
        """Whether whoever got this attempt is the one to run the call."""
        return self.fence > 0


_encode = msgspec.json.Encoder().encode
_record = msgspec.json.Decoder(Record).decode


def start_call(
    gate: Gate,
    request: Request,
    scope: Scope = NO_SCOPE,
    *,
    holder: str,
    host_id: str | None = None,
    key: str | None = None,
    effect_key: str | None = None,
) -> Attempt:
    """Decide a call and, if it is allowed, start it. The same host id or key gives the recorded one again."""
    with reporting(gate, request.session), writing(gate) as tx:
        known = _known(tx, request, host_id, key)
        if known is not None:
            return _told(known)
        if effect_key is not None and any(row.state in TAKEN for row in tx.calls_by_effect(effect_key)):
            raise KeyReused(
                "this effect has happened already, or nobody knows", hint="resolve that call first"
            )
        name = f"op_{secrets.token_hex(12)}"
        done = authorize_in(gate, tx, request, scope, call=name)
        row = CallRow(
            id=name,
            session=request.session,
            digest=request.digest,
            tool=request.call.tool,
            body=_encode(_recorded(request, done.decision)),
            state=STATES[done.decision.verdict],
            at=tx.now,
            host_id=host_id,
            key=key,
            effect_key=effect_key,
            question=done.question.id if done.question else None,
        )
        if row.state == "allowed":
            row = _placed(row, ledger.start(_standing(row), holder, tx.now))
        tx.put_call(row)
        return _told(row, mine=row.state == "running")


def retry_call(gate: Gate, call: str, scope: Scope = NO_SCOPE, *, holder: str) -> Attempt:
    """Try a call again that had to be asked: it runs if it was approved since, once, whoever tries."""
    with reporting(gate, session_of(gate, call)), writing(gate) as tx:
        row = _row(tx, call)
        if row.state != "pending":
            return _told(row)
        if _expired(tx, row):
            late = _placed(row, ledger.move(_standing(row), "expired"))
            tx.move_call(late, states=("pending",), fence=row.fence)
            return _told(late)
        done = authorize_in(gate, tx, _record(row.body).request, scope, call=call)
        if done.decision.verdict is Verdict.ASK:
            return _told(row)
        body = _encode(_recorded(_record(row.body).request, done.decision))
        moved = _placed(row, ledger.move(_standing(row), STATES[done.decision.verdict]))
        moved = msgspec.structs.replace(moved, body=body)
        if done.decision.verdict is Verdict.ALLOW:
            moved = _placed(moved, ledger.start(_standing(moved), holder, tx.now))
        if not tx.move_call(moved, states=("pending",), fence=row.fence):
            return _told(_row(tx, call))
        return _told(moved, mine=moved.state == "running")


def session_of(gate: Gate, call: str) -> str:
    with gate.store.read() as tx:
        return _row(tx, call).session


def _expired(tx: Reader, row: CallRow) -> bool:
    question = tx.question(row.question) if row.question is not None else None
    return question is not None and (
        question.state == "expired" or (question.state == "open" and tx.now >= question.expires_at)
    )


def keep_alive(gate: Gate, call: str, fence: int) -> None:
    """The holder is still at it; without this, its call is ambiguous once the lease is over."""
    with writing(gate, durable=False) as tx:
        row = _row(tx, call)
        beat = _placed(row, ledger.beat(_standing(row), fence, tx.now))
        if not tx.move_call(beat, states=("running",), fence=fence):
            raise NotNow("this start of the call is over")


def end_call(gate: Gate, call: str, fence: int, state: ledger.State, result: bytes | None = None) -> None:
    """The holder says how the call ended; what follows from that for consent is written with it."""
    if state not in ENDINGS:
        raise NotNow(f"a call does not end as {state}", hint=f"say one of: {', '.join(ENDINGS)}")
    with writing(gate) as tx:
        row = _row(tx, call)
        ended = _placed(row, ledger.finish(_standing(row), fence, state))
        kept = result if result is not None and len(result) <= KEPT_RESULT else None
        ended = msgspec.structs.replace(ended, result=kept, ended_at=tx.now)
        if not tx.move_call(ended, states=("running", "ambiguous"), fence=fence):
            raise NotNow("this start of the call is over")
        _follow_up(gate, tx, ended)


def recover_calls(gate: Gate) -> list[str]:
    """Calls whose holder died: ambiguous from now on, for the operator to say what happened."""
    found: list[str] = []
    with writing(gate) as tx:
        for row in tx.calls(states=("running",)):
            lapsed = _placed(row, ledger.lapse(_standing(row), tx.now))
            if lapsed.state != row.state and tx.move_call(lapsed, states=("running",), fence=row.fence):
                record(tx, "AMBIGUOUS", session=row.session, details={"call": row.id}, stream=gate.stream)
                found.append(row.id)
    return found


def resolve_call(gate: Gate, call: str, state: ledger.State, *, by: str) -> None:
    """The operator says what became of an ambiguous call."""
    with operator_act(gate) as tx:
        row = _row(tx, call)
        ended = _placed(row, ledger.resolve(_standing(row), state))
        if not tx.move_call(
            msgspec.structs.replace(ended, ended_at=tx.now), states=("ambiguous",), fence=row.fence
        ):
            raise NotNow("the call was resolved meanwhile")
        record(
            tx,
            "RESOLVED",
            session=row.session,
            details={"call": call, "by": by, "state": state},
            stream=gate.stream,
        )
        _follow_up(gate, tx, ended)


def _known(tx: Reader, request: Request, host_id: str | None, key: str | None) -> CallRow | None:
    """The call that this host id or key stands for already."""
    found = tx.call_by_host(request.session, host_id) if host_id is not None else None
    if found is None and key is not None:
        found = tx.call_by_key(request.session, request.call.tool, key)
    if found is not None and found.digest != request.digest:
        raise KeyReused("this id stands for another call", hint="use a new id for every call")
    return found


def _follow_up(gate: Gate, tx: Writer, row: CallRow) -> None:
    """What a success or failure means for the session's consent, and the entry about it."""
    kept = _record(row.body)
    details: dict[str, Any] = {"call": row.id, "digest": row.digest, "state": row.state, "rule": kept.rule}
    operations = tuple(dict.fromkeys(item.operation for item in kept.items))
    record(tx, "EXECUTED", session=row.session, operations=operations, details=details, stream=gate.stream)
    session = tx.session(row.session)
    if row.state == "ambiguous" or session is None or session.ended_at is not None:
        return
    found = loaded(gate, tx, row.session, everything())
    ok = row.state == "succeeded"
    report = lifecycle.outcome(found.session, kept.request, _decision(kept), ok, gate.policy, tx.now)
    effects: tuple[Effect, ...] = report.effects
    settle(gate, tx, found, effects)


def _recorded(request: Request, decision: Decision) -> Record:
    bare = tuple(
        msgspec.structs.replace(item, ruling=msgspec.structs.replace(item.ruling, effects=()))
        for item in decision.items
    )
    return Record(request, decision.verdict, decision.rule, decision.reason, bare)


def _decision(kept: Record) -> Decision:
    return Decision(kept.verdict, kept.rule, kept.reason, None, kept.items, (), ())


def _row(tx: Reader, call: str) -> CallRow:
    row = tx.call(call)
    if row is None:
        raise UnknownCall(f"there is no call {call}")
    return row


def _standing(row: CallRow) -> Standing:
    return msgspec.convert(
        {"state": row.state, "fence": row.fence, "holder": row.holder, "lease_until": row.lease_until},
        Standing,
    )


def _placed(row: CallRow, standing: Standing) -> CallRow:
    return msgspec.structs.replace(
        row,
        state=standing.state,
        fence=standing.fence,
        holder=standing.holder,
        lease_until=standing.lease_until,
    )


def _told(row: CallRow, *, mine: bool = False) -> Attempt:
    return Attempt(row.id, row.state, row.fence if mine else 0, _record(row.body), row.question, row.result)
