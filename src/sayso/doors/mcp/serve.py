"""Serve a gate's capabilities over MCP, on stdin and stdout or over HTTP, to clients of either era."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import anyio
import mcp_types as types
import msgspec
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from sayso import __version__
from sayso.doors.mcp.clients import Clients, McpContext
from sayso.doors.mcp.elicitation import AskedClients, Elicitation
from sayso.doors.mcp.stdio import read_lines
from sayso.doors.mcp.tokens import Tokens
from sayso.doors.mcp.tools import TOOLS, AgentTool, ToolAnswer, describe_run, use_tool
from sayso.doors.sayso import Sayso

EVERY = 2.0
"""Seconds between two signs of life while a call is not finished."""
THREADS = 64  # a function that waits for a person in the middle of its work holds one meanwhile
RESULT = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": ["ok", "denied", "blocked", "timeout", "error"]},
        "value": {"description": "What the capability returned."},
        "operation_id": {"type": "string"},
        "reason": {"type": "string"},
        "retry_with": {"type": "string"},
        "ran": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["status"],
}


def serve_stdio(gate: Sayso, wire: tuple[int, int], *, name: str | None = None, elicit: bool = False) -> None:
    """Serve the one client at the other end, until it goes or the process is told to stop."""
    _until_stopped(gate, lambda: _serve_on_stdio(make_server(gate, name, elicit=elicit), wire))


def serve_http(
    gate: Sayso,
    listener: socket.socket,
    tokens: list[str],
    *,
    name: str | None = None,
    elicit: bool = False,
) -> None:
    """Serve every client that has a token, until the process is told to stop."""
    from sayso.doors.mcp.http import serve_on_http

    _until_stopped(
        gate, lambda: serve_on_http(make_server(gate, name, elicit=elicit), listener, Tokens(tokens))
    )


def make_server(gate: Sayso, name: str | None = None, *, elicit: bool = False) -> Server[Clients]:
    """The server of this gate. `name` is what clients are called, instead of what they call themselves.

    With `elicit`, a client that shows forms asks its own user as well.
    """
    asked = AskedClients()
    if elicit:
        gate.door.asker.attach(Elicitation(asked.find, asked.any))

    @asynccontextmanager
    async def living(_: object) -> AsyncIterator[Clients]:
        clients = Clients(gate, name)
        try:
            yield clients
        finally:
            with anyio.CancelScope(shield=True):
                await clients.end_all()

    async def list_tools(context: McpContext, params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_describe_tool(gate, name, tool) for name, tool in TOOLS.items()])

    async def call_tool(context: McpContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r}")
        session = await context.lifespan_context.session(context)
        asked.add(session.id, context)
        told = await _with_progress(context, use_tool(gate, session, tool, params.arguments or {}))
        return _result(told)

    return Server(
        "sayso",
        version=__version__,
        lifespan=living,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda name: TOOLS[name].schema if name in TOOLS else None,
    )


async def _with_progress(context: McpContext, work: Coroutine[Any, Any, ToolAnswer]) -> ToolAnswer:
    """The outcome of the work, with a sign of life now and then to who asked for it.

    The work is a task of its own, so that the client's going away reaches it once, as a cancellation.
    """
    task, begun = asyncio.ensure_future(work), time.monotonic()
    try:
        while not (await asyncio.wait({task}, timeout=EVERY))[0]:
            passed = round(time.monotonic() - begun, 1)
            await context.session.report_progress(passed, message="not finished; a person may have to answer")
    finally:
        task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({task})
    return task.result()


def _describe_tool(gate: Sayso, name: str, tool: AgentTool) -> types.Tool:
    return types.Tool(
        name=name,
        description=describe_run(gate) if name == "run" else tool.about,
        input_schema=tool.schema,
        output_schema=None if tool.reads_only else RESULT,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only, destructive_hint=not tool.reads_only, open_world_hint=True
        ),
    )


def _result(told: ToolAnswer) -> types.CallToolResult:
    text = msgspec.json.encode(told)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text.decode())],
        structured_content=msgspec.json.decode(text),
        is_error=told.get("status") == "error",
    )


async def _serve_on_stdio(server: Server[Clients], wire: tuple[int, int]) -> None:
    with open(wire[1], "w", encoding="utf-8", closefd=False) as out:  # noqa: ASYNC230  opening takes no time
        streams = stdio_server(cast(Any, read_lines(wire[0])), anyio.wrap_file(out))
        try:
            async with streams as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
        except* BrokenPipeError:  # the client went away while something was on its way to it
            out.detach()


def _until_stopped(gate: Sayso, serve: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Serve; then end what is open, whichever way it came to an end."""
    try:
        asyncio.run(_stoppable(serve()))
    finally:
        gate.close()


async def _stoppable(serving: Coroutine[Any, Any, None]) -> None:
    """A signal to stop cancels the serving, and is not an error."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(THREADS, thread_name_prefix="sayso-mcp"))
    task = asyncio.ensure_future(serving)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(partial(task.cancel)))
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()
