"""Connections on which nobody has shown a token: only so many, and only for so long.

- A connection is a stranger's unless a request with a valid token is under way on it.
- When there are too many strangers, the one that has been silent the longest is closed, and only if all have
  spoken, the oldest. So a new connection always gets in, and has its say.
- A stranger who has not had an answer for a while is closed: one that sends nothing, or a letter a minute.
"""

from __future__ import annotations

import asyncio
import select
import socket
import time
from collections.abc import Callable
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any, Protocol, cast

from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from sayso.service.http.problems import RequestRefused

SWEEP = 1.0
LARGEST_HEAD = 64 * 1024
ANSWERED = "sayso.answered"
"""Where the scope of a request that was answered whole says with which status."""
_STATUS_LINES = {int(one): f"HTTP/1.1 {int(one)} {one.phrase}\r\n".encode() for one in HTTPStatus}


class Visitor(Protocol):
    """A connection as seen from here."""

    def show_out(self) -> None:
        """Close it, now."""


class Strangers:
    """The strangers, in the order they came. Used in the loop's own thread only."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._silent: dict[Visitor, float] = {}
        self._speaking: dict[Visitor, float] = {}

    def __len__(self) -> int:
        return len(self._silent) + len(self._speaking)

    def come(self, visitor: Visitor) -> None:
        """Somebody came, or was answered and is a stranger again; if there are too many now, one goes."""
        self.forget(visitor)
        self._silent[visitor] = self._clock()
        if len(self) > self._most:
            self._show_out(next(iter(self._silent if len(self._silent) > 1 else self._speaking)))

    def hear(self, visitor: Visitor) -> None:
        """They sent something. Their time does not start again with it."""
        since = self._silent.pop(visitor, None)
        if since is not None:
            self._speaking[visitor] = since

    def forget(self, visitor: Visitor) -> None:
        """They have shown a token, or are gone."""
        self._silent.pop(visitor, None)
        self._speaking.pop(visitor, None)

    def sweep(self) -> None:
        """Close those that have been strangers for too long."""
        late = self._clock() - self._seconds
        for waiting in (self._silent, self._speaking):
            for visitor in [one for one, since in waiting.items() if since <= late]:
                self._show_out(visitor)

    async def keep_sweeping(self) -> None:
        while True:
            await asyncio.sleep(SWEEP)
            self.sweep()

    def _show_out(self, visitor: Visitor) -> None:
        self.forget(visitor)
        visitor.show_out()


class CallersLine(Visitor, Protocol):
    """A connection with a request under way on it."""

    def mark_known(self) -> None:
        """Whoever is there has shown a token."""

    def has_left(self) -> bool:
        """Return whether whoever was there has closed it. To be asked in any thread."""

    def take_body(self, scope: Scope) -> bytes | None:
        """Return the body of this request if all of it has come; None if it is to be waited for."""

    def answer_whole(self, scope: Scope, status: int, head: bytes, body: bytes) -> bool:
        """Answer this request in one go; False if that is for the framework to do, and nothing was sent."""


_here: ContextVar[CallersLine | None] = ContextVar("sayso_connection", default=None)


def mark_caller_known() -> None:
    """The request under way has shown a token: while it lasts, its connection is not a stranger's."""
    here = _here.get()
    if here is not None:
        here.mark_known()


def take_body(scope: Scope) -> bytes | None:
    """Return the body of the request under way, if all of it is there already."""
    here = _here.get()
    return None if here is None else here.take_body(scope)


def answer_whole(scope: Scope, status: int, head: bytes, body: bytes) -> bool:
    """Answer the request under way in one go, if its connection can do that.

    `head` are the lines of the head after the length, each with its end.
    """
    here = _here.get()
    return here is not None and here.answer_whole(scope, status, head, body)


def check_awaited() -> None:
    """Refuse to go on with the request under way if whoever made it has left by this very moment."""
    here = _here.get()
    if here is not None and here.has_left():
        raise caller_left()


def caller_left() -> RequestRefused:
    return RequestRefused(408, "left", "whoever waited for this has left")


class JoiningTransport:
    """A connection on which the head of an answer leaves together with the body that follows it at once.

    Each write is a word to the system, and on most a packet, by itself. What nothing follows leaves as soon
    as the loop comes round. What is for somebody who has left is dropped: the framework does not notice for
    requests that were sent before the last one, and some loops fail at that.
    """

    __slots__ = ("_held", "_loop", "_real")

    def __init__(self, real: asyncio.Transport) -> None:
        self._real = real
        self._loop = asyncio.get_running_loop()
        self._held = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def write(self, data: bytes) -> None:
        held = self._held
        if held:
            self._held = b""
            if not self._real.is_closing():
                self._real.writelines((held, data))
        else:
            self._held = data
            self._loop.call_soon(self._let_go)

    def write_at_once(self, data: bytes) -> None:
        """What is whole waits for nothing."""
        self._let_go()
        if not self._real.is_closing():
            self._real.write(data)

    def close(self) -> None:
        self._let_go()
        self._real.close()

    def _let_go(self) -> None:
        held, self._held = self._held, b""
        if held and not self._real.is_closing():
            self._real.write(held)


class _InOneGo:
    """What a request that has come whole, and an answer that is whole, need of their connection."""

    goes = False
    """Not with h11, which keeps account of all that is read and sent."""
    cycle: Any = None

    def take_body(self, scope: Scope) -> bytes | None:
        return _take_body(self.cycle, scope) if self.goes else None

    def answer_whole(self, scope: Scope, status: int, head: bytes, body: bytes) -> bool:
        return self.goes and _answer_whole(self.cycle, scope, status, head, body)


def protocol_for(strangers: Strangers) -> type[asyncio.Protocol]:
    """The HTTP protocol whose connections are strangers until they show a token.

    httptools reads the requests where it is installed, because it is written in C; h11 where it is not. With
    httptools a request that has come whole is read at once, and an answer that is whole leaves in one go:
    what the framework does for those that come and go in pieces takes longer than all the rest.
    """
    limited = _limited_httptools()
    base: Any = limited or H11Protocol

    class Guarded(base, _InOneGo):  # type: ignore[misc]  # one of the two
        goes = limited is not None and _is_known_framework()

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(JoiningTransport(cast("asyncio.Transport", transport)))
            strangers.come(self)

        def connection_lost(self, exc: Exception | None) -> None:
            strangers.forget(self)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            strangers.hear(self)
            _here.set(self)
            super().data_received(data)

        def on_response_complete(self) -> None:
            if not self.transport.is_closing():
                strangers.come(self)
            super().on_response_complete()

        def show_out(self) -> None:
            self.transport.abort()

        def mark_known(self) -> None:
            strangers.forget(self)

        def has_left(self) -> bool:
            return _is_closed(self.transport)

    return Guarded


def _is_closed(transport: asyncio.Transport) -> bool:
    """Return whether this end or the other has closed it: the loop may not have come to that yet."""
    if transport.is_closing():
        return True
    its = transport.get_extra_info("socket")
    try:
        news = select.poll()
        news.register(its.fileno(), select.POLLIN)
        if not news.poll(0):  # neither more of what they send, nor its end
            return False
        with its.dup() as line:
            return not line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except (OSError, ValueError):  # it was closed meanwhile
        return True


def _limited_httptools() -> type[asyncio.Protocol] | None:
    """httptools with a limit, as h11 has one: of itself it keeps a head that never ends."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return None

    class Limited(HttpToolsProtocol):
        _unread = 0
        """How much came since the last whole head or piece of a body."""
        _in_head = True

        def data_received(self, data: bytes) -> None:
            self._unread += len(data)
            super().data_received(data)
            if self._unread > LARGEST_HEAD and not self.transport.is_closing():
                self.send_400_response("The head of the request is too long.")

        def on_message_begin(self) -> None:
            self._in_head = True
            super().on_message_begin()

        def on_header(self, name: bytes, value: bytes) -> None:
            if self._in_head:  # what follows a body in chunks says nothing about who asks
                super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self._unread, self._in_head = 0, False
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self._unread = 0
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._unread = 0
            super().on_message_complete()

    return Limited


_USED_OF_FRAMEWORK = {
    "body", "default_headers", "disconnected", "flow", "keep_alive", "message_event", "more_body",
    "on_response", "response_complete", "response_started", "scope", "transport", "waiting_for_100_continue",
}  # fmt: skip


def _is_known_framework() -> bool:
    """Return whether the installed framework has all that is used here of it, as it promises none of that."""
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    return set(RequestResponseCycle.__init__.__code__.co_names) >= _USED_OF_FRAMEWORK


def _take_body(cycle: Any, scope: Scope) -> bytes | None:
    """Take the body as the framework does, if there is nothing to wait for."""
    if cycle.scope is not scope or cycle.more_body or cycle.disconnected or cycle.response_started:
        return None
    cycle.waiting_for_100_continue = False  # it was sent without being asked for
    body, cycle.body = bytes(cycle.body), bytearray()
    cycle.flow.resume_reading()
    cycle.message_event.clear()
    return body


def _answer_whole(cycle: Any, scope: Scope, status: int, head: bytes, body: bytes) -> bool:
    """Answer as the framework does, if the connection stays open and can be written to."""
    if cycle.scope is not scope or cycle.response_started or cycle.disconnected or cycle.default_headers:
        return False
    if not cycle.keep_alive or cycle.flow.write_paused or scope["method"] == "HEAD":
        return False
    line = _STATUS_LINES.get(status)
    if line is None:
        return False
    scope[ANSWERED] = status
    cycle.response_started = cycle.response_complete = True
    cycle.transport.write_at_once(b"%bcontent-length: %d\r\n%b\r\n%b" % (line, len(body), head, body))
    cycle.message_event.set()
    cycle.on_response()
    return True
