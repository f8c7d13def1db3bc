"""The names and places of what no agent changes: data for `protected`.

Names are written folded (lower case). A pattern is names one after the other, in any folder; `**` at the end
means that folder and all in it.
"""

from __future__ import annotations

import re

import msgspec

from sayso.reading.paths.own_places import OwnKind

BELOW = "**"


class Guarded(msgspec.Struct, frozen=True):
    """The actions of self_modification for a file: one for changing it, one for reading it.

    `own`: it is Sayso's, so that a tool of which nobody knows what it does has no business there.
    """

    change: str
    look: str | None = None
    own: bool = False


POLICY = Guarded("modify_policy", own=True)
PROGRAM = Guarded("modify_guard", own=True)
KEYS = Guarded("modify_guard", "read_guard_keys", own=True)
STORE = Guarded("modify_audit_log", "read_guard_keys", own=True)
SOCKET = Guarded("modify_guard", "run_guard_command", own=True)
HOST = Guarded("modify_guard")
AGENTS = Guarded("modify_agents_md")
SOUL = Guarded("modify_soul_md")
PROMPT = Guarded("modify_system_prompt")
SAFETY = Guarded("change_safety_rules")
GRAPH = Guarded("modify_consent_graph")

BY_PLACE: dict[OwnKind, Guarded] = {
    "policy": POLICY,
    "store": STORE,
    "keys": KEYS,
    "socket": SOCKET,
    "program": PROGRAM,
}

_READABLE = (("policy*.y*ml", POLICY), ("policy*.json", POLICY), ("settings.json", PROGRAM))
IN_CONFIG = (("", PROGRAM), *_READABLE, (BELOW, KEYS))
"""In a config folder: the policy and the settings can be read, and the folder listed; the rest cannot."""
IN_DATA = (("sayso.db*", STORE), *_READABLE, (BELOW, KEYS))
"""On some systems the data folder is the config folder as well."""

_INSTRUCTIONS = {
    "agents.md": AGENTS,
    "agents.override.md": AGENTS,
    "claude.md": AGENTS,
    "claude.local.md": AGENTS,
    "gemini.md": AGENTS,
    "agent.md": AGENTS,
    "qwen.md": AGENTS,
    "crush.md": AGENTS,
    "warp.md": AGENTS,
    "iflow.md": AGENTS,
    "airules.md": AGENTS,
    "copilot-instructions.md": AGENTS,
    ".cursorrules": AGENTS,
    ".windsurfrules": AGENTS,
    ".goosehints": AGENTS,
    ".rules": AGENTS,
    ".augment-guidelines": AGENTS,
    "soul.md": SOUL,
    "consent-graph.json": GRAPH,
}
"""Files that tell an agent what it is and how to behave, wherever they lie."""

_OTHER_HOSTS = (
    ".zed", ".config/zed", "application support/zed", ".kiro", ".continue", ".amazonq", ".aws/amazonq",
    ".roo", ".kilocode", ".junie", ".augment", ".trae", ".qwen", "/etc/qwen-code", ".iflow", ".factory",
    ".amp", ".config/amp", ".config/crush", ".antigravity", ".gemini/antigravity", ".openhands", ".idx",
    ".tabnine", ".warp", ".firebender", ".codebuddy",
)  # fmt: skip
"""Folders of coding agents that hold little else than their settings, instructions and hooks."""

_NAMED: dict[Guarded, tuple[str, ...]] = {
    POLICY: (".sayso.yaml", ".sayso.yml", ".sayso.json"),
    KEYS: ("gate.key",),
    STORE: ("sayso.db", "sayso.db-wal", "sayso.db-shm", "sayso.db-journal"),
    SOCKET: ("sayso.sock", "/run/user/*/sayso/**", "/run/sayso/**"),
    PROGRAM: (
        ".local/state/sayso/**",
        ".cache/sayso/**",
        "library/logs/sayso/**",
        "library/caches/sayso/**",
        "systemd/**/sayso*.service",
        "systemd/**/sayso*.socket",
        "systemd/**/sayso*.timer",
        "systemd/**/sayso*.service.d/**",
        "systemd/**/sayso*.socket.d/**",
        "launchagents/*sayso*.plist",
        "launchdaemons/*sayso*.plist",
        "site-packages/sayso/**",
        "dist-packages/sayso/**",
        "site-packages/sayso-*.dist-info/**",
        "dist-packages/sayso-*.dist-info/**",
        "site-packages/__editable__*sayso*",
        ".local/bin/sayso",
        "/usr/bin/sayso",
        "/usr/local/bin/sayso",
        "/opt/sayso/**",
        "scripts/sayso.exe",
    ),
    HOST: (
        ".claude/settings*.json",
        ".claude/hooks/**",
        ".claude/plugins/**",
        ".claude/workflows/**",
        ".claude-plugin/**",
        ".codex-plugin/**",
        ".cursor-plugin/**",
        ".claude.json",
        ".mcp.json",
        "mcp.json",
        "mcp_config.json",
        "mcp-config.json",
        "mcp_settings.json",
        "claude_desktop_config.json",
        "managed-settings.json",
        "managed-settings.d/**",
        "/etc/claude-code/**",
        ".codex/config.toml",
        ".codex/hooks.json",
        ".codex/hooks/**",
        ".codex/requirements.toml",
        ".codex/rules/**",
        ".codex/plugins/**",
        "/etc/codex/**",
        ".gemini/settings.json",
        ".gemini/policies/**",
        ".gemini/hooks/**",
        ".gemini/extensions/**",
        ".gemini/trustedfolders.json",
        "/etc/gemini-cli/**",
        ".cursor/hooks.json",
        ".cursor/hooks/**",
        ".cursor/permissions*",
        ".cursor/permissions/**",
        ".cursor/cli*.json",
        ".cursor/sandbox.json",
        ".cursor/plugins/**",
        ".cursor/environment.json",
        ".cursor/worktrees.json",
        "/etc/cursor/**",
        ".github/hooks/**",
        ".github/copilot*",
        ".github/copilot/**",
        ".github/workflows/copilot-setup-steps.y*ml",
        ".copilot/hooks/**",
        ".copilot/config.json",
        ".copilot/settings.json",
        ".copilot/permissions*",
        "/etc/github-copilot/**",
        ".vscode/settings.json",
        ".vscode/tasks.json",
        ".vscode/launch.json",
        ".devcontainer/**",
        ".devcontainer.json",
        *(f"{folder}/**" for folder in _OTHER_HOSTS),
        ".windsurf/hooks.json",
        ".windsurf/hooks/**",
        ".codeium/windsurf/**",
        ".aider.model.settings.yml",
        ".aider.model.metadata.json",
        "crush.json",
        ".crush.json",
        "firebender.json",
        "cline_mcp_settings.json",
        "opencode.json",
        "opencode.jsonc",
        ".opencode/config*",
        ".opencode/package.json",
        ".opencode/plugin/**",
        ".opencode/plugins/**",
        ".config/opencode/**",
        ".clinerules/hooks/**",
        ".cline/hooks/**",
        ".cline/plugins/**",
        ".cline/data/settings/**",
        "documents/cline/hooks/**",
        ".config/goose/**",
        ".agents/plugins/**",
        ".agents/hooks/**",
        ".openclaw/openclaw.json*",
        ".openclaw/exec-approvals*",
        ".openclaw/extensions/**",
        ".openclaw/hooks/**",
        ".openclaw/plugins/**",
        ".openclaw/credentials/**",
        ".clawdbot/clawdbot.json*",
        "openclaw.json",
    ),
    AGENTS: (
        ".cursor/rules/**", ".clinerules/**", "documents/cline/rules/**", ".github/instructions/**",
        ".windsurf/rules/**", ".kilocoderules", ".roorules", ".roorules-code", ".roorules-architect",
        ".roorules-ask", ".roorules-debug",
        ".claude/rules/**", ".claude/agents/**", ".claude/skills/**", ".claude/commands/**",
        ".codex/prompts/**", ".codex/skills/**", ".codex/agents/**", ".agents/skills/**",
        ".agents/rules/**", ".agents/agents/**", ".agents/commands/**",
        ".agent/rules/**", ".agent/skills/**", ".agent/workflows/**",
        ".gemini/commands/**", ".gemini/agents/**", ".gemini/skills/**",
        ".cursor/commands/**", ".cursor/agents/**", ".cursor/skills/**",
        ".github/agents/**", ".github/chatmodes/**", ".github/prompts/**", ".github/skills/**",
        ".copilot/agents/**", ".copilot/skills/**", ".copilot/instructions/**",
        ".opencode/agent/**", ".opencode/agents/**", ".opencode/command/**", ".opencode/commands/**",
        ".opencode/skill/**", ".opencode/skills/**", ".opencode/tool/**", ".opencode/tools/**",
        ".cline/rules/**", ".cline/skills/**", ".cline/agents/**", ".cline/workflows/**",
        "documents/cline/workflows/**",
        ".windsurf/workflows/**", ".windsurf/skills/**", ".windsurf/memories/**", ".roomodes",
        ".kilocodemodes",
        ".openclaw/skills/**", ".openclaw/agents/**", ".aider.conf.yml", ".aider.conf.yaml",
    ),
    PROMPT: (
        "system_prompt", "system_prompt.md", "system_prompt.txt", "system-prompt", "system-prompt.md",
        "system-prompt.txt", "systemprompt.md", "systemprompt.txt", ".gemini/system.md",
        ".claude/output-styles/**",
    ),
    SAFETY: tuple(
        f"safety{mark}rules{ending}"
        for mark in ("_", "-", "")
        for ending in ("", ".md", ".txt", ".yaml", ".yml", ".json")
    ),
}  # fmt: skip
"""A pattern that begins with a slash counts from the root on."""


SECRET_PLACES = {
    ("proc", "environ"), ("etc", "shadow"), ("etc", "shadow-"), ("etc", "gshadow"), ("etc", "gshadow-"),
    ("etc", "sudoers"), ("etc", "ssh_host_rsa_key"), ("etc", "ssh_host_ecdsa_key"),
    ("etc", "ssh_host_ed25519_key"), ("etc", "ssh_host_dsa_key"),
}  # fmt: skip
"""Secrets of the system: the top folder and the name."""


class Pattern(msgspec.Struct, frozen=True):
    """Names one after the other, in any folder; the last may be BELOW: that folder and all in it."""

    names: tuple[str, ...]
    guarded: Guarded
    rooted: bool = False


_IN_FOLDERS = (
    ((".config/sayso", "/etc/sayso", "/etc/xdg/sayso", "library/preferences/sayso"), IN_CONFIG),
    (
        (
            ".local/share/sayso", "/var/lib/sayso", "library/application support/sayso",
            "appdata/local/sayso", "appdata/roaming/sayso", "/usr/share/sayso", "/usr/local/share/sayso",
        ),
        IN_DATA,
    ),
)  # fmt: skip
_ROWS = (
    *((text, guarded) for guarded, texts in _NAMED.items() for text in texts),
    *(
        (f"{folder}/{name}".rstrip("/"), guarded)
        for folders, inside in _IN_FOLDERS
        for folder in folders
        for name, guarded in inside
    ),
    *_INSTRUCTIONS.items(),
)
PATTERNS = tuple(
    Pattern(tuple(text.strip("/").split("/")), guarded, text.startswith("/")) for text, guarded in _ROWS
)
WIDE = {
    ".config", ".local", "share", "state", "etc", "xdg", "var", "lib", "usr", "local", "opt", "run", "user",
    "bin", "library", "preferences", "application support", "logs", "caches", ".cache", "appdata", "roaming",
    "documents", "scripts", "systemd", "launchagents", "launchdaemons", "site-packages", "dist-packages",
}  # fmt: skip
"""Folders that hold much else: that something guarded may lie there does not make them guarded."""
_SHARED = {".github", ".vscode", ".aws"}
"""Folders of which a guarded file's next name says more."""


def _word_of(pattern: Pattern) -> tuple[bool, str]:
    """Return a part of the names that everything this pattern guards says, and whether it is a whole word."""
    names = [name for name in pattern.names if name != BELOW]
    name = next((one for one in names if one not in WIDE | _SHARED and one.strip("*?")), names[-1])
    literal = re.escape(max(re.split(r"[*?]", name), key=len))
    return not ("*" in name or name == "sayso"), literal


_WORDS = sorted({_word_of(pattern) for pattern in PATTERNS})
MENTION = (
    rf"(?<![a-z0-9])(?:{'|'.join(word for whole, word in _WORDS if whole)})(?![a-z0-9])"
    rf"|{'|'.join(word for whole, word in _WORDS if not whole)}"
)
"""A regular expression: the path of a guarded file, in lower case, says one of these words."""
