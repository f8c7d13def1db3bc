"""The gateway's line to the service, without waiting: every question is asked on a connection of its own.

It speaks as the hook does: the same file with the socket, the user who must listen there and the token, the
same request, and an answer counts only if it is whole. A connection that was answered is used again.
"""

from __future__ import annotations

import errno
import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from sayso.doors.hook import ask as hook
from sayso.doors.mcp.gateway.dialect import CLOSE, DIALECT
from sayso.doors.mcp.gateway.streams import CHUNK
from sayso.gate.decoding import decode_json

LOOK_AGAIN = 0.05
STARTING = 20.0
"""Seconds that a missing service may take to start."""
MOST_IDLE = 8
_MISSING = (errno.ECONNREFUSED, errno.ENOENT)


class ServiceFile(msgspec.Struct, frozen=True):
    """The settings that `sayso install` wrote for the gateway."""

    settings: dict[str, str]
    wait: int
    """Seconds that a call may wait for a person."""

    @classmethod
    def load(cls, file: Path) -> ServiceFile:
        settings = hook.read_hook_file(str(file))
        for name in ("socket", "uid", "token"):
            if not settings.get(name):
                raise ValueError(f"{file} names no {name}")
        return cls(settings, int(settings["wait"]))


class Inquiry:
    """One request to the service on its way. `done` is called once: with the answer, or why there is none."""

    def __init__(
        self, request: bytes, seconds: float, done: Callable[[str, str], None], *, starts: bool
    ) -> None:
        self.request, self.done = request, done
        self.starts = starts
        """Whether a missing service is started for it."""
        now = time.monotonic()
        self.deadline, self.start_by, self.try_at = now + seconds, now + STARTING, now
        self.line: socket.socket | None = None
        self.was_used = False
        self.unsent, self.answer = request, b""


class Service:
    """The service as the gateway's loop sees it: what is asked, and what to do when a connection is ready."""

    def __init__(self, file: ServiceFile) -> None:
        self._file = file
        self._idle: list[socket.socket] = []
        self._open: dict[int, Inquiry] = {}
        self._waiting: list[Inquiry] = []
        self._started = False

    def ask(self, event: str, body: Any, wait: int, done: Callable[[str, str], None]) -> Inquiry:
        """Ask. Nothing is waited for: `serve_ready` goes on with it."""
        content = msgspec.json.encode(body)
        head = (
            f"POST /v1/hooks/{DIALECT.name}/{event}?wait={wait} HTTP/1.1\r\nHost: sayso\r\n"
            f"Authorization: Bearer {self._file.settings['token']}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        starts = event != CLOSE and "start" in self._file.settings  # nobody is woken up for a goodbye
        inquiry = Inquiry(head.encode() + content, wait + hook.SLACK, done, starts=starts)
        self._begin(inquiry)
        return inquiry

    def drop(self, inquiry: Inquiry) -> None:
        """Nobody wants the answer any more."""
        if inquiry in self._waiting:
            self._waiting.remove(inquiry)
        self._close(inquiry)
        inquiry.done = lambda out, why: None

    def close(self) -> None:
        """Let every connection go."""
        for one in [*self._open.values()]:
            self._close(one)
        while self._idle:
            self._idle.pop().close()

    @property
    def is_busy(self) -> bool:
        return bool(self._open or self._waiting)

    def list_lines(self) -> dict[int, int]:
        """Return the connections to look at, and what for."""
        return {fd: select.POLLIN | (select.POLLOUT if one.unsent else 0) for fd, one in self._open.items()}

    def find_pause(self, now: float) -> float | None:
        """Return in how many seconds something is due, whatever happens on the lines."""
        due = [one.try_at for one in self._waiting]
        due += [one.deadline for one in (*self._open.values(), *self._waiting)]
        return max(min(due) - now, 0.0) if due else None

    def serve_ready(self, fd: int) -> None:
        """Go on with the inquiry on this connection."""
        inquiry = self._open.get(fd)
        if inquiry is None or inquiry.line is None:
            return
        try:
            self._exchange(inquiry, inquiry.line)
        except (OSError, ValueError, hook.Refusal) as error:
            self._lose(inquiry, str(error))

    def serve_due(self, now: float) -> None:
        """Give up what is too late, and try again to reach a service that was not there."""
        for one in [*self._open.values(), *self._waiting]:
            if now >= one.deadline:
                self._end(one, "", "the service did not answer in time")
        for one in [one for one in self._waiting if now >= one.try_at]:
            self._waiting.remove(one)
            self._begin(one)

    def _begin(self, inquiry: Inquiry) -> None:
        try:
            line = self._take_idle()
            inquiry.was_used = line is not None
            inquiry.line = line or self._connect()
        except (OSError, hook.Refusal) as error:
            self._come_back(inquiry, error)
            return
        inquiry.unsent, inquiry.answer = inquiry.request, b""
        self._open[inquiry.line.fileno()] = inquiry
        self.serve_ready(inquiry.line.fileno())

    def _connect(self) -> socket.socket:
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            line.setblocking(False)
            line.connect(self._file.settings["socket"])
            self._check_listener(hook.find_listener(line))
        except BaseException:
            line.close()
            raise
        return line

    def _check_listener(self, user: int) -> None:
        if user != int(self._file.settings["uid"]):
            raise hook.Refusal(f"user {user} listens there, and not the service's user")

    def _come_back(self, inquiry: Inquiry, error: Exception) -> None:
        """Try again soon, if the service has no room now, or is only not there yet and ours to start."""
        settings, now = self._file.settings, time.monotonic()
        missing = isinstance(error, OSError) and error.errno in _MISSING
        soon = isinstance(error, BlockingIOError) or (missing and inquiry.starts)
        if not soon or now >= inquiry.start_by:
            why = "the service is not running" if missing else str(error)
            inquiry.done("", f"{why}; start it with `sayso serve`" if missing else why)
            return
        if missing and not self._started:
            self._started = True
            hook.spawn_service(settings)
        inquiry.try_at = now + LOOK_AGAIN
        self._waiting.append(inquiry)

    def _exchange(self, inquiry: Inquiry, line: socket.socket) -> None:
        try:
            if inquiry.unsent:
                inquiry.unsent = inquiry.unsent[line.send(inquiry.unsent) :]
            part = line.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        inquiry.answer += part
        if len(inquiry.answer) > hook.LARGEST:
            raise hook.Refusal("the service's answer is too long")
        if not part:
            raise hook.Refusal("the service sent an incomplete answer")
        if inquiry.unsent or not hook.has_all(inquiry.answer):
            return
        code, out, err = _read_answer(inquiry.answer)
        self._started = False
        said = (out.decode("utf-8"), err.decode("utf-8", "replace"))
        self._keep(inquiry)
        inquiry.done(*(said if code == 0 else ("", said[1])))

    def _lose(self, inquiry: Inquiry, why: str) -> None:
        """The connection broke. One that the service had closed before is replaced: nothing was answered."""
        again = inquiry.was_used and not inquiry.answer
        self._close(inquiry)
        if again:
            self._begin(inquiry)
        else:
            inquiry.done("", why)

    def _end(self, inquiry: Inquiry, out: str, why: str) -> None:
        if inquiry in self._waiting:
            self._waiting.remove(inquiry)
        self._close(inquiry)
        inquiry.done(out, why)

    def _close(self, inquiry: Inquiry) -> None:
        if inquiry.line is not None:
            self._open.pop(inquiry.line.fileno(), None)
            inquiry.line.close()
            inquiry.line = None

    def _keep(self, inquiry: Inquiry) -> None:
        line, inquiry.line = inquiry.line, None
        if line is None:
            return
        self._open.pop(line.fileno(), None)
        if len(self._idle) < MOST_IDLE and b"\r\nconnection: close" not in inquiry.answer.lower():
            self._idle.append(line)
        else:
            line.close()

    def _take_idle(self) -> socket.socket | None:
        """Return a connection on which nothing has come since: neither an end nor a word too much."""
        while self._idle:
            line = self._idle.pop()
            looked = select.poll()
            looked.register(line, select.POLLIN)
            if not looked.poll(0):
                return line
            line.close()
        return None


class _Problem(msgspec.Struct):
    detail: str


def _read_answer(answer: bytes) -> tuple[int, bytes, bytes]:
    """Return the answer; of one that is a problem, what it says to people."""
    if not answer.startswith(b"HTTP/1.1 200 "):
        with suppress(msgspec.MsgspecError):
            raise hook.Refusal(decode_json(answer.partition(b"\r\n\r\n")[2], _Problem).detail)
    return hook.read_answer(answer)
