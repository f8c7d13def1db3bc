"""Which session a client of the protocol is in. It is told by the connection, never by what the client says.

On stdin and stdout there is one client, so one session. Over HTTP, in the era of the handshake, each
connection has its own, which ends with it. In the stateless era there are no connections: the token is the
client.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from sayso.core.errors import SaysoError
from sayso.core.words import visible
from sayso.doors.python.session import Session
from sayso.doors.sayso import Sayso

log = logging.getLogger("sayso")
LONGEST_NAME = 60
McpContext = ServerRequestContext["Clients", Any]


class Clients:
    """The sessions of all clients of one server."""

    def __init__(self, gate: Sayso, name: str | None = None) -> None:
        self._gate = gate
        self._name = name
        self._sessions: dict[str, Session] = {}
        self._opening = asyncio.Lock()

    async def session(self, context: McpContext) -> Session:
        """The session of the client that sent this, opened with its first call."""
        request = context.request
        if request is None:
            return await self._session("stdio", context)
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return await self._session(f"token {request.user.access_token.client_id}", context)
        return await self._session(f"connection {request.headers['mcp-session-id']}", context, ends=True)

    async def end_all(self) -> None:
        for key in list(self._sessions):
            await self._end(key)

    async def _session(self, key: str, context: McpContext, *, ends: bool = False) -> Session:
        async with self._opening:
            if key not in self._sessions:
                agent = self._name or agent_name_of(context)
                self._sessions[key] = await asyncio.to_thread(self._open, agent)
                if ends:
                    # The way the SDK names for this; it gives no public name to a connection yet.
                    ending = context.session._connection.exit_stack  # noqa: SLF001
                    ending.push_async_callback(self._end, key)
            return self._sessions[key]

    def _open(self, agent: str) -> Session:
        return self._gate.session(agent=agent, owner=self._gate.door.holder)

    async def _end(self, key: str) -> None:
        session = self._sessions.pop(key, None)
        if session is None:
            return
        try:
            await asyncio.to_thread(session.end)
        except SaysoError as error:  # the operator may have ended it before
            log.info("session %s: %s", session.id, error)


def agent_name_of(context: McpContext) -> str:
    """Return what the client calls itself, marked as such: it is shown to people, and decides nothing."""
    params = context.session.client_params
    said = "" if params is None else params.client_info.name
    return f"mcp:{visible(said[:LONGEST_NAME]) or 'client'}"
