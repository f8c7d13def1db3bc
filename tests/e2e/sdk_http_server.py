"""The MCP server of `sdk_server.py` at an address on this machine: `sdk_http_server.py FOLDER [TOKEN]`.

It prints its port, and lets nobody in who does not show the token. `grow` gives it another tool, `later`, and
`ask` wants to know something from the user first.
"""

from __future__ import annotations

import socket
import sys
from typing import Annotated

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.e2e import sdk_server

server: MCPServer = sdk_server.server


class Answer(BaseModel):
    """What the user is asked for."""

    word: str


@server.tool()
async def grow(name: str, context: Context) -> str:
    """Offer one more tool from now on."""
    server.add_tool(sdk_server.look, name="later")
    await context.session.send_tool_list_changed()
    return "grown"


async def _ask_word() -> Elicit[Answer]:
    return Elicit("Which word?", Answer)


@server.tool()
async def ask(name: str, said: Annotated[Answer, Resolve(_ask_word)]) -> str:
    """Ask the user for a word, and write a file of that name."""
    return sdk_server.look(said.word)


def behind_token(app: ASGIApp, token: str) -> ASGIApp:
    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        shown = dict(scope.get("headers", ())).get(b"authorization", b"").decode()
        if scope["type"] == "http" and token and shown != f"Bearer {token}":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    return check


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        app = behind_token(server.streamable_http_app(), sys.argv[2] if len(sys.argv) > 2 else "")
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
