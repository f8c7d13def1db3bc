"""A home folder with Sayso's files in it, an agent in a project there, and paths it might try."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso
from sayso.core.model import Verdict
from sayso.core.policy import Policy
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import make_key
from sayso.policy import load_preset
from sayso.store.memory.store import MemoryStore

KEY = make_key("test")
CHANGED = (
    ".mcp.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    "~/.codeium/windsurf/mcp_config.json",
    "CLAUDE.md",
    ".clinerules",
    ".cursor/rules/agents.md",
    ".windsurf/rules/style.md",
    ".roo/rules/style.md",
    ".roorules",
    ".kiro/steering/tech.md",
    ".kiro/settings/mcp.json",
    ".junie/guidelines.md",
    ".claude/rules/style.md",
    "~/.config/sayso/policy.yaml",
    "~/.config/sayso/settings.json",
    "~/.config/sayso",
    "~/.config",
    "~",
    "~/.local/share/sayso/sayso.db",
    "~/.local/share/sayso/sayso.db-wal",
    "~/.local/share/sayso/sayso.db-shm",
    "~/.local/share/sayso/gate.key",
    "~/.local/share/sayso/new.mark",
    "~/.local/share/sayso",
    "~/.config/systemd/user/sayso.service",
    "~/.config/systemd/user/sayso.service.d/override.conf",
    "~/.config/systemd/user/default.target.wants/sayso.service",
    "/etc/systemd/system/sayso.service",
    "~/Library/LaunchAgents/sayso.plist",
    "/etc/sayso/policy.yaml",
    "/home/ana/.config/sayso/policy.yaml",
    "/home/ana/.local/share/sayso/sayso.db",
    "/run/user/1000/sayso/sayso.sock",
    ".sayso.yaml",
    ".sayso.yml",
    ".sayso.json",
    "packages/a/.sayso.yaml",
    "AGENTS.md",
    "packages/a/AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    "SOUL.md",
    "~/clawd/SOUL.md",
    "~/clawd/memory/state/consent-graph.json",
    "system_prompt.md",
    "safety_rules.yaml",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks/guard.sh",
    ".claude",
    "~/.claude/settings.json",
    "~/.claude.json",
    "/etc/claude-code/managed-settings.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    "~/.codex/rules/default.rules",
    ".gemini/settings.json",
    "~/.gemini/policies/mine.toml",
    ".cursor/hooks.json",
    ".cursor/permissions.json",
    ".cursor/rules/always.mdc",
    ".github/hooks/pre.json",
    ".github/copilot-instructions.md",
    "~/.copilot/hooks/x.json",
    "/etc/github-copilot/policy.d/x.json",
    ".vscode/settings.json",
    "opencode.json",
    ".opencode/plugins/sayso.js",
    "~/.config/opencode/opencode.json",
    ".clinerules/hooks/PreToolUse",
    "~/Documents/Cline/Hooks/PreToolUse",
    "~/.config/goose/permission.yaml",
    "~/.openclaw/openclaw.json",
    "~/.openclaw/exec-approvals.json",
)
UNREAD = (
    "~/.local/share/sayso/sayso.db",
    "~/.local/share/sayso/sayso.db-wal",
    "~/.local/share/sayso/gate.key",
    "~/.local/share/sayso",
    "~/.config/sayso/token",
    "/home/ana/.local/share/sayso/sayso.db",
    "/run/user/1000/sayso/sayso.sock",
)
READ = (
    "~/.config/sayso/policy.yaml",
    "AGENTS.md",
    "SOUL.md",
    ".claude/settings.json",
    ".sayso.yaml",
    "~/.codex/config.toml",
)
ORDINARY = (
    "src/a.py",
    "docs/AGENTS.md.bak",
    "docs/agents.md",
    "docs/MY_AGENTS.md",
    "docs/claude.md",
    "src/sayso_client.py",
    "sayso/policy.yaml",
    "src/sayso/settings.json",
    "config/sayso/policy.yaml",
    "debian/etc/sayso/policy.yaml",
    "src/system_prompt.py",
    "run/sayso/a.py",
    "bin/sayso",
    "tests/claude/settings.json",
    "deploy/sayso.service",
    "docs/commands/test.md",
    ".github/workflows/ci.yml",
    "settings.json",
    "hooks.json",
    "app/[id]/page.tsx",
    "notes: today.md",
    "résumé.md",
    "a b.md",
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ana's folder: Sayso's files, and a project of hers."""
    for name in [name for name in os.environ if name.startswith("XDG_") or name == "SAYSO_APPROVAL_MODE"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    config, data = tmp_path / ".config/sayso", tmp_path / ".local/share/sayso"
    for folder in (config, data, tmp_path / "project/.git", tmp_path / "project/docs"):
        folder.mkdir(parents=True)
    (tmp_path / "project/app/[id]").mkdir(parents=True)
    (tmp_path / "project/app/[id]/page.tsx").touch()
    (config / "policy.yaml").write_text("extends: [coding]\n")
    for name in ("sayso.db", "gate.key"):
        (data / name).touch()
    return tmp_path


class Agent:
    """An agent behind an embedded gate, that has consent for everything a person can give."""

    def __init__(self, policy: Policy, workspace: Path | str) -> None:
        self.gate = Sayso(open_gate(policy, MemoryStore(), key=KEY))
        self.session = self.gate.session(agent="agent", workspace=str(workspace))

    def verdict(self, tool: str, args: dict[str, Any]) -> Verdict:
        return self.session.call(tool, args).decision.verdict

    def operations(self, tool: str, args: dict[str, Any]) -> set[str]:
        return {item.operation for item in self.session.call(tool, args).decision.items}


@pytest.fixture
def coder(home: Path) -> Iterator[Agent]:
    agent = Agent(load_preset("coding"), home / "project")
    yield agent
    agent.gate.close()
