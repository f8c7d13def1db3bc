"""Servers at an address, in a JSON file: the gateway's command takes the place of their entry.

What else the entry says stays as it is. Its headers go to the gateway in its environment, so that they stand
in no list of processes. Left out are servers of the older kind (SSE), those with a sign-in by their client,
and all of them where the extra `mcp`, which reaches them, is missing.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import msgspec

from sayso.doors.agents.mcp_servers.words import unwrap_address, wrap_address
from sayso.doors.agents.settings.json_edit import JsonNode, load_value
from sayso.wire import SERVER_HEADER

ADDRESSES = ("url", "httpUrl", "serverUrl")
_HTTP = ("http", "streamable-http", "streamableHttp", "remote")
_SIGNS_IN = frozenset(("oauth", "auth", "authProviderType"))
Entry = dict[str, Any]


class AddressServer(msgspec.Struct, frozen=True):
    """A server at an address. Its whole entry stands in the text from `start` to `end`."""

    where: tuple[str, ...]
    address: str
    entry: Entry
    start: int
    end: int

    @property
    def name(self) -> str:
        return self.where[-1]

    @property
    def words(self) -> tuple[str, ...]:
        return (self.address,)


def read_address_server(
    where: tuple[str, ...], node: JsonNode, *, url_is_sse: bool = False
) -> AddressServer | None:
    """Return the server of this entry; None if no gateway can stand in front of it."""
    entry = load_value(node)
    given = [name for name in ADDRESSES if name in entry]
    if len(given) != 1 or "command" in entry or _SIGNS_IN & entry.keys() or find_spec("mcp") is None:
        return None
    usual = "sse" if url_is_sse and given == ["url"] else "http"
    address, kind = entry[given[0]], entry.get("type", usual)
    headers = entry.get("headers", {})
    plain = isinstance(headers, dict) and all(isinstance(one, str) for one in headers.values())
    if not isinstance(address, str) or not plain or kind not in _HTTP or address.rstrip("/").endswith("/sse"):
        return None
    return AddressServer(where, address, entry, node.start, node.end) if _is_address(address) else None


def gate_entry(server: AddressServer, name: str) -> Entry:
    """Return the entry with the gateway in front of the server."""
    words = wrap_address(name, server.address)
    kept = {key: value for key, value in server.entry.items() if key not in (*ADDRESSES, "headers", "type")}
    given = server.entry.get("headers", {})
    headers = {f"{SERVER_HEADER}{number}": f"{key}: {given[key]}" for number, key in enumerate(given)}
    if server.entry.get("type") == "remote":
        environment = {"environment": headers} if headers else {}
        return {"type": "local", "command": list(words), **environment, **kept}
    kind = {"type": "stdio"} if "type" in server.entry else {}
    environment = {"env": headers} if headers else {}
    return {**kind, "command": words[0], "args": list(words[1:]), **environment, **kept}


def release_entry(entry: Entry, words: tuple[str, ...]) -> Entry:
    """Return an entry without its gateway, as far as it says itself what was there."""
    ours = ("type", "command", "args", "env", "environment")
    kept = {key: value for key, value in entry.items() if key not in ours}
    given = entry.get("environment" if entry.get("type") == "local" else "env") or {}
    pairs = [value.partition(":") for key, value in sorted(given.items()) if key.startswith(SERVER_HEADER)]
    headers = {"headers": {name.strip(): value.strip() for name, _, value in pairs}} if pairs else {}
    kinds = {"local": {"type": "remote"}, "stdio": {"type": "http"}}
    return {**kinds.get(str(entry.get("type")), {}), "url": unwrap_address(words), **headers, **kept}


def write_entry(text: str, start: int, entry: Entry) -> str:
    """Return the entry as text, indented like the line that it begins in."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    indent = line[: len(line) - len(line.lstrip())]
    newline = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(entry, indent=2, ensure_ascii=False).replace("\n", newline + indent)


def _is_address(text: str) -> bool:
    """Return whether this is an address; one that its client fills in is as well."""
    return text.startswith(("http://", "https://")) and text.isprintable() and " " not in text
