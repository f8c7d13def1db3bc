"""Requests to a service in this process, by role; and streams, read as they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.types import Message

from sayso.doors.agents import AGENTS
from sayso.gate.gate import Gate
from sayso.gate.people.tokens import ROLES, Role, issue_token
from sayso.service.app import make_app
from sayso.service.http.state import ServiceSettings, ServiceState

HOST = "sayso.test"
WRITE = {"tool": "write_file", "args": {"path": "a.txt", "text": "hello"}}
PUSH = {"tool": "push", "args": {"line": "git push origin"}, "command": "git push origin"}
READ = {"tool": "read_file", "args": {"path": "a.txt"}}
WIPE = {"tool": "wipe", "args": {}}


class Service:
    """An app with one token for each role, a second agent and host, and a host that is only claimed."""

    def __init__(self, gate: Gate, runner: asyncio.Runner, settings: ServiceSettings | None = None) -> None:
        self.gate, self.runner = gate, runner
        self.app: Starlette = make_app(gate, hosts=(HOST,), settings=settings, agents=AGENTS)
        self.running: ServiceState = self.app.state.running
        wanted: list[tuple[str, Role, str]] = [(role, role, role) for role in ROLES]
        wanted += [("other_agent", "agent", "other agent"), ("other_host", "host", "other host")]
        issued = {
            who: issue_token(self.gate, role, name, by="test", assured=role == "host")
            for who, role, name in wanted
        }
        issued["claimed_host"] = issue_token(self.gate, "host", "claimed host", by="test")
        self.secrets: dict[str, str] = {name: secret for name, (secret, _) in issued.items()}
        self.tokens = {name: token for name, (_, token) in issued.items()}

    def client(self) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}")

    def headers(self, who: str | None) -> dict[str, str]:
        return {} if who is None else {"Authorization": f"Bearer {self.secrets[who]}"}

    async def ask(
        self,
        who: str | None,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str | bytes] | None = None,
        **more: Any,
    ) -> httpx.Response:
        """One request, inside a coroutine."""
        async with self.client() as client:
            sent: Any = {**self.headers(who), **(headers or {})}
            sending = more if "content" in more else {**more, "json": body}
            return await client.request(method, path, headers=sent, **sending)

    def request(
        self, who: str | None, method: str, path: str, body: Any = None, **more: Any
    ) -> httpx.Response:
        return self.runner.run(self.ask(who, method, path, body, **more))

    def get(self, who: str | None, path: str, **more: Any) -> httpx.Response:
        return self.request(who, "GET", path, **more)

    def post(self, who: str | None, path: str, body: Any = None, **more: Any) -> httpx.Response:
        return self.request(who, "POST", path, body, **more)

    def told(self, who: str | None, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """What comes back from a request that has to succeed."""
        response = self.request(who, method, path, body, **more)
        assert response.status_code < 300, response.text
        return response.json()

    def opened(self, who: str = "host", **more: Any) -> str:
        """A new session of this host."""
        name: str = self.told(who, "POST", "/v1/sessions", {"agent": "claude", **more})["id"]
        return name

    def asked(self, who: str = "agent", call: Mapping[str, Any] = WRITE, **more: Any) -> str:
        """The question that a call of this caller opens."""
        told = self.told(who, "POST", "/v1/calls", {**call, **more})
        assert told["status"] == "pending", told
        name: str = told["question"]
        return name

    def answer(self, question: str, given: str) -> None:
        """The operator is shown the whole question, and gives this answer."""
        shown = self.told("operator", "GET", f"/v1/questions/{question}")
        body = {"answer": given, "digest": shown["digest"]}
        self.told("operator", "POST", f"/v1/questions/{question}/answer", body)

    @asynccontextmanager
    async def streaming(
        self, who: str | None, path: str, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Stream]:
        """A request whose answer is read as it comes."""
        stream = Stream(self.app, path, self.headers(who) | dict(headers or {}))
        task = asyncio.create_task(stream.run())
        try:
            yield stream
        finally:
            stream.gone.set()
            await task


class Stream:
    """One request to the app, whose body comes in parts."""

    def __init__(self, app: Starlette, path: str, headers: Mapping[str, str]) -> None:
        self._app, self._path = app, path
        self._headers = [(b"host", HOST.encode())]
        self._headers += [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self._parts: asyncio.Queue[bytes] = asyncio.Queue()
        self._sent = False
        self.gone = asyncio.Event()
        self.over = asyncio.Event()
        self.status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        scope = {
            "type": "http", "http_version": "1.1", "method": "GET", "path": self._path, "query_string": b"",
            "raw_path": self._path.encode(), "headers": self._headers, "scheme": "http", "root_path": "",
            "server": (HOST, 80), "client": ("127.0.0.1", 1),
            "asgi": {"version": "3.0", "spec_version": "2.3"},
        }  # fmt: skip
        await self._app(scope, self._receive, self._send)
        self.over.set()

    async def event(self) -> tuple[str, dict[str, Any], str]:
        """The next event: its kind, what it says, its id. Comments are passed over."""
        while True:
            text = await self.part()
            fields = dict(line.split(": ", 1) for line in text.splitlines() if not line.startswith(":"))
            if fields:
                return fields["event"], json.loads(fields["data"]), fields["id"]

    async def part(self) -> str:
        """The next message, comments too."""
        if not self._parts.empty():
            return self._parts.get_nowait().decode()
        async with asyncio.timeout(60):
            return (await self._parts.get()).decode()

    async def _receive(self) -> Message:
        if not self._sent:
            self._sent = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status.set_result(message["status"])
            return
        for part in message.get("body", b"").split(b"\n\n"):
            if part:
                self._parts.put_nowait(part)
