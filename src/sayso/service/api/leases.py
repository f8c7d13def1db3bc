"""Endpoints for the holder of a started call: keep, park, resume and replay it.

Only hosts: whoever runs a program knows what becomes of its calls, and the agent in it does not say.
"""

from __future__ import annotations

from functools import partial

import msgspec

from sayso.core.ledger import BEATEN, State
from sayso.gate.ledger import lease, recovery, workflows
from sayso.gate.ledger.replay import replay_call
from sayso.gate.ledger.workflows import RunNote
from sayso.service.api.call_body import (
    HostFields,
    check_host_fields,
    describe_call,
    holder_of,
    lease_of,
    restore_fence,
)
from sayso.service.api.calls import find_own_call
from sayso.service.http.batches import BatchedStep
from sayso.service.http.callers import session_for
from sayso.service.http.endpoints import HOSTS, Context, Endpoint
from sayso.service.http.problems import RequestRefused
from sayso.wire import CallView

MOST_STEPS = 1_000


class BeatBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fence: int


class ParkBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The call waits for the answer to a question of its session, however long, without heartbeats."""

    fence: int
    question: str
    note: RunNote


class NoteBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The progress of a run."""

    fence: int
    note: RunNote


class ResumeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    attempt: str | None = None
    """A name that only this attempt has. Sent again after its answer got lost, it is the same one."""
    beats: bool = False
    fence: int | None = None
    """The number it was parked under, from whoever waits in it: it gets the call back in any case. If it may
    not go on, the status is `denied`, and the number is for saying how it ended."""


class ReplayBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A queued call is run later, as a new one, in this session."""

    attempt: str | None = None
    beats: bool = False
    session: str | None = None
    state: str | None = None
    """The state of the world the call would meet now, if it was asked for with one."""


class ResolveBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The outcome of an ambiguous call: succeeded or failed."""

    state: State


def post_heartbeat(context: Context) -> BatchedStep:
    """Its holder is alive."""
    ahead = partial(lease.rows_ahead_of_beat, context.gate, context.parameters["call"])
    return BatchedStep(partial(_keep_alive, context), ahead)


def _keep_alive(context: Context) -> CallView:
    body: BeatBody = context.body
    attempt = find_own_call(context)
    lease.keep_alive(context.gate, attempt.call, body.fence, BEATEN)
    return describe_call(context.gate, attempt)


def post_park(context: Context) -> CallView:
    body: ParkBody = context.body
    attempt = find_own_call(context)
    _check_note(body.note)
    note = workflows.encode_note(body.note)
    lease.park_call(context.gate, attempt.call, body.fence, body.question, note)
    return describe_call(context.gate, find_own_call(context))


def post_call_resume(context: Context) -> CallView:
    """Go on with a parked call, under a new number. Of any number that try, one gets it."""
    body: ResumeBody = context.body
    attempt, holder = find_own_call(context), holder_of(context.token, body.attempt)
    before = restore_fence(context.gate, attempt, holder, body.attempt)
    if before.fence:
        return describe_call(context.gate, before)
    kept = lease_of(HostFields(beats=body.beats))
    again = lease.unpark_call(context.gate, attempt.call, holder=holder, lease=kept, fence=body.fence)
    return describe_call(context.gate, again)


def put_note(context: Context) -> CallView:
    body: NoteBody = context.body
    attempt = find_own_call(context)
    _check_note(body.note)
    workflows.save_note(context.gate, attempt.call, body.fence, body.note)
    return describe_call(context.gate, attempt)


def post_replay(context: Context) -> CallView:
    body: ReplayBody = context.body
    attempt, holder = find_own_call(context), holder_of(context.token, body.attempt)
    said = HostFields(state=body.state, beats=body.beats)
    check_host_fields(context.token, said)
    again = replay_call(
        context.gate,
        attempt.call,
        session_for(context, body.session),
        holder=holder,
        state=said.state,
        lease=lease_of(said),
    )
    return describe_call(context.gate, again)


def post_resolution(context: Context) -> CallView:
    """The operator, or what a program's own tool found out, says what became of an ambiguous call."""
    body: ResolveBody = context.body
    attempt, who = find_own_call(context), context.token.name
    by = who if context.token.role == "operator" else f"reconcile:{attempt.record.request.call.tool} by {who}"
    recovery.resolve_call(context.gate, attempt.call, body.state, by=by)
    return describe_call(context.gate, find_own_call(context))


def _check_note(note: RunNote) -> None:
    if len(note.steps) > MOST_STEPS or not 1 <= note.runs <= MOST_STEPS:
        raise RequestRefused(422, "malformed", f"a run has {MOST_STEPS:,} steps at most")


ONE = "/v1/calls/{call}"
ENDPOINTS = (
    Endpoint(
        "POST",
        f"{ONE}/heartbeat",
        HOSTS,
        "Renew the lease of a call",
        post_heartbeat,
        BeatBody,
        CallView,
        in_batch=True,
        follows_call=True,
    ),
    Endpoint(
        "POST",
        f"{ONE}/park",
        HOSTS,
        "Park a call until its question is closed",
        post_park,
        ParkBody,
        CallView,
    ),
    Endpoint("POST", f"{ONE}/resume", HOSTS, "Resume a parked call", post_call_resume, ResumeBody, CallView),
    Endpoint("PUT", f"{ONE}/note", HOSTS, "Record the progress of a run", put_note, NoteBody, CallView),
    Endpoint("POST", f"{ONE}/replay", HOSTS, "Replay a queued call", post_replay, ReplayBody, CallView),
    Endpoint(
        "POST", f"{ONE}/resolve", HOSTS, "Resolve an ambiguous call", post_resolution, ResolveBody, CallView
    ),
)
