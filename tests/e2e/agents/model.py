"""A language model on loopback that follows a script, and keeps what programs send to it.

The whole conversation is in every request, so the model needs no memory: it counts the tool results that it
is shown and gives the next step of the script, and "done" after the last. A request that matches no script,
such as one for a title, gets "ok".

It is the programs' proxy as well: whatever they want to fetch from elsewhere is refused and noted.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Protocol

PROMPT = "Please do the work."


@dataclass(frozen=True)
class ToolCall:
    """A tool call that the model asks for."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Conversation:
    """A request as the script sees it: what the user wrote, the tools on offer, the results so far."""

    opening: str
    tools: frozenset[str]
    results: tuple[str, ...]


@dataclass(frozen=True)
class Reply:
    """The bytes that a model sends back."""

    body: bytes
    kind: str = "text/event-stream"


class Api(Protocol):
    """One vendor's way to talk to a model."""

    def read(self, path: str, body: dict[str, Any]) -> Conversation | None:
        """Return the conversation in this request, or None if it is about something else."""

    def write(self, path: str, body: dict[str, Any], step: ToolCall | str, number: int) -> Reply:
        """Write a text or a tool call; `number` makes its ids unique."""

    def write_other(self, path: str, body: dict[str, Any]) -> Reply:
        """Answer a request that is not a conversation."""


@dataclass
class Model:
    """A scripted model. `scripts` maps words of the opening message to the steps that follow it."""

    api: Api
    scripts: Mapping[str, Sequence[ToolCall]]
    url: str = ""
    conversations: list[Conversation] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def reply(self, path: str, body: dict[str, Any]) -> Reply:
        conversation = self.api.read(path, body)
        if conversation is None:
            return self.api.write_other(path, body)
        self.conversations.append(conversation)
        return self.api.write(path, body, self._next_step(conversation), next(self.numbers))

    def results(self, words: str = PROMPT) -> tuple[str, ...]:
        """The tool results that came back in the conversation with these words in its opening."""
        shown = [one.results for one in self.conversations if words in one.opening]
        return max(shown, key=len, default=())

    def _next_step(self, conversation: Conversation) -> ToolCall | str:
        for words, script in self.scripts.items():
            if words in conversation.opening and conversation.tools:
                steps: list[ToolCall | str] = [*script, "done"]
                return steps[min(len(conversation.results), len(script))]
        return "ok"


@contextmanager
def serve_model(api: Api, scripts: Mapping[str, Sequence[ToolCall]]) -> Iterator[Model]:
    """Serve a scripted model on a free port of loopback."""
    model = Model(api, scripts)

    class Handler(_Handler):
        serving = model

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    serving: Model

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self._is_ours():
            return
        try:
            reply = self.serving.reply(self.path, json.loads(raw or b"{}"))
        except Exception as error:  # noqa: BLE001  a fault of the script must reach the test, not the program
            self.serving.faults.append(f"{self.path}: {error!r}")
            self.send_error(400)
        else:
            self._send(reply)

    def do_GET(self) -> None:
        if self._is_ours():
            self._send(Reply(b"{}", "application/json"))

    def do_HEAD(self) -> None:
        if self._is_ours():
            self._send(Reply(b"", "application/json"))

    def do_CONNECT(self) -> None:
        self._is_ours()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the base class's
        """Nothing goes to the terminal: what was asked is kept in the model."""

    def _is_ours(self) -> bool:
        """False for a request to another server that came here as to a proxy; it is refused."""
        if self.command != "CONNECT" and self.path.startswith("/"):
            return True
        self.serving.strangers.append(self.path)
        self.close_connection = True
        self.send_error(403)
        return False

    def _send(self, reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)


def write_events(events: Sequence[Mapping[str, Any]], *, named: bool) -> Reply:
    """Server-sent events; `named` repeats each one's type in front of it."""
    lines = []
    for event in events:
        head = f"event: {event['type']}\n" if named else ""
        lines.append(f"{head}data: {json.dumps(event)}\n\n")
    return Reply("".join(lines).encode())
