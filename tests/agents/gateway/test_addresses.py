"""MCP servers at an address, in the settings of their clients: behind the gateway, and back again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sayso.doors.agents.mcp_servers.gating import plan_gating, plan_release, read_servers
from sayso.doors.agents.mcp_servers.places import ServerFile
from sayso.doors.agents.mcp_servers.words import name_servers, unwrap_address, wrap_address
from sayso.doors.agents.settings.changes import apply_changes
from tests.support.rows import each_row

URL = "https://mcp.example.org/mcp"
KEY = {"Authorization": "Bearer ${TOKEN}", "X-Team": "a: b"}
FILES = {
    "one line": f'{{"mcpServers": {{"a": {{"url": "{URL}"}}}}}}',
    "a kind": json.dumps({"mcpServers": {"a": {"type": "http", "url": URL, "headers": KEY}}}, indent=2),
    "comments": f'{{"servers": {{\n\t"a": {{ // mine\n\t\t"url": "{URL}", /* x */ "disabled": false,}}}}}}',
    "carriage returns": f'{{\r\n  "mcpServers": {{\r\n    "a": {{"httpUrl": "{URL}", "timeout": 5}}}}}}\r\n',
    "of another client": f'{{"mcpServers": {{"a": {{"serverUrl": "{URL}", "disabledTools": ["x"]}}}}}}',
    "opencode": json.dumps({"mcp": {"a": {"type": "remote", "url": URL, "headers": KEY, "enabled": True}}}),
    "a command too": f'{{"mcpServers": {{"a": {{"url": "{URL}"}}, "b": {{"command": "npx"}}}}}}',
}


def a_file(folder: Path, text: str) -> ServerFile:
    path = folder / "mcp.json"
    path.write_bytes(text.encode())
    return ServerFile(path, "Somebody")


def entry_of(file: ServerFile) -> dict[str, Any]:
    """What a client reads of the server, once it is gated."""
    (found,) = (one for one in read_servers(file).stdio if one.name == "a")
    node = json.loads(file.path.read_text())
    for name in found.where:
        node = node[name]
    assert isinstance(node, dict)
    return node


@each_row(("name", "text"), FILES.items(), ids=FILES.keys())
def test_an_entry_is_gated_once_and_restored_letter_by_letter(tmp_path: Path, name: str, text: str) -> None:
    file = a_file(tmp_path, text)
    plan = plan_gating(file)
    apply_changes([plan.change])
    found = read_servers(file)
    assert not found.addresses
    assert wrap_address("a", URL) in [one.words for one in found.stdio]
    assert not plan_gating(file).change.is_needed
    apply_changes([plan_release(file, plan.gated).change])
    assert file.path.read_bytes() == text.encode()


@each_row(("name", "text"), FILES.items(), ids=FILES.keys())
def test_without_a_record_the_address_and_its_headers_are_put_back(
    tmp_path: Path, name: str, text: str
) -> None:
    file = a_file(tmp_path, text)
    (before,) = read_servers(file).addresses
    apply_changes([plan_gating(file).change])
    apply_changes([plan_release(file, ()).change])
    (after,) = read_servers(file).addresses
    assert (after.where, after.address) == (before.where, before.address)
    assert after.entry.get("headers") == before.entry.get("headers")


def test_headers_go_into_the_environment_and_not_into_the_command(tmp_path: Path) -> None:
    file = a_file(tmp_path, FILES["a kind"])
    apply_changes([plan_gating(file).change])
    entry = entry_of(file)
    assert (entry["type"], entry["command"]) == ("stdio", sys.executable)
    assert "TOKEN" not in json.dumps(entry["args"])
    assert list(entry["env"].values()) == ["Authorization: Bearer ${TOKEN}", "X-Team: a: b"]


def test_what_else_the_entry_says_stays(tmp_path: Path) -> None:
    file = a_file(tmp_path, FILES["opencode"])
    apply_changes([plan_gating(file).change])
    entry = entry_of(file)
    assert (entry["type"], entry["enabled"]) == ("local", True)
    assert unwrap_address(entry["command"]) == URL
    assert len(entry["environment"]) == 2


def test_an_entry_that_was_changed_since_keeps_the_change(tmp_path: Path) -> None:
    file = a_file(tmp_path, FILES["a kind"])
    plan = plan_gating(file)
    apply_changes([plan.change])
    file.path.write_text(file.path.read_text().replace(URL, f"{URL}2"))
    apply_changes([plan_release(file, plan.gated).change])
    expected = {"type": "http", "url": f"{URL}2", "headers": KEY}
    assert json.loads(file.path.read_text()) == {"mcpServers": {"a": expected}}


def test_no_two_servers_have_one_name_in_the_policy(tmp_path: Path) -> None:
    servers = {"my.server": {"url": URL}, "my server": {"command": "1"}, "my_server": {"command": "2"}}
    file = a_file(tmp_path, json.dumps({"mcpServers": servers}))
    called = read_servers(file).called
    assert len(set(called.values())) == len(called)
    assert called["my_server"] == "my_server"
    apply_changes([plan_gating(file).change])
    assert read_servers(file).called == called
    assert {one.name: one.words[len(one.words) - 3] for one in read_servers(file).stdio} == called
    assert not plan_gating(file).change.is_needed


def test_a_server_keeps_its_name_when_another_comes() -> None:
    alone, both = name_servers(["my_server"]), name_servers(["my_server", "my.server"])
    assert both["my_server"] == alone["my_server"] == "my_server"
    assert name_servers(["my.server", "my server"])["my.server"] == both["my.server"]


def test_where_an_address_is_of_the_older_kind_by_default_only_others_are_gated(tmp_path: Path) -> None:
    servers = {"a": {"url": URL}, "b": {"httpUrl": URL}, "c": {"url": URL, "type": "http"}}
    file = a_file(tmp_path, json.dumps({"mcpServers": servers}))
    found = read_servers(ServerFile(file.path, "Gemini CLI", "gemini", url_is_sse=True))
    assert [one.name for one in found.addresses] == ["b", "c"]
    assert found.others == ("a",)
