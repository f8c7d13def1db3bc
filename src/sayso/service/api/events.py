"""Live events, as server-sent events: what changed, for operators everything, for others their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from sayso.service.http.endpoints import ANY, Context, Endpoint
from sayso.service.http.problems import RequestRefused, problem_response
from sayso.service.live.trail import NumberedEvent
from sayso.service.shapes import LiveEvent

MEDIA = "text/event-stream"


async def get_events(context: Context) -> EventStream:
    """Events as they happen. After a break, `Last-Event-ID` goes on where it was, if that is remembered."""
    return EventStream(context)


class EventStream(StreamingResponse):
    """An answer that lasts as long as its reader, and counts as a wait for so long."""

    def __init__(self, context: Context) -> None:
        super().__init__(_stream_messages(context), media_type=MEDIA, headers={"X-Accel-Buffering": "no"})
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        trail, token = self._context.running.trail, self._context.token
        try:
            with self._context.running.limits.waiting(token.id, operator=token.role == "operator"):
                trail.listen()
                try:
                    await super().__call__(scope, receive, send)
                finally:
                    trail.leave()
        except RequestRefused as error:
            await problem_response(error)(scope, receive, send)


async def _stream_messages(context: Context) -> AsyncIterator[bytes]:
    """One message an event, and a heartbeat whenever there was none for a while, whatever others hear."""
    trail, every = context.running.trail, context.running.settings.ping
    at, gone = trail.place(context.last_event), trail.count_revocations(context.token.id)
    if at is None:
        at = trail.newest
        yield _message(trail.name(at), LiveEvent("hello", every=every))
    due = _time() + every
    while not trail.over and trail.count_revocations(context.token.id) == gone:
        bell = trail.bell
        news = trail.after(at)
        if news is None:
            at = trail.newest
            yield _message(trail.name(at), LiveEvent("hello", every=every))
            continue
        mine = [_message(trail.name(one.number), one.event) for one in news if _may_hear(context, one)]
        at = news[-1].number if news else at
        if any(one.event.kind == "policy" for one in news) and not await _is_still_known(context):
            return  # somebody whom the policy in force does not name any more
        if mine:
            yield b"".join(mine)
            due = _time() + every
        if _time() >= due or (not news and not await _rung(bell, due - _time())):
            if not await _is_still_known(context):
                return
            yield _message(trail.name(at), LiveEvent("ping", every=every))
            due = _time() + every


async def _is_still_known(context: Context) -> bool:
    """Return whether the reader still is who they were: a sign-in ends by itself, without any event."""
    try:
        await context.in_thread(context.check_still_known)
    except RequestRefused:
        return False
    return True


def _time() -> float:
    return asyncio.get_running_loop().time()


async def _rung(bell: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await bell.wait()
    except TimeoutError:
        return False
    return True


def _may_hear(context: Context, one: NumberedEvent) -> bool:
    if context.token.role == "operator":
        return True
    return bool(one.owner) and one.owner == context.token.id


def _message(name: str, event: LiveEvent) -> bytes:
    return f"id: {name}\nevent: {event.kind}\ndata: ".encode() + msgspec.json.encode(event) + b"\n\n"


ENDPOINTS = (
    Endpoint("GET", "/v1/events", ANY, "Stream live events", get_events, result=LiveEvent, media=MEDIA),
)
