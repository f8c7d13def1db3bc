"""Put the gateway in front of the servers of a configuration, and take it away again.

- Only the text of a server's command changes. What it was is kept, so that it can be restored letter by
  letter; if somebody has changed it since, the server's own command is put back, as it stands behind the
  gateway.
- A file that cannot be read, or for which the change would alter anything else, is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from sayso.doors.agents.mcp_servers.found import FoundServers, StdioServer
from sayso.doors.agents.mcp_servers.json_servers import (
    find_json_servers,
    load_json,
    replace_json_words,
    set_json_words,
)
from sayso.doors.agents.mcp_servers.places import ServerFile
from sayso.doors.agents.mcp_servers.toml_servers import (
    find_toml_servers,
    load_toml,
    replace_toml_words,
    set_toml_words,
)
from sayso.doors.agents.mcp_servers.words import unwrap_words, wrap_words
from sayso.doors.agents.settings.changes import CannotInstall, Change, read_settings_file, resolve_link
from sayso.doors.agents.settings.json_edit import BrokenFile


class GatedServer(msgspec.Struct, frozen=True):
    """A server behind the gateway: the text of its command before, and as the gateway was put in front."""

    path: str
    where: tuple[str, ...]
    before: str
    after: str


class ServerChange(msgspec.Struct, frozen=True):
    """The change of a configuration, with the texts to keep for undoing it."""

    change: Change
    servers: tuple[StdioServer, ...]
    """The servers that change, as they were."""
    gated: tuple[GatedServer, ...] = ()


def find_servers(file: ServerFile, text: str) -> FoundServers:
    return find_toml_servers(text) if file.is_toml else find_json_servers(text)


def read_servers(file: ServerFile) -> FoundServers:
    """Return the servers of this file, none without a file; refuse one that cannot be read."""
    text = read_settings_file(resolve_link(file.path))
    try:
        return FoundServers() if text is None else find_servers(file, text)
    except BrokenFile as error:
        raise _left_alone(file, error.message) from error


def plan_gating(file: ServerFile) -> ServerChange:
    """Return what has to change for every server of this file to be behind the gateway."""
    path = resolve_link(file.path)
    text = before = read_settings_file(path) or ""
    changed, gated = [], []
    for server in read_servers(file).stdio:
        words = wrap_words(server.name, server.words)
        if words == server.words:
            continue
        current = _find(file, text, server.where)
        old = text[current.start : current.end]
        text = _replace(file, text, current, words)
        now = _find(file, text, server.where)
        changed.append(server)
        if unwrap_words(server.words) is None:
            gated.append(GatedServer(str(path), server.where, old, text[now.start : now.end]))
    return ServerChange(Change(path, before, text), tuple(changed), tuple(gated))


def plan_release(file: ServerFile, known: Sequence[GatedServer]) -> ServerChange:
    """Return what has to change for no server of this file to be behind the gateway."""
    path = resolve_link(file.path)
    text = before = read_settings_file(path) or ""
    kept = {one.where: one for one in known if one.path == str(path)}
    changed = []
    for server in read_servers(file).stdio:
        inner = unwrap_words(server.words)
        if inner is None:
            continue
        current = _find(file, text, server.where)
        noted = kept.get(server.where)
        if noted is not None and noted.after == text[current.start : current.end]:
            text = _checked(file, text, text[: current.start] + noted.before + text[current.end :], server)
        else:
            text = _replace(file, text, current, inner)
        changed.append(server)
    return ServerChange(Change(path, before, text), tuple(changed))


def _find(file: ServerFile, text: str, where: tuple[str, ...]) -> StdioServer:
    found = next((one for one in find_servers(file, text).stdio if one.where == where), None)
    if found is None:
        raise _left_alone(file, f"the place of {where[-1]!r} cannot be found again")
    return found


def _replace(file: ServerFile, text: str, server: StdioServer, words: tuple[str, ...]) -> str:
    """Change the command in the text, and see that nothing else has changed by that."""
    replace = replace_toml_words if file.is_toml else replace_json_words
    wanted = _load(file, text)
    (set_toml_words if file.is_toml else set_json_words)(wanted, server, words)
    changed = replace(text, server, words)
    if _load(file, changed) != wanted:
        raise _left_alone(file, f"the command of {server.name!r} is spelled in a way that cannot be changed")
    return changed


def _checked(file: ServerFile, text: str, restored: str, server: StdioServer) -> str:
    """Return the restored text, if only this server's command differs."""
    before, after = (_without_command(_load(file, one), server) for one in (text, restored))
    if before != after:
        raise _left_alone(file, f"the command of {server.name!r} cannot be restored")
    return restored


def _without_command(value: Any, server: StdioServer) -> Any:
    node = value
    for name in server.where:
        node = node[name]
    for name in ("command", "args"):
        node.pop(name, None)
    return value


def _load(file: ServerFile, text: str) -> Any:
    try:
        return load_toml(text) if file.is_toml else load_json(text)
    except BrokenFile as error:
        raise _left_alone(file, error.message) from error


def _left_alone(file: ServerFile, why: str) -> CannotInstall:
    return CannotInstall(f"{file.path}: {why}", hint="it was left alone")
