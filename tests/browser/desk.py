"""A service on a free port with agents that ask, for tests that look at its page."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from sayso.core.model import Declaration, Operation
from sayso.gate.deciding.authorize import Bundle
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.start import start_call
from sayso.gate.people.browsers import make_link
from sayso.gate.sessions.sessions import open_session
from sayso.reading.resolve import operations_for
from sayso.service.app import make_app
from sayso.service.http.state import ServiceSettings, ServiceState
from sayso.service.pages import page_routes
from sayso.service.provider_pages import provider_routes
from sayso.service.providers.provider import make_providers
from sayso.service.providers.settings_file import ProviderSettings
from sayso.service.serve import Address, open_sockets

PING = 60.0
"""Seconds between heartbeats: so many that a page whose clock a test moves on does not miss two."""
SLOW_SERVICE = float(os.environ.get("SLOW_SERVICE", "0"))
"""Seconds that every answer takes, but not the events: shows which tests read a page before it is drawn."""


class Desk(msgspec.Struct, frozen=True):
    """The service, and the gate it stands on: what a test asks here appears on the page."""

    gate: Gate
    url: str
    running: ServiceState | None = None

    def link(self, name: str = "ana") -> str:
        return f"{self.url}/sign-in#{make_link(self.gate, name)}"

    def session(self, agent: str = "claude-code", workspace: str = "/home/ana/sayso-demo") -> str:
        return open_session(self.gate, agent=agent, owner="host", workspace=workspace)

    def ask(
        self,
        session: str,
        *operations: str,
        command: str | None = None,
        tool: str = "shell",
        args: dict[str, Any] | None = None,
        agent: str = "claude-code",
        bundle: Bundle | None = None,
        **where: Any,
    ) -> str:
        """An agent wants to do this; the question that opens."""
        given = args if args is not None else {"command": command}
        call = make_call(tool, given, command=command, folder="/home/ana/sayso-demo", **where)
        named = _named(operations)
        declared = Declaration(tuple(named), "host")
        request = make_request(call, named, session=session, agent=agent, declared=declared)
        attempt = start_call(self.gate, request, holder="desk", bundle=bundle)
        assert attempt.question is not None, attempt.record
        return attempt.question

    def call(self, session: str, tool: str, args: dict[str, Any], command: str | None = None) -> str:
        """An agent calls a tool, and the policy reads what that does; the question that opens."""
        where = {"folder": "/home/ana/sayso-demo", "workspace": "/home/ana/sayso-demo"}
        read = operations_for(tool, args, self.gate.policy, home="/home/ana", **where)
        call = make_call(tool, args, command=command, **where)
        request = make_request(call, read, session=session, agent="claude-code")
        attempt = start_call(self.gate, request, holder="desk")
        assert attempt.question is not None, attempt.record
        return attempt.question

    def edit(self, session: str, path: str = "src/parse.py") -> str:
        return self.ask(session, "files.edit", tool="Edit", args={"file_path": path}, target=path)

    def push(self, session: str) -> str:
        return self.ask(session, "git.push_force", command="git push --force origin main")


@contextmanager
def serving(gate: Gate, providers: Sequence[ProviderSettings] = ()) -> Iterator[Desk]:
    """The service in a thread of this process, until the test is over."""
    gate = msgspec.structs.replace(gate, providers={one.name: one.identity_provider for one in providers})
    held = ExitStack()
    sockets = open_sockets(Address(port=0), held)
    address = Address(port=sockets[0].getsockname()[1])
    settings = ServiceSettings(origins=address.origins, ping=PING)
    pages = [*page_routes(gate), *provider_routes(gate, make_providers(providers), address.origins)]
    app = make_app(gate, hosts=address.names, pages=pages, settings=settings)
    server = uvicorn.Server(
        uvicorn.Config(slowed(app), log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": list(sockets)})
    thread.start()
    try:
        yield Desk(gate, address.page, app.state.running)
    finally:
        server.should_exit = True
        thread.join()
        held.close()


def slowed(app: ASGIApp) -> ASGIApp:
    """The same service, and as slow as SLOW_SERVICE says."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].startswith("/v1/") and scope["path"] != "/v1/events":
            await asyncio.sleep(SLOW_SERVICE)
        await app(scope, receive, send)

    return answer if SLOW_SERVICE else app


def _named(operations: Sequence[str]) -> list[Operation]:
    return [Operation(name) for name in operations]
