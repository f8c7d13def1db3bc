"""The gateway's loop: one thread, so that between an allow and its call nothing else can happen.

- Lines of the client are read by `messages`; a tool call is held until the service has allowed that very one.
- Lines of the server go to the client as they came, except an answer to a call that it was never given.
- Nothing is forwarded because something went wrong: an error, a late or strange answer, a cancelled request,
  a server or client that is gone, each ends in a denial or in silence.
"""

from __future__ import annotations

import secrets
import select
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from sayso.doors.mcp.gateway import messages
from sayso.doors.mcp.gateway.dialect import CALL, CLOSE, END, spell_allow
from sayso.doors.mcp.gateway.messages import CancelNotice, MessageId, Passed, Refused, ToolCall
from sayso.doors.mcp.gateway.schemas import LIST, ToolSchemas
from sayso.doors.mcp.gateway.service import Inquiry, Service
from sayso.doors.mcp.gateway.states import States
from sayso.doors.mcp.gateway.streams import CHUNK, LineReader, LineWriter, Lookout, TooLong

LONGEST_FROM_CLIENT = 4 * 1024 * 1024
LONGEST_FROM_SERVER = 256 * 1024 * 1024
MOST_UNSENT = 8 * 1024 * 1024
MOST_HELD = 100
WITHOUT_PROGRESS = 50
"""Seconds to wait for a client that asked for no progress: most give up after 60."""
HAND_BACK = 40.0
"""Seconds after which such a client of the stateless era gets a state to come back with."""
MOST_PAUSED = 100
PROGRESS_EVERY = 5.0
GOODBYE = 5.0
"""Seconds that the server has to end after its client has left; then it is told, and then killed."""
WAITING = "Waiting for your say-so in Sayso"
NOT_DECIDED = "Sayso could not decide, so nothing runs: "
CHANGED = "Sayso: the server has changed this tool while it was asked about; make the call again"
SERVER_ENDED = "Sayso: the MCP server has ended"
ENDED_IN_CALL = "Sayso: the MCP server ended during this call; find out whether it ran before you repeat it"
Key = tuple[type, MessageId]
_SUCCESS = {"ok": True, "failed": False}
"""Of how a server's answer ends a call, whether that is a success; of the rest nobody can say."""


class HeldCall(msgspec.Struct):
    """A call that waits for its decision."""

    call: ToolCall
    name: str
    began: float
    schema: str = ""
    """Of its tool, as it was listed when it was asked about."""
    inquiry: Inquiry | None = None
    progress_at: float = 0.0
    times: int = 0
    back_at: float = 0.0
    """When the client is told to send it again, if it is of the stateless era and takes no progress."""
    was_sent: bool = False
    """Whether its server has heard of it."""


class GatewaySettings(msgspec.Struct, frozen=True):
    """The server, folder and session of the calls, and how long they wait."""

    server: str
    folder: str
    wait: int
    hand_back: float = HAND_BACK
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
        self._states = States()
        self._schemas = ToolSchemas()
        self._paused: dict[str, HeldCall] = {}
        """Calls that go on when their client comes back, by their names; each once."""
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
        self._hand_back(now)

    def drop_held(self) -> None:
        """The client has left: what was not allowed yet will never run."""
        for key in list(self._held):
            self._drop(key)

    def answer_all(self) -> None:
        """The server has ended: answer everything that still waits."""
        for key, held in [*self._held.items()]:
            self._drop(key)
            self._to_client.put(messages.answer_denied(held.call, SERVER_ENDED))
        while self._sent:
            held = self._sent.popitem()[1]
            self._report_end(held, ok=None)
            self._to_client.put(messages.answer_denied(held.call, ENDED_IN_CALL))
        self._forget_paused(0)

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
        due = [
            max(at - now, 0.0) for one in self._held.values() for at in (one.progress_at, one.back_at) if at
        ]
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
            self._begin(message)
        elif isinstance(message, CancelNotice) and self._is_held(message.request):
            self._drop(_key(message.request))  # the server has never heard of it
        else:
            if isinstance(message, Passed) and message.method == LIST and message.id is not None:
                self._schemas.note_request(_key(message.id))
            self._to_server.put(line)

    def _refuse(self, refused: Refused) -> None:
        if not refused.silent:
            self._to_client.put(messages.answer_refused(refused))

    def _begin(self, call: ToolCall) -> None:
        """Ask about the call; or go on with it, if it was decided, or asked about, before."""
        if call.state is None:
            self._hold(HeldCall(call, secrets.token_hex(16), time.monotonic()))
            return
        state = self._states.open(call.state, call)
        paused = None if state is None else self._paused.pop(state.call, None)
        if state is None or paused is None:
            why = "this requestState is for another call, was used before, or is not the gateway's"
            self._refuse(Refused(messages.BAD_PARAMS, why, call.id))
        elif state.waits_for == "person":
            self._hold(HeldCall(call, paused.name, paused.began))
        else:
            self._send(_key(call.id), HeldCall(call, paused.name, paused.began), state.inner)

    def _hold(self, held: HeldCall) -> None:
        call, now = held.call, time.monotonic()
        key = _key(call.id)
        wait = max(self._settings.wait - int(now - held.began), 0)
        if call.progress is not None:
            held.progress_at = now + PROGRESS_EVERY
        elif call.is_stateless and not call.as_task:
            held.back_at = now + self._settings.hand_back
        else:
            wait = min(wait, WITHOUT_PROGRESS)
        held.schema = self._schemas.find(call.tool)
        self._held[key] = held
        self._has_asked = True
        held.inquiry = self._service.ask(CALL, self._describe(held), wait, partial(self._decide, key, held))

    def _decide(self, key: Key, held: HeldCall, out: str, why: str) -> None:
        """Send the call if the service has allowed this very one; deny it otherwise."""
        if self._held.get(key) is not held:
            return
        del self._held[key]
        if out != spell_allow(held.name):
            self._to_client.put(messages.answer_denied(held.call, _explain(out, why)))
            return
        changed = held.schema != self._schemas.find(held.call.tool)
        if changed or self.client_left:  # it was started, and will not run
            self._report_end(held, ok=False)
            self._to_client.put(messages.answer_denied(held.call, CHANGED))
        else:
            self._send(key, held, None)

    def _send(self, key: Key, held: HeldCall, state: str | None) -> None:
        """From here on only its server can say how the call ended."""
        held.was_sent = True
        self._sent[key] = held
        self._to_server.put(held.call.spell_with(state))

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
        """Pass on what the server says, and note the end of a call.

        While a call is held, what some client might read as an answer to it is not passed on.
        """
        if self._held and not messages.is_one_message(line):
            return
        reads = self._held or self._sent or self._schemas.waits
        reply = messages.read_server_line(line) if reads else None
        if reply is not None and reply.ends is not None and type(reply.id) in (int, str):
            self._schemas.note_answer(_key(reply.id), line)
        if reply is None or reply.ends is None or type(reply.id) not in (int, str):
            self._to_client.put(line)
        elif not self._is_held(reply.id):
            key = _key(reply.id)
            if key in self._sent and reply.ends == "asks" and self._pause(key, line):
                return
            self._to_client.put(line)
            if key in self._sent:
                self._report_end(self._sent.pop(key), ok=_SUCCESS.get(reply.ends))

    def _pause(self, key: Key, line: bytes) -> bool:
        """The server asks something first: pass that on with a state that lets this very call go on."""
        held = self._sent[key]
        sealed = messages.replace_state(line, partial(self._states.seal, "server", held.name, held.call))
        if sealed is None or not held.call.is_stateless:
            return False
        del self._sent[key]
        self._keep_paused(held)
        self._to_client.put(sealed)
        return True

    def _keep_paused(self, held: HeldCall) -> None:
        self._paused[held.name] = held
        self._forget_paused(MOST_PAUSED)

    def _forget_paused(self, most: int) -> None:
        """The oldest go on no more."""
        while len(self._paused) > most:
            held = self._paused.pop(next(iter(self._paused)))
            self._report_end(held, ok=None if held.was_sent else False)

    def _hand_back(self, now: float) -> None:
        """Let clients of the stateless era come back for calls that still wait for a person."""
        for key, held in list(self._held.items()):
            if held.back_at and now >= held.back_at and now < held.began + self._settings.wait:
                self._drop(key)
                self._keep_paused(held)
                state = self._states.seal("person", held.name, held.call)
                self._to_client.put(messages.answer_with_state(held.call, state))

    def _report_end(self, held: HeldCall, *, ok: bool | None) -> None:
        """Tell the service how a call ended; None if nobody can say."""
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
        return {**self._who(), **what, "arguments": held.call.arguments, "schema": held.schema}


def _key(known: MessageId) -> Key:
    return type(known), known


def _explain(out: str, why: str) -> str:
    if out:
        return f"{NOT_DECIDED}the service's answer is about another call"
    return f"Sayso: {why}" if why else f"{NOT_DECIDED}the service gave no reason"
