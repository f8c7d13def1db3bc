"""Bodies of calls: what callers may say besides tool and arguments, and the view they get back.

What a call does is for the policy to read. A program that is an agent's host names the operations of tools
the policy does not know, as it does when the gate is in its own process; whatever else is declared only adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from sayso.core.decision import Item
from sayso.core.digest import decode_canonical
from sayso.core.durations import DAY
from sayso.core.ledger import AWAITING, BEATEN
from sayso.core.model import Call, Declaration, Operation, Risk, Verdict
from sayso.core.rulebook import BLOCKING
from sayso.core.session import Run, Scope
from sayso.gate.call_rows import (
    Attempt,
    UnknownCall,
    find_record,
    load_call_row,
    load_record,
    with_refusal,
)
from sayso.gate.deciding.approvals import load_approval
from sayso.gate.deciding.request import CallDeclaration
from sayso.gate.gate import NO_SCOPE, Gate
from sayso.gate.ledger.resume import refuse_by_question, refuse_to_go_on
from sayso.gate.ledger.workflows import RunNote, decode_note
from sayso.gate.people.tokens import Token
from sayso.gate.questions.evaluated_calls import EVALUATED, MARK, TOOL
from sayso.gate.questions.expiry import is_answerable
from sayso.gate.questions.read import find_question
from sayso.service.http.problems import RequestRefused
from sayso.store.contract import QuestionRow
from sayso.wire import CallView, OperationRuling, RunnableCall

HTTP = "http"
"""The door of every call that comes over HTTP."""
LONGEST_TAG = 200
MOST_OPERATIONS = 100
LONGEST_SAID = 10_000


class DeclaredBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operation as a tool declares it."""

    operation: str
    risk: str | None = None
    weight: str | None = None
    reason: str | None = None


class HostFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields that only a host may send about a call of its program."""

    state: str | None = None
    """The state of the world the call would meet. It is shown, and the approval is bound to it."""
    effect_key: str | None = None
    """What makes another call the same effect: one that ran, or may have, is not run again."""
    run: str | None = None
    """The workflow run of this session that the call is part of."""
    individual: bool = False
    """The step it is made in wants a consent of its own, whatever the run has."""
    beats: bool = False
    """Its holder sends heartbeats: without them for two minutes, nobody knows what became of the call."""


def declaration_from_body(
    token: Token,
    operations: tuple[DeclaredBody, ...],
    schema: str,
    folder: str | None,
    said: HostFields,
    parameters: Mapping[str, Any] | None = None,
) -> CallDeclaration:
    """Return what this caller may say of its call, checked."""
    check_host_fields(token, said)
    if folder is not None and token.role == "agent":
        raise RequestRefused(403, "forbidden", "the folder of a call is its host's to say")
    if parameters is not None and token.role == "agent":
        raise RequestRefused(403, "forbidden", "what the parameters of a call take is its host's to say")
    takes = "" if parameters is None else msgspec.json.encode(parameters).decode()
    if len(takes) > LONGEST_SAID:
        raise RequestRefused(
            422, "malformed", f"a schema of parameters has {LONGEST_SAID:,} characters at most"
        )
    if len(operations) > MOST_OPERATIONS or len(schema) > LONGEST_TAG:
        raise RequestRefused(422, "malformed", f"a call declares {MOST_OPERATIONS} operations at most")
    if schema.startswith(MARK):
        raise RequestRefused(422, "malformed", f"no schema of a tool begins with {MARK}")
    by: Literal["agent", "host"] = "agent" if token.role == "agent" else "host"
    named = Declaration(tuple(map(_operation, operations)), by, takes)
    return CallDeclaration(named, schema, folder, said.state, door=HTTP)


def check_host_fields(token: Token, said: HostFields) -> None:
    """Refuse an agent that says what is its host's to say, and what nobody would read."""
    says = said.individual or any(one is not None for one in (said.state, said.effect_key, said.run))
    if token.role == "agent" and says:
        raise RequestRefused(403, "forbidden", "state, effect key and run of a call are its host's to say")
    if any(text is not None and len(text) > LONGEST_SAID for text in (said.state, said.effect_key)):
        raise RequestRefused(
            422, "malformed", f"a state or effect key has {LONGEST_SAID:,} characters at most"
        )


def scope_from_body(gate: Gate, session: str, said: HostFields) -> Scope:
    """Return the scope of the call in its host's program: one of its runs, or none."""
    if said.run is None:
        return NO_SCOPE
    with gate.store.read() as tx:
        row = tx.call(said.run)
    kept = None if row is None or row.session != session else find_record(gate, row)
    if kept is None or kept.request.workflow is None:
        raise UnknownCall(f"{said.run} is not a run of a workflow in this session")
    return Scope(run=Run(said.run, kept.request.workflow), individual=said.individual)


def lease_of(said: HostFields) -> float:
    """Return the lease of a start: a day, or two minutes if heartbeats are promised."""
    return BEATEN if said.beats else DAY


def holder_of(token: Token, attempt: str | None) -> str:
    """Return who holds a call that is started: the token, and the attempt if it has a name."""
    if attempt is None:
        return token.id
    if not 1 <= len(attempt) <= LONGEST_TAG or not attempt.isascii() or not attempt.isprintable():
        raise RequestRefused(400, "malformed", f"an attempt's name has 1 to {LONGEST_TAG} plain characters")
    return f"{token.id}:{attempt}"


def restore_fence(gate: Gate, attempt: Attempt, holder: str, name: str | None) -> Attempt:
    """The same attempt, sent again because its answer got lost, gets its number again. No other does.

    Whoever sends it may not have entered the function yet. So if the consent it was started with is gone, it
    gets the number only to say how the call ended.
    """
    if name is None or attempt.runs or attempt.state != "running":
        return attempt
    with gate.store.read() as tx:
        row = load_call_row(gate, tx, attempt.call)
        if row.holder != holder or row.state != "running":
            return attempt
        kept = load_record(gate, row)
        no = refuse_to_go_on(gate, tx, row, kept, NO_SCOPE)
        asked = None if row.question is None else tx.question(row.question)
        if no is None and asked is not None and asked.digest != row.digest:  # it waited for this one inside
            no = refuse_by_question(gate, tx, kept, asked)
    record = kept if no is None else with_refusal(kept, no)
    return msgspec.structs.replace(attempt, fence=row.fence, record=record)


def describe_call(gate: Gate, attempt: Attempt) -> CallView:
    """The call for whoever made it."""
    record = attempt.record
    status = "allowed" if attempt.runs else "denied" if attempt.fence else attempt.state
    if status == "denied" and record.rule in BLOCKING:
        status = "blocked"
    asked = [item for item in record.items if item.ruling.verdict is Verdict.ASK] or record.items
    worst = max(asked, key=lambda item: item.risk, default=None)
    wanted = _runnable_call(record.request.call)
    here = CallView(
        operation_id=attempt.call,
        status=status,
        rule=record.rule,
        reason=record.reason,
        tool=record.request.call.tool,
        announce=record.announce,
        fence=attempt.fence,
        result=msgspec.UNSET if attempt.result is None else msgspec.json.decode(attempt.result),
        unkept=record.unkept,
        call=wanted if attempt.runs else None,
        digest=record.request.digest,
        operation=record.request.operations[0].name if worst is None else worst.operation,
        risk=Risk.LOW.word if worst is None else worst.risk.word,
        verdict=record.verdict.value,
        operations=tuple(describe_ruling(item) for item in record.items),
        schema=record.request.call.schema,
        state=record.request.call.state,
        workflow=record.request.workflow,
        session=record.request.session,
        wanted=wanted,
        note=_read_note(attempt),
    )
    if attempt.question is None:
        return here
    if status not in AWAITING:
        over = status in ("denied", "expired", "cancelled") and not attempt.fence
        return msgspec.structs.replace(here, answered=True) if over else here
    return _add_question(gate, attempt, here)


def _add_question(gate: Gate, attempt: Attempt, here: CallView) -> CallView:
    """The call with the question it waits for. Of a run that waits, it is that of a call inside."""
    found = find_question(gate, attempt.question or "")
    row = found.row
    with gate.store.read() as tx:
        closed = not is_answerable(gate, row, tx.now)
    asked = msgspec.structs.replace(here, question=row.id, answered=closed)
    if here.status != "pending":
        return asked
    offers = found.question.offers
    edited = gate.sealer.open_edited(row)
    wanted = here.wanted if edited is None else _runnable_call(edited.call)
    return msgspec.structs.replace(asked, offers=offers, wanted=wanted, approved=_is_approved(gate, row))


def _is_approved(gate: Gate, question: QuestionRow) -> bool:
    """Return whether the call would start if it were tried now, as far as its answer goes."""
    if question.state != "answered":
        return False
    with gate.store.read() as tx:
        approval = load_approval(gate, tx, question)
    return approval is not None and approval.used is None and approval.ended is None


def _read_note(attempt: Attempt) -> RunNote | None:
    """Return how far the run has come. Its note is not sealed; one that cannot be read says nothing."""
    if attempt.note is None or (attempt.record.request.workflow is None and attempt.state != "waiting"):
        return None
    try:
        return decode_note(attempt.note)
    except msgspec.MsgspecError:
        return None


def describe_ruling(item: Item) -> OperationRuling:
    return OperationRuling(
        item.operation,
        item.category,
        item.risk.word,
        item.weight.word,
        item.ruling.verdict.value,
        item.ruling.rule,
        item.ruling.reason,
    )


def _runnable_call(call: Call) -> RunnableCall:
    """The call as it is to run: of an evaluated tool, with its own arguments alone."""
    arguments: dict[str, Any] = dict(decode_canonical(call.arguments))
    if call.schema == TOOL:
        del arguments[EVALUATED]
    return RunnableCall(call.tool, arguments, call.command, call.folder)


def _operation(body: DeclaredBody) -> Operation:
    risk = None if body.risk is None else Risk.parse(body.risk)
    weight = None if body.weight is None else Risk.parse(body.weight)
    return Operation(body.operation, risk=risk, weight=weight, reason=body.reason)
