"""A server at an address, as a program on stdin and stdout: `python -m sayso.doors.mcp.gateway.bridge URL`.

The gateway starts it in the place of a server's command, so a call is judged before it comes here. Nothing is
judged here, and each message goes out once: a server that cannot be reached is an error for whoever asked.

- Headers of the server's configuration are in the environment, each as SAYSO_HEADER_NUMBER="Name: value".
- In the stateless era a request says in headers what it is. They are made here from the message itself.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import httpx2
import msgspec
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from sayso.doors.mcp.gateway.messages import INVALID, TOOLS_CALL, VERSION, Refused, answer_refused
from sayso.doors.mcp.stdio import read_lines, take_stdio
from sayso.wire import SERVER_HEADER

LONGEST_EVENT = 64 * 1024 * 1024
_turn = asyncio.Lock()
CONNECTING = 30.0
"""Seconds to connect and to send. An answer may take as long as the client waits for it."""


class Eras:
    """The headers a message needs: its version, and in the stateless era its method and name."""

    def __init__(self) -> None:
        self._asked: dict[object, str] = {}
        self._agreed = ""
        self._in_headers: dict[str, dict[tuple[str, ...], str]] = {}
        """Of each tool that was listed, the arguments that go into headers too."""

    def find_headers(self, message: JSONRPCMessage) -> dict[str, str]:
        """Return the headers for a message of the client."""
        method, params = getattr(message, "method", None), getattr(message, "params", None) or {}
        if isinstance(message, JSONRPCRequest) and method in ("initialize", "tools/list"):
            self._asked[message.id] = message.method
        version = (params.get("_meta") or {}).get(VERSION)
        if not isinstance(method, str) or not isinstance(version, str):
            return {MCP_PROTOCOL_VERSION_HEADER: self._agreed} if self._agreed else {}
        headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: method}
        name = params.get(NAME_BEARING_METHODS.get(method, ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
            if method == TOOLS_CALL:
                headers |= mcp_param_headers(self._in_headers.get(name, {}), params.get("arguments") or {})
        return headers

    def note_answer(self, message: JSONRPCMessage) -> None:
        """Learn from an answer which version was agreed on, and which tools want arguments in headers."""
        if not isinstance(message, JSONRPCResponse):
            return
        method = self._asked.pop(message.id, "")
        if method == "initialize":
            self._agreed = str(message.result.get("protocolVersion", ""))
        for tool in message.result.get("tools", ()) if method == "tools/list" else ():
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                self._in_headers[tool["name"]] = x_mcp_header_map(tool.get("inputSchema"))


class PatientClient(httpx2.AsyncClient):
    """For it a server that cannot be reached is one that is out of order: the other calls go on."""

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        try:
            return await super().send(request, **how)
        except (httpx2.TransportError, OSError) as error:
            tell(f"{request.url.copy_with(query=None)}: {str(error) or type(error).__name__}")
            return httpx2.Response(502, request=request)


def read_headers(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the headers of the server's configuration."""
    found = []
    for name in sorted(environment):
        if name.startswith(SERVER_HEADER):
            key, colon, value = environment[name].partition(":")
            if not colon or not key.strip():
                raise ValueError(f"{name} is not a header")
            found.append((key.strip(), value.strip()))
    return found


async def run_bridge(url: str, wire: tuple[int, int]) -> None:
    """Carry messages both ways until the client's side is closed."""
    eras = Eras()
    async with (
        PatientClient(
            headers=read_headers(os.environ), timeout=httpx2.Timeout(CONNECTING, read=None)
        ) as http,
        streamable_http_client(url, http_client=http, max_sse_event_size=LONGEST_EVENT) as (
            incoming,
            outgoing,
        ),
    ):
        answers = asyncio.ensure_future(_carry_answers(incoming, wire[1], eras))
        async for line in read_lines(wire[0]):
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValidationError:
                await _write(wire[1], _refuse(line))
                continue
            headers = eras.find_headers(message)
            await outgoing.send(SessionMessage(message, ClientMessageMetadata(headers=headers)))
        answers.cancel()
        with suppress(asyncio.CancelledError):
            await answers


async def _carry_answers(incoming: Any, out: int, eras: Eras) -> None:
    async for found in incoming:
        if isinstance(found, Exception):  # of no request: there is nobody to tell
            tell(str(found))
            continue
        eras.note_answer(found.message)
        await _write(out, found.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")


def _refuse(line: bytes) -> bytes:
    """Answer what is no message of the protocol, if it is a request by its id."""
    known = msgspec.json.decode(line)
    if not isinstance(known, dict) or "id" not in known or "method" not in known:
        return b""
    return answer_refused(Refused(INVALID, "this is not a message of the protocol", known["id"]))


async def _write(out: int, line: bytes) -> None:
    async with _turn:
        await asyncio.to_thread(_write_all, out, line)


def _write_all(out: int, line: bytes) -> None:
    while line:
        line = line[os.write(out, line) :]


def tell(what: str) -> None:
    sys.stderr.write(f"Sayso: {what}\n")


if __name__ == "__main__":
    asyncio.run(run_bridge(sys.argv[1], take_stdio()))
