"""MCP servers in Codex's config.toml. Only the text of a server's command is changed.

A spelling that is not understood here is left alone: the change is compared with what it should give.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any

from sayso.doors.agents.mcp_servers.found import FoundServers, StdioServer, join_command
from sayso.doors.agents.settings.json_edit import BrokenFile

ROOT = "mcp_servers"
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)
_STRING = r'(?!"""|\'\'\')(?:"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\')'
_PART = re.compile(rf"{_STRING}|#[^\n]*|[\[\]]|[^\[\]\"'#]+")


def find_toml_servers(text: str) -> FoundServers:
    """Return the servers of the file whose place in the text is certain; the rest are among the others."""
    tables = load_toml(text).get(ROOT)
    stdio, others = [], []
    for name, value in (tables if isinstance(tables, dict) else {}).items():
        words = join_command(value.get("command"), value.get("args")) if isinstance(value, dict) else None
        spans = _find_spans(text, name)
        if words is None or "command" not in spans or ("args" in value and "args" not in spans):
            others.append(name)
            continue
        start, end = min(one[0] for one in spans.values()), max(one[1] for one in spans.values())
        stdio.append(StdioServer((ROOT, name), words, start, end))
    return FoundServers(tuple(stdio), others=tuple(others))


def replace_toml_words(text: str, server: StdioServer, words: Sequence[str]) -> str:
    """Return the text with another command for this server."""
    spans = _find_spans(text, server.name)
    first, rest = json.dumps(words[0]), json.dumps(list(words[1:]))
    if "args" not in spans:
        start, end = spans["command"]
        newline = "\r\n" if "\r\n" in text else "\n"
        return f"{text[:start]}{first}{newline}args = {rest}{text[end:]}"
    for (start, end), written in sorted(((spans["command"], first), (spans["args"], rest)), reverse=True):
        text = text[:start] + written + text[end:]
    return text


def load_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BrokenFile(f"this is not TOML: {error}") from error


def set_toml_words(value: Any, server: StdioServer, words: Sequence[str]) -> None:
    table = value[ROOT][server.name]
    table["command"], table["args"] = words[0], list(words[1:])


def _find_spans(text: str, name: str) -> dict[str, tuple[int, int]]:
    """Return where the values of `command` and `args` stand, as far as they can be found."""
    spelled = "|".join(re.escape(one) for one in (name, json.dumps(name), f"'{name}'"))
    header = re.compile(
        rf"^[ \t]*\[[ \t]*{ROOT}[ \t]*\.[ \t]*(?:{spelled})[ \t]*\][ \t]*(?:#.*)?\r?$", re.MULTILINE
    )
    found = header.search(text)
    if found is None:
        return {}
    following = _TABLE.search(text, found.end())
    end = len(text) if following is None else following.start()
    spans = {"command": _find_value(text, "command", _STRING, found.end(), end)}
    begin = re.compile(r"^[ \t]*args[ \t]*=[ \t]*(?=\[)", re.MULTILINE).search(text, found.end(), end)
    spans["args"] = None if begin is None else _find_list(text, begin.end())
    return {key: span for key, span in spans.items() if span is not None}


def _find_value(text: str, key: str, shape: str, start: int, end: int) -> tuple[int, int] | None:
    found = re.compile(rf"^[ \t]*{key}[ \t]*=[ \t]*({shape})", re.MULTILINE).search(text, start, end)
    return None if found is None else found.span(1)


def _find_list(text: str, start: int) -> tuple[int, int] | None:
    """Return from this bracket to the one that closes it."""
    depth, place = 0, start
    while (part := _PART.match(text, place)) is not None:
        depth += {"[": 1, "]": -1}.get(part[0], 0)
        place = part.end()
        if depth == 0:
            return start, place
    return None
