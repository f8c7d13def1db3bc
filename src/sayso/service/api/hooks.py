"""Hooks of coding agents: the host's payload comes in, the host's own words go out.

- The agent's file (`HookDialect`) translates, the gate decides. A payload that it cannot read is refused, and
  the hook denies whatever was refused.
- For a hook the decision is the start of the call. The same host id with the same call gives the recorded
  decision for a minute, so one call seen by two hooks is asked once; later it is a new call.
- A call and its end share a batch with others. Only once that is stored is the call remembered or forgotten.
- A hook is a process of the agent's: what it tells of the user is claimed, and what it tells of an end only
  tightens.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from functools import partial
from typing import Any

import msgspec
from starlette.responses import Response

from sayso.core import rulebook
from sayso.core.digest import encode_canonical, sha256, spell_exactly
from sayso.core.durations import DAY, LONGEST_WAIT
from sayso.core.ledger import AWAITING, LONGEST_KEY, NotNow, State
from sayso.core.model import Assurance, Declaration, Request
from sayso.core.words import visible
from sayso.gate import words
from sayso.gate.call_rows import Attempt, KeyReused, UnknownCall, load_call_row
from sayso.gate.deciding.ahead import rows_ahead
from sayso.gate.deciding.check import check_on_store
from sayso.gate.deciding.request import CallDeclaration, request_in_session
from sayso.gate.ledger import outcome, start
from sayso.gate.ledger.attempts import load_attempt_now
from sayso.gate.ledger.retry import retry_call
from sayso.gate.questions.expiry import is_answerable
from sayso.gate.sessions import messages
from sayso.gate.sessions.reopen import SessionWish, open_session_by_key, place_of_key
from sayso.gate.sessions.sessions import close_session
from sayso.reading.paths.places import find_workspace
from sayso.service.api.calls import (
    check_room,
    count_denied,
    let_wait,
    look_at_call,
    look_at_session,
)
from sayso.service.http.batches import BatchedStep
from sayso.service.http.connections import check_awaited
from sayso.service.http.endpoints import AGENTS_AND_HOSTS, Context, Endpoint
from sayso.service.http.names import refuse_nul
from sayso.service.http.problems import RequestRefused
from sayso.service.live.hook_calls import SAME_CALL
from sayso.store.contract import Ahead
from sayso.wire import (
    CANARY_SESSION,
    HookAnswer,
    HookDialect,
    HookOutput,
    HostCall,
    HostEvent,
    HostMessage,
    HostOutcome,
    HostSessionEnd,
    canary_word,
    heard_word,
    is_canary_message,
)

LONGEST_SUBAGENT = 60
NOTHING = HookAnswer("none")
_ENDINGS: dict[bool | None, State] = {True: "succeeded", False: "failed", None: "ambiguous"}
Payload = dict[str, Any]
_Asked = tuple[HostCall, Attempt]


async def post_hook(context: Context) -> Response:
    """Decide, hear or note what a coding agent's hook reports. Wait for an answer, up to `wait` seconds.

    The answer is one line, `sayso-hook CODE OUT ERR`, followed by OUT bytes for stdout and ERR for stderr.
    """
    dialect = _find_dialect(context)
    event = dialect.read_event(context.parameters["event"], context.body)
    refuse_nul(event)
    answer = await _answer_event(context, event)
    return _encode_output(dialect.render_answer(event, _mark_canary(context, event, answer)))


def _mark_canary(context: Context, event: HostEvent, answer: HookAnswer) -> HookAnswer:
    """Sign a deny for `sayso doctor`: a hook that fails blocks as well, and proves nothing."""
    if answer.verdict != "deny" or not _is_doctors(event):
        return answer
    words_of_proof = [canary_word(event.session)]
    if context.running.hook_calls.knows_canary(context.parameters["agent"], event.session):
        words_of_proof.append(heard_word(event.session))
    return msgspec.structs.replace(answer, reason=" ".join([answer.reason, *words_of_proof]))


async def _answer_event(context: Context, event: HostEvent) -> HookAnswer:
    if isinstance(event, HostCall | HostOutcome) and not _is_doctors(event):
        return await _answer_in_batch(context, event)
    return await context.in_thread(_answer_alone, context, event)


async def _answer_in_batch(context: Context, event: HostCall | HostOutcome) -> HookAnswer:
    """Decide a call, or note its end, together with others. Whoever waits for a person waits after that."""
    place = _place_of_session(context, event)
    if context.running.hook_calls.last_session(place) is None:
        await context.in_thread(_open_before, context, event)
    prepare, first = partial(_prepare_event, event=event), _first_reads(context, event, place)
    size = context.size if isinstance(event, HostCall) else 0  # of an end nothing has to be read
    done: HookAnswer | _Asked = await context.in_batch(prepare, size, first)
    if isinstance(done, HookAnswer):
        return done
    call, attempt = done
    return await context.in_thread(_finish_call, context, call, await _await_person(context, attempt))


def _answer_alone(context: Context, event: HostEvent) -> HookAnswer:
    """Do it in one go. All that is read before it writes is read at one moment."""
    store = context.gate.marked_store
    with store.snapshot() if store.local else nullcontext():
        return _take_event(context, event)


def _take_event(context: Context, event: HostEvent) -> HookAnswer:
    context.check_still_known()
    if isinstance(event, HostMessage) and is_canary_message(event.text):
        context.running.hook_calls.note_canary(context.parameters["agent"], event.text)
        return NOTHING
    if _is_doctors(event):
        return _answer_doctor(context, event)
    session = _open_session(context, event, context.token.name)
    if isinstance(event, HostSessionEnd):
        close_session(context.gate, session)
    return _hear_message(context, session, event) if isinstance(event, HostMessage) else NOTHING


def _open_before(context: Context, event: HostEvent) -> None:
    """Open the session, if it is a new one: nobody in a batch waits while its workspace is looked for."""
    context.check_still_known()
    _open_session(context, event, context.token.name)


def _first_reads(context: Context, event: HostCall | HostOutcome, place: str) -> Ahead:
    """What is read before the event is looked at: its session, and the call that has ended."""
    session = context.running.hook_calls.last_session(place)
    here = Ahead(metas=frozenset({place}))
    if session is None:
        return here
    here = msgspec.structs.replace(here, sessions=frozenset({session}))
    if not isinstance(event, HostOutcome):
        return here
    call, host_id = context.running.hook_calls.find(session, _keys_of(event)), _host_id(event)
    if call is not None:
        return msgspec.structs.replace(here, calls=frozenset({call}))
    if host_id is not None:
        return msgspec.structs.replace(here, host_ids=frozenset({(session, host_id)}))
    return here


def _prepare_event(context: Context, event: HostCall | HostOutcome) -> BatchedStep:
    session = _open_session(context, event, context.token.name)
    if isinstance(event, HostOutcome):
        return _prepare_outcome(context, session, event)
    wanted = _make_request(context, session, event)
    return BatchedStep(
        partial(_decide_call, context, event, wanted), partial(_rows_ahead, context, event, wanted)
    )


def _rows_ahead(context: Context, event: HostCall, wanted: Request) -> Ahead:
    look_at_session(context.gate, wanted.session)
    here = rows_ahead(context.gate, wanted, host_id=_host_id(event))
    joined = _name_joined(context, event, wanted)
    return here if joined is None else msgspec.structs.replace(here, calls=here.calls | {joined})


def _decide_call(context: Context, event: HostCall, wanted: Request) -> HookAnswer | _Asked:
    """Return the answer, or the call that waits for a person."""
    attempt = _start_call(context, event, wanted)
    return (event, attempt) if _is_to_wait(context, attempt) else _finish_call(context, event, attempt)


def _is_to_wait(context: Context, attempt: Attempt) -> bool:
    """Return whether the host waits for an answer, or the call is to be tried, as its question is closed."""
    if attempt.state not in AWAITING or attempt.question is None:
        return False
    return context.number("wait", 0.0, 0.0, LONGEST_WAIT) > 0 or not _is_open(context, attempt.question)


def _is_doctors(event: HostEvent) -> bool:
    return event.session.startswith(CANARY_SESSION)


def _answer_doctor(context: Context, event: HostEvent) -> HookAnswer:
    """Deny the doctor's call, recorded under its own name in a session that is over at once.

    Whoever else takes that name gains nothing: only what is blocked is decided, and nothing runs or is asked.
    """
    if not isinstance(event, HostCall):
        return NOTHING
    session = _open_session(context, event, words.doctor_name(context.token.name))
    try:
        wanted = _make_request(context, session, event)
        found = check_on_store(context.gate, wanted, in_session=True).decision
        if found.rule not in rulebook.BLOCKING:
            return HookAnswer("deny", words.NOT_THE_DOCTORS)
        return HookAnswer("deny", _start_call(context, event, wanted).record.reason)
    finally:
        close_session(context.gate, session)


def _finish_call(context: Context, event: HostCall, attempt: Attempt) -> HookAnswer:
    """Return the answer about a call that waits no longer. Only one that runs now is allowed."""
    if not attempt.runs and attempt.state != "running":
        return HookAnswer("deny", _reason_not_to_run(attempt))
    request = attempt.record.request
    if request.call.arguments != encode_canonical(event.args):
        return _refuse_edited(context, attempt)
    known = (request.session, _keys_of(event), attempt.call, event.name)
    context.gate.marked_store.when_committed(partial(context.running.hook_calls.remember, *known))
    return _allow(attempt, event)


def _allow(attempt: Attempt, event: HostCall) -> HookAnswer:
    """Allow the call. Where the host is about to prompt its user, only what a person has approved here."""
    record = attempt.record
    if event.prompts and record.rule != rulebook.APPROVED_CALL.name:
        return NOTHING
    return HookAnswer("allow", record.reason, () if record.announce is None else (record.announce,))


def _start_call(context: Context, event: HostCall, wanted: Request) -> Attempt:
    """Decide the call, or find it where another hook has asked about it just now."""
    check_room(context, wanted)
    begin = partial(
        start.start_call,
        context.gate,
        wanted,
        holder=context.token.id,
        lease=DAY,
        lasts=False,
        check_awaited=check_awaited,
    )
    attempt = _find_joined(context, event, wanted)
    if attempt is None:
        try:
            attempt = begin(host_id=_host_id(event))
        except KeyReused:  # some hosts count their calls from the beginning again: it is another call
            attempt = begin()
    if not _is_usable(context, attempt):
        attempt = begin()
    count_denied(context, attempt, wanted)
    return attempt


def _find_joined(context: Context, event: HostCall, wanted: Request) -> Attempt | None:
    found = _name_joined(context, event, wanted)
    known = None if found is None else load_attempt_now(context.gate, found, wanted.session)
    return known if known is not None and known.record.request.digest == wanted.digest else None


def _name_joined(context: Context, event: HostCall, wanted: Request) -> str | None:
    """Name the call that another event has just asked about, where the host names it by no id."""
    if not (event.prompts or event.twice):
        return None
    name = _keys_of(event)[-1]
    return context.running.hook_calls.find_for_other_event(wanted.session, name, event.name)


def _is_usable(context: Context, attempt: Attempt) -> bool:
    """Return whether this is what to answer by. What was over before this hook came is not."""
    if attempt.runs or attempt.state in (*AWAITING, "denied"):
        return True
    with context.gate.store.read() as tx:
        row = load_call_row(context.gate, tx, attempt.call)
        started = None if row.lease_until is None else row.lease_until - DAY
        return row.state == "running" and started is not None and tx.now - started <= SAME_CALL


def _make_request(context: Context, session: str, event: HostCall | HostOutcome) -> Request:
    said = CallDeclaration(
        Declaration((), "agent"),
        folder=event.folder or None,
        door=_find_dialect(context).door,
        subagent=visible(event.subagent[:LONGEST_SUBAGENT]),
        schema=event.schema if isinstance(event, HostCall) else "",
    )
    return request_in_session(context.gate, session, event.tool, event.args, None, 0.0, said)


async def _await_person(context: Context, attempt: Attempt) -> Attempt:
    """Return the call after its question was closed, or as it is when the time is over."""
    question = attempt.question or ""

    async def await_answer(seconds: float, left: asyncio.Future[None]) -> None:
        with context.running.waiters.waiting(question):
            await context.running.asker.await_answer(question, seconds, left)

    await let_wait(context, await_answer)
    if await context.in_thread(_is_open, context, question):
        return attempt
    retry = partial(retry_call, context.gate, attempt.call, holder=context.token.id, lease=DAY)
    return await context.in_thread(partial(retry, check_awaited=check_awaited))


def _is_open(context: Context, question: str) -> bool:
    with context.gate.store.read() as tx:
        row = tx.question(question)
        return row is not None and is_answerable(context.gate, row, tx.now)


def _reason_not_to_run(attempt: Attempt) -> str:
    if attempt.state in AWAITING:
        return words.pending_for_hook(attempt.call)
    if attempt.state == "denied":
        return attempt.record.reason
    return words.over_for_hook(attempt.state)


def _refuse_edited(context: Context, attempt: Attempt) -> HookAnswer:
    """A person approved another call than the host would run: the agent is told to make that one."""
    _end_call(context, attempt.call, "failed")
    meant = attempt.record.request.call
    return HookAnswer("deny", words.edited_for_hook(meant.tool, spell_exactly(meant.arguments)))


def _prepare_outcome(context: Context, session: str, event: HostOutcome) -> BatchedStep:
    call = _find_ended(context, session, event)
    if call is None:
        return BatchedStep(lambda: NOTHING)
    note = partial(_note_outcome, context, session, call, event)
    return BatchedStep(note, partial(_rows_ahead_of_end, context, call, event))


def _rows_ahead_of_end(context: Context, call: str, event: HostOutcome) -> Ahead:
    look_at_call(context.gate, call)
    return outcome.rows_ahead_of_end(context.gate, call, _ENDINGS[event.ok])


def _find_ended(context: Context, session: str, event: HostOutcome) -> str | None:
    found = context.running.hook_calls.find(session, _keys_of(event))
    if found is not None or event.call_id is None:
        return found
    with context.gate.store.read() as tx:
        row = tx.call_by_host(session, _host_id(event) or "")
    return None if row is None else row.id


def _note_outcome(context: Context, session: str, call: str, event: HostOutcome) -> HookAnswer:
    _end_call(context, call, _ENDINGS[event.ok])
    context.gate.marked_store.when_committed(partial(context.running.hook_calls.forget, session, call))
    return NOTHING


def _end_call(context: Context, call: str, state: State) -> None:
    """Record how the call ended; one that is over already stays as it is."""
    try:
        with context.gate.store.read() as tx:
            fence = load_call_row(context.gate, tx, call).fence
        outcome.end_call(context.gate, call, fence, state, claimed=True)
    except (NotNow, UnknownCall):
        return


def _hear_message(context: Context, session: str, event: HostMessage) -> HookAnswer:
    heard = messages.record_message(context.gate, session, event.text, Assurance.CLAIMED, keep=True)
    more = () if heard.question is None else (words.CLAIM_ASKED,)
    return HookAnswer("none", announced=(*heard.announced, *more))


def _open_session(context: Context, event: HostEvent, agent: str) -> str:
    """Return the session of the host's session. It belongs to this token, whatever the payload names."""
    opened = open_session_by_key(
        context.gate,
        _session_key(context, event),
        owner=context.token.id,
        asked=SessionWish(),
        agent=agent,
        workspace=partial(find_workspace, event.folder, event.workspace or None),
    )
    context.running.hook_calls.note_session(_place_of_session(context, event), opened.session)
    return opened.session


def _place_of_session(context: Context, event: HostEvent) -> str:
    return place_of_key(context.token.id, _session_key(context, event))


def _session_key(context: Context, event: HostEvent) -> str:
    if not event.session:
        raise RequestRefused(422, "malformed", "the payload names no session")
    return f"{context.parameters['agent']} {sha256(event.session.encode('utf-8', 'surrogatepass'))}"


def _find_dialect(context: Context) -> HookDialect:
    found = context.running.agents.get(context.parameters["agent"])
    if found is None:
        raise RequestRefused(404, "not_found", "there is no such coding agent here")
    return found


def _host_id(event: HostCall | HostOutcome) -> str | None:
    """Return the host's id of the call, short enough to store. A prompt has none."""
    if event.call_id is None or (isinstance(event, HostCall) and event.prompts):
        return None
    name = f"hook:{event.call_id}"
    plain = name.isprintable() and len(name) <= LONGEST_KEY
    return name if plain else f"hook:{sha256(name.encode('utf-8', 'surrogatepass'))}"


def _keys_of(event: HostCall | HostOutcome) -> tuple[str, ...]:
    """Return the names a call is remembered by: the host's id, and what it is."""
    named = _host_id(event)
    what = sha256(encode_canonical([event.tool, event.args, event.subagent]))
    return (what,) if named is None else (named, what)


def _encode_output(output: HookOutput) -> Response:
    out, err = output.out.encode(), output.err.encode()
    head = f"sayso-hook {output.code} {len(out)} {len(err)}\n".encode()
    return Response(head + out + err, media_type="text/plain")


ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/hooks/{agent}/{event}",
        AGENTS_AND_HOSTS,
        "Answer a hook of a coding agent",
        post_hook,
        Payload,
        str,
        query={"wait": f"Seconds to wait for an answer, at most {LONGEST_WAIT:.0f}."},
        media="text/plain",
        checks_token=True,
    ),
)
