"""Endpoints for agents: check, request, wait, retry, list and end their own calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from typing import Annotated, Any, Literal

import msgspec

from sayso.core.digest import encode_canonical
from sayso.core.durations import COME_BACK_AFTER, LONGEST_WAIT
from sayso.core.ledger import AWAITING, IN_PROGRESS, NOT_OVER, State
from sayso.core.model import Declaration, Operation, Request
from sayso.gate.as_json import decision_to_json
from sayso.gate.call_rows import (
    Attempt,
    UnknownCall,
    attempt_from_row,
    find_record,
    see_session,
    sound_call,
)
from sayso.gate.deciding.ahead import rows_ahead
from sayso.gate.deciding.request import CallDeclaration, request_in_session
from sayso.gate.gate import Gate, writing
from sayso.gate.ledger import attempts, outcome, start
from sayso.gate.ledger.access_requests import PREFIX as ACCESS_REQUEST
from sayso.gate.ledger.retry import (
    RetryReading,
    read_to_retry,
    retry_call,
    rows_ahead_of_retry,
    size_to_retry,
)
from sayso.gate.ledger.workflows import check_workflow
from sayso.gate.questions.explain import preview_decision
from sayso.gate.upkeep.faults import refuse_to_permit
from sayso.service.api.call_body import (
    DeclaredBody,
    HostFields,
    check_host_fields,
    declaration_from_body,
    describe_call,
    holder_of,
    lease_of,
    restore_fence,
    scope_from_body,
)
from sayso.service.http.batches import BatchedStep
from sayso.service.http.callers import MOST, is_own, owns, session_for, visible_sessions
from sayso.service.http.connections import caller_left, check_awaited
from sayso.service.http.endpoints import ANY, SOON_READ, Context, Endpoint
from sayso.service.http.problems import RequestRefused
from sayso.store.contract import Ahead, CallRow
from sayso.wire import CallView

SMALL = 16 * 1024
"""Calls with arguments up to this size are kept however many there are; limits on requests hold for them."""


class CallBody(HostFields, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A call an agent wants to make. Who makes it is known from the token."""

    tool: str
    args: dict[str, Any] = msgspec.field(default_factory=dict)
    command: str | None = None
    confidence: float = 0.0
    call_id: str | None = None
    session: str | None = None
    operations: tuple[DeclaredBody, ...] = ()
    """What the tool declares that it does. It adds to what the policy reads in the call."""
    schema: str = ""
    parameters: dict[str, Any] | None = None
    """A JSON Schema of the function's parameters, for its host to say: what a person may edit them to."""
    folder: str | None = None
    attempt: str | None = None
    """A name that only this attempt has. Sent again after its answer got lost, it is the same start."""
    workflow: str | None = None
    """The workflow this call starts, for its host to say. `operations` are then those it may come to."""
    ungated: bool = False
    """A host's function that needs no consent by itself: what it comes to is asked when it is reached."""


class RetryBody(HostFields, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What may be said again when a call is retried."""

    meant: dict[str, Any] | None = None
    """The arguments that state and effect key were found out for; if others would run now, none do."""


class OutcomeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fence: int
    state: State
    result: Any | msgspec.UnsetType = msgspec.UNSET
    unkept: Annotated[str, msgspec.Meta(max_length=outcome.LONGEST_REASON)] | None = None
    """Why there is no result to keep, for whoever asks for it later."""


def post_check(context: Context) -> dict[str, Any]:
    """Decide as of now. Opens no question and uses nothing up."""
    wanted = _request_from_body(context)
    scope = scope_from_body(context.gate, wanted.session, context.body)
    decision = preview_decision(context.gate, wanted, scope)
    refuse_to_permit(context.gate, decision.verdict)
    return decision_to_json(decision)


def post_call(context: Context) -> BatchedStep:
    """Decide the call for real. If it is allowed, this is its start."""
    body: CallBody = context.body
    holder, wanted = holder_of(context.token, body.attempt), _request_from_body(context)
    return BatchedStep(partial(_start_call, context, wanted, holder), partial(_rows_ahead, context, wanted))


def _rows_ahead(context: Context, wanted: Request) -> Ahead:
    gate, body = context.gate, context.body
    look_at_session(gate, wanted.session)
    return rows_ahead(gate, wanted, host_id=body.call_id, key=context.key, effect_key=body.effect_key)


def look_at_session(gate: Gate, session: str) -> None:
    """Its row was read with the token, and says which grants are live: by that it is told what to read."""
    if not gate.store.local:
        with gate.store.read() as tx:
            see_session(gate, tx, session)


def _start_call(context: Context, wanted: Request, holder: str) -> CallView:
    body: CallBody = context.body
    check_room(context, wanted)
    keys: dict[str, Any] = {
        "host_id": body.call_id,
        "key": context.key,
        "effect_key": body.effect_key,
        "lease": lease_of(body),
    }
    scope = scope_from_body(context.gate, wanted.session, body)
    begin = start.start_ungated if body.ungated else partial(start.start_call, check_awaited=check_awaited)
    attempt = begin(context.gate, wanted, scope, holder=holder, **keys)
    count_denied(context, attempt, wanted)
    return describe_call(context.gate, restore_fence(context.gate, attempt, holder, body.attempt))


async def get_call(context: Context) -> CallView:
    """Return the call; with `wait`, once its question is closed or the time is over.

    With `until=end` as well, a call that runs is waited for, and told once it is over.
    """
    until = context.query.get("until", "answer")
    if until not in ("answer", "end"):
        raise RequestRefused(400, "malformed", "until takes answer or end")
    attempt = await context.in_thread(find_own_call, context)
    if until == "end" and attempt.state in IN_PROGRESS:
        await let_wait(context, partial(context.running.endings.await_end, attempt.call))
    else:
        await _wait_for_answer(context, attempt)
    return await context.in_thread(lambda: describe_call(context.gate, find_own_call(context)))


async def _wait_to_retry(context: Context) -> None:
    """With `wait`, wait for the answer first."""
    if context.number("wait", 0.0, 0.0, LONGEST_WAIT) > 0:
        await context.in_thread(context.check_still_known)
        await _wait_for_answer(context, await context.in_thread(find_own_call, context))


def post_retry(context: Context) -> BatchedStep:
    """Start the call if it was approved since; with `wait`, wait for that first."""
    row, gate = _find_own_row(context), context.gate
    check_host_fields(context.token, context.body)
    size = _size_to_retry(context)
    # Another database is asked for all that this needs at once. What takes its time is read before.
    together = not gate.store.local and size is not None and size <= SOON_READ
    ready = None if together else read_to_retry(gate, row.id)
    return BatchedStep(partial(_retry_own, context, row, ready), partial(_rows_ahead_of_retry, context, row))


def _rows_ahead_of_retry(context: Context, row: CallRow) -> Ahead:
    scope = scope_from_body(context.gate, row.session, context.body)
    return rows_ahead_of_retry(context.gate, row, scope, effect_key=context.body.effect_key)


def post_outcome(context: Context) -> BatchedStep:
    """Record how the call ended; return the consent that ended by it.

    An agent's word about its own call only tightens.
    """
    return BatchedStep(partial(_end_call, context), partial(_rows_ahead_of_end, context))


def _rows_ahead_of_end(context: Context) -> Ahead:
    gate, call = context.gate, context.parameters["call"]
    look_at_call(gate, call)
    return outcome.rows_ahead_of_end(gate, call, context.body.state)


def look_at_call(gate: Gate, call: str) -> None:
    """Remember a call that another service has started: its row was read with the token."""
    if not gate.store.local and gate.sealer.records.last(call) is None:
        with gate.store.read() as tx:
            row = tx.call(call)
        if row is not None:
            find_record(gate, row)  # which remembers it


def _end_call(context: Context) -> CallView:
    body: OutcomeBody = context.body
    row = _find_own_row(context)
    result = None if body.result is msgspec.UNSET else msgspec.json.encode(body.result)
    claimed = context.token.role == "agent"
    with writing(context.gate) as tx:
        report, now = outcome.end_call_in(
            context.gate, tx, row.id, body.fence, body.state, result, body.unkept, claimed=claimed
        )
        attempt = attempt_from_row(context.gate, tx, now)
    ended = describe_call(context.gate, attempt)
    return msgspec.structs.replace(ended, announced=report.announced, cleared=report.cleared)


def list_calls(context: Context) -> list[CallView]:
    """The calls that are not over, of one session or of all that the caller may see."""
    seen = visible_sessions(context, context.query.get("session"))
    with context.gate.store.read() as tx:
        kept = tx.calls(states=NOT_OVER, limit=MOST)
        sound = (row for row in kept if sound_call(context.gate, tx, row) is not None)
        found = (attempts.with_question_outcome(context.gate, tx, row) for row in sound)
        under_way = [row for row in found if row.state in NOT_OVER]
    rows = [row for row in under_way if seen is None or row.session in seen]
    return [one for row in rows if (one := _call_from_row(context, row)) is not None]


async def _wait_for_answer(context: Context, attempt: Attempt) -> None:
    """Wait for the answer to its question. Of all who may, only the owner of its session is who asked."""
    question = attempt.question
    if attempt.state not in AWAITING or question is None:
        return

    async def await_answer(seconds: float, left: asyncio.Future[None]) -> None:
        own = await context.in_thread(_is_callers, context, attempt.call)
        with context.running.waiters.waiting(question) if own else nullcontext():
            await context.running.asker.await_answer(question, seconds, left)

    await let_wait(context, await_answer)


def _is_callers(context: Context, call: str) -> bool:
    return owns(context, attempts.session_of_call(context.gate, call))


async def let_wait(
    context: Context, waiting: Callable[[float, asyncio.Future[None]], Awaitable[object]]
) -> None:
    """Wait as long as the caller wants to; a token may have only so many waits at the same time."""
    wait = context.number("wait", 0.0, 0.0, LONGEST_WAIT)
    if wait <= 0:
        return
    left = asyncio.ensure_future(context.left())
    try:
        with context.running.limits.waiting(context.token.id, operator=context.token.role == "operator"):
            await waiting(wait, left)
        if left.done():
            raise caller_left()
    finally:
        left.cancel()
    await context.in_thread(context.check_still_known)


def _request_from_body(context: Context) -> Request:
    body: CallBody = context.body
    _check_id(body)
    session = session_for(context, body.session)
    said = declaration_from_body(
        context.token, body.operations, body.schema, body.folder, body, body.parameters
    )
    tool = body.tool
    if body.ungated or body.workflow is not None:
        said, tool = _declare_for_program(context, body, said)
    return request_in_session(context.gate, session, tool, body.args, body.command, body.confidence, said)


def check_room(context: Context, wanted: Request) -> None:
    """Refuse a large call where those of its session that are not over, or were denied, hold too much.

    Operators are never limited.
    """
    size = len(wanted.call.arguments)
    if size <= SMALL or context.token.role == "operator":
        return
    context.running.limits.check_refused(context.token.id, size)
    with context.gate.store.read() as tx:
        held = tx.bytes_of_calls(wanted.session)
    most = context.running.settings.held
    if held + size > most:
        raise RequestRefused(
            429,
            "too_much",
            f"the calls of this session that are not over hold {held:,} bytes, of {most:,} at most",
            hint="end some of them first: say how they ended, or wait for their answers",
            after=COME_BACK_AFTER,
        )


def count_denied(context: Context, attempt: Attempt, wanted: Request) -> None:
    """A large call that is denied at once is kept as well, and counts for an hour."""
    size = len(wanted.call.arguments)
    if attempt.state == "denied" and size > SMALL and context.token.role != "operator":
        context.running.limits.note_refused(context.token.id, size)


def _check_id(body: CallBody) -> None:
    """Refuse an id that is not a call's."""
    if body.call_id is not None and body.call_id.startswith(ACCESS_REQUEST):
        raise RequestRefused(422, "malformed", f"a call's id does not begin with {ACCESS_REQUEST}")


def _declare_for_program(
    context: Context, body: CallBody, said: CallDeclaration
) -> tuple[CallDeclaration, str]:
    """A host's function that is not gated by itself, or a workflow of its, which it starts."""
    if context.token.role == "agent":
        raise RequestRefused(
            403, "forbidden", "which functions and workflows a program has is its host's to say"
        )
    if body.workflow is None:
        if body.operations:
            raise RequestRefused(
                422, "malformed", "a call that is not gated by itself declares no operations"
            )
        return _with_operations(said, (Operation(_operation_of_tool(body)),), "name"), body.tool
    named = said.declared.operations
    check_workflow(context.gate.policy, body.workflow, [one.name for one in named])
    starts = _with_operations(said, named or (Operation(f"workflow.{body.workflow}"),), "host")
    return msgspec.structs.replace(starts, workflow=body.workflow), f"workflow:{body.workflow}"


def _with_operations(
    said: CallDeclaration, operations: tuple[Operation, ...], by: Literal["host", "name"]
) -> CallDeclaration:
    return msgspec.structs.replace(said, declared=Declaration(operations, by, said.declared.parameters))


def _operation_of_tool(body: CallBody) -> str:
    return f"capability.{body.tool}"


def _retry_own(context: Context, row: CallRow, ready: RetryReading | None) -> CallView:
    name = context.query.get("attempt")
    holder = holder_of(context.token, name)
    body: RetryBody = context.body
    again = retry_call(
        context.gate,
        row.id,
        scope_from_body(context.gate, row.session, body),
        holder=holder,
        state=body.state,
        effect_key=body.effect_key,
        meant=None if body.meant is None else encode_canonical(body.meant),
        lease=lease_of(body),
        check_awaited=check_awaited,
        ready=ready,
    )
    return describe_call(context.gate, restore_fence(context.gate, again, holder, name))


def _size_to_retry(context: Context) -> int | None:
    return size_to_retry(context.gate, context.parameters["call"])


def find_own_call(context: Context) -> Attempt:
    """The call the path names, if it exists for this caller."""
    row = _find_own_row(context)
    return attempts.load_attempt_now(context.gate, row.id, row.session)


def _find_own_row(context: Context) -> CallRow:
    """The row of that call. Whether it was tampered with is not looked at."""
    name = context.parameters["call"]
    with context.gate.store.read() as tx:
        row = tx.call(name)
        if row is None or not is_own(context, tx.session(row.session)):
            raise UnknownCall.of(name)
    return row


def _call_from_row(context: Context, row: CallRow) -> CallView | None:
    kept = find_record(context.gate, row)
    return (
        None
        if kept is None
        else describe_call(context.gate, Attempt(row.id, row.state, 0, kept, row.question))
    )


WAIT = {"wait": f"Seconds to wait for an answer, at most {LONGEST_WAIT:.0f}."}
UNTIL = {"until": "answer (its question is closed) or end (nobody runs it any more)."}
ENDPOINTS = (
    Endpoint("POST", "/v1/check", ANY, "Decide a call, without effect", post_check, CallBody, dict[str, Any]),
    Endpoint(
        "POST",
        "/v1/calls",
        ANY,
        "Decide a call; start it if it may run",
        post_call,
        CallBody,
        CallView,
        in_batch=True,
    ),
    Endpoint(
        "GET",
        "/v1/calls",
        ANY,
        "List the calls that are not over",
        list_calls,
        result=list[CallView],
        query={"session": "Only those of this session."},
    ),
    Endpoint(
        "GET",
        "/v1/calls/{call}",
        ANY,
        "Get a call",
        get_call,
        result=CallView,
        query=WAIT | UNTIL,
        follows_call=True,
    ),
    Endpoint(
        "POST",
        "/v1/calls/{call}/retry",
        ANY,
        "Retry a call; start it if it was approved",
        post_retry,
        RetryBody,
        CallView,
        query={**WAIT, "attempt": "A name that only this attempt has."},
        bare=True,
        in_batch=True,
        before=_wait_to_retry,
        size=_size_to_retry,
    ),
    Endpoint(
        "POST",
        "/v1/calls/{call}/outcome",
        ANY,
        "Report how a call ended",
        post_outcome,
        OutcomeBody,
        CallView,
        in_batch=True,
        follows_call=True,
    ),
)
