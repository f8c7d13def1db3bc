"""Requests and answers over HTTP/1.1, on connections that are kept open, or from coroutines on one for each.

h11 writes and reads the bytes for both. No proxy is looked for and no redirect followed: a token is sent only
to the address that was given.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import h11
import msgspec

KEPT = 20
"""How many connections are kept open while nobody uses them, and for how long: less than the service does."""
KEPT_FOR = 20.0
PART = 65_536


class NotReached(Exception):
    """Nobody could be connected to, so the request was certainly not taken."""


class LineLost(Exception):
    """The connection was lost or broken before there was a whole answer; nobody knows what became of it."""


class Answer(msgspec.Struct, frozen=True):
    """The answer of a server. The names of its headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Sent(msgspec.Struct, frozen=True):
    """A request as it is sent, and how long in seconds each step of it may take."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    content: bytes
    connecting: float
    reading: float


class Server:
    """A server at a URL, or at a Unix socket, by a name for it."""

    def __init__(self, url: str, unix: str | None = None) -> None:
        parts = urlsplit(url)
        host = parts.hostname or ""
        self._host = host if host.isascii() else host.encode("idna").decode()
        self._is_tls = parts.scheme == "https"
        self._port = parts.port or (443 if self._is_tls else 80)
        shown = f"[{self._host}]" if ":" in self._host else self._host
        self._name = shown if parts.port is None else f"{shown}:{parts.port}"
        self._prefix = parts.path.rstrip("/")
        self._unix = unix
        self.idle: deque[_Connection] = deque()
        self._process = os.getpid()

    def write_request(self, wire: Wire, sent: Sent) -> bytes:
        """Return the bytes of a request to this server."""
        target = quote(f"{self._prefix}{sent.path}", safe="/:@!$&'()*+,;=~%")
        if sent.query:
            target = f"{target}?{urlencode(sent.query)}"
        return wire.begin(sent.method, target, {"Host": self._name, **sent.headers}, sent.content)

    def ask(self, sent: Sent) -> Answer:
        """Send it, and wait for the answer."""
        connection = self._take_idle() or _Connection(self._connect(sent.connecting))
        try:
            answer = connection.ask(self.write_request(connection.wire, sent), sent.reading)
        except BaseException as error:
            connection.close()
            if isinstance(error, (OSError, h11.ProtocolError)):
                raise LineLost(_why(error)) from error
            raise
        self._keep(connection)
        return answer

    async def ask_later(self, sent: Sent) -> Answer:
        """The same in a coroutine, on a connection of its own: nobody waits behind another."""
        try:
            async with asyncio.timeout(sent.connecting):
                reader, writer = await self._connect_later()
        except (OSError, TimeoutError) as error:
            raise NotReached(_why(error)) from error
        wire = Wire()
        try:
            writer.write(self.write_request(wire, sent))
            answer = None
            while answer is None:
                async with asyncio.timeout(sent.reading):
                    answer = wire.take(await reader.read(PART))
        except (OSError, TimeoutError, h11.ProtocolError) as error:
            raise LineLost(_why(error)) from error
        else:
            return answer
        finally:
            writer.close()

    def close(self) -> None:
        """Close the connections that nobody uses."""
        while self.idle:
            self.idle.pop().close()

    def _take_idle(self) -> _Connection | None:
        if self._process != os.getpid():  # a fork: these are its parent's
            self.idle, self._process = deque(), os.getpid()
        while True:
            try:
                kept = self.idle.pop()
            except IndexError:
                return None
            if kept.is_alive:
                return kept
            kept.close()

    def _keep(self, connection: _Connection) -> None:
        if connection.can_be_kept and len(self.idle) < KEPT:
            self.idle.append(connection)
        else:
            connection.close()

    def _connect(self, seconds: float) -> socket.socket:
        try:
            if self._unix is not None:
                line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                line.settimeout(seconds)
                line.connect(self._unix)
                return line
            line = socket.create_connection((self._host, self._port), timeout=seconds)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return self._trust.wrap_socket(line, server_hostname=self._host) if self._is_tls else line
        except OSError as error:
            raise NotReached(_why(error)) from error

    async def _connect_later(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._unix is not None:
            return await asyncio.open_unix_connection(self._unix)
        return await asyncio.open_connection(
            self._host, self._port, ssl=self._trust if self._is_tls else None
        )

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context()


class Wire:
    """The bytes on one connection, whoever sends and receives them."""

    def __init__(self) -> None:
        self._state = h11.Connection(h11.CLIENT)
        self._head: h11.Response | None = None
        self._content: list[bytes] = []

    def begin(self, method: str, target: str, headers: Mapping[str, str], content: bytes) -> bytes:
        """Return the bytes of a request."""
        self._head, self._content = None, []
        length = {} if method == "GET" else {"Content-Length": str(len(content))}
        parts: list[Any] = [
            h11.Request(method=method, target=target, headers=[*{**headers, **length}.items()])
        ]
        parts += [h11.Data(data=content)] if content else []
        return b"".join(self._state.send(one) or b"" for one in (*parts, h11.EndOfMessage()))

    def take(self, data: bytes) -> Answer | None:
        """Take what came, nothing if that was the end; return the answer once it is whole."""
        self._state.receive_data(data)
        while True:
            event = self._state.next_event()
            if event is h11.NEED_DATA:
                return None
            if isinstance(event, h11.Response):
                self._head = event
            elif isinstance(event, h11.Data):
                self._content.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage) and self._head is not None:
                headers = {name.decode(): value.decode("latin-1") for name, value in self._head.headers}
                return Answer(self._head.status_code, headers, b"".join(self._content))
            elif not isinstance(event, h11.InformationalResponse):
                raise h11.RemoteProtocolError("the connection was closed before there was an answer")

    def begin_again(self) -> bool:
        """Return whether another request may follow, for which it is then ready."""
        if self._state.our_state is not h11.DONE or self._state.their_state is not h11.DONE:
            return False
        if self._state.trailing_data[0]:  # more than was asked for: it would pass for the next answer
            return False
        self._state.start_next_cycle()
        return True


class _Connection:
    """A connection that requests follow each other on."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self.wire = Wire()
        self._used_at = time.monotonic()

    def ask(self, request: bytes, seconds: float) -> Answer:
        self._line.settimeout(seconds)
        self._line.sendall(request)
        answer = None
        while answer is None:
            answer = self.wire.take(self._line.recv(PART))
        return answer

    @property
    def can_be_kept(self) -> bool:
        self._used_at = time.monotonic()
        return self.wire.begin_again()

    @property
    def is_alive(self) -> bool:
        """Whether it may be used again: not for too long unused, and neither closed nor spoken on."""
        return time.monotonic() - self._used_at < KEPT_FOR and not _is_readable(self._line)

    def close(self) -> None:
        self._line.close()


def _is_readable(line: socket.socket) -> bool:
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([line], [], [], 0)[0])
    looked = select.poll()
    looked.register(line, select.POLLIN)
    return bool(looked.poll(0))


def _why(error: BaseException) -> str:
    return str(error) or ("timed out" if isinstance(error, TimeoutError) else type(error).__name__)
