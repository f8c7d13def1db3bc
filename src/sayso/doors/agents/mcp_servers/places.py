"""Files in which clients of the Model Context Protocol name the servers that they start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from sayso.doors.agents.agent import Place
from sayso.doors.agents.codex import home_of_codex
from sayso.doors.agents.gemini import gemini_settings_file


class ServerFile(msgspec.Struct, frozen=True):
    """A configuration, and whose it is. `agent` is its client's name, if that is a coding agent."""

    path: Path
    title: str
    agent: str = ""
    shared: bool = False
    """It belongs to a project, and may be in its repository."""
    url_is_sse: bool = False
    """Its client takes `url` for a server of the older kind, unless `type` says otherwise."""

    @property
    def is_toml(self) -> bool:
        return self.path.suffix == ".toml"


def list_places(place: Place) -> Iterator[ServerFile]:
    """Return where configurations may be, for the user and in this project."""
    yield from _of_user(place)
    yield from _of_project(place)


def _of_user(place: Place) -> Iterator[ServerFile]:
    home, config = place.home, Path(place.variables.get("XDG_CONFIG_HOME") or place.home / ".config")
    claude = place.variables.get("CLAUDE_CONFIG_DIR")
    yield ServerFile((Path(claude) if claude else home) / ".claude.json", "Claude Code", "claude")
    for folder in (config / "Claude", home / "Library" / "Application Support" / "Claude"):
        yield ServerFile(folder / "claude_desktop_config.json", "Claude Desktop")
    yield ServerFile(home / ".cursor" / "mcp.json", "Cursor", "cursor")
    for folder in (config, home / "Library" / "Application Support"):
        user = folder / "Code" / "User"
        yield ServerFile(user / "mcp.json", "VS Code", "copilot")
        yield ServerFile(user / "settings.json", "VS Code", "copilot")
        storage = user / "globalStorage" / "saoudrizwan.claude-dev" / "settings"
        yield ServerFile(storage / "cline_mcp_settings.json", "Cline", "cline")
    yield ServerFile(home / ".copilot" / "mcp-config.json", "Copilot CLI", "copilot")
    yield ServerFile(gemini_settings_file(place, "user"), "Gemini CLI", "gemini", url_is_sse=True)
    yield ServerFile(home_of_codex(place) / "config.toml", "Codex CLI", "codex")
    yield from _of_opencode(_opencode_folder(place, config), shared=False)
    yield ServerFile(home / ".codeium" / "windsurf" / "mcp_config.json", "Windsurf")


def _of_project(place: Place) -> Iterator[ServerFile]:
    here = place.project
    if here == place.home:
        return
    yield ServerFile(here / ".mcp.json", "Claude Code", "claude", shared=True)
    yield ServerFile(here / ".cursor" / "mcp.json", "Cursor", "cursor", shared=True)
    yield ServerFile(here / ".vscode" / "mcp.json", "VS Code", "copilot", shared=True)
    gemini = gemini_settings_file(place, "project")
    yield ServerFile(gemini, "Gemini CLI", "gemini", shared=True, url_is_sse=True)
    yield ServerFile(here / ".codex" / "config.toml", "Codex CLI", "codex", shared=True)
    yield from _of_opencode(here, shared=True)


def _of_opencode(folder: Path, *, shared: bool) -> Iterator[ServerFile]:
    for name in ("opencode.json", "opencode.jsonc"):
        yield ServerFile(folder / name, "opencode", "opencode", shared=shared)


def _opencode_folder(place: Place, config: Path) -> Path:
    named = place.variables.get("OPENCODE_CONFIG_DIR")
    return Path(named) if named else config / "opencode"
