"""Connections on which nobody has shown a token: only so many, and only for so long.

- A connection is a stranger's unless a request with a valid token is under way on it.
- When there are too many strangers, the one that has been silent the longest is closed, and only if all have
  spoken, the oldest. So a new connection always gets in, and has its say.
- A stranger who has not had an answer for a while is closed: one that sends nothing, or a letter a minute.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

from sayso.service.http.problems import RequestRefused

SWEEP = 1.0
LARGEST_HEAD = 64 * 1024


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


_here: ContextVar[CallersLine | None] = ContextVar("sayso_connection", default=None)


def mark_caller_known() -> None:
    """The request under way has shown a token: while it lasts, its connection is not a stranger's."""
    here = _here.get()
    if here is not None:
        here.mark_known()


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
    as the loop comes round.
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
            self._real.writelines((held, data))
        else:
            self._held = data
            self._loop.call_soon(self._let_go)

    def close(self) -> None:
        self._let_go()
        self._real.close()

    def _let_go(self) -> None:
        held, self._held = self._held, b""
        if held:
            self._real.write(held)


def protocol_for(strangers: Strangers) -> type[asyncio.Protocol]:
    """The HTTP protocol whose connections are strangers until they show a token.

    httptools reads the requests where it is installed, because it is written in C; h11 where it is not.
    """
    base: Any = _limited_httptools() or H11Protocol

    class Guarded(base):  # type: ignore[misc]  # one of the two
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
            return self.transport.is_closing() or _is_closed_by_peer(self.transport)

    return Guarded


def _is_closed_by_peer(transport: asyncio.Transport) -> bool:
    """Look at the connection itself: the loop may not have come to its end yet."""
    try:
        with transport.get_extra_info("socket").dup() as line:
            return not line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
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
