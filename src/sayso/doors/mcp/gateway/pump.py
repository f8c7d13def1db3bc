"""The gateway's loop: one thread, so that between an allow and its call nothing else can happen.

- Lines of the client are read by `messages`; a tool call is held until the service has allowed that very one.
- Lines of the server go to the client as they came, except an answer to a call that it was never given.
- Nothing is forwarded because something went wrong: an error, a late or strange answer, a cancelled request,
  a server or client that is gone, each ends in a denial or in silence.
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import msgspec

from sayso.doors.mcp.gateway import messages
from sayso.doors.mcp.gateway.dialect import CALL, CLOSE, END, spell_allow
from sayso.doors.mcp.gateway.messages import CancelNotice, MessageId, Passed, Refused, ToolCall
from sayso.doors.mcp.gateway.service import Inquiry, Service
from sayso.doors.mcp.gateway.streams import CHUNK, LineReader, LineWriter, Lookout, TooLong

LONGEST_FROM_CLIENT = 4 * 1024 * 1024
LONGEST_FROM_SERVER = 256 * 1024 * 1024
MOST_UNSENT = 8 * 1024 * 1024
MOST_HELD = 100
WITHOUT_PROGRESS = 50
"""Seconds to wait for a client that asked for no progress: most give up after 60."""
PROGRESS_EVERY = 5.0
GOODBYE = 5.0
"""Seconds that the server has to end after its client has left; then it is told, and then killed."""
WAITING = "Waiting for your say-so in Sayso"
NOT_DECIDED = "Sayso could not decide, so nothing runs: "
SERVER_ENDED = "Sayso: the MCP server has ended"
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
Key = tuple[type, MessageId]


class HeldCall(msgspec.Struct):
    """A call that waits for its decision."""

    call: ToolCall
    name: str
    inquiry: Inquiry | None = None
    progress_at: float = 0.0
    times: int = 0


class GatewaySettings(msgspec.Struct, frozen=True):
    """Whose calls these are, and how long they wait."""

    server: str
    folder: str
    wait: int
    session: str = msgspec.field(default_factory=lambda: secrets.token_hex(16))


class Gateway:
    """One client and one server."""

    def __init__(
        self, client: tuple[int, int], server: tuple[int, int], service: Service, settings: GatewaySettings
    ) -> None:
        self._service, self._settings = service, settings
        self._from_client = LineReader(client[0], LONGEST_FROM_CLIENT)
        self._to_client = LineWriter(client[1])
        self._from_server = LineReader(server[0], LONGEST_FROM_SERVER)
        self._to_server = LineWriter(server[1], at_once=CHUNK)
        self._lookout = Lookout()
        self._held: dict[Key, HeldCall] = {}
        self._sent: dict[Key, HeldCall] = {}
        self._has_asked = False
        self.client_left = self.server_left = False

    def run(self) -> None:
        """Pump until the client or the server is gone, and what the server still said is delivered."""
        while not (self.client_left or self.server_left):
            self.turn()

    def turn(self, longest: float | None = None) -> None:
        """Wait until something happens, and do what follows."""
        wanted, readers = self._list_lines()
        pause = min((p for p in (self._find_pause(), longest) if p is not None), default=None)
        for fd in self._lookout.wait(wanted, pause):
            if fd in readers:
                readers[fd]()
            else:
                self._service.serve_ready(fd)
        self._to_server.flush()
        self._to_client.flush()
        self.client_left = self.client_left or self._to_client.is_broken
        self.server_left = self.server_left or (self._to_server.is_broken and not self.client_left)
        now = time.monotonic()
        self._service.serve_due(now)
        self._report_progress(now)

    def drop_held(self) -> None:
        """The client has left: what was not allowed yet will never run."""
        for key in list(self._held):
            self._drop(key)

    def answer_all(self) -> None:
        """The server has ended: answer everything that still waits."""
        for key, held in [*self._held.items(), *self._sent.items()]:
            if key in self._held:
                self._drop(key)
            else:
                self._report_end(key, ok=False)
            self._to_client.put(messages.answer_denied(held.call, SERVER_ENDED))

    def close_session(self) -> None:
        """Tell the service that this client is gone, and wait a little for it to hear that."""
        if not self._has_asked:
            return
        self._service.ask(CLOSE, self._who(), 0, lambda out, why: None)
        until = time.monotonic() + GOODBYE
        while self._service.is_busy and (left := until - time.monotonic()) > 0:
            self.turn(left)

    def stop_reading(self) -> None:
        """Read no further line of the client, and send none."""
        self.client_left = True
        self._to_server.end()

    def _list_lines(self) -> tuple[dict[int, int], dict[int, Callable[[], None]]]:
        """Return what to look at, and what to do then; of the service's own lines it knows that itself."""
        wanted, readers = self._service.list_lines(), {}
        if not self.client_left and self._to_server.size < MOST_UNSENT and len(self._held) < MOST_HELD:
            readers[self._from_client.fd] = self._read_client
        if not self.server_left and self._to_client.size < MOST_UNSENT:
            readers[self._from_server.fd] = self._read_server
        wanted |= dict.fromkeys(readers, select.POLLIN)
        for writer in (self._to_server, self._to_client):
            if writer.size:
                wanted[writer.fd] = select.POLLOUT
                readers[writer.fd] = writer.flush
        return wanted, readers

    def _find_pause(self) -> float | None:
        now = time.monotonic()
        due = [max(one.progress_at - now, 0.0) for one in self._held.values() if one.progress_at]
        pause = self._service.find_pause(now)
        return min([*due, *([] if pause is None else [pause])], default=None)

    def _read_client(self) -> None:
        lines = self._from_client.read()
        if lines is None:
            self.client_left = True
            return
        for line in lines:
            if isinstance(line, TooLong):
                self._refuse(Refused(messages.INVALID, f"a line has more than {LONGEST_FROM_CLIENT} bytes"))
            elif line.strip():
                self._take(line)

    def _take(self, line: bytes) -> None:
        message = messages.read_client_line(line)
        if isinstance(message, (Passed, ToolCall)) and self._is_known(message.id):
            message = Refused(messages.INVALID, "another call with this id is under way", message.id)
        if isinstance(message, Refused):
            self._refuse(message)
        elif isinstance(message, ToolCall):
            self._hold(message)
        elif isinstance(message, CancelNotice) and self._is_held(message.request):
            self._drop(_key(message.request))  # the server has never heard of it
        else:
            self._to_server.put(line)

    def _refuse(self, refused: Refused) -> None:
        if not refused.silent:
            self._to_client.put(messages.answer_refused(refused))

    def _hold(self, call: ToolCall) -> None:
        key, held = _key(call.id), HeldCall(call, secrets.token_hex(16))
        wait = self._settings.wait
        if call.progress is None:
            wait = min(wait, WITHOUT_PROGRESS)
        else:
            held.progress_at = time.monotonic() + PROGRESS_EVERY
        self._held[key] = held
        self._has_asked = True
        held.inquiry = self._service.ask(CALL, self._describe(held), wait, partial(self._decide, key, held))

    def _decide(self, key: Key, held: HeldCall, out: str, why: str) -> None:
        """Send the call if the service has allowed this very one; deny it otherwise."""
        if self._held.get(key) is not held:
            return
        del self._held[key]
        if out == spell_allow(held.name) and not self.client_left:
            self._sent[key] = held
            self._to_server.put(held.call.line)
        else:
            self._to_client.put(messages.answer_denied(held.call, _explain(out, why)))

    def _drop(self, key: Key) -> None:
        held = self._held.pop(key)
        if held.inquiry is not None:
            self._service.drop(held.inquiry)

    def _is_known(self, request: MessageId | None) -> bool:
        return request is not None and (self._is_held(request) or _key(request) in self._sent)

    def _is_held(self, request: Any) -> bool:
        return type(request) in (int, str) and _key(request) in self._held

    def _read_server(self) -> None:
        lines = self._from_server.read()
        if lines is None or any(isinstance(line, TooLong) for line in lines):
            self.server_left = True
        for line in lines or ():
            if isinstance(line, TooLong):
                return
            self._deliver(line)

    def _deliver(self, line: bytes) -> None:
        """Pass on what the server says, and note the end of a call."""
        reply = messages.read_server_line(line) if self._held or self._sent else None
        if reply is None or reply.ends is None or type(reply.id) not in (int, str):
            self._to_client.put(line)
        elif not self._is_held(reply.id):
            self._to_client.put(line)
            if _key(reply.id) in self._sent:
                self._report_end(_key(reply.id), ok=reply.ends == "ok")

    def _report_end(self, key: Key, *, ok: bool) -> None:
        held = self._sent.pop(key)
        self._service.ask(END, {**self._describe(held), "ok": ok}, 0, lambda out, why: None)

    def _report_progress(self, now: float) -> None:
        for held in self._held.values():
            if held.progress_at and held.call.progress is not None and now >= held.progress_at:
                held.progress_at, held.times = now + PROGRESS_EVERY, held.times + 1
                self._to_client.put(messages.write_progress(held.call.progress, held.times, WAITING))

    def _who(self) -> dict[str, Any]:
        return {"session": self._settings.session, "folder": self._settings.folder}

    def _describe(self, held: HeldCall) -> dict[str, Any]:
        what = {"server": self._settings.server, "tool": held.call.tool, "id": held.name}
        return {**self._who(), **what, "arguments": held.call.arguments}


def _key(known: MessageId) -> Key:
    return type(known), known


def _explain(out: str, why: str) -> str:
    if out:
        return f"{NOT_DECIDED}the service's answer is about another call"
    return f"Sayso: {why}" if why else f"{NOT_DECIDED}the service gave no reason"


def wrap_server(words: Sequence[str], service: Service, settings: GatewaySettings) -> int:
    """Start the server, stand between it and the client on stdin and stdout, and return its exit code."""
    (its_stdin, to_server), (from_server, its_stdout) = os.pipe(), os.pipe()
    os.set_blocking(to_server, False)
    with subprocess.Popen(  # noqa: S603  the server that the operator has configured
        list(words), stdin=its_stdin, stdout=its_stdout
    ) as server:
        os.close(its_stdin)
        os.close(its_stdout)
        gateway = Gateway((0, 1), (from_server, to_server), service, settings)
        try:
            with _stop_on_signals():
                gateway.run()
        except _Stopped:
            server.terminate()
        finally:
            _say_goodbye(gateway, server)
    return server.returncode if server.returncode >= 0 else 128 - server.returncode


class _Stopped(BaseException):
    """Whoever started the gateway wants it to end."""


@contextmanager
def _stop_on_signals() -> Iterator[None]:
    """While this lasts, the signals that end a program raise; after that the end takes its course."""

    def stop(*_: object) -> None:
        raise _Stopped

    for one in SIGNALS:
        signal.signal(one, stop)
    try:
        yield
    finally:
        for one in SIGNALS:
            signal.signal(one, signal.SIG_IGN)


def _say_goodbye(gateway: Gateway, server: subprocess.Popen[bytes]) -> None:
    """End the server, deliver what it still says, and close the session."""
    if not gateway.server_left:
        gateway.drop_held()
    gateway.stop_reading()
    for end in (None, server.terminate, server.kill):
        if end is not None:
            end()
        until = time.monotonic() + GOODBYE
        while not gateway.server_left and (left := until - time.monotonic()) > 0:
            gateway.turn(left)
        with suppress(subprocess.TimeoutExpired):
            server.wait(max(until - time.monotonic(), 0.05))
            break
    gateway.answer_all()
    gateway.close_session()
