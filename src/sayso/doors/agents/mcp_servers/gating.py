"""Put the gateway in front of the servers of a configuration, and take it away again.

- Only the text of a server's command changes, or the entry of one at an address. What it was is kept, so that
  it can be restored letter by letter; if somebody has changed it since, the server's own command or address
  is put back, as it stands behind the gateway.
- A file that cannot be read, or for which the change would alter anything else, is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from sayso.doors.agents.mcp_servers.addresses import AddressServer, gate_entry, release_entry
from sayso.doors.agents.mcp_servers.found import FoundServers, StdioServer
from sayso.doors.agents.mcp_servers.json_servers import (
    find_json_entry,
    find_json_servers,
    load_json,
    replace_json_entry,
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
from sayso.doors.agents.mcp_servers.words import is_wrapped, unwrap_address, unwrap_words, wrap_words
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
    servers: tuple[StdioServer | AddressServer, ...]
    """The servers that change, as they were."""
    gated: tuple[GatedServer, ...] = ()


def find_servers(file: ServerFile, text: str) -> FoundServers:
    if file.is_toml:
        return find_toml_servers(text)
    return find_json_servers(text, url_is_sse=file.url_is_sse)


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
    found = read_servers(file)
    changed: list[StdioServer | AddressServer] = []
    gated = []
    for server in found.stdio:
        words = wrap_words(found.called[server.name], server.words)
        if words == server.words:
            continue
        current = _find(file, text, server.where)
        old = text[current.start : current.end]
        text = _replace(file, text, current, words)
        now = _find(file, text, server.where)
        changed.append(server)
        if not is_wrapped(server.words):
            gated.append(GatedServer(str(path), server.where, old, text[now.start : now.end]))
    for one in found.addresses:
        start, end = find_json_entry(text, one.where)
        old, text = (
            text[start:end],
            _replace_entry(file, text, one.where, gate_entry(one, found.called[one.name])),
        )
        start, end = find_json_entry(text, one.where)
        changed.append(one)
        gated.append(GatedServer(str(path), one.where, old, text[start:end]))
    return ServerChange(Change(path, before, text), tuple(changed), tuple(gated))


def plan_release(file: ServerFile, known: Sequence[GatedServer]) -> ServerChange:
    """Return what has to change for no server of this file to be behind the gateway."""
    path = resolve_link(file.path)
    text = before = read_settings_file(path) or ""
    kept = {one.where: one for one in known if one.path == str(path)}
    changed = []
    for server in read_servers(file).stdio:
        inner = unwrap_words(server.words)
        noted = kept.get(server.where)
        if unwrap_address(server.words) is not None:
            text = _release_address(file, text, server, noted)
            changed.append(server)
            continue
        if inner is None:
            continue
        current = _find(file, text, server.where)
        if noted is not None and noted.after == text[current.start : current.end]:
            text = _checked(file, text, text[: current.start] + noted.before + text[current.end :], server)
        else:
            text = _replace(file, text, current, inner)
        changed.append(server)
    return ServerChange(Change(path, before, text), tuple(changed))


def _release_address(file: ServerFile, text: str, server: StdioServer, noted: GatedServer | None) -> str:
    """Put the entry back as it was; as far as it tells that itself, if somebody has changed it since."""
    start, end = find_json_entry(text, server.where)
    if noted is not None and noted.after == text[start:end]:
        return _checked(file, text, text[:start] + noted.before + text[end:], server, whole=True)
    entry = _load(file, text[start:end])
    return _replace_entry(file, text, server.where, release_entry(entry, server.words))


def _replace_entry(file: ServerFile, text: str, where: tuple[str, ...], entry: dict[str, Any]) -> str:
    """Change the entry in the text, and see that nothing else has changed by that."""
    wanted = _load(file, text)
    node = wanted
    for name in where[:-1]:
        node = node[name]
    node[where[-1]] = entry
    changed = replace_json_entry(text, where, entry)
    if _load(file, changed) != wanted:
        raise _left_alone(file, f"the entry of {where[-1]!r} is spelled in a way that cannot be changed")
    return changed


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


def _checked(file: ServerFile, text: str, restored: str, server: StdioServer, *, whole: bool = False) -> str:
    """Return the restored text, if only this server's command differs, or its whole entry."""
    names = None if whole else ("command", "args")
    before, after = (_without(_load(file, one), server, names) for one in (text, restored))
    if before != after:
        raise _left_alone(file, f"the command of {server.name!r} cannot be restored")
    return restored


def _without(value: Any, server: StdioServer, names: tuple[str, ...] | None) -> Any:
    """Return the value of the file without these keys of the server's entry, or without the entry."""
    node = value
    for name in server.where:
        node = node[name]
    for name in node.copy() if names is None else names:
        node.pop(name, None)
    return value


def _load(file: ServerFile, text: str) -> Any:
    try:
        return load_toml(text) if file.is_toml else load_json(text)
    except BrokenFile as error:
        raise _left_alone(file, error.message) from error


def _left_alone(file: ServerFile, why: str) -> CannotInstall:
    return CannotInstall(f"{file.path}: {why}", hint="it was left alone")
