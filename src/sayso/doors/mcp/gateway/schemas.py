"""The schemas of a server's tools, as its client was last told: an approval is bound to the one it was for.

Only a digest of each is kept, and of what the server says nothing else is believed. A server that changes a
tool without telling its client is not noticed here.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from sayso.core.digest import sha256

MOST_TOOLS = 5_000
MOST_LISTS = 100
LIST = "tools/list"


class _Tool(msgspec.Struct):
    name: str = ""
    schema: Any = msgspec.field(default=None, name="inputSchema")


class _Tools(msgspec.Struct):
    tools: list[_Tool] = msgspec.field(default_factory=list)


class _Answer(msgspec.Struct):
    result: _Tools


_decode = msgspec.json.Decoder(_Answer).decode


class ToolSchemas:
    """The schemas listed most recently."""

    def __init__(self) -> None:
        self._asked: dict[object, None] = {}
        self._known: dict[str, str] = {}

    @property
    def waits(self) -> bool:
        """Return whether an answer to note is on its way."""
        return bool(self._asked)

    def note_request(self, key: object) -> None:
        """The client asks for the tools."""
        self._asked[key] = None
        while len(self._asked) > MOST_LISTS:
            del self._asked[next(iter(self._asked))]

    def note_answer(self, key: object, line: bytes) -> None:
        """The server has answered something."""
        if key not in self._asked:
            return
        del self._asked[key]
        try:
            tools = _decode(line).result.tools
        except (msgspec.MsgspecError, RecursionError):
            return
        for tool in tools[:MOST_TOOLS]:
            self._known[tool.name] = sha256(json.dumps(tool.schema, sort_keys=True).encode("ascii"))
        while len(self._known) > MOST_TOOLS:
            del self._known[next(iter(self._known))]

    def find(self, tool: str) -> str:
        """Return the digest of the tool's schema; nothing if it was never listed."""
        return self._known.get(tool, "")
