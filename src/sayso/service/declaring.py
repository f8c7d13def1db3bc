"""What callers may say of a call besides its tool and arguments, and where it stands, told back to them.

What a call does is for the policy to read. A program that is an agent's host names the operations of tools
the policy does not know, as it does when the gate is in its own process; whatever else is declared only adds.
"""

from __future__ import annotations

from typing import Any

import msgspec

from sayso.core.digest import decode
from sayso.core.model import Call, Operation, Risk, Verdict
from sayso.doors.python.host import Declared
from sayso.gate.call_rows import Attempt
from sayso.gate.gate import Gate
from sayso.gate.state import as_written
from sayso.gate.tokens import Token
from sayso.gate.waiting import question_row
from sayso.service.problems import Refused

LONGEST_NAME = 200
MOST_OPERATIONS = 100
BLOCKING = ("blocked", "trusted_channel")


class DeclaredBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operation as a tool declares it."""

    operation: str
    risk: str | None = None
    reason: str | None = None


class Offered(msgspec.Struct, frozen=True):
    """An answer the operator can give, and in words what it would allow."""

    answer: str
    words: str


class Runs(msgspec.Struct, frozen=True):
    """What to run, decoded from the bytes that were approved: a person may have edited it."""

    tool: str
    args: dict[str, Any]
    command: str | None = None


class CallTold(msgspec.Struct, frozen=True):
    """Where a call stands. Only `allowed` means: run `call` now, once; `fence` is the number to end it by."""

    operation_id: str
    status: str
    rule: str
    reason: str
    tool: str = ""
    announce: str | None = None
    question: str | None = None
    fence: int = 0
    result: Any = None
    call: Runs | None = None
    digest: str = ""
    operation: str = ""
    """The riskiest of what is asked, or of what the call does."""
    risk: str = ""
    offers: tuple[Offered, ...] = ()
    answered: bool = False
    """Its question is closed: a retry tells what came of it."""
    announced: tuple[str, ...] = ()
    """With an outcome: what to tell the user of the consent that ended by it."""
    cleared: tuple[str, ...] = ()


def declared(token: Token, operations: tuple[DeclaredBody, ...], schema: str, folder: str | None) -> Declared:
    """What this caller may say of its call, checked."""
    if folder is not None and token.role == "agent":
        raise Refused(403, "forbidden", "the folder of a call is its host's to say")
    if len(operations) > MOST_OPERATIONS or len(schema) > LONGEST_NAME:
        raise Refused(422, "malformed", f"a call declares {MOST_OPERATIONS} operations at most")
    named = tuple(_operation(one) for one in operations)
    return Declared(named, token.role != "agent", schema, folder)


def holder_of(token: Token, attempt: str | None) -> str:
    """Who holds a call that is started: the token, and the attempt if it has a name."""
    if attempt is None:
        return token.id
    if not 1 <= len(attempt) <= LONGEST_NAME or not attempt.isascii() or not attempt.isprintable():
        raise Refused(400, "malformed", f"an attempt's name has 1 to {LONGEST_NAME} plain characters")
    return f"{token.id}:{attempt}"


def started_before(gate: Gate, attempt: Attempt, holder: str, name: str | None) -> Attempt:
    """The same attempt, sent again because its answer got lost, gets its number again. No other does."""
    if name is None or attempt.runs or attempt.state != "running":
        return attempt
    with gate.store.read() as tx:
        row = tx.call(attempt.call)
    if row is None or row.holder != holder or row.state != "running":
        return attempt
    return msgspec.structs.replace(attempt, fence=row.fence)


def told(gate: Gate, attempt: Attempt) -> CallTold:
    """The call for whoever made it."""
    record = attempt.record
    status = "allowed" if attempt.runs else attempt.state
    if status == "denied" and record.rule in BLOCKING:
        status = "blocked"
    asked = [item for item in record.items if item.ruling.verdict is Verdict.ASK] or record.items
    worst = max(asked, key=lambda item: item.risk, default=None)
    here = CallTold(
        operation_id=attempt.call,
        status=status,
        rule=record.rule,
        reason=record.reason,
        tool=record.request.call.tool,
        announce=record.announce,
        fence=attempt.fence,
        result=None if attempt.result is None else msgspec.json.decode(attempt.result),
        call=_runs(record.request.call) if attempt.runs else None,
        digest=record.request.digest,
        operation=record.request.operations[0].name if worst is None else worst.operation,
        risk=Risk.LOW.word if worst is None else worst.risk.word,
    )
    if status != "pending" or attempt.question is None:
        return here
    row = question_row(gate, attempt.question)
    offers = tuple(Offered(one.answer, one.words) for one in as_written(row).offers)
    return msgspec.structs.replace(
        here, question=attempt.question, offers=offers, answered=row.state != "open"
    )


def _runs(call: Call) -> Runs:
    return Runs(call.tool, dict(decode(call.arguments)), call.command)


def _operation(body: DeclaredBody) -> Operation:
    risk = None if body.risk is None else Risk.of(body.risk)
    return Operation(body.operation, risk=risk, reason=body.reason)
