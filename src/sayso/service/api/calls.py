"""What agents may do: check, request, wait, retry, list their own, and say how their own calls ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

import msgspec

from sayso.core.digest import canonical
from sayso.core.ledger import IN_PROGRESS, State
from sayso.core.model import Declared, Operation, Request
from sayso.doors.python.host import Said, request_for
from sayso.doors.remote.shapes import CallTold
from sayso.gate.as_json import tell_decision
from sayso.gate.ledger import outcome, start
from sayso.gate.ledger.access_requests import PREFIX as ACCESS_REQUEST
from sayso.gate.ledger.rows import Attempt, UnknownCall, found_record, sound_call
from sayso.gate.ledger.workflows import check_workflow
from sayso.gate.questions.explain import preview
from sayso.service.api.call_body import (
    UNDER_WAY,
    DeclaredBody,
    Saying,
    check_saying,
    holder_of,
    lease_of,
    said_of,
    scope_of,
    started_before,
    told,
)
from sayso.service.http.callers import MOST, is_own, session_for, sessions_seen
from sayso.service.http.endpoints import ANY, Context, Endpoint
from sayso.service.http.problems import Refused
from sayso.store.contract import CallRow

LONGEST_WAIT = 600.0
SMALL = 16 * 1024
"""Calls with arguments up to this size are kept however many there are; limits on requests hold for them."""


class CallBody(Saying, frozen=True, forbid_unknown_fields=True, kw_only=True):
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
    folder: str | None = None
    attempt: str | None = None
    """A name that only this attempt has. Sent again after its answer got lost, it is the same start."""
    workflow: str | None = None
    """The workflow this call starts, for its host to say. `operations` are then those it may come to."""
    ungated: bool = False
    """A host's function that needs no consent by itself: what it comes to is asked when it is reached."""


class RetryBody(Saying, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is said anew when a call is tried again."""

    meant: dict[str, Any] | None = None
    """The arguments that state and effect key were found out for; if others would run now, none do."""


class OutcomeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fence: int
    state: State
    result: Any | msgspec.UnsetType = msgspec.UNSET
    unkept: Annotated[str, msgspec.Meta(max_length=outcome.LONGEST_REASON)] | None = None
    """Why there is no result to keep, for whoever asks for it later."""


def check(context: Context) -> dict[str, Any]:
    """What would be decided now. Opens no question and uses nothing up."""
    wanted = _wanted(context)
    scope = scope_of(context.gate, wanted.session, context.body)
    return tell_decision(preview(context.gate, wanted, scope))


def request(context: Context) -> CallTold:
    """Decide the call for real. If it is allowed, this is its start."""
    body: CallBody = context.body
    holder, wanted = holder_of(context.token, body.attempt), _wanted(context)
    _check_room(context, wanted)
    keys: dict[str, Any] = {
        "host_id": body.call_id,
        "key": context.key,
        "effect_key": body.effect_key,
        "lease": lease_of(body),
    }
    scope = scope_of(context.gate, wanted.session, body)
    begin = start.start_ungated if body.ungated else start.start_call
    attempt = begin(context.gate, wanted, scope, holder=holder, **keys)
    return told(context.gate, started_before(context.gate, attempt, holder, body.attempt))


async def look(context: Context) -> CallTold:
    """Where the call stands; with `wait`, once its question is closed or the time is over.

    With `until=end` as well, a call that runs is waited for, and told once it is over.
    """
    until = context.query.get("until", "answer")
    if until not in ("answer", "end"):
        raise Refused(400, "malformed", "until takes answer or end")
    attempt = await context.in_thread(own_call, context)
    if until == "end" and attempt.state in IN_PROGRESS:
        await _let_wait(context, lambda seconds, left: context.door.await_end(attempt.call, seconds, left))
    else:
        await _waited(context, attempt)
    return await context.in_thread(lambda: told(context.gate, own_call(context)))


async def retry(context: Context) -> CallTold:
    """Start the call if it was approved since; with `wait`, wait for that first."""
    attempt = await context.in_thread(own_call, context)
    await _waited(context, attempt)
    return await context.in_thread(_again, context, attempt.call)


def end(context: Context) -> CallTold:
    """Whoever ran the call says how it ended, and is told which consent ended by it.

    An agent's word about its own call only tightens.
    """
    body: OutcomeBody = context.body
    attempt = own_call(context)
    result = None if body.result is msgspec.UNSET else msgspec.json.encode(body.result)
    claimed = context.token.role == "agent"
    report = outcome.end_call(
        context.gate, attempt.call, body.fence, body.state, result, body.unkept, claimed=claimed
    )
    ended = told(context.gate, own_call(context))
    return msgspec.structs.replace(ended, announced=report.announced, cleared=report.cleared)


def list_own(context: Context) -> list[CallTold]:
    """The calls that are not over, of one session or of all that the caller may see."""
    seen = sessions_seen(context, context.query.get("session"))
    with context.gate.store.read() as tx:
        kept = tx.calls(states=UNDER_WAY, limit=MOST)
        sound = (row for row in kept if sound_call(context.gate, tx, row) is not None)
        found = (start.as_it_is_now(context.gate, tx, row) for row in sound)
        under_way = [row for row in found if row.state in UNDER_WAY]
    rows = [row for row in under_way if seen is None or row.session in seen]
    return [one for row in rows if (one := _listed(context, row)) is not None]


async def _waited(context: Context, attempt: Attempt) -> None:
    question = attempt.question
    if attempt.state not in ("pending", "waiting") or question is None:
        return

    async def answered(seconds: float, left: asyncio.Future[None]) -> None:
        with context.running.waiters.waiting(question):
            await context.door.asker.await_answer(question, seconds, left)

    await _let_wait(context, answered)


async def _let_wait(
    context: Context, waiting: Callable[[float, asyncio.Future[None]], Awaitable[object]]
) -> None:
    """Wait as long as the caller wants to; a token may have only so many waits at the same time."""
    wait = context.number("wait", 0.0, 0.0, LONGEST_WAIT)
    if wait <= 0:
        return
    trail, token = context.running.trail, context.token.id
    gone, left = trail.let_go(token), asyncio.ensure_future(context.left())
    try:
        with context.running.limits.waiting(token, operator=context.token.role == "operator"):
            await waiting(wait, left)
        if left.done():
            raise Refused(408, "left", "whoever waited for this has left")
    finally:
        left.cancel()
    await context.in_thread(trail.catch_up)
    if trail.let_go(token) != gone:
        raise Refused(401, "unauthorized", "the token was revoked meanwhile")


def _wanted(context: Context) -> Request:
    body: CallBody = context.body
    _check_id(body)
    session = session_for(context, body.session)
    said = said_of(context.token, body.operations, body.schema, body.folder, body)
    tool = body.tool
    if body.ungated or body.workflow is not None:
        said, tool = _of_program(context, body, said)
    return request_for(context.door, session, tool, body.args, body.command, body.confidence, said)


def _check_room(context: Context, wanted: Request) -> None:
    """Refuse a large call where those of its session that are not over hold too much already."""
    size = len(wanted.call.arguments)
    if size <= SMALL:
        return
    with context.gate.store.read() as tx:
        held = tx.bytes_of_calls(wanted.session, UNDER_WAY)
    most = context.running.settings.held
    if held + size > most:
        raise Refused(
            429,
            "too_much",
            f"the calls of this session that are not over hold {held:,} bytes, of {most:,} at most",
            hint="end some of them first: say how they ended, or wait for their answers",
            after=60,
        )


def _check_id(body: CallBody) -> None:
    """Refuse an id that is not a call's."""
    if body.call_id is not None and body.call_id.startswith(ACCESS_REQUEST):
        raise Refused(422, "malformed", f"a call's id does not begin with {ACCESS_REQUEST}")


def _of_program(context: Context, body: CallBody, said: Said) -> tuple[Said, str]:
    """A host's function that is not gated by itself, or a workflow of its, which it starts."""
    if context.token.role == "agent":
        raise Refused(403, "forbidden", "which functions and workflows a program has is its host's to say")
    if body.workflow is None:
        if body.operations:
            raise Refused(422, "malformed", "a call that is not gated by itself declares no operations")
        return _naming(said, (Operation(_ungated(body)),), "name"), body.tool
    named = said.declared.operations
    check_workflow(context.gate.policy, body.workflow, [one.name for one in named])
    starts = _naming(said, named or (Operation(f"workflow.{body.workflow}"),), "host")
    return msgspec.structs.replace(starts, workflow=body.workflow), f"workflow:{body.workflow}"


def _naming(said: Said, operations: tuple[Operation, ...], by: Literal["host", "name"]) -> Said:
    return msgspec.structs.replace(said, declared=Declared(operations, by))


def _ungated(body: CallBody) -> str:
    return f"capability.{body.tool}"


def _again(context: Context, call: str) -> CallTold:
    name = context.query.get("attempt")
    holder = holder_of(context.token, name)
    body: RetryBody = context.body
    check_saying(context.token, body)
    again = start.retry_call(
        context.gate,
        call,
        scope_of(context.gate, start.session_of(context.gate, call), body),
        holder=holder,
        state=body.state,
        effect_key=body.effect_key,
        meant=None if body.meant is None else canonical(body.meant),
        lease=lease_of(body),
    )
    return told(context.gate, started_before(context.gate, again, holder, name))


def own_call(context: Context) -> Attempt:
    """The call the path names, if it exists for this caller."""
    name = context.parameters["call"]
    with context.gate.store.read() as tx:
        row = tx.call(name)
        if row is None or not is_own(context, tx.session(row.session)):
            raise UnknownCall(f"there is no call {name}")
    return start.look_now(context.gate, name, row.session)


def _listed(context: Context, row: CallRow) -> CallTold | None:
    kept = found_record(context.gate, row)
    return None if kept is None else told(context.gate, Attempt(row.id, row.state, 0, kept, row.question))


WAIT = {"wait": "Seconds to wait for an answer, at most 600."}
UNTIL = {"until": "answer (its question is closed) or end (nobody runs it any more)."}
ENDPOINTS = (
    Endpoint("POST", "/v1/check", ANY, "What would be decided now", check, CallBody, dict[str, Any]),
    Endpoint("POST", "/v1/calls", ANY, "Decide a call; start it if it may run", request, CallBody, CallTold),
    Endpoint(
        "GET",
        "/v1/calls",
        ANY,
        "The calls that are not over",
        list_own,
        result=list[CallTold],
        query={"session": "Only those of this session."},
    ),
    Endpoint(
        "GET", "/v1/calls/{call}", ANY, "Where a call stands", look, result=CallTold, query=WAIT | UNTIL
    ),
    Endpoint(
        "POST",
        "/v1/calls/{call}/retry",
        ANY,
        "Start a call once it was approved",
        retry,
        RetryBody,
        CallTold,
        query={**WAIT, "attempt": "A name that only this attempt has."},
        bare=True,
    ),
    Endpoint("POST", "/v1/calls/{call}/outcome", ANY, "Say how a call ended", end, OutcomeBody, CallTold),
)
