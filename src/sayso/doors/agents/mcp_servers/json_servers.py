"""MCP servers in a JSON file, with or without comments; only the text of their commands is changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sayso.doors.agents.mcp_servers.addresses import ADDRESSES, read_address_server, write_entry
from sayso.doors.agents.mcp_servers.found import FoundServers, StdioServer, join_command
from sayso.doors.agents.settings import json_edit
from sayso.doors.agents.settings.json_edit import JsonNode

ROOTS = (("mcpServers",), ("servers",), ("projects", "*", "mcpServers"), ("mcp", "servers"), ("mcp",))
"""Where clients keep their servers: most; VS Code; Claude Code by project; VS Code's settings; opencode."""


def find_json_servers(text: str, *, url_is_sse: bool = False) -> FoundServers:
    """Return the servers of the file; refuse one that cannot be read."""
    if not text.strip():
        return FoundServers()
    root = json_edit.parse_text(text)
    stdio, addresses, others = {}, {}, []
    for where, node in _list_objects(root):
        server = _read_server(where, node)
        address = read_address_server(where, node, url_is_sse=url_is_sse)
        if server is not None:
            stdio[where] = server
        elif address is not None:
            addresses[where] = address
        elif set(ADDRESSES) & set(node.names):
            others.append(where[-1])
    return FoundServers(tuple(stdio.values()), tuple(addresses.values()), tuple(others))


def replace_json_entry(text: str, where: tuple[str, ...], entry: Any) -> str:
    """Return the text with another entry at this place."""
    node = _follow(json_edit.parse_text(text), where)
    return _put(text, node, write_entry(text, node.start, entry))


def find_json_entry(text: str, where: tuple[str, ...]) -> tuple[int, int]:
    """Return where the entry stands."""
    node = _follow(json_edit.parse_text(text), where)
    return node.start, node.end


def replace_json_words(text: str, server: StdioServer, words: Sequence[str]) -> str:
    """Return the text with another command for this server."""
    node = _follow(json_edit.parse_text(text), server.where)
    command, args = _member(node, "command"), _member(node, "args")
    if command is None:
        return text
    if command.kind == "array":
        return _put(text, command, json.dumps(list(words), ensure_ascii=False))
    first, rest = json.dumps(words[0], ensure_ascii=False), json.dumps(list(words[1:]), ensure_ascii=False)
    if args is None:
        return _put(text, command, f'{first}, "args": {rest}')
    for one, written in sorted(((command, first), (args, rest)), key=lambda pair: -pair[0].start):
        text = _put(text, one, written)
    return text


def load_json(text: str) -> Any:
    return json_edit.load_value(json_edit.parse_text(text))


def set_json_words(value: Any, server: StdioServer, words: Sequence[str]) -> None:
    """Do the same to the value of the file, to compare with."""
    for name in server.where:
        value = value[name]
    if isinstance(value["command"], list):
        value["command"] = list(words)
    else:
        value["command"], value["args"] = words[0], list(words[1:])


def _list_objects(root: JsonNode) -> Iterator[tuple[tuple[str, ...], JsonNode]]:
    for path in ROOTS:
        for where, node in _spread(root, path, ()):
            for name, item in zip(node.names, node.items, strict=True):
                if item.kind == "object":
                    yield (*where, name), item


def _spread(
    node: JsonNode, path: tuple[str, ...], where: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], JsonNode]]:
    """Return every object at this path, where a star stands for every name."""
    if node.kind != "object":
        return
    if not path:
        yield where, node
        return
    for name, item in zip(node.names, node.items, strict=True):
        if path[0] in ("*", name):
            yield from _spread(item, path[1:], (*where, name))


def _read_server(where: tuple[str, ...], node: JsonNode) -> StdioServer | None:
    command, args = _member(node, "command"), _member(node, "args")
    if command is None:
        return None
    words = join_command(json_edit.load_value(command), None if args is None else json_edit.load_value(args))
    if words is None:
        return None
    parts = [command] if args is None else [command, args]
    return StdioServer(where, words, min(one.start for one in parts), max(one.end for one in parts))


def _member(node: JsonNode, name: str) -> JsonNode | None:
    return node.items[node.names.index(name)] if name in node.names else None


def _follow(node: JsonNode, where: tuple[str, ...]) -> JsonNode:
    for name in where:
        node = node.items[node.names.index(name)]
    return node


def _put(text: str, node: JsonNode, written: str) -> str:
    return text[: node.start] + written + text[node.end :]
