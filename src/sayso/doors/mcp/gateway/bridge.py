"""A server at an address, as a program on stdin and stdout: `python -m sayso.doors.mcp.gateway.bridge URL`.

The gateway starts it in the place of a server's command, so a call is judged before it comes here. Nothing is
judged here, and each message goes out once: a server that cannot be reached is an error for whoever asked.
Whoever asked something that was sent, and that no answer comes to, is told that nobody knows how it ended.

- Headers of the server's configuration are in the environment, each as SAYSO_HEADER_NUMBER="Name: value".
- In the stateless era a request says in headers what it is. They are made here from the message itself.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from functools import partial
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
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from sayso.doors.mcp.gateway.messages import (
    INVALID,
    TOOLS_CALL,
    VERSION,
    MessageId,
    Refused,
    answer_broken_off,
    answer_refused,
    read_server_line,
)
from sayso.doors.mcp.stdio import read_lines, take_stdio
from sayso.gate.decoding import decode_json
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


NEVER_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)
STREAM = "text/event-stream"


class _Asked(msgspec.Struct):
    id: MessageId | None = None
    method: str = ""


class PatientClient(httpx2.AsyncClient):
    """For it a server that cannot be reached is one that is out of order: the other calls go on.

    It knows which requests were sent and have no answer from their server: an error for one of those is not
    the server's word. A request is one of them until the opposite is certain.
    """

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self._unanswered: set[tuple[type, MessageId]] = set()

    def was_broken_off(self, message: JSONRPCMessage) -> bool:
        """Return whether this answers a request that was sent, and no word of its server is known."""
        if not isinstance(message, JSONRPCResponse | JSONRPCError) or message.id is None:
            return False
        key = (type(message.id), message.id)
        unanswered = key in self._unanswered
        self._unanswered.discard(key)
        return unanswered and isinstance(message, JSONRPCError)

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        key = _find_key(request)
        if key is not None:
            self._unanswered.add(key)
        try:
            response = await super().send(request, **how)
            if not _is_stream(response):
                await response.aread()
        except (httpx2.RequestError, OSError) as error:
            tell(f"{request.url.copy_with(query=None)}: {str(error) or type(error).__name__}")
            if isinstance(error, NEVER_SENT) and key is not None:
                self._unanswered.discard(key)
            return httpx2.Response(502, request=request)
        if key is not None and _is_stream(response):
            self._unanswered.discard(key)
            response.stream = WatchedStream(response.stream, partial(self._unanswered.add, key))
        elif key is not None and _is_servers_no(response):
            self._unanswered.discard(key)
        return response


class WatchedStream(httpx2.AsyncByteStream):
    """A server's stream. Whoever has the answer closes it: if it ends by itself, there was none."""

    def __init__(self, stream: Any, end: Callable[[], None]) -> None:
        self._stream, self._end = stream, end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._stream:
                yield part
        except Exception:
            self._end()
            raise
        self._end()

    async def aclose(self) -> None:
        await self._stream.aclose()


def _find_key(request: httpx2.Request) -> tuple[type, MessageId] | None:
    """Return the id of the request that is sent, with its type; None if this is something else."""
    try:
        asked = decode_json(request.content, _Asked)
    except (msgspec.MsgspecError, httpx2.RequestNotRead):
        return None
    return (type(asked.id), asked.id) if asked.id is not None and asked.method else None


def _is_stream(response: httpx2.Response) -> bool:
    kind = response.headers.get("content-type", "")
    return response.status_code == 200 and kind.lower().startswith(STREAM)


def _is_servers_no(response: httpx2.Response) -> bool:
    """Return whether the server refuses the request, or says itself that it failed."""
    if 300 <= response.status_code < 500:
        return True
    said = read_server_line(response.content)
    return said is not None and isinstance(said.error, dict)


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
        answers = asyncio.ensure_future(_carry_answers(incoming, wire[1], eras, http))
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


async def _carry_answers(incoming: Any, out: int, eras: Eras, http: PatientClient) -> None:
    async for found in incoming:
        if isinstance(found, Exception):  # of no request: there is nobody to tell
            tell(str(found))
            continue
        message = found.message
        eras.note_answer(message)
        if http.was_broken_off(message):
            await _write(out, answer_broken_off(message.id))
        else:
            await _write(out, message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")


def _refuse(line: bytes) -> bytes:
    """Answer what is not a message of the protocol, if it is a request by its id."""
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
