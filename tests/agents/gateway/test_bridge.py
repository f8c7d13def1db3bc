"""The bridge to a server at an address: what it says in headers is what the message says."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from mcp.shared.inbound import classify_inbound_request
from mcp_types import CLIENT_CAPABILITIES_META_KEY, jsonrpc_message_adapter

from sayso.doors.mcp.gateway.bridge import Eras, PatientClient, read_headers
from sayso.doors.mcp.gateway.messages import VERSION
from tests.agents.gateway.place import request, tool_call
from tests.support.rows import each_row

META: dict[str, Any] = {"_meta": {VERSION: "2026-07-28", CLIENT_CAPABILITIES_META_KEY: {}}}
MESSAGES = {
    "a call": tool_call(1, **META),
    "a call of a tool with an odd name": tool_call(1, "é\r\nX-Evil: 1", **META),
    "a list": request(1, "tools/list", **META),
    "a prompt": request(1, "prompts/get", name="p", **META),
    "a resource": request(1, "resources/read", uri="file:///x y", **META),
}


def headers_of(eras: Eras, message: dict[str, Any]) -> dict[str, str]:
    return eras.find_headers(jsonrpc_message_adapter.validate_python(message))


@each_row("message", MESSAGES.values(), ids=MESSAGES.keys())
def test_a_server_of_the_stateless_era_finds_message_and_headers_alike(message: dict[str, Any]) -> None:
    headers = headers_of(Eras(), message)
    assert all(value.isprintable() and value.isascii() for value in headers.values())
    route = classify_inbound_request(message, headers=headers)
    assert getattr(route, "protocol_version", None) == "2026-07-28", route


def test_after_a_handshake_every_message_names_the_version_that_was_agreed() -> None:
    eras = Eras()
    assert headers_of(eras, request(1, "initialize", protocolVersion="2025-11-25")) == {}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18"}}
    eras.note_answer(jsonrpc_message_adapter.validate_python(answer))
    assert headers_of(eras, tool_call(2)) == {"mcp-protocol-version": "2025-06-18"}


def test_arguments_go_into_headers_as_the_listed_tool_wants_them() -> None:
    eras = Eras()
    headers_of(eras, request(1, "tools/list", **META))
    schema = {"type": "object", "properties": {"path": {"type": "string", "x-mcp-header": "Path"}}}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "touch", "inputSchema": schema}]}}
    eras.note_answer(jsonrpc_message_adapter.validate_python(answer))
    assert headers_of(eras, tool_call(2, **META))["Mcp-Param-Path"] == "a"
    assert "Mcp-Param-Path" not in headers_of(eras, tool_call(3, "other", **META))


def test_headers_of_the_configuration_are_read_whole() -> None:
    given = {"SAYSO_HEADER_0": "Authorization: Bearer a:b", "SAYSO_HEADER_1": "X-A:", "OTHER": "X: y"}
    assert read_headers(given) == [("Authorization", "Bearer a:b"), ("X-A", "")]
    with pytest.raises(ValueError, match="SAYSO_HEADER_0"):
        read_headers({"SAYSO_HEADER_0": "no header"})


def test_a_server_that_cannot_be_reached_is_out_of_order_and_is_asked_once() -> None:
    tries: list[str] = []

    def refuse(sent: httpx2.Request) -> httpx2.Response:
        tries.append(sent.method)
        raise httpx2.ConnectError("refused")

    async def post() -> int:
        async with PatientClient(transport=httpx2.MockTransport(refuse)) as client:
            return (await client.post("http://127.0.0.1:9/mcp")).status_code

    assert asyncio.run(post()) == 502
    assert tries == ["POST"]
