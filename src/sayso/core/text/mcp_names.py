"""The names of a tool of an MCP server: one for the policy, and those under which hosts call it.

The canonical name is `mcp__SERVER__TOOL`. Hosts also write `mcp_SERVER_TOOL`, `SERVER_TOOL`, `SERVER-TOOL`,
or `MCP:TOOL`, which does not name the server. Such a name does not say where the server's name ends, so it is
compared at every place where that may end.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

CANONICAL, FLAT, UNNAMED, BARE = "mcp__", "mcp_", "MCP:", ""
_KEYED = "0mcp0"
"""Cline writes it between a key of its own for the server and the tool."""
_SEPARATOR = re.compile(r"[\s_./:-]+")
_WILD = frozenset("*?[")
_GAPS = {CANONICAL: "__", FLAT: "_", BARE: "_"}
_LONGEST = 128
"""Characters of a name that is split. Hosts cut theirs at 64, so a longer one is no tool that is listed."""
_CUT = 13
"""VS Code keeps as many characters of a server's name, and adds a number if two names are then the same."""


class McpName(msgspec.Struct, frozen=True):
    """A name as its host may mean it: each server and tool that it may consist of. Server None: not named."""

    prefix: str
    pairs: tuple[tuple[str | None, str], ...]


class Twin(msgspec.Struct, frozen=True):
    """Another name of a tool. `speaks_for`: a call is judged by it alone if its own name is not listed."""

    name: str
    speaks_for: bool


def name_mcp_tool(server: str, tool: str) -> str:
    """Return the canonical name. Without a server, the name that stands for a tool of any."""
    return f"{CANONICAL}{server}__{tool}" if server else f"{UNNAMED}{tool}"


def clean_name(name: str) -> str:
    """Return the name as it can stand in mcp__SERVER__TOOL: two underscores would end it too early."""
    return re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9_-]", "_", name)).strip("_") or "server"


def is_spelled_mcp(name: str) -> bool:
    """Return whether the name says that it is a tool of an MCP server."""
    return name.startswith((FLAT, UNNAMED)) or _KEYED in name


@lru_cache(maxsize=1024)
def read_mcp_name(name: str) -> McpName:
    """Return the servers and tools that this name may mean."""
    if name.startswith(UNNAMED):
        rest = name.removeprefix(UNNAMED).strip()
        return McpName(UNNAMED, ((None, rest), *_split(rest)))
    if _KEYED in name:
        return McpName(UNNAMED, ((None, name.partition(_KEYED)[2]),))
    if name.startswith(CANONICAL):
        server, mark, tool = name.removeprefix(CANONICAL).partition("__")
        if server and tool:
            return McpName(CANONICAL, ((server, tool),))
        if not mark and is_wild(server):
            return McpName(CANONICAL, ((server, "*"),))
    prefix = FLAT if name.startswith(FLAT) else BARE
    rest = name.removeprefix(prefix).lstrip("_")
    return McpName(prefix, tuple(_split(rest)) or ((("*", rest),) if is_wild(rest) and prefix else ()))


def is_wild(name: str) -> bool:
    """Return whether a listed name is a pattern."""
    return not _WILD.isdisjoint(name)


def find_twins(tool: str, listed: Iterable[str]) -> tuple[Twin, ...]:
    """Return the names by which these listed ones, or patterns, are about the same MCP tool as `tool`.

    A pattern gives the names that it is asked about, but not those that are listed themselves.
    """
    called, others = read_mcp_name(tool), [name for name in listed if name != tool]
    exact = [twin for name in others if not is_wild(name) for twin in _match(called, name)]
    known = {_key(twin.name) for twin in exact}
    asked = (twin for name in others if is_wild(name) for twin in _match(called, name))
    return tuple(
        dict.fromkeys((*exact, *(one for one in asked if one.name != tool and _key(one.name) not in known)))
    )


def _key(name: str) -> tuple[object, ...]:
    read = read_mcp_name(name)
    return read.prefix, *((_fold(server or ""), _fold(tool)) for server, tool in read.pairs)


def _match(called: McpName, name: str) -> Iterator[Twin]:
    listed = read_mcp_name(name)
    prefixes = {called.prefix, listed.prefix}
    if BARE in prefixes and prefixes.isdisjoint((CANONICAL, FLAT)):
        return  # neither says that it is a server's, or the one names none and the other may have none
    for server, tool in called.pairs:
        for other, pattern in listed.pairs:
            if _fits(tool, pattern) and _may_be_server(called.prefix, server, other):
                speaks = _speaks_for(called, listed, server, other, pattern)
                yield Twin(_fill(name, listed.prefix, server, other, tool), speaks)


def _fits(name: str, pattern: str) -> bool:
    """Return whether a name fits, as it is written or as hosts spell it."""
    return fnmatchcase(name, pattern) or fnmatchcase(_fold(name), _fold(pattern))


def _speaks_for(called: McpName, listed: McpName, server: str | None, other: str | None, tool: str) -> bool:
    """Return whether the listed name is enough to judge the call by.

    Not two canonical names of which each names another server, nor a pattern where the server is not certain.
    """
    if listed.prefix not in (CANONICAL, FLAT) or called.prefix == listed.prefix == CANONICAL:
        return False
    named = server is None or _fits(server, other or "")
    return named and (called.prefix == CANONICAL or not is_wild(tool))


def _may_be_server(prefix: str, called: str | None, listed: str | None) -> bool:
    if called is None or listed is None:
        return True
    if prefix == BARE and is_wild(listed):
        return False
    if _fits(called, listed):
        return True
    start = _fold(called).rstrip("_0123456789")
    return prefix == FLAT and len(called) >= _CUT and _fold(listed).startswith(start)


def _fill(listed: str, prefix: str, server: str | None, other: str | None, tool: str) -> str:
    """Return the name that a pattern is asked about; the pattern itself if no such name fits it."""
    if not is_wild(listed):
        return listed
    named = other if other and not is_wild(other) else server or "server"
    name = f"{prefix}{tool}" if prefix == UNNAMED else f"{prefix}{named}{_GAPS[prefix]}{tool}"
    return name if fnmatchcase(name, listed) else listed


def _split(text: str) -> Iterator[tuple[str, str]]:
    for mark in _SEPARATOR.finditer(text) if len(text) <= _LONGEST else ():
        if text[: mark.start()] and text[mark.end() :]:
            yield text[: mark.start()], text[mark.end() :]


@lru_cache(maxsize=4096)
def _fold(name: str) -> str:
    """Return the spelling that hosts and look-alikes share."""
    visible = (c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) not in ("Cc", "Cf"))
    return _SEPARATOR.sub("_", "".join(visible).casefold()).strip("_")
